"""Since when contacts are missing is followed through branches and edits, and ends with a reset."""

from typing import Any

import msgspec

from stroboscope.debugger_protocol.host.missing_contacts import MissingContacts
from stroboscope.debugger_protocol.time_messages import (
    Segment,
    SegmentKind,
    StopInfo,
    StopReason,
)


def segment(
    kind: SegmentKind, begin: int, *, physics_step: int = 0, parent_axis: int = -1
) -> Segment:
    return Segment(
        segment_id=begin,
        kind=kind,
        begin=begin,
        episode=0,
        physics_step=physics_step,
        parent_axis=parent_axis,
    )


def stop(axis: int, *, physics_step: int) -> StopInfo:
    return StopInfo(
        stop_id=axis,
        reason=StopReason.ARENA,
        axis=axis,
        episode=0,
        step=physics_step,
        physics_step=physics_step,
        time=0.0,
        message="full",
    )


BEGIN = segment(SegmentKind.BEGIN, 0)
FIRST, SECOND = stop(10, physics_step=10), stop(15, physics_step=15)


def since(
    segments: list[Segment], axis: int, *, is_executed: bool = False, stops: tuple[StopInfo, ...]
) -> int | None:
    missing = MissingContacts()
    for each in stops:
        missing.add(each)
    found = missing.since(segments, axis, is_executed=is_executed)
    again = missing.since(segments, axis, is_executed=is_executed)
    assert found is again
    return None if found is None else found.axis


def test_what_follows_from_a_step_without_room_is_not_valid_and_what_is_before_it_is() -> None:
    for axis, is_executed, expected in (
        (10, False, None), (10, True, 10), (11, False, 10), (20, False, 10),
    ):  # fmt: skip
        found = since([BEGIN], axis, is_executed=is_executed, stops=(FIRST, SECOND))
        assert found == expected, axis


def test_a_reset_or_restore_begins_anew_also_right_where_it_has_stopped() -> None:
    for kind in (SegmentKind.EPISODE, SegmentKind.RESTORE):
        anew = [BEGIN, segment(kind, 10)]
        assert since(anew, 30, stops=(FIRST,)) is None
        later = [BEGIN, segment(kind, 12)]
        assert since(later, 11, stops=(FIRST,)) == 10
        assert since(later, 30, stops=(FIRST,)) is None


def test_the_first_step_of_an_episode_may_be_without_room() -> None:
    anew = [BEGIN, segment(SegmentKind.EPISODE, 10)]
    assert since(anew, 11, stops=(stop(10, physics_step=0),)) == 10
    assert since(anew, 10, stops=(stop(10, physics_step=0),)) is None


def test_a_branch_is_as_valid_as_the_row_that_it_continues() -> None:
    before = [BEGIN, segment(SegmentKind.BRANCH, 20, physics_step=9, parent_axis=9)]
    behind = [BEGIN, segment(SegmentKind.BRANCH, 20, physics_step=12, parent_axis=12)]
    just = [BEGIN, segment(SegmentKind.BRANCH, 20, physics_step=10, parent_axis=10)]
    assert since(before, 25, stops=(FIRST,)) is None
    assert since(behind, 25, stops=(FIRST,)) == 10
    assert since(just, 25, stops=(FIRST,)) is None
    assert since(behind, 15, stops=(FIRST,)) == 10


def test_an_edit_does_not_make_it_valid() -> None:
    edited = [BEGIN, segment(SegmentKind.EDIT, 12, physics_step=12, parent_axis=11)]
    assert since(edited, 12, stops=(FIRST,)) == 10
    forgotten = [BEGIN, segment(SegmentKind.EDIT, 12, physics_step=12)]
    assert since(forgotten, 40, stops=(FIRST, SECOND)) == 10


def test_an_environment_takes_the_step_again_that_it_was_put_back_from() -> None:
    put_back = [BEGIN, segment(SegmentKind.RESTORE, 11, physics_step=10)]
    of_one = (msgspec.structs.replace(FIRST, env=0),)
    assert since(put_back, 11, stops=of_one) is None
    assert since(put_back, 12, stops=of_one) == 10
    assert since([BEGIN], 11, stops=of_one) == 10  # it was only marked
    # Another stop puts it back once more, and makes nothing valid.
    fatal = msgspec.structs.replace(SECOND, env=0, reason=StopReason.FATAL)
    put_back.append(segment(SegmentKind.RESTORE, 16, physics_step=15))
    assert since(put_back, 16, stops=(*of_one, fatal)) == 10
    assert since(put_back, 16, stops=of_one) is None


def test_thousands_of_edits_are_followed_once() -> None:
    class Counted(list[Segment]):
        looks = 0

        def __getitem__(self, at: Any) -> Any:
            self.looks += 1
            return super().__getitem__(at)

    missing = MissingContacts()
    missing.add(FIRST)
    segments = Counted([BEGIN])
    for axis in range(12, 3000):
        segments.append(segment(SegmentKind.EDIT, axis, physics_step=axis, parent_axis=axis - 1))
        assert missing.since(segments, axis, is_executed=False) is FIRST
    assert segments.looks < 60 * 3000


def test_a_scene_that_never_lacked_room_is_not_looked_at() -> None:
    assert since([BEGIN], 5, stops=()) is None
    assert since([], 5, stops=(FIRST,)) is None
