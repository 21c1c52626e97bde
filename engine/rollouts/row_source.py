"""What a re-simulation needs of a history: where it begins, and what went into every step."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.hidden_state import needs_hidden_state
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.row_layout import RowLayout

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["RecordedRows", "RowSource", "StandingState"]


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

    def is_recorded(self, row: NDArray[np.float64], axis: int) -> bool:
        """Return whether a row is, to the bit, what was recorded, thinned out since or not."""

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

    def is_recorded(self, row: NDArray[np.float64], axis: int) -> bool:
        """Return whether a row is, to the bit, what stands there."""
        return row.tobytes() == self.row(axis).tobytes()

    def inputs(self, axis: int) -> NDArray[np.float64]:
        """Return what went into step ``axis``."""
        return self.row(axis)[self._user]

    def timestep(self, axis: int) -> float:
        """Return how long step ``axis`` took [s]."""
        return float(self._timesteps[axis - self.begin])


class StandingState:
    """The state that a scene stands at, as a source of one step: that which would come next.

    Nobody knows what the script would put in after that, so the inputs as they stand are held.
    """

    def __init__(self, scene: "Scene") -> None:
        world = scene.world
        self.begin = scene.counters.axis
        self.end = self.begin + 1
        self.options: Mapping[str, tuple[float, ...]] = {}
        self._model = world.model
        self._adapter = world.adapter
        self._live = world.live
        self._timestep = scene.timestep_in_force
        layout = RowLayout(world.model, adapter=world.adapter)
        self._user = layout.inputs
        self._row = np.empty(layout.size)
        self._adapter.mj_getState(self._model, world.live(), self._row, self._adapter.integration)

    def put(self, axis: int, data: Any) -> None:
        """Put the state as it stands into ``data``, sleep included."""
        adapter = self._adapter
        if needs_hidden_state(self._model, adapter=adapter):
            adapter.copy_data(self._model, self._live(), data)
        else:
            adapter.mj_setState(self._model, data, self._row, adapter.integration)

    def row(self, axis: int) -> NDArray[np.float64]:
        """Return the state as it stands, (row,)."""
        return self._row

    def is_recorded(self, row: NDArray[np.float64], axis: int) -> bool:
        """Return whether a row is, to the bit, the state as it stands."""
        return row.tobytes() == self._row.tobytes()

    def inputs(self, axis: int) -> NDArray[np.float64]:
        """Return the inputs as they stand."""
        return self._row[self._user]

    def timestep(self, axis: int) -> float:
        """Return how long the step would take [s]."""
        return self._timestep
