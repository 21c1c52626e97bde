"""Since when contacts have been missing in a scene that has gone on without room for them.

An engine stops before a step that would leave out contacts or constraints. Whoever plays on gets
that step all the same, and each state that follows from it is no valid one.
"""

import bisect
from collections.abc import Sequence
from typing import Final, TypeAlias

from stroboscope.debugger_protocol.time_messages import Segment, SegmentKind, StopInfo, StopReason

__all__ = ["MissingContacts"]

_MOST_STOPS: Final = 512
_MOST_BEGINNINGS: Final = 4096
_Beginning: TypeAlias = tuple[int, int, int]


class MissingContacts:
    """The stops of one scene, or environment, that say of what follows that it is not valid."""

    def __init__(self) -> None:
        self._without_room: list[StopInfo] = []
        self._put_back: set[tuple[int, int]] = set()
        self._at_begin: dict[_Beginning, StopInfo | None] = {}
        """What is known of the first states of segments: scripts may begin thousands."""

    def add(self, stop: StopInfo) -> None:
        """Take in a stop of any kind."""
        self._at_begin.clear()
        if stop.reason is StopReason.ARENA:
            self._without_room = [*self._without_room[-_MOST_STOPS + 1 :], stop]
        if stop.env >= 0 and self._without_room:
            if len(self._put_back) == _MOST_STOPS:
                self._put_back.clear()
            self._put_back.add((stop.axis + 1, stop.physics_step))

    def since(
        self, segments: Sequence[Segment], axis: int, *, is_executed: bool
    ) -> StopInfo | None:
        """Return the stop since which the state before step ``axis`` is not valid; or None.

        ``is_executed``: or that step itself. ``segments``: all that are remembered, oldest first.
        They are followed back through branches and edits: what was restored or reset has no steps
        before it.
        """
        at = bisect.bisect_right(segments, axis, key=lambda each: each.begin) - 1
        if at < 0 or not self._without_room:
            return None
        return self._before(segments, at) or self._within(segments[at], axis + is_executed)

    def _before(self, segments: Sequence[Segment], at: int) -> StopInfo | None:
        """Return the stop since which the first state of a segment is not valid."""
        passed: list[tuple[_Beginning, StopInfo | None]] = []
        found: StopInfo | None = None
        while True:
            segment = segments[at]
            key = segment.segment_id, segment.begin, segment.physics_step
            if key in self._at_begin:
                found = self._at_begin[key]
                break
            at, end = self._continued(segments, at)
            passed.append((key, self._within(segments[at], end) if at >= 0 else None))
            if at < 0:
                break
        if len(self._at_begin) + len(passed) > _MOST_BEGINNINGS:
            self._at_begin.clear()
        for key, within in reversed(passed):
            found = self._at_begin[key] = found or within
        return found

    def _continued(self, segments: Sequence[Segment], at: int) -> tuple[int, int]:
        """Return which segment another one continues, and before which step; -1: none."""
        segment = segments[at]
        if (segment.begin, segment.physics_step) in self._put_back:
            return at - 1, segment.begin - 1
        if segment.kind is SegmentKind.EDIT:
            return at - 1, segment.begin
        if not 0 <= segment.parent_axis < segment.begin:
            return -1, -1
        end = segment.parent_axis
        return bisect.bisect_right(segments, end, key=lambda each: each.begin) - 1, end

    def _within(self, segment: Segment, end: int) -> StopInfo | None:
        """Return the first stop whose step was taken in a segment before ``end``."""
        for stop in self._without_room:
            if segment.begin <= _step_of(stop, segment) < end:
                return stop
        return None


def _step_of(stop: StopInfo, segment: Segment) -> int:
    """Return the axis of the step without room, -1 where it is none of the segment's.

    A stop right before the state was replaced has the same axis, and is of before. An environment
    was put back by a step that the others have taken: the next one is that step again.
    """
    axis = segment.begin + stop.physics_step - segment.physics_step
    return axis if axis in (stop.axis, stop.axis + (stop.env >= 0)) else -1
