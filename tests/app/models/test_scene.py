"""A scene chooses the instant it shows, and subscribes to what is wanted."""

from stroboscope.debugger_protocol.messages import (
    OwnerActivity,
    PlaybackMode,
    SceneDescribed,
    SceneRestored,
    Subscribe,
    Unsubscribe,
)
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.time_messages import SceneHistory
from stroboscope.debugger_protocol.topics import Instant, Topic


def test_a_running_scene_shows_its_newest_instant(scene, make_frame, make_status):
    scene.set_status(make_status())
    assert scene.instant() is None
    scene.add_frame(make_frame(Topic.POSE, Instant.NOW, axis=1))
    assert scene.instant() is Instant.NOW
    scene.add_frame(make_frame(Topic.POSE, Instant.EXECUTED, axis=5))
    assert scene.instant() is Instant.EXECUTED


def test_a_paused_scene_shows_what_is_preferred_and_never_an_old_now(
    scene, make_frame, make_status
):
    scene.add_frame(make_frame(Topic.POSE, Instant.NOW, axis=1))
    scene.add_frame(make_frame(Topic.POSE, Instant.EXECUTED, axis=5))
    scene.set_status(make_status(mode=PlaybackMode.PAUSED))
    assert scene.instant(Instant.NOW) is Instant.EXECUTED
    scene.add_frame(make_frame(Topic.POSE, Instant.NOW, axis=6))
    assert scene.instant(Instant.NOW) is Instant.NOW
    assert scene.instant(Instant.EXECUTED) is Instant.EXECUTED


def test_what_is_looked_at_is_shown_whole_or_not_at_all(scene, make_frame, make_status):
    scene.set_status(make_status(mode=PlaybackMode.PAUSED))
    scene.add_frame(make_frame(Topic.POSE, Instant.NOW, axis=9))
    scene.add_frame(make_frame(Topic.STATE, Instant.NOW, axis=9))
    changes = []
    scene.status_changed.connect(lambda: changes.append(scene.instant()))
    # A late frame of an earlier look, and the view goes to another row: nothing of it is shown.
    scene.add_frame(make_frame(Topic.POSE, Instant.PAST, axis=3))
    scene.session.receive(SceneHistory(scene_id=7, keeps=True, rows=9, view=5))
    assert changes == [Instant.NOW]
    scene.add_frame(make_frame(Topic.POSE, Instant.PAST, axis=5))
    assert scene.instant(Instant.EXECUTED) is Instant.PAST
    assert scene.frame_set((Topic.POSE, Topic.STATE)) is None  # the rest is on its way
    scene.add_frame(make_frame(Topic.STATE, Instant.PAST, axis=5))
    both = scene.frame_set((Topic.POSE, Topic.STATE))
    assert (both.instant, both.axis) == (Instant.PAST, 5)
    scene.session.receive(SceneHistory(scene_id=7, keeps=True, rows=9))
    assert changes[-1] is Instant.NOW
    assert not scene.has_instant(Instant.PAST)


def test_another_instant_is_told_when_its_pose_comes_last(scene, make_frame, make_status):
    """Who shows joints needs no pose: the state of NOW was there, and nobody looked again."""
    scene.set_status(make_status(mode=PlaybackMode.PAUSED))
    for topic in (Topic.POSE, Topic.STATE):
        scene.add_frame(make_frame(topic, Instant.NOW, axis=1))
        scene.add_frame(make_frame(topic, Instant.EXECUTED, axis=5))
    told = []
    scene.status_changed.connect(lambda: told.append(scene.frame_set((Topic.STATE,)).instant))
    scene.add_frame(make_frame(Topic.STATE, Instant.NOW, axis=6))
    assert told == []
    scene.add_frame(make_frame(Topic.POSE, Instant.NOW, axis=6))
    assert told == [Instant.NOW]
    scene.add_frame(make_frame(Topic.POSE, Instant.NOW, axis=7))
    assert told == [Instant.NOW]


def test_a_restore_forgets_frames_of_before(scene, make_frame):
    scene.add_frame(make_frame(Topic.POSE, Instant.EXECUTED, axis=5))
    seen = []
    scene.restored.connect(seen.append)
    scene.session.receive(SceneRestored(scene_id=7, reason="restore", axis=5, time=0.0))
    assert seen == ["restore"]
    assert scene.instant() is None
    assert scene.restored_at == (5, 0.0)


def test_topics_are_subscribed_once_and_dropped_when_nobody_wants_them(scene, sent):
    scene.want("view", (Topic.POSE, Topic.STATE))
    scene.want("inspector", (Topic.STATE,))
    (subscribe,) = sent.of(Subscribe)
    assert set(subscribe.topics) == {Topic.POSE, Topic.STATE}
    scene.want("view", ())
    (unsubscribe,) = sent.of(Unsubscribe)
    assert unsubscribe.topics == (Topic.POSE,)


def test_a_topic_comes_as_often_as_the_keenest_view_can_use_it(scene, sent):
    scene.want("table", (Topic.STATE, Topic.BODIES), rate=10.0)
    scene.want("view", (Topic.STATE,))
    assert [(s.topics, s.max_rate_hz) for s in sent.of(Subscribe)] == [
        ((Topic.BODIES, Topic.STATE), 10.0),
        ((Topic.STATE,), 60.0),
    ]
    sent.clear()
    scene.set_rate(5.0)
    assert {topic for s in sent.of(Subscribe) for topic in s.topics} == {Topic.STATE, Topic.BODIES}
    assert {s.max_rate_hz for s in sent.of(Subscribe)} == {5.0}
    scene.set_rate(60.0)
    sent.clear()
    scene.want("view", ())
    assert [(s.topics, s.max_rate_hz) for s in sent.of(Subscribe)] == [((Topic.STATE,), 10.0)]
    assert sent.of(Unsubscribe) == []


def test_nothing_is_sent_for_a_scene_that_is_gone(scene, sent):
    scene.want("view", (Topic.POSE,))
    scene.set_gone()
    sent.clear()
    scene.want("inspector", (Topic.STATE,))
    scene.want("view", ())
    assert sent == []


def test_frames_of_another_revision_are_ignored(scene, make_frame):
    described = SceneDescribed(description=SceneDescription(scene_id=7, name="Arm", revision=1))
    scene.session.receive(described)
    scene.add_frame(make_frame(Topic.POSE, Instant.NOW))
    assert scene.instant() is None
    older = SceneDescription(scene_id=7, name="Arm", revision=0)
    scene.set_description(older)
    assert scene.description is not older


def test_a_scene_stands_still_when_its_now_has_arrived(scene, make_frame, make_status):
    scene.set_status(make_status(axis=10, activity=OwnerActivity.PARKED))
    scene.add_frame(make_frame(Topic.POSE, Instant.NOW, axis=9))
    assert not scene.stands_still
    scene.add_frame(make_frame(Topic.POSE, Instant.NOW, axis=10))
    assert scene.stands_still


def test_what_is_subscribed_is_asked_for_anew_at_another_rate_and_once(scene, sent):
    scene.set_rate(30.0)
    assert sent.of(Subscribe) == []
    scene.want("view", (Topic.POSE,))
    scene.set_rate(8.0)
    scene.set_rate(8.0)
    first, second = sent.of(Subscribe)
    assert (first.topics, first.max_rate_hz) == ((Topic.POSE,), 30.0)
    assert (second.topics, second.max_rate_hz) == ((Topic.POSE,), 8.0)
