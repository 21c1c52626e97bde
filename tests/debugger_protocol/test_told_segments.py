"""Segments that are told once: as many as a message holds, and none lost while it waits."""

import msgspec
import pytest

from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.outgoing import OutgoingLanes
from stroboscope.debugger_protocol.time_messages import SceneHistory, Segment, SegmentKind
from stroboscope.debugger_protocol.told_segments import (
    MOST_SEGMENTS,
    join_histories,
    newest_segments,
)


def episodes(begin, end, text=""):
    return tuple(
        Segment(segment_id=n, kind=SegmentKind.EPISODE, begin=10 * n, episode=n, text=text)
        for n in range(begin, end)
    )


def history(begin, end, *, older):
    return SceneHistory(scene_id=1, keeps=True, segments=episodes(begin, end), older_segments=older)


def test_everything_is_told_where_it_has_room():
    assert newest_segments(()) == ()
    assert newest_segments(episodes(0, 20_000)) == episodes(0, 20_000)


@pytest.mark.parametrize("text", ["", "reset by the script because it had fallen over " * 40])
def test_the_newest_are_told_where_there_is_no_room_for_all(text):
    many = episodes(0, MOST_SEGMENTS + 3, text)
    told = newest_segments(many)
    assert told == many[-len(told) :]
    assert len(told) == MOST_SEGMENTS if not text else 1000 < len(told) < MOST_SEGMENTS
    message = SceneHistory(scene_id=1, keeps=True, segments=told)
    assert len(msgspec.msgpack.encode(message)) < Limits().server_message_bytes * 3 // 4


def test_what_waits_is_not_lost_to_news_that_tell_the_newest_only():
    lanes = OutgoingLanes(Limits())
    lanes.put_snapshot([history(0, 5000, older=0)])
    lanes.put(history(4900, 5028, older=4900))
    lanes.put(history(4901, 5029, older=4901))
    waiting = lanes.next()
    assert waiting.segments == episodes(0, 5029)
    assert waiting.older_segments == 0
    assert lanes.next() is None


def test_what_is_forgotten_with_its_rows_is_not_told_again():
    joined = join_histories(history(0, 500, older=0), history(450, 578, older=5))
    assert joined.segments == episodes(445, 578)
    assert joined.older_segments == 0
    assert join_histories(history(0, 500, older=0), history(450, 578, older=0)).segments == (
        episodes(450, 578)
    )
