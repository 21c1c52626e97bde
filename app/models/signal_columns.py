"""Every row of one channel in bounded memory, and what a picture of it needs."""

import bisect
import dataclasses

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCK", "SignalColumns", "SignalRows"]

# Rows per block of remembered extremes. One level is enough: a whole budget of 64 MiB is some
# 50,000 blocks, which NumPy reduces to a screen's width in a fraction of a millisecond.
BLOCK = 32
_FIRST_CAPACITY = 1024


@dataclasses.dataclass(frozen=True, slots=True)
class SignalRows:
    """A copy of the rows of one channel, for export.

    ``axis`` (n,) int64, ``time`` and ``session_time`` (n,) [s], ``values`` (n, width),
    ``missing`` (n,) int64: rows lost or not recorded just before this one.
    """

    axis: NDArray[np.int64]
    time: NDArray[np.float64]
    session_time: NDArray[np.float64]
    values: NDArray[np.float64]
    missing: NDArray[np.int64]

    def between(self, start: float, end: float) -> "SignalRows":
        """Return the rows with session time in [start, end]."""
        low, high = np.searchsorted(self.session_time, (start, np.nextafter(end, np.inf)))
        part = slice(int(low), int(high))
        return SignalRows(
            self.axis[part],
            self.time[part],
            self.session_time[part],
            self.values[part],
            self.missing[part],
        )


class SignalColumns:
    """Columns of one channel: axis, time, session time and ``width`` values per row.

    Rows are kept contiguous in order of axis. When the memory allowed is full, the oldest quarter
    goes and is counted in ``evicted``; nothing else is ever thinned out.
    """

    def __init__(self, width: int, *, limit_bytes: int) -> None:
        self.width = width
        self.lost = 0  # rows the server said were lost
        self.evicted = 0  # oldest rows given up to stay within the limit
        self.nonfinite = np.zeros(width, np.int64)  # NaN or infinite values seen, by component
        self.version = 0
        self._count = 0
        self._break_rows: list[int] = []  # absolute: evicted + index; no line into this row
        self._break_missing: list[int] = []
        self._last_segment = -1
        self._lost_since = 0  # lost since the newest row
        self._max_rows = self._rows_for(limit_bytes)
        self._allocate(min(_FIRST_CAPACITY, self._max_rows))

    @property
    def count(self) -> int:
        """Rows held."""
        return self._count

    @property
    def nbytes(self) -> int:
        """Bytes allocated for columns and extremes."""
        return len(self._axis) * self._row_bytes()

    @property
    def axis(self) -> NDArray[np.int64]:
        """Physics step of each row, (n,); a view that the next append invalidates."""
        return self._axis[: self._count]

    @property
    def time(self) -> NDArray[np.float64]:
        """The scene's own time of each row [s], (n,); a view."""
        return self._time[: self._count]

    @property
    def session_time(self) -> NDArray[np.float64]:
        """Accumulated simulated time of each row [s], (n,); a view."""
        return self._session[: self._count]

    def values(self, component: int) -> NDArray[np.float64]:
        """Values of one component, (n,); a view that the next append invalidates."""
        return self._values[component, : self._count]

    @property
    def breaks(self) -> NDArray[np.int64]:
        """Indices of rows that no line leads into: after a gap or a restore; (m,)."""
        return np.array(self._break_rows, np.int64) - self.evicted

    def segments(self) -> NDArray[np.int64]:
        """Return a number per row, (n,), that changes where no line leads into a row.

        The newest row's is that of its segment, so that rows to come can be told to go on.
        """
        numbers = np.zeros(self._count, np.int64)
        numbers[self.breaks] = 1
        numbers = np.cumsum(numbers)
        return numbers - numbers[-1] + self._last_segment if self._count else numbers

    def append(
        self,
        axis: NDArray[np.int64],
        time: NDArray[np.float64],
        session_time: NDArray[np.float64],
        values: NDArray[np.float64],
        *,
        segment: NDArray[np.int64],
        missing: NDArray[np.int64],
        lost: int = 0,
    ) -> None:
        """Add rows after the newest one.

        ``values`` is (n, width); the others (n,). ``segment`` numbers the stretches without a
        restore, ``missing`` counts the rows that are absent just before each row, ``lost`` those
        of them that the server dropped.
        """
        n = len(axis)
        self.lost += lost
        if not n:
            self._lost_since += lost
            return
        if self._lost_since:
            missing = missing.copy()
            missing[0] = max(int(missing[0]), lost + self._lost_since)
            self._lost_since = 0
        self._note_breaks(segment, missing)
        if n > self._max_rows:
            self._skip(n - self._max_rows)
            first = n - self._max_rows
            axis, time, session_time = axis[first:], time[first:], session_time[first:]
            values = values[first:]
            n = self._max_rows
        self._make_room(n)
        start, end = self._count, self._count + n
        self._axis[start:end] = axis
        self._time[start:end] = time
        self._session[start:end] = session_time
        self._values[:, start:end] = values.T
        self._count = end
        finite = np.isfinite(values)
        if not finite.all():  # to count along the rows takes ten times as long
            self.nonfinite += np.count_nonzero(~finite, axis=0)
        self._update_blocks(start // BLOCK, end // BLOCK)
        self.version += 1

    def limit(self, limit_bytes: int) -> None:
        """Change the memory allowed; gives up the oldest rows when it shrinks below them."""
        self._max_rows = self._rows_for(limit_bytes)
        if len(self._axis) > self._max_rows:
            self._evict(max(self._count - self._max_rows, 0))
            self._reallocate(self._max_rows)

    def rows(self) -> SignalRows:
        """Return a copy of everything held."""
        missing = np.zeros(self._count, np.int64)
        missing[self.breaks] = self._break_missing
        if self._count:
            missing[0] += self.evicted
        return SignalRows(
            self.axis.copy(),
            self.time.copy(),
            self.session_time.copy(),
            self._values[:, : self._count].T.copy(),
            missing,
        )

    def missing_before(self, index: int) -> int:
        """Return how many rows are absent just before row ``index``."""
        position = bisect.bisect_left(self._break_rows, index + self.evicted)
        if position < len(self._break_rows) and (
            self._break_rows[position] == index + self.evicted
        ):
            return self._break_missing[position]
        return 0

    def row_at(self, axis: int) -> int | None:
        """Return the newest row at or before physics step ``axis``, or None."""
        index = int(np.searchsorted(self.axis, axis, "right")) - 1
        return index if index >= 0 else None

    def extremes(self, component: int, start: int, end: int) -> tuple[float, float]:
        """Return the least and greatest finite value of rows [start, end), NaN if there is none."""
        low, high = self.bucket_extremes(component, np.array([start, end]))
        return float(low[0]), float(high[0])

    def bucket_extremes(
        self, component: int, edges: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return least and greatest value of each bucket of rows [edges[i], edges[i + 1]).

        ``edges`` (m + 1,) rises strictly. Inner edges may be off by less than a block when every
        inner bucket is larger than that; the outer two are exact. No value is ever left out.
        """
        start, end = int(edges[0]), int(edges[-1])
        first_block, last_block = -(-start // BLOCK), end // BLOCK
        inner = np.diff(edges)[1:-1]
        fine = len(inner) > 0 and int(inner.min()) < BLOCK
        if fine or last_block <= first_block:
            values = self._finite(component, start, end)
            at = edges[:-1] - start
            return np.fmin.reduceat(values, at), np.fmax.reduceat(values, at)
        blocks = np.clip(edges[:-1] // BLOCK, first_block, last_block - 1)
        blocks[0] = first_block
        low_blocks = self._low[component, first_block:last_block]
        high_blocks = self._high[component, first_block:last_block]
        at = blocks - first_block
        low, high = np.fmin.reduceat(low_blocks, at), np.fmax.reduceat(high_blocks, at)
        for bucket, (a, b) in ((0, (start, first_block * BLOCK)), (-1, (last_block * BLOCK, end))):
            if b > a:
                ragged = self._finite(component, a, b)
                low[bucket] = np.fmin(low[bucket], np.fmin.reduce(ragged))
                high[bucket] = np.fmax(high[bucket], np.fmax.reduce(ragged))
        return low, high

    def _finite(self, component: int, start: int, end: int) -> NDArray[np.float64]:
        values = self._values[component, start:end]
        if self.nonfinite[component]:
            values = np.where(np.isfinite(values), values, np.nan)
        return values

    def _note_breaks(self, segment: NDArray[np.int64], missing: NDArray[np.int64]) -> None:
        previous = np.concatenate(([self._last_segment], segment[:-1]))
        broken = np.flatnonzero((segment != previous) | (missing > 0))
        self._last_segment = int(segment[-1])
        base = self.evicted + self._count
        self._break_rows.extend((broken + base).tolist())
        self._break_missing.extend(missing[broken].tolist())

    def _skip(self, rows: int) -> None:
        """Give up everything held and ``rows`` more that were never stored."""
        self._evict(self._count)
        self.evicted += rows
        self._forget_breaks()

    def _make_room(self, n: int) -> None:
        needed = self._count + n
        if needed <= len(self._axis):
            return
        if needed > self._max_rows:
            over = needed - self._max_rows
            self._evict(min(self._count, max(over, self._max_rows // 4)))
            needed = self._count + n
        if needed > len(self._axis):
            self._reallocate(min(max(needed, 2 * len(self._axis)), self._max_rows))

    def _evict(self, rows: int) -> None:
        """Drop at least ``rows`` oldest rows, in whole blocks so that extremes stay true."""
        rows = min(-(-rows // BLOCK) * BLOCK, self._count)
        if rows <= 0:
            return
        kept = self._count - rows
        for column in (self._axis, self._time, self._session):
            column[:kept] = column[rows : self._count].copy()
        for series in self._values:
            series[:kept] = series[rows : self._count].copy()
        blocks = rows // BLOCK
        for extremes in (self._low, self._high):
            extremes[:, : extremes.shape[1] - blocks] = extremes[:, blocks:].copy()
        self.evicted += rows
        self._count = kept
        self._forget_breaks()
        self.version += 1

    def _forget_breaks(self) -> None:
        gone = bisect.bisect_left(self._break_rows, self.evicted)
        del self._break_rows[:gone], self._break_missing[:gone]

    def _update_blocks(self, first: int, end: int) -> None:
        if end <= first:
            return
        values = self._values[:, first * BLOCK : end * BLOCK]
        values = values.reshape(self.width, -1, BLOCK)
        if self.nonfinite.any():
            values = np.where(np.isfinite(values), values, np.nan)
            self._low[:, first:end] = np.fmin.reduce(values, axis=2)
            self._high[:, first:end] = np.fmax.reduce(values, axis=2)
        else:  # twice as fast as those that leave NaN out
            self._low[:, first:end] = np.minimum.reduce(values, axis=2)
            self._high[:, first:end] = np.maximum.reduce(values, axis=2)

    def _row_bytes(self) -> int:
        return 24 + 8 * self.width + (16 * self.width) // BLOCK

    def _rows_for(self, limit_bytes: int) -> int:
        rows = limit_bytes // self._row_bytes()
        return max(rows // BLOCK, 4) * BLOCK

    def _allocate(self, capacity: int) -> None:
        self._axis = np.empty(capacity, np.int64)
        self._time = np.empty(capacity)
        self._session = np.empty(capacity)
        self._values = np.empty((self.width, capacity))
        self._low = np.empty((self.width, -(-capacity // BLOCK)))
        self._high = np.empty((self.width, -(-capacity // BLOCK)))

    def _reallocate(self, capacity: int) -> None:
        n, blocks = self._count, self._count // BLOCK
        old = (self._axis, self._time, self._session, self._values, self._low, self._high)
        self._allocate(capacity)
        self._axis[:n], self._time[:n], self._session[:n] = old[0][:n], old[1][:n], old[2][:n]
        self._values[:, :n] = old[3][:, :n]
        self._low[:, :blocks] = old[4][:, :blocks]
        self._high[:, :blocks] = old[5][:, :blocks]
