"""Data of a history's own, in which its steps are looked at and taken again."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.checkpoint_codec import CheckpointCodec
from stroboscope.engine.frames import FrameMaker
from stroboscope.engine.hidden_state import needs_hidden_state
from stroboscope.engine.history.model_notes import ModelNotes
from stroboscope.engine.live_data import HeldData
from stroboscope.engine.row_layout import RowLayout
from stroboscope.engine.world import World

__all__ = ["PastData"]

Row = NDArray[np.float64]


class PastData:
    """Scratch data of a copy of a world's model, made when it is first needed; owner thread only.

    ``models``: has the copy, in which options and fields may have the values of then.
    """

    def __init__(self, world: World, models: ModelNotes) -> None:
        self._world, self._models, self._adapter = world, models, world.adapter
        self.layout = RowLayout(world.model, adapter=world.adapter)
        self._model: Any = None
        self._data: Any = None
        self._frames: FrameMaker | None = None
        self._codec: CheckpointCodec | None = None

    @property
    def model(self) -> Any:
        """The copy."""
        model = self._models.of_past()
        if model is not self._model:
            self._model = model
            self.drop()
        return model

    @property
    def data(self) -> Any:
        """The scratch data, of which the codec has made some."""
        return self._data

    @property
    def needs_hidden_state(self) -> bool:
        """Whether rows do not hold all of a state."""
        return needs_hidden_state(self.model, adapter=self._adapter)

    def drop(self) -> None:
        """Have new data made: a step has failed within MuJoCo, or the model is another one."""
        self._data = self._codec = self._frames = None

    @property
    def frames(self) -> FrameMaker:
        """What makes frames of the data."""
        if self._frames is None:
            self._frames = FrameMaker(self.model, HeldData(self._data), adapter=self._adapter)
        return self._frames

    @property
    def codec(self) -> CheckpointCodec:
        """What puts rows into the data and reads them."""
        needs = self.needs_hidden_state
        if self._codec is None or self._codec.keeps_sleep is not needs:
            if self._data is None:
                self._data = self._adapter.module.MjData(self.model)
            self._codec = CheckpointCodec(
                self.model,
                HeldData(self._data),
                digest=self._world.codec.digest,
                adapter=self._adapter,
            )
        return self._codec

    def row(self) -> Row:
        """Return the state that stands in the data."""
        row = np.empty(self.layout.size)
        self._adapter.mj_getState(self.model, self._data, row, self._adapter.integration)
        return row

    def copy_to(self, data: Any, *, model: Any) -> None:
        """Copy the state that stands there to ``data``."""
        if self.needs_hidden_state:
            self._adapter.copy_data(model, self._data, data)
        else:
            self._adapter.mj_setState(model, data, self.row(), self._adapter.integration)
