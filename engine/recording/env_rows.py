"""Rows of chosen environments of a batched scene: as many steps of all of them as make a block."""

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.recording.rows_entry import RowSource

__all__ = ["EnvRows", "EnvSteps"]


class EnvSteps:
    """Rows of ``count`` environments at up to ``capacity`` steps, all from ``begin`` on.

    ``rows`` (capacity, count, width), ``steps`` and ``walls`` [monotonic s] (capacity,),
    ``timesteps`` [s] and ``flags`` (capacity, count): 1 where a row does not follow from the one
    before. ``at`` of the steps are counted: their rows stay as they are.
    """

    def __init__(self, capacity: int, count: int, width: int, *, begin: int) -> None:
        self.begin = begin
        self.rows = np.empty((capacity, count, width))
        self.steps = np.empty(capacity, dtype=np.int64)
        self.walls = np.empty(capacity)
        self.timesteps = np.empty((capacity, count))
        self.flags = np.zeros((capacity, count), dtype=np.uint8)
        self.capacity = capacity
        self.at = 0
        self.is_sealed = False

    @property
    def nbytes(self) -> int:
        """Return how many bytes they take."""
        parts = (self.rows, self.steps, self.walls, self.timesteps, self.flags)
        return sum(part.nbytes for part in parts)


class EnvRows(RowSource):
    """Those of one environment, from the place ``first`` on; as they come, or ``count`` of them."""

    def __init__(
        self, steps: EnvSteps, place: int, *, first: int = 0, count: int | None = None
    ) -> None:
        self._steps, self._rows = steps, steps.rows[:, place]
        self._count = count
        self.begin, self.axes = steps.begin, None
        self.times, self.steps = self._rows[:, 0], steps.steps
        self.timesteps, self.walls = steps.timesteps[:, place], steps.walls
        self.flags = steps.flags[:, place]
        self.taken = first

    @property
    def is_sealed(self) -> bool:  # type: ignore[override]
        """Whether no row will follow."""
        return self._count is not None or self._steps.is_sealed

    def counted(self) -> int:
        """Return how many rows there are by now."""
        return self._steps.at if self._count is None else self._count

    def read(self, places: slice, out: NDArray[np.float64]) -> None:
        """Write rows into ``out``."""
        out[:] = self._rows[places]

    def release(self) -> None:
        """Nothing: they go with the last who has them."""
