"""A scene's model and data with everything that is prepared for them; replaced as a whole.

Adding a pose controller, or ``rebind``, gives a scene another world; nothing of the old one is
carried over by accident.
"""

from typing import Any

from stroboscope.engine.checkpoint_codec import CheckpointCodec
from stroboscope.engine.frames import FrameMaker
from stroboscope.engine.hidden_state import needs_hidden_state
from stroboscope.engine.interventions import Interventions
from stroboscope.engine.live_data import LiveData
from stroboscope.engine.model_digest import model_digest
from stroboscope.engine.model_fields import ModelFields
from stroboscope.engine.model_source import ModelSource
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.options import options_in_force
from stroboscope.engine.portable_model import PortableModel
from stroboscope.engine.scene_assets import SceneAssets
from stroboscope.engine.signal_channels import ChannelTable, channel_table
from stroboscope.engine.sim_state import StateLayout

__all__ = ["World"]


class World:
    """One compiled model and its data. ``assets`` and ``model`` may be read on any thread."""

    def __init__(self, source: ModelSource, live: LiveData, *, adapter: MujocoAdapter) -> None:
        self.source = source
        self.model: Any = source.model
        self.live = live
        self.adapter = adapter
        self.codec = CheckpointCodec(
            self.model, live, digest=model_digest(self.model, adapter=adapter), adapter=adapter
        )
        self.fields_at_first: ModelFields = self.codec.fields
        """The model as its steps began: the codec's, unless it was loaded with what somebody had
        written into it."""
        self.frames = FrameMaker(self.model, live, adapter=adapter)
        self.interventions = Interventions(
            self.model, live, scratch=lambda: self.frames.scratch, adapter=adapter
        )
        self.frames.predict = self.interventions.predict
        self.assets = SceneAssets(self.model)
        self.timestep_edit: tuple[float, float] | None = None
        """The timestep [s] before somebody edited it in the debugger, and after; or None."""
        self.unedited_options: dict[str, tuple[float, ...]] = {}
        """What physics options were before somebody edited them in the debugger, by name."""
        self.edits = 0
        """How often somebody has edited physics options in the debugger."""
        self.portable: PortableModel | None = None
        """The model as an archive of MJCF and assets, once somebody wants to give it away."""
        self.options = options_in_force(self.model, adapter=adapter)
        """The physics options that the scene was made with."""
        self._channels: ChannelTable | None = None
        self._state_layout: StateLayout | None = None

    def unedited_timestep(self, timestep: float) -> float:
        """Return what ``timestep`` [s] would be had nobody edited it in the debugger."""
        edit = self.timestep_edit
        return timestep if edit is None or timestep != edit[1] else edit[0]

    def options_changed(self) -> None:
        """Prepare anew what depends on physics options: whether islands sleep makes the state.

        The identity of the model stays: a state may be continued under other options.
        """
        self.edits += 1
        self.refresh_codec()

    def refresh_codec(self) -> None:
        """Follow options that decide which parts a state has."""
        adapter = self.adapter
        if self.codec.keeps_sleep is not needs_hidden_state(self.model, adapter=adapter):
            self.codec = CheckpointCodec(
                self.model, self.live, digest=self.codec.digest, adapter=adapter
            )

    @property
    def channels(self) -> ChannelTable:
        """The engine channels, made on first use."""
        if self._channels is None:
            self._channels = channel_table(self.model, adapter=self.adapter)
        return self._channels

    @property
    def state_layout(self) -> StateLayout:
        """Names, units and shapes of states, made on first use."""
        if self._state_layout is None:
            self._state_layout = StateLayout(self)
        return self._state_layout
