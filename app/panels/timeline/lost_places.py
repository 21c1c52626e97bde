"""Rows of a file that can't be read, as gaps in the lanes: what lies side by side is one."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.file_health import LostFrames
from stroboscope.app.panels.timeline.scale import AxisScale
from stroboscope.app.panels.timeline.stretches import LaneStretches

__all__ = ["LEAST_GAP_PX", "LostGap", "LostPlaces", "whole_parts"]

LEAST_GAP_PX = 3.0
"""How wide a gap is drawn at least: one lost row among millions is seen, too."""


@dataclasses.dataclass(frozen=True, slots=True)
class LostGap:
    """Lost rows in a lane, from ``left`` to ``right``: whole pixels, also beyond the picture."""

    lane: int
    left: float
    right: float


class LostPlaces:
    """All lost rows of a scene, which are told oldest first; made anew when there are others."""

    def __init__(self, lost: Sequence[LostFrames] = ()) -> None:
        self.lost = tuple(lost)
        self._begin = np.array([each.first for each in self.lost], np.float64)
        end = np.array([each.last + 1 for each in self.lost], np.float64)
        self._end = np.maximum.accumulate(end) if len(end) else end

    def visible(self, scale: AxisScale, live: int, stretches: LaneStretches) -> list[LostGap]:
        """Return the gaps in sight, each at least ``LEAST_GAP_PX`` wide, by lane and place."""
        seen = self._within(scale.start, scale.end, LEAST_GAP_PX / scale.per_step)
        begin = self._begin[seen]
        if not len(begin):
            return []
        # The last frame of a file has no step of its own: it stands at the end of the line.
        end = np.maximum(np.minimum(self._end[seen], live), begin)
        lanes, begin, end = stretches.pieces(begin, end)
        left, right = (scale.left + (x - scale.start) * scale.per_step for x in (begin, end))
        middle, half = 0.5 * (left + right), np.maximum(0.5 * (right - left), 0.5 * LEAST_GAP_PX)
        left = np.floor(middle - half + 0.5)
        right = np.maximum(np.floor(middle + half + 0.5), left + LEAST_GAP_PX)
        gaps = []
        for lane in np.unique(lanes).tolist():
            mine = lanes == lane
            gaps += [LostGap(lane, a, b) for a, b in _merged(left[mine], right[mine])]
        return gaps

    def near(self, scale: AxisScale, x: float) -> tuple[LostFrames, ...]:
        """Return what is lost under the pointer, or right beside it: gaps may be narrow."""
        axis = scale.axis(x)
        return self.lost[self._within(axis, axis, LEAST_GAP_PX / scale.per_step)]

    def _within(self, first: float, last: float, margin: float) -> slice:
        """Return those that lie between two places of the axis, or nearer to it than ``margin``."""
        low = int(np.searchsorted(self._end, first - margin, "right"))
        high = int(np.searchsorted(self._begin, last + margin, "left"))
        return slice(low, max(high, low))


def whole_parts(
    gaps: Sequence[LostGap], lane: int, left: float, right: float
) -> Iterator[tuple[float, float]]:
    """Yield what lies between the gaps of a lane from ``left`` to ``right`` [px], rising."""
    for gap in gaps:
        if gap.lane == lane and gap.right > left and gap.left < right:
            if gap.left > left:
                yield left, gap.left
            left = gap.right
    if left < right:
        yield left, right


def _merged(left: NDArray[np.float64], right: NDArray[np.float64]) -> list[tuple[float, float]]:
    """Return spans, rising by ``left``, of which those that touch are one."""
    reach = np.maximum.accumulate(right)
    begins = np.flatnonzero(np.r_[True, left[1:] > reach[:-1]])
    ends = np.r_[begins[1:], len(left)] - 1
    return list(zip(left[begins].tolist(), reach[ends].tolist(), strict=True))
