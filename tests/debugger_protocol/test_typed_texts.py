"""Texts of messages are as they are typed; names, which are asked for by, stay what they are."""

import msgspec

from stroboscope.debugger_protocol import messages as m
from stroboscope.debugger_protocol import time_messages as t
from stroboscope.debugger_protocol.typed_texts import with_typed_texts

STOP = t.StopInfo(
    stop_id=1,
    reason=t.StopReason.EXPLODING,
    axis=5,
    episode=0,
    step=5,
    physics_step=5,
    time=0.1,
    message="t = 0.1\u2009s: force \u22123\u2009N",
    body="leg 2\u2009m",
    what_if=(("a timestep of 0.001\u2009s", ()),),
)


def test_sentences_are_typed_and_names_are_not() -> None:
    told = with_typed_texts(m.SceneStops(scene_id=1, stops=(STOP,), count=1))
    assert told.count == 1
    assert told.stops[0] == msgspec.structs.replace(
        STOP, message="t = 0.1 s: force -3 N", what_if=(("a timestep of 0.001 s", ()),)
    )
    added = m.SceneAdded(scene_id=1, name="leg 2\u2009m")
    assert with_typed_texts(added) is added


def test_what_is_typed_already_is_the_same_object() -> None:
    segments = tuple(
        t.Segment(segment_id=at, kind=t.SegmentKind.EPISODE, begin=at, episode=at)
        for at in range(100)
    )
    history = m.SceneHistory(scene_id=1, keeps=True, segments=segments)
    assert with_typed_texts(history) is history
    text = "timestep: 0.002 → 0.001\u2009s"
    edited = (*segments, msgspec.structs.replace(segments[-1], text=text))
    told = with_typed_texts(msgspec.structs.replace(history, segments=edited))
    assert told.segments[:-1] == segments
    assert told.segments[-1].text == "timestep: 0.002 → 0.001 s"
