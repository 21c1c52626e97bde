"""The lanes of the timeline as pixels: what is too narrow to be told apart becomes one block."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.lanes import Lanes, Stretch
from stroboscope.app.panels.timeline.scale import AxisScale

__all__ = ["Block", "LaneStretches"]

# Stretches narrower than this [px] are drawn together, and connectors shorter than this not at all.
_NARROW_PX = 4.0
_MOST_CONNECTORS = 80


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """Stretches too narrow to be told apart, from ``left`` to ``right`` [px] in a lane."""

    lane: int
    left: float
    right: float


class LaneStretches:
    """The stretches of all lanes; made anew when there are others."""

    def __init__(self, lanes: Lanes | None = None) -> None:
        self.lanes = lanes or Lanes()
        all_of_them = self.lanes.stretches
        self._begin = np.array([s.begin for s in all_of_them], np.float64)
        self._end = np.array([np.inf if s.end is None else s.end for s in all_of_them], np.float64)
        self._lane = np.array([s.lane for s in all_of_them], np.int64)
        fork = np.array([s.fork for s in all_of_them], np.float64)
        self._fork = np.where(fork < 0.0, self._begin, fork)

    def visible(self, scale: AxisScale, live: int) -> tuple[list[Stretch], list[Block]]:
        """Return the stretches in sight that are wide enough, and blocks for the others."""
        end = np.minimum(self._end, live)
        seen = (self._begin <= scale.end) & (end >= scale.start) & (end > self._begin)
        wide = (end - self._begin) * scale.per_step >= _NARROW_PX
        # The newest one is always there: it says where the scene stands.
        if len(wide):
            wide[-1] = True
        stretches = [self.lanes.stretches[at] for at in np.flatnonzero(seen & wide)]
        return stretches, self._blocks(seen & ~wide, end, scale)

    def pieces(
        self, begin: NDArray[np.float64], end: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the lanes, begins and ends of spans, (n,) each, cut where stretches begin."""
        if not len(self._begin):
            return np.zeros(len(begin), np.int64), begin, end
        first = np.maximum(np.searchsorted(self._begin, begin, "right") - 1, 0)
        last = np.maximum(np.searchsorted(self._begin, end, "left") - 1, first)
        counts = last - first + 1
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        at = np.repeat(first, counts) + within
        begins = np.where(within > 0, self._begin[at], np.repeat(begin, counts))
        following = np.append(self._begin[1:], np.inf)
        return self._lane[at], begins, np.minimum(following[at], np.repeat(end, counts))

    def connectors(self, scale: AxisScale) -> list[Stretch]:
        """Return the stretches whose connectors can be seen, the longest of too many."""
        length = (self._begin - self._fork) * scale.per_step
        seen = (self._fork <= scale.end) & (self._begin >= scale.start)
        # A rest that was left behind begins where it forks: it only goes down.
        found = np.flatnonzero(seen & ((length >= _NARROW_PX) | (length == 0.0)))
        found = np.array([at for at in found if self.lanes.stretches[at].fork >= 0], np.int64)
        if len(found) > _MOST_CONNECTORS:
            longest = np.argsort(length[found], kind="stable")[-_MOST_CONNECTORS:]
            found = np.sort(found[longest])
        return [self.lanes.stretches[at] for at in found]

    def _blocks(
        self, which: NDArray[np.bool_], end: NDArray[np.float64], scale: AxisScale
    ) -> list[Block]:
        at = np.flatnonzero(which)
        if not len(at):
            return []
        width = int(scale.width) + 2
        columns = (self._begin[at] - scale.start) * scale.per_step
        left = np.clip(np.floor(columns), 0, width).astype(np.int64)
        right = np.clip(np.ceil((end[at] - scale.start) * scale.per_step), 0, width)
        filled = np.zeros((self.lanes.count, width + 2), np.int64)
        np.add.at(filled, (self._lane[at], left), 1)
        np.add.at(filled, (self._lane[at], np.maximum(right.astype(np.int64), left + 1)), -1)
        covered = np.cumsum(filled, axis=1) > 0
        blocks = []
        for lane in range(self.lanes.count):
            edges = np.flatnonzero(np.diff(np.concatenate(([False], covered[lane], [False]))))
            blocks += [
                Block(lane, scale.left + float(a), scale.left + float(b))
                for a, b in zip(edges[::2], edges[1::2], strict=True)
            ]
        return blocks
