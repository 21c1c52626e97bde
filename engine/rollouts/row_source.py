"""What a re-simulation needs of a history: where it begins, and what went into every step."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.row_layout import RowLayout

__all__ = ["RecordedRows", "RowSource"]


class RowSource(Protocol):
    """A stretch of recorded steps in which every state followed from the one before it.

    Steps ``begin`` to ``end`` - 1 were taken; what stands at ``end`` may not follow from them.
    Owner thread only. What is not there any more is a CommandError.
    """

    begin: int
    end: int
    options: Mapping[str, tuple[float, ...]]
    """Physics options that were in force and may be others now, by name."""

    def put(self, axis: int, data: Any) -> None:
        """Put the state and the inputs before step ``axis`` into ``data``, sleep included."""

    def row(self, axis: int) -> NDArray[np.float64] | None:
        """Return the row as it was recorded, (row,); None where it was thinned out."""

    def inputs(self, axis: int) -> NDArray[np.float64]:
        """Return what went into step ``axis``: MuJoCo's ``mjSTATE_USER`` of its row."""

    def timestep(self, axis: int) -> float:
        """Return how long step ``axis`` took [s]."""


class RecordedRows:
    """Rows that all stand in one array; a RowSource.

    ``rows`` (steps + 1, row), the first being that of axis ``begin``; ``timesteps`` (steps,) [s],
    or one for all.
    """

    def __init__(
        self,
        model: Any,
        rows: NDArray[np.float64],
        *,
        timesteps: NDArray[np.float64] | float,
        adapter: MujocoAdapter,
        begin: int = 0,
        options: Mapping[str, tuple[float, ...]] | None = None,
    ) -> None:
        self.begin = begin
        self.options = options or {}
        self.end = begin + len(rows) - 1
        self._model = model
        self._rows = rows
        self._timesteps = np.broadcast_to(np.asarray(timesteps, dtype=np.float64), len(rows) - 1)
        self._adapter = adapter
        self._user = RowLayout(model, adapter=adapter).inputs

    def put(self, axis: int, data: Any) -> None:
        """Put the state and the inputs before step ``axis`` into ``data``."""
        adapter = self._adapter
        adapter.mj_setState(self._model, data, self.row(axis), adapter.integration)

    def row(self, axis: int) -> NDArray[np.float64]:
        """Return the row, (row,)."""
        found: NDArray[np.float64] = self._rows[axis - self.begin]
        return found

    def inputs(self, axis: int) -> NDArray[np.float64]:
        """Return what went into step ``axis``."""
        return self.row(axis)[self._user]

    def timestep(self, axis: int) -> float:
        """Return how long step ``axis`` took [s]."""
        return float(self._timesteps[axis - self.begin])
