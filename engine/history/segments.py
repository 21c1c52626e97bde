"""Stretches of the axis in which every state follows from the one before."""

import bisect
import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from stroboscope.debugger_protocol.time_messages import Segment
from stroboscope.engine.history.model_watch import ModelChange
from stroboscope.engine.model_option_fields import FIELD_OPTION

__all__ = ["LOST_FIELDS", "MOST_NUMBERS", "Options", "SegmentList", "Stretch", "digest_of_motion"]

LOST_FIELDS: Final = "what the model's fields were then is not remembered"
MOST_NUMBERS: Final = 500_000
"""Numbers of model fields that the stretches of one scene have at most, some 30 bytes each."""
_DIGEST_BYTES: Final = 16
Options = Mapping[str, tuple[float, ...]]
"""Values by name: of physics options that somebody has edited in the debugger, and of fields of the
model that somebody has written into, ``model.body_mass``, flat."""


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
    lost: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """What of the model had values that no row can carry, with a check of them."""
    fields_before: Options | None = None
    """The model's fields right before the begin; None where nothing was written after that."""
    lost_before: Mapping[str, int] | None = None
    """The same of ``lost``."""
    left: bytes = b""
    """Where the step before has led, which another state took the place of, as
    :func:`digest_of_motion` says it; empty where that is not known."""

    def with_model(self, change: ModelChange | None) -> "Stretch":
        """Return it with what was written into the model meanwhile; None: nothing was."""
        if change is None:
            return self
        return dataclasses.replace(self, model_since=change.since, model_text=change.text)

    def amended(self, options: Options, lost: Mapping[str, int], change: ModelChange) -> "Stretch":
        """Return it with what was written into the model once more, before its first step."""
        before, lost_before = self.fields_before, self.lost_before
        since, text = self.model_since, self.model_text
        if before is None and self.has_unknown_begin:
            before, lost_before = self.options, self.lost
        if since >= 0:
            change = ModelChange(since, change.axis, "; ".join(filter(None, (text, change.text))))
        made = dataclasses.replace(
            self, options=options, lost=lost, fields_before=before, lost_before=lost_before
        )
        return made.with_model(change)

    def settled(self) -> "Stretch":
        """Return it as if it was known that its model begins where it does."""
        if not self.has_unknown_begin:
            return self
        return dataclasses.replace(
            self, model_since=self.segment.begin, fields_before=None, lost_before=None
        )

    def in_place_of(self, other: "Stretch") -> "Stretch":
        """Return it with what was written before ``other``, which nothing came of."""
        if other.segment.begin != self.segment.begin:
            return self
        left = other.left or self.left
        if not other.has_unknown_begin:
            return dataclasses.replace(self, left=left)
        text = "; ".join(filter(None, (other.model_text, self.model_text)))
        is_same = other.fields_before is None
        return dataclasses.replace(
            self,
            model_since=other.model_since,
            model_text=text,
            fields_before=other.options if is_same else other.fields_before,
            lost_before=other.lost if is_same else other.lost_before,
            left=left,
        )

    @property
    def has_unknown_begin(self) -> bool:
        """Whether nobody knows which step was the first that was taken with its model."""
        return 0 <= self.model_since < self.segment.begin


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
        self._numbers = 0
        """How many numbers of model fields there are, or more."""
        self._doubts: list[tuple[int, int, str]] = []
        self.fields_from = 0
        """Of steps before this axis it is not remembered what the model's fields were."""
        for stretch in recorded:
            self.open(stretch)
        self._recorded = len(self._stretches)

    def open(self, stretch: Stretch) -> Stretch:
        """Append a stretch, numbered here; it takes the place of one that nothing came of."""
        kept = max(bisect.bisect_left(self._begins, stretch.segment.begin), self._recorded)
        for other in reversed(self._stretches[kept:]):
            stretch = stretch.in_place_of(other)
        begins, numbered = [stretch.segment.begin], self._numbered([stretch])
        numbers = self._with_room_for(stretch, behind=kept - 1)
        # Nothing but stores, which no handler of a signal comes between.
        self._begins[kept:], self._stretches[kept:] = begins, numbered
        self._next_id, self._told, self._numbers = self._next_id + 1, None, numbers
        return numbered[0]

    def amend(self, stretch: Stretch) -> Stretch:
        """Have another one in the place of the last one, which begins where that begins."""
        numbers = self._with_room_for(stretch, behind=len(self._stretches) - 2)
        self._stretches[-1], self._numbers = stretch, numbers
        return stretch

    def put_in_place(self, stretch: Stretch, others: Sequence[Stretch]) -> None:
        """Have others, in the order of the axis, where there was one stretch."""
        at = self._stretches.index(stretch)
        begins, numbered = [each.segment.begin for each in others], self._numbered(others)
        following = self._next_id + len(others)
        # Nothing but stores, which no handler of a signal comes between.
        self._begins[at : at + 1], self._stretches[at : at + 1] = begins, numbered
        self._next_id, self._told = following, None

    def _with_room_for(self, stretch: Stretch, *, behind: int) -> int:
        """Return how many numbers of fields there are with one more stretch.

        The oldest ones go where these are too many.
        """
        added = _numbers_of(stretch, self._stretches[behind] if behind >= 0 else None)
        if self._numbers + added <= MOST_NUMBERS:
            return self._numbers + added
        pairs = zip([None, *self._stretches], self._stretches, strict=False)
        numbers = [_numbers_of(each, before) for before, each in pairs]
        left = sum(numbers[self._recorded :])
        for place in range(self._recorded, len(self._stretches) - 1):
            if left <= MOST_NUMBERS // 2:
                break
            left -= numbers[place]
            old = self._stretches[place]
            plain = {n: v for n, v in old.options.items() if not n.startswith(FIELD_OPTION)}
            self.fields_from = self._begins[place + 1]
            self._stretches[place] = dataclasses.replace(old, options=plain)
        return left + added

    def _numbered(self, stretches: Sequence[Stretch]) -> list[Stretch]:
        """Return stretches with the numbers that come next."""
        made = []
        for number, stretch in enumerate(stretches, self._next_id):
            segment = msgspec.structs.replace(stretch.segment, segment_id=number)
            made.append(dataclasses.replace(stretch, segment=segment))
        return made

    def clear(self) -> None:
        """Forget all but those of a recorded past."""
        del self._stretches[self._recorded :], self._begins[self._recorded :]
        self._numbers = self.fields_from = 0
        if not self._recorded:  # else they may be of rows that stay
            self._doubts.clear()
        self._told = None

    def forget_before(self, axis: int) -> None:
        """Forget the segments that end before ``axis``."""
        while self._doubts and self._doubts[0][1] <= axis and not self._recorded:
            del self._doubts[0]
        gone = bisect.bisect_right(self._begins, axis) - 1
        if gone > 0 and not self._recorded:
            del self._begins[:gone], self._stretches[:gone]
            self._told = None

    def doubt(self, first: int, end: int, text: str) -> None:
        """Note that it is not known what the model was in the steps ``first`` to ``end`` - 1."""
        if first < end:
            bisect.insort(self._doubts, (first, end, text))

    @property
    def doubts(self) -> tuple[tuple[int, int, str], ...]:
        """What :meth:`doubt` has noted, in the order of the axis."""
        return tuple(self._doubts)

    def doubt_of(self, axis: int) -> str:
        """Return why it is not known what the model was in a step; empty where it is."""
        at = bisect.bisect_right(self._doubts, axis, key=_first_of) - 1
        return self._doubts[at][2] if at >= 0 and axis < self._doubts[at][1] else ""

    def doubt_within(self, first: int, end: int) -> str:
        """The same of the steps ``first`` to ``end`` - 1, of the first one that has one."""
        for begin, behind, text in self._doubts:
            if begin < end and first < behind:
                return text
        return ""

    def of(self, axis: int) -> Stretch | None:
        """Return what ``axis`` lies in; None before the first."""
        index = bisect.bisect_right(self._begins, axis) - 1
        return self._stretches[index] if index >= 0 else None

    def after(self, stretch: Stretch) -> Stretch | None:
        """Return the next one; None behind the last."""
        index = bisect.bisect_right(self._begins, stretch.segment.begin)
        return self._stretches[index] if index < len(self._stretches) else None

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


def digest_of_motion(motion: bytes | memoryview) -> bytes:
    """Return a digest of :func:`~stroboscope.engine.data_views.motion_of` a state."""
    return hashlib.blake2b(motion, digest_size=_DIGEST_BYTES).digest()


def _first_of(doubt: tuple[int, int, str]) -> int:
    return doubt[0]


def _numbers_of(stretch: Stretch, before: Stretch | None) -> int:
    """Return how many numbers of fields a stretch has that the one before hasn't."""
    known = {} if before is None else before.options
    return sum(
        len(values)
        for name, values in stretch.options.items()
        if name.startswith(FIELD_OPTION) and known.get(name) is not values
    )
