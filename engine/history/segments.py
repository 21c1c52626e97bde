"""Stretches of the axis in which every state follows from the one before."""

import bisect
import dataclasses
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from stroboscope.debugger_protocol.time_messages import Segment

__all__ = ["Options", "SegmentList", "Stretch"]

Options = Mapping[str, tuple[float, ...]]
"""Values of physics options by name: of those that somebody has edited in the debugger."""


@dataclasses.dataclass(frozen=True, slots=True)
class Stretch:
    """A segment, how many application steps had ever been taken at its begin, and its options.

    ``model_since``: the physics step after which the script has written into the model, before the
    begin at the latest; -1 where it hasn't. ``model_text``: what, in words.
    """

    segment: Segment
    total_steps: int
    options: Options
    model_since: int = -1
    model_text: str = ""


class SegmentList:
    """The segments of one scene in the order of the axis; owner thread only.

    ``recorded``: those of a past that is never forgotten, in order; they are numbered here.
    """

    def __init__(self, recorded: Sequence[Stretch] = ()) -> None:
        self._stretches: list[Stretch] = []
        self._begins: list[int] = []
        self._told: tuple[Segment, ...] | None = ()
        self._next_id = 1
        self._recorded = 0
        for stretch in recorded:
            self.open(stretch.segment, total_steps=stretch.total_steps, options=stretch.options)
        self._recorded = len(self._stretches)

    def open(self, segment: Segment, *, total_steps: int, options: Options) -> Segment:
        """Append a segment, numbered here; it takes the place of one that nothing came of."""
        begin = segment.begin
        kept = max(bisect.bisect_left(self._begins, begin), self._recorded)
        numbered = msgspec.structs.replace(segment, segment_id=self._next_id)
        begins, stretches = [begin], [Stretch(numbered, total_steps, options)]
        # Nothing but stores, which no handler of a signal comes between.
        self._begins[kept:], self._stretches[kept:] = begins, stretches
        self._next_id, self._told = numbered.segment_id + 1, None
        return numbered

    def clear(self) -> None:
        """Forget all but those of a recorded past."""
        del self._stretches[self._recorded :], self._begins[self._recorded :]
        self._told = None

    def forget_before(self, axis: int) -> None:
        """Forget the segments that end before ``axis``."""
        gone = bisect.bisect_right(self._begins, axis) - 1
        if gone > 0 and not self._recorded:
            del self._begins[:gone], self._stretches[:gone]
            self._told = None

    def of(self, axis: int) -> Stretch | None:
        """Return what ``axis`` lies in; None before the first."""
        index = bisect.bisect_right(self._begins, axis) - 1
        return self._stretches[index] if index >= 0 else None

    def end_of(self, stretch: Stretch, live: int) -> int:
        """Return the axis of the state after the last step of a stretch."""
        index = bisect.bisect_right(self._begins, stretch.segment.begin)
        return self._begins[index] if index < len(self._begins) else live

    def newest_first(self) -> Iterator[Stretch]:
        """Go through them from the newest to the oldest."""
        return reversed(self._stretches)

    @property
    def last(self) -> Stretch | None:
        """The newest one."""
        return self._stretches[-1] if self._stretches else None

    def told(self) -> tuple[Segment, ...]:
        """Return them all, oldest first; the same object while nothing changed."""
        if self._told is None:
            self._told = tuple(stretch.segment for stretch in self._stretches)
        return self._told
