"""From rows to the few points that a screen can show, losing no spike and bridging no gap."""

import dataclasses
import itertools

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.signal_columns import SignalColumns

__all__ = ["Polyline", "visible_polyline"]

# Up to this many rows per pixel column every row is drawn.
_RAW_ROWS_PER_COLUMN = 2
# Beyond this many visible breaks only the widest are kept as breaks: they would be less than a
# few pixels apart anyway.
_MAX_RUNS = 32


@dataclasses.dataclass(frozen=True, slots=True)
class Polyline:
    """Points ready to draw.

    ``x`` session time [s], ``y`` finite values, both (n,); ``connect`` (n,) bool: a line leads
    from this point to the next. ``dots`` (m,) indices of points without any line.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    connect: NDArray[np.bool_]
    dots: NDArray[np.intp]

    @property
    def extremes(self) -> tuple[float, float] | None:
        """Least and greatest y, or None when there is no point."""
        return (float(self.y.min()), float(self.y.max())) if len(self.y) else None


def visible_polyline(
    columns: SignalColumns, component: int, *, start: float, end: float, pixels: int
) -> Polyline:
    """Return what to draw of one component between two session times [s].

    At most about two points per pixel column and break; the least and greatest value of every
    column are among them. One row beyond each side is included so that lines leave the picture.
    """
    x = columns.session_time
    first = max(int(np.searchsorted(x, start, "left")) - 1, 0)
    last = min(int(np.searchsorted(x, end, "right")) + 1, len(x))
    if last <= first:
        return _finished(np.empty(0), np.empty(0), np.empty(0, np.bool_))
    breaks = columns.breaks
    breaks = breaks[(breaks > first) & (breaks < last)]
    pixels = max(pixels, 16)
    if last - first <= _RAW_ROWS_PER_COLUMN * pixels:
        connect = np.ones(last - first, np.bool_)
        connect[breaks - first - 1] = False
        connect[-1] = False
        y = columns.values(component)[first:last]
        return _finished(x[first:last].copy(), y.copy(), connect)
    breaks = _widest(breaks, x)
    width = (end - start) / pixels
    edges = np.concatenate(([first], breaks, [last]))
    runs = [
        _run(columns, component, a, b, (start, end, width))
        for a, b in itertools.pairwise(edges.tolist())
    ]
    connects = []
    for run_x, _ in runs:
        connect = np.ones(len(run_x), np.bool_)
        connect[-1] = False
        connects.append(connect)
    return _finished(
        np.concatenate([run_x for run_x, _ in runs]),
        np.concatenate([run_y for _, run_y in runs]),
        np.concatenate(connects),
    )


def _widest(breaks: NDArray[np.int64], x: NDArray[np.float64]) -> NDArray[np.int64]:
    if len(breaks) < _MAX_RUNS:
        return breaks
    jumps = x[breaks] - x[breaks - 1]
    return np.sort(breaks[np.argsort(jumps)[-(_MAX_RUNS - 1) :]])


def _run(
    columns: SignalColumns,
    component: int,
    first: int,
    last: int,
    view: tuple[float, float, float],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return two points per column for the rows [first, last).

    ``view`` is the start, the end and the width of a column, in seconds.
    """
    start, end, width = view
    x = columns.session_time[first:last]
    values = columns.values(component)
    # Columns stand at multiples of their width, so that a view that follows does not flicker.
    left, right = max(float(x[0]), start), min(float(x[-1]), end)
    column = np.arange(np.floor(left / width), np.floor(right / width) + 1)
    inner = np.searchsorted(x, column * width, "left") + first
    # They rise already; unique() would sort, and take longer than all the rest.
    edges = np.concatenate(([first], inner, [last])).astype(np.int64)
    edges = edges[np.concatenate(([True], np.diff(edges) > 0))]
    if last - first <= 2 * len(edges):
        return x.copy(), values[first:last].copy()
    low, high = columns.bucket_extremes(component, edges)
    rising = values[edges[:-1]] <= values[edges[1:] - 1]
    points_x = np.empty(2 * len(low))
    points_y = np.empty(2 * len(low))
    points_x[0::2] = x[edges[:-1] - first]
    points_x[1::2] = x[edges[1:] - 1 - first]
    points_y[0::2] = np.where(rising, low, high)
    points_y[1::2] = np.where(rising, high, low)
    return points_x, points_y


def _finished(
    x: NDArray[np.float64], y: NDArray[np.float64], connect: NDArray[np.bool_]
) -> Polyline:
    """Leave out what is not finite (and the lines to it), find the lonely points."""
    finite = np.isfinite(y)
    if not finite.all():
        connect[:-1] &= finite[1:]
        x, y, connect = x[finite], y[finite], connect[finite]
    joined = connect.copy()
    joined[1:] |= connect[:-1]
    return Polyline(x, y, connect, np.flatnonzero(~joined))
