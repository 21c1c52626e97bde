"""Rows of a loop that calls ``mj_step`` itself: what ``sync()`` sees, after those steps."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.files.frames import RowFlag
from stroboscope.engine.recording.rows_entry import RowSource

__all__ = ["SyncedRows"]

_CAPACITY: Final = 64


class SyncedRows(RowSource):
    """Up to some rows, of rising axes, which do not follow from each other for all we know.

    The newest one is only counted when the scene has gone on from it by other steps of the script:
    a step of ours begins with a row of the same axis, which knows more, and so does the end.
    """

    is_seen = True

    def __init__(self, width: int) -> None:
        self._rows = np.empty((_CAPACITY, width))
        self.axes: NDArray[np.int64] = np.empty(_CAPACITY, dtype=np.int64)
        self.times = np.empty(_CAPACITY)
        self.steps = np.empty(_CAPACITY, dtype=np.int64)
        self.timesteps = np.empty(_CAPACITY)
        self.walls = np.empty(_CAPACITY)
        self.flags = np.full(_CAPACITY, RowFlag.BROKEN | RowFlag.SEEN, dtype=np.uint8)
        self.begin = 0
        self.taken = 0
        self._at = 0
        self._newest = -1
        self.is_sealed = False

    # --- by the owner

    @property
    def is_full(self) -> bool:
        """Whether there is no place behind the newest row."""
        return self._at + 1 == _CAPACITY and self._newest >= 0

    def put(
        self,
        row: NDArray[np.float64],
        *,
        axis: int,
        step: int,
        timestep: float,
        wall: float,
    ) -> None:
        """Write the newest row, ``row`` (row,), over one of the same axis."""
        if self._newest < 0:
            self.begin = axis
        elif self._newest != axis:
            self._at += 1
        at, self._newest = self._at, axis
        self._rows[at] = row
        self.axes[at], self.steps[at] = axis, step
        self.times[at], self.timesteps[at], self.walls[at] = row[0], timestep, wall

    def seal(self, *, until: int | None = None) -> None:
        """Say that none will follow; the newest counts if it is before the axis ``until``."""
        if self._newest >= 0 and (until is None or self._newest < until):
            self._at += 1
        self.is_sealed = True

    # --- by the thread that writes

    def counted(self) -> int:
        """Return how many rows there are by now."""
        return self._at

    def read(self, places: slice, out: NDArray[np.float64]) -> None:
        """Write rows into ``out``."""
        out[:] = self._rows[places]

    def release(self) -> None:
        """Nobody else reads them."""
