"""The marks of the timeline by kind, thinned to what can be told apart."""

import bisect
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.marks import Mark, MarkKind
from stroboscope.app.panels.timeline.scale import AxisScale

__all__ = ["MARK_REACH_PX", "MarkPlaces"]

MARK_REACH_PX = 6.0
"""How near to a mark the pointer is on it."""

# Marks of one kind that stand closer than this [px] are drawn as one.
_SPACING_PX = 9.0


class MarkPlaces:
    """All marks of a scene, by axis; made anew when there are others."""

    def __init__(self, marks: Sequence[Mark] = ()) -> None:
        self.marks = tuple(marks)
        by_kind: dict[MarkKind, list[int]] = {}
        for mark in self.marks:
            by_kind.setdefault(mark.kind, []).append(mark.axis)
        self._axes = {kind: np.array(axes, np.float64) for kind, axes in by_kind.items()}

    def visible(self, kind: MarkKind, scale: AxisScale) -> list[float]:
        """Return where marks of a kind are to be drawn [px]."""
        axes: NDArray[np.float64] | None = self._axes.get(kind)
        if axes is None:
            return []
        margin = 8.0 / scale.per_step
        low = int(np.searchsorted(axes, scale.start - margin, "left"))
        high = int(np.searchsorted(axes, scale.end + margin, "right"))
        x = scale.left + (axes[low:high] - scale.start) * scale.per_step
        if len(x) > 1:
            _, first = np.unique(np.floor(x / _SPACING_PX), return_index=True)
            x = x[first]
        return [float(each) for each in x]

    def near(self, scale: AxisScale, x: float) -> Mark | None:
        """Return the mark under the pointer; what is rare comes before texts and what users did."""
        reach = MARK_REACH_PX / scale.per_step
        axis = scale.axis(x)
        low = bisect.bisect_left(self.marks, axis - reach, key=lambda mark: mark.axis)
        high = bisect.bisect_right(self.marks, axis + reach, key=lambda mark: mark.axis)
        found = self.marks[low:high]
        return min(found, key=lambda m: (m.rank, abs(m.axis - axis)), default=None)

    def together(self, scale: AxisScale, mark: Mark) -> list[Mark]:
        """Return all of its kind that the pointer can't tell from ``mark``, which comes first."""
        reach = MARK_REACH_PX / scale.per_step
        low = bisect.bisect_left(self.marks, mark.axis - reach, key=lambda each: each.axis)
        high = bisect.bisect_right(self.marks, mark.axis + reach, key=lambda each: each.axis)
        others = [m for m in self.marks[low:high] if m.kind is mark.kind and m is not mark]
        return [mark, *others]
