"""States that were stepped to once more: who steps back is to wait for each of them only once."""

import bisect
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

__all__ = ["Waypoints"]

_MOST_BYTES = 32 << 20
Row = NDArray[np.float64]


class Waypoints:
    """Rows by axis, each with what it does not hold; owner thread only.

    The oldest go where they take more than 32 MiB together.
    """

    def __init__(self, *, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[int, tuple[Row, bytes]] = OrderedDict()
        self._axes: list[int] = []
        self._nbytes = 0
        self._edits = 0

    def keep(self, axis: int, row: Row, hidden: bytes) -> None:
        """Keep the state before the step ``axis``."""
        self._forget(axis)
        self._kept[axis] = row, hidden
        bisect.insort(self._axes, axis)
        self._nbytes += row.nbytes + len(hidden)
        while self._nbytes > self._most_bytes:
            self._forget(next(iter(self._kept)))

    def before(self, axis: int, *, after: int, edits: int) -> tuple[int, Row, bytes] | None:
        """Return the last one from ``after`` + 1 to ``axis``; None for none.

        ``edits``: how often the model was edited; what was stepped to before is of another one.
        """
        if edits != self._edits:
            self._kept.clear()
            self._axes.clear()
            self._nbytes, self._edits = 0, edits
        at = bisect.bisect_right(self._axes, axis) - 1
        found = self._axes[at] if at >= 0 else -1
        return (found, *self._kept[found]) if found > after else None

    def _forget(self, axis: int) -> None:
        gone = self._kept.pop(axis, None)
        if gone is not None:
            del self._axes[bisect.bisect_left(self._axes, axis)]
            self._nbytes -= gone[0].nbytes + len(gone[1])
