"""What waits for the window between two looks: in an order in which nothing true is overwritten."""

import numpy as np

from stroboscope.app.models.network import Closed, Received, _Inbox
from stroboscope.debugger_protocol.arrays import pack_arrays
from stroboscope.debugger_protocol.messages import (
    Frame,
    LogEntry,
    LogLevel,
    SceneAdded,
    SceneChannels,
    SceneRemoved,
    ServerMessage,
)
from stroboscope.debugger_protocol.topics import Instant, Topic


def frame(topic: Topic, channel: str = "qpos") -> Frame:
    arrays = {"axis": np.arange(3), "time": np.zeros(3), channel: np.zeros((3, 1))}
    entries, blob = pack_arrays(arrays)
    return Frame(
        scene_id=1,
        topic=topic,
        instant=Instant.NOW,
        revision=0,
        axis=3,
        step=3,
        time=0.0,
        dropped=0,
        arrays=entries,
        blob=blob,
    )


def test_the_last_state_of_a_session_arrives_before_its_end(make_status) -> None:
    inbox = _Inbox()
    last = [
        Received(1, make_status()),
        Received(1, frame(Topic.POSE)),
        Received(1, frame(Topic.SIGNALS)),
    ]
    others = Received(2, frame(Topic.POSE))
    for event in (*last, others):
        inbox.put(event)
    inbox.put(Closed(1, "script.py ended"))
    batch = inbox.take()
    assert batch.events == [*last, Closed(1, "script.py ended")]
    assert batch.latest == [others]


def taken(*messages: ServerMessage) -> list[ServerMessage]:
    inbox = _Inbox()
    for message in messages:
        inbox.put(Received(1, message))
    return [event.message for event in inbox.take().events if isinstance(event, Received)]


def test_of_a_scene_that_came_and_went_unseen_only_its_end_and_its_log_are_told() -> None:
    entry = LogEntry(level=LogLevel.INFO, text="fell", wall_time=0.0, scene_id=2)
    before, after = SceneRemoved(scene_id=1), SceneAdded(scene_id=3, name="Scene")
    told = taken(
        before,
        SceneAdded(scene_id=2, name="Scene"),
        SceneChannels(scene_id=2, channels=()),
        entry,
        SceneRemoved(scene_id=2),
        after,
        SceneChannels(scene_id=3, channels=()),
    )
    assert told == [
        before,
        entry,
        SceneRemoved(scene_id=2),
        after,
        SceneChannels(scene_id=3, channels=()),
    ]


def test_a_scene_that_comes_again_under_its_number_is_told() -> None:
    messages = (SceneRemoved(scene_id=1), SceneAdded(scene_id=1, name="Scene"))
    assert taken(*messages) == list(messages)
