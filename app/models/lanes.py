"""The branches of a scene's time axis as lanes: its own line on top, what was left behind below.

The axis counts steps ever taken, so no two stretches share a place on it. What the scene's present
state follows from is lane 0. A branch leaves the rest of the line that it came from behind: that
goes down to a lane of its own, with a connector from where it forked.
"""

import bisect
import dataclasses
from collections.abc import Sequence

from stroboscope.debugger_protocol.time_messages import Segment, SegmentKind

__all__ = ["MAX_LANES", "Lanes", "Stretch", "lay_out"]

MAX_LANES = 4
"""Lanes of what was left behind; more than these share the last one."""

_FORKS = frozenset({SegmentKind.BRANCH, SegmentKind.RESTORE})


@dataclasses.dataclass(frozen=True, slots=True)
class Stretch:
    """Rows ``begin`` to ``end`` (not included; None: to live) in a lane.

    ``fork``: the row that it continues, in lane ``fork_lane``; -1: it continues what stands before
    it in its own lane, or nothing.
    """

    begin: int
    end: int | None
    lane: int
    fork: int = -1
    fork_lane: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Lanes:
    """All stretches by their begin, and how many lanes there are (1: no branches)."""

    stretches: tuple[Stretch, ...] = ()
    count: int = 1

    def at(self, axis: int) -> Stretch | None:
        """Return the stretch of a row."""
        at = bisect.bisect_right(self.stretches, axis, key=lambda each: each.begin) - 1
        return self.stretches[at] if at >= 0 else None


def _is_fork(segment: Segment) -> bool:
    return segment.kind in _FORKS and 0 <= segment.parent_axis < segment.begin


def lay_out(segments: Sequence[Segment]) -> Lanes:
    """Return the lanes of ``segments`` (rising); costs as much as there are branches."""
    if not segments:
        return Lanes()
    first = segments[0].begin
    forks = {s.begin: s.parent_axis for s in segments if _is_fork(s) and s.begin > first}
    if not forks:
        return Lanes((Stretch(first, None, 0),))
    cuts = sorted({first, *forks, *(p for p in forks.values() if p > first)})
    before = _predecessors(cuts, forks)
    active = _active(before)
    lane = _lanes(cuts, forks, before, active)
    stretches = []
    for at, begin in enumerate(cuts):
        end = cuts[at + 1] if at + 1 < len(cuts) else None
        parent = before[at]
        joins = parent == at - 1 and begin not in forks and lane[at] == lane[parent]
        fork = forks.get(begin, -1 if parent < 0 or joins else begin)
        fork_lane = lane[parent] if parent >= 0 else 0
        stretches.append(Stretch(begin, end, lane[at], fork, fork_lane))
    return Lanes(tuple(stretches), max(lane) + 1)


def _predecessors(cuts: list[int], forks: dict[int, int]) -> list[int]:
    """Return which piece each piece continues, -1 for none."""
    before = []
    for at, begin in enumerate(cuts):
        if begin not in forks:
            before.append(at - 1)
        else:
            # The row that a branch continues may be gone: then it continues nothing.
            before.append(bisect.bisect_left(cuts, forks[begin]) - 1)
    return before


def _active(before: list[int]) -> set[int]:
    """Return the pieces that the present state follows from."""
    found, at = set(), len(before) - 1
    while at >= 0:
        found.add(at)
        at = before[at]
    return found


def _lanes(
    cuts: list[int], forks: dict[int, int], before: list[int], active: set[int]
) -> list[int]:
    """Return the lane of each piece: 0 for the active ones, else the highest that is free."""
    strand_of: list[int] = []
    span: dict[int, tuple[int, int]] = {}  # of each strand left behind: from its fork to its end
    for at, begin in enumerate(cuts):
        end = cuts[at + 1] if at + 1 < len(cuts) else begin + 1
        parent = before[at]
        goes_on = parent >= 0 and parent == at - 1 and begin not in forks and parent not in active
        strand = strand_of[parent] if goes_on and at not in active else at
        strand_of.append(strand)
        if at in active:
            continue
        start = span[strand][0] if strand in span else min(begin, forks.get(begin, begin))
        span[strand] = (start, end)
    taken: list[int] = []  # until where each lane is taken
    lane_of: dict[int, int] = {}
    for strand, (start, end) in sorted(span.items(), key=lambda each: each[1]):
        free = next((n for n, until in enumerate(taken) if until <= start), len(taken))
        free = min(free, MAX_LANES - 1)
        if free == len(taken):
            taken.append(end)
        else:
            taken[free] = max(taken[free], end)
        lane_of[strand] = free + 1
    return [0 if at in active else lane_of[strand_of[at]] for at in range(len(cuts))]
