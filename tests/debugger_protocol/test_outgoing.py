"""The lanes of one client: bounded, ordered, and honest about what they lost."""

import itertools

import msgspec
import numpy as np
import pytest

from stroboscope.debugger_protocol import messages as m
from stroboscope.debugger_protocol.arrays import pack_arrays
from stroboscope.debugger_protocol.exceptions import LimitExceeded
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.outgoing import FrameQueue, OutgoingLanes
from stroboscope.debugger_protocol.scene_description import ChannelInfo, SceneDescription
from stroboscope.debugger_protocol.topics import Instant, Topic


def frame(step, *, topic=Topic.POSE, scene_id=1, rows=1, instant=Instant.EXECUTED, name="x"):
    arrays = {name: np.zeros((rows, 3))}
    if topic is Topic.SIGNALS:
        arrays = {"axis": np.arange(step, step + rows), **arrays}
    entries, blob = pack_arrays(arrays)
    return m.Frame(
        scene_id=scene_id,
        topic=topic,
        instant=instant,
        revision=0,
        axis=step,
        step=step,
        time=0.0,
        dropped=0,
        arrays=entries,
        blob=blob,
    )


def status(scene_id, step=0):
    return m.SceneStatus(
        scene_id=scene_id,
        mode=m.PlaybackMode.PLAYING,
        held=False,
        hold_reason="",
        step_count=step,
        physics_step_count=step,
        total_steps=step,
        axis=step,
        time=0.0,
        rtf=None,
        throttled=False,
        activity=m.OwnerActivity.STEPPING,
        activity_s=0.0,
        location="",
    )


def drain(lanes):
    out = []
    while (message := lanes.next()) is not None:
        out.append(message)
    return out


@pytest.fixture
def lanes():
    return OutgoingLanes(Limits(signal_queue_bytes=20_000))


def test_a_newer_frame_replaces_the_older_and_counts_it(lanes):
    for step in range(10):
        lanes.put(frame(step))
    [only] = drain(lanes)
    assert (only.step, only.dropped) == (9, 9)
    lanes.put(frame(10))
    [after] = drain(lanes)
    assert after.dropped == 0


def test_slots_are_apart_by_scene_topic_and_instant_and_leave_in_turn(lanes):
    for step in range(3):
        lanes.put(frame(step))
        lanes.put(frame(step, scene_id=2))
        lanes.put(frame(step, topic=Topic.ENERGY))
        lanes.put(frame(step, instant=Instant.NOW))
    out = drain(lanes)
    assert [(f.scene_id, f.topic, f.instant, f.step) for f in out] == [
        (1, Topic.POSE, Instant.EXECUTED, 2),
        (2, Topic.POSE, Instant.EXECUTED, 2),
        (1, Topic.ENERGY, Instant.EXECUTED, 2),
        (1, Topic.POSE, Instant.NOW, 2),
    ]


def test_signals_are_appended_in_order_and_lost_rows_are_an_explicit_gap(lanes):
    for i in range(100):
        lanes.put(frame(i * 10, topic=Topic.SIGNALS, rows=10))
    assert lanes.frames.signal_bytes <= 20_000
    out = drain(lanes)
    steps = [f.step for f in out]
    assert steps == sorted(steps)
    assert steps[-1] == 990
    assert out[0].dropped == steps[0]
    assert all(f.dropped == 0 for f in out[1:])
    assert out[0].dropped + 10 * len(out) == 1000


def test_gaps_are_counted_for_the_stream_that_lost_rows():
    queue = FrameQueue(Limits(signal_queue_bytes=2000))
    queue.put(frame(0, topic=Topic.SIGNALS, rows=5, name="reward"))
    for i in range(10):
        queue.put(frame(i, topic=Topic.SIGNALS, name="qpos"))
    queue.put(frame(11, topic=Topic.SIGNALS, name="reward"))
    dropped = {}
    while (f := queue.next()) is not None:
        name = f.arrays[-1].name
        dropped[name] = dropped.get(name, 0) + f.dropped
    assert dropped["reward"] == 5


def test_control_goes_first_and_in_order(lanes):
    lanes.put(frame(1))
    lanes.put(m.SceneAdded(scene_id=1, name="Arm"))
    lanes.put(m.Done(id=1))
    assert [type(x) for x in drain(lanes)] == [m.SceneAdded, m.Done, m.Frame]


def test_control_that_overflows_raises_with_the_numbers(lanes):
    for i in range(256):
        lanes.put(m.Done(id=i))
    with pytest.raises(LimitExceeded, match="257 control messages"):
        lanes.put(m.Done(id=256))


def test_statuses_are_replaced_where_they_stand_and_never_overflow(lanes):
    for step in range(1000):
        for scene_id in range(3):
            lanes.put(status(scene_id, step))
        if step == 0:
            lanes.put(m.Done(id=1))
        lanes.put(m.SessionStatus(mode=m.PlaybackMode.PAUSED, speed=1, controller=None, clients=1))
        lanes.put(m.Heartbeat())
    out = drain(lanes)
    assert [getattr(x, "step_count", None) for x in out[:3]] == [999] * 3
    assert isinstance(out[3], m.Done)
    assert len(out) == 6


def test_a_newer_description_replaces_one_that_waits(lanes):
    for revision in range(3):
        description = SceneDescription(scene_id=1, name="Arm", revision=revision)
        lanes.put(m.SceneDescribed(description=description))
    [only] = drain(lanes)
    assert only.description.revision == 2


def test_the_snapshot_does_not_count(lanes):
    lanes.put_snapshot(m.SceneAdded(scene_id=i, name="") for i in range(1000))
    for i in range(256):
        lanes.put(m.Done(id=i))
    assert len(drain(lanes)) == 1256


def test_room_returns_when_control_leaves(lanes):
    for i in range(2000):
        lanes.put(m.Done(id=i))
        lanes.next()
    assert lanes.next() is None


def test_log_entries_drop_the_oldest_and_say_how_many(lanes):
    for i in range(300):
        lanes.put(m.LogEntry(level=m.LogLevel.INFO, text=str(i), wall_time=0.0))
    out = drain(lanes)
    assert out[0].text.startswith("44 log entries")
    assert [x.text for x in out[1:]] == [str(i) for i in range(44, 300)]


def test_a_removed_scene_takes_its_waiting_frames_along(lanes):
    lanes.put(frame(1))
    lanes.put(frame(1, topic=Topic.SIGNALS))
    lanes.put(frame(1, scene_id=2))
    lanes.put(frame(1, scene_id=2, topic=Topic.SIGNALS))
    lanes.put(m.SceneRemoved(scene_id=1))
    assert {x.scene_id for x in drain(lanes)[1:]} == {2}
    assert lanes.frames.signal_bytes == 0


def test_assets_and_frames_take_turns(lanes):
    for i in range(4):
        lanes.put(m.AssetChunk(id=i, digest="", offset=0, total=0, data=b""))
        lanes.put(frame(i, scene_id=i))
    kinds = [type(x).__name__ for x in drain(lanes)]
    assert kinds.count("Frame") == kinds.count("AssetChunk") == 4
    assert all(a != b for a, b in itertools.pairwise(kinds))


def test_resets_that_a_client_can_not_follow_are_counted_not_fatal(lanes):
    for i in range(1000):
        lanes.put(m.SceneRestored(scene_id=1, reason="reset", axis=i, time=0.0))
    [only] = drain(lanes)
    assert (only.axis, only.count) == (999, 1000)
    lanes.put(m.SceneRestored(scene_id=1, reason="reset", axis=1000, time=0.0))
    assert drain(lanes)[0].count == 1


def test_any_number_of_scenes_may_come_and_go_at_once(lanes):
    lanes.put(m.SceneAdded(scene_id=0, name="known"))
    drain(lanes)
    for i in range(1, 2000):
        lanes.put(m.SceneAdded(scene_id=i, name="brief"))
        lanes.put(status(i))
        lanes.put(m.SceneRestored(scene_id=i, reason="", axis=0, time=0.0))
    for i in range(1, 1999):
        lanes.put(m.SceneRemoved(scene_id=i))
    lanes.put(m.SceneRemoved(scene_id=0))
    out = drain(lanes)
    assert [(type(x), x.scene_id) for x in out] == [
        (m.SceneAdded, 1999),
        (m.SceneStatus, 1999),
        (m.SceneRestored, 1999),
        (m.SceneRemoved, 0),
    ]


def test_channels_that_wait_are_joined(lanes):
    for name in ("reward", "obs", "reward"):
        channel = ChannelInfo(name=name)
        lanes.put(m.SceneChannels(scene_id=1, channels=(channel,)))
    [only] = drain(lanes)
    assert [channel.name for channel in only.channels] == ["reward", "obs"]


def test_a_restore_discards_older_values_that_wait_and_no_signals():
    queue = FrameQueue(Limits())
    queue.put(frame(1, topic=Topic.SIGNALS, rows=4))
    queue.put(frame(4))
    queue.put(frame(5, instant=Instant.NOW))
    queue.discard_values(1, before=5)
    left = [(f.topic, f.axis) for f in iter(queue.next, None)]
    assert left == [(Topic.SIGNALS, 1), (Topic.POSE, 5)]


def test_of_interventions_checkpoints_and_findings_only_the_newest_waits(lanes):
    for index in range(1000):
        lanes.put(m.SceneInterventions(scene_id=1, overrides=((index, 0.5),)))
        lanes.put(m.SceneCheckpoints(scene_id=1, checkpoints=()))
        lanes.put(m.SceneFindings(scene_id=1, findings=()))
    interventions, checkpoints, findings = drain(lanes)
    assert interventions.overrides == ((999, 0.5),)
    assert isinstance(checkpoints, m.SceneCheckpoints)
    assert isinstance(findings, m.SceneFindings)


def test_of_what_is_said_of_a_scenes_past_only_the_newest_waits(lanes):
    for index in range(1000):
        lanes.put(m.SceneHistory(scene_id=1, keeps=True, rows=index))
        lanes.put(m.SceneRollouts(scene_id=1, rollouts=(), dropped=index))
        lanes.put(m.SceneStops(scene_id=1, stops=(), count=index))
        lanes.put(m.SceneConditions(scene_id=1, conditions=()))
        lanes.put(m.Environments(scene_id=1, count=4, selected=index % 4))
        lanes.put(m.SceneRecording(scene_id=1, recordings=()))
        lanes.put(m.SceneGhosts(scene_id=1))
    history, rollouts, stops, conditions, environments, recording, ghosts = drain(lanes)
    assert (history.rows, rollouts.dropped, stops.count) == (999, 999, 999)
    assert isinstance(conditions, m.SceneConditions)
    assert environments.selected == 3
    assert isinstance(recording, m.SceneRecording)
    assert isinstance(ghosts, m.SceneGhosts)


def test_edits_that_wait_are_replaced_by_newer_states_and_the_oldest_are_dropped():
    lanes = OutgoingLanes(Limits(edits=3))
    for edit_id in range(1000):
        for text in ("begun", "done"):
            edit = m.SceneEdited(scene_id=1, edit_id=edit_id, text=text, axis=0, time=0.0)
            lanes.put(edit)
    lanes.put(msgspec.structs.replace(edit, edit_id=998, reverted=True))
    lanes.put(msgspec.structs.replace(edit, scene_id=2, edit_id=5))
    told = [(each.scene_id, each.edit_id, each.text, each.reverted) for each in drain(lanes)]
    assert told == [
        (1, 997, "done", False),
        (1, 998, "done", True),
        (1, 999, "done", False),
        (2, 5, "done", False),
    ]
    lanes.put(edit)
    lanes.put(m.SceneRemoved(scene_id=1))
    assert [type(each) for each in drain(lanes)] == [m.SceneRemoved]


def test_nothing_is_said_about_edits_of_a_scene_that_is_gone_before_it_was_announced(lanes):
    lanes.put(m.SceneAdded(scene_id=1, name="Arm"))
    lanes.put(m.SceneInterventions(scene_id=1, perturbed_body=2))
    lanes.put(m.SceneEdited(scene_id=1, edit_id=1, text="", axis=0, time=0.0))
    lanes.put(m.SceneRemoved(scene_id=1))
    assert drain(lanes) == []
