"""A scene's model and data with everything that is prepared for them; replaced as a whole.

Adding a pose controller, or ``rebind``, gives a scene another world; nothing of the old one is
carried over by accident.
"""

from typing import Any

from stroboscope.engine.checkpoint import CheckpointCodec
from stroboscope.engine.frames import FrameMaker
from stroboscope.engine.live_data import LiveData
from stroboscope.engine.model_digest import model_digest
from stroboscope.engine.model_source import ModelSource
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.scene_assets import SceneAssets
from stroboscope.engine.signal_channels import ChannelTable, channel_table

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
        self.frames = FrameMaker(self.model, live, adapter=adapter)
        self.assets = SceneAssets(self.model)
        self._channels: ChannelTable | None = None

    @property
    def channels(self) -> ChannelTable:
        """The engine channels, made on first use."""
        if self._channels is None:
            self._channels = channel_table(self.model, adapter=self.adapter)
        return self._channels
