"""A session keeps track of what it asked for and what was answered."""

from stroboscope.app.models.session import SessionState
from stroboscope.debugger_protocol.messages import (
    ControlChanged,
    Done,
    Failed,
    FailureKind,
    Pause,
    SceneAdded,
    SceneRemoved,
    SceneStatus,
    SetSpeed,
)


def test_a_command_is_pending_until_it_is_answered(session, sent):
    command = session.send(lambda i: Pause(id=i))
    assert session.pausing_since is not None
    session.receive(Done(id=command))
    assert session.pausing_since is None
    assert [type(m) for m in sent] == [Pause]


def test_a_refusal_is_told_with_the_command_it_answers(session):
    refused = []
    session.refused.connect(
        lambda pending, failed: refused.append((pending.message, failed.reason))
    )
    command = session.send(lambda i: Pause(id=i))
    session.receive(Failed(id=command, kind=FailureKind.REFUSED, reason="not now"))
    assert [(type(message), reason) for message, reason in refused] == [(Pause, "not now")]


def test_the_speed_that_was_asked_for_counts_at_once(session):
    session.send(lambda i: SetSpeed(id=i, speed=0.5))
    assert session.speed == 0.5


def test_control_is_known_from_announcements(session):
    assert session.has_control
    session.receive(ControlChanged(controller=2, reason="taken over"))
    assert not session.has_control
    session.receive(ControlChanged(controller=None, reason="free"))
    assert not session.has_control


def test_a_lost_session_keeps_its_scenes_and_sends_nothing(session, scene, sent):
    session.lost("killed")
    assert session.state is SessionState.LOST
    assert scene.is_stale
    assert not scene.gone
    assert session.send(lambda i: Pause(id=i)) is None
    assert sent == []


def test_scenes_come_and_go(session):
    seen = []
    session.scene_added.connect(lambda s: seen.append(("+", s.name)))
    session.scene_removed.connect(lambda s: seen.append(("-", s.name)))
    session.receive(SceneAdded(scene_id=1, name="A"))
    session.receive(SceneAdded(scene_id=1, name="A2"))
    session.receive(SceneRemoved(scene_id=1))
    session.receive(SceneRemoved(scene_id=1))
    assert seen == [("+", "A"), ("-", "A2")]


def test_a_status_about_an_unknown_scene_is_ignored(session, make_status):
    status: SceneStatus = make_status(scene_id=99)
    session.receive(status)
    assert session.scenes == {}
