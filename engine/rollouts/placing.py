"""Where bodies stand with the places that another model has for them: of then, or of a trial."""

import copy
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.rollouts.row_probe import RowProbe

__all__ = ["PLACING", "Placer", "Placing", "is_placed_alike", "placing_of"]

PLACING: Final = ("body_pos", "body_quat", "jnt_pos", "jnt_axis", "qpos0")
"""What of a model decides where its bodies stand, for given positions of joints."""
Placing = Mapping[str, NDArray[Any]]
"""The values of these fields, by name."""


def placing_of(model: Any) -> Placing:
    """Return what a model has, a copy: it is small however large the model is."""
    return {name: np.array(getattr(model, name)) for name in PLACING}


def is_placed_alike(model: Any, placing: Placing) -> bool:
    """Return whether a model has these values."""
    return all(np.array_equal(values, getattr(model, name)) for name, values in placing.items())


class Placer:
    """Places the bodies of one model, with its own values or others; owner thread only.

    ``own`` does so with its own. For all others together there is one copy of the model: several
    ghosts may be placed anew with every picture.
    """

    def __init__(self, own: RowProbe, *, adapter: MujocoAdapter) -> None:
        self._own, self._adapter = own, adapter
        self._other: RowProbe | None = None

    def pose(self, row: NDArray[np.float64], placing: Placing) -> Arrays:
        """Return where the bodies of a row stand; see :meth:`RowProbe.pose`."""
        if is_placed_alike(self._own.model, placing):
            return self._own.pose(row)
        if self._other is None:
            self._other = RowProbe(copy.copy(self._own.model), adapter=self._adapter)
        for name, values in placing.items():
            getattr(self._other.model, name)[...] = values
        return self._other.pose(row)
