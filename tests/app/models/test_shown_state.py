"""The badge's words."""

import pytest

from stroboscope.app.models.session import SessionState
from stroboscope.app.models.shown_state import (
    StateKind,
    activity,
    activity_text,
    rate_text,
    shown_state,
)
from stroboscope.debugger_protocol.messages import (
    OwnerActivity,
    Pause,
    PlaybackMode,
    SessionStatus,
)
from stroboscope.debugger_protocol.topics import Instant, Topic


def test_without_anything_it_says_not_connected():
    assert shown_state(None, None).kind is StateKind.NONE


def test_playing_paused_and_fast_forward(scene, make_status, make_frame):
    scene.set_status(make_status())
    assert shown_state(scene, scene.session).word == "PLAYING"
    scene.set_status(make_status(mode=PlaybackMode.FAST_FORWARD))
    assert shown_state(scene, scene.session).word == "FAST FORWARD"
    scene.add_frame(make_frame(Topic.POSE, Instant.NOW, axis=10))
    scene.set_status(make_status(mode=PlaybackMode.PAUSED, activity=OwnerActivity.PARKED))
    state = shown_state(scene, scene.session)
    assert state.word == "PAUSED"
    assert "predicted" in state.detail


def test_a_held_scene_says_why_and_where(scene, make_status):
    scene.set_status(
        make_status(
            mode=PlaybackMode.PAUSED,
            held=True,
            hold_reason="reward fell",
            activity=OwnerActivity.PARKED,
        )
    )
    state = shown_state(scene, scene.session)
    assert (state.kind, state.detail) == (StateKind.HELD, "reward fell (train.py:118)")


def test_a_scene_that_waits_for_another_says_so(scene, make_status):
    scene.set_status(make_status(waiting_for="Rollout 7"))
    assert shown_state(scene, scene.session).detail == "waiting for Rollout 7"


def test_a_pause_that_takes_long_says_what_it_waits_for(scene, make_status):
    scene.set_status(make_status(activity=OwnerActivity.USER_CODE, activity_s=3.2))
    scene.session.send(lambda i: Pause(id=i))
    now = scene.session.pausing_since + 0.8
    scene.status_received = now
    state = shown_state(scene, scene.session, now=now)
    assert state.kind is StateKind.PAUSING
    assert state.word == "PAUSING… 0.8 s"
    assert state.detail == "busy in your code 3.2 s, train.py:118"


def test_an_instant_pause_does_not_flicker(scene, make_status):
    scene.set_status(make_status())
    scene.session.send(lambda i: Pause(id=i))
    now = scene.session.pausing_since + 0.01
    assert shown_state(scene, scene.session, now=now).kind is StateKind.PLAYING


def test_disconnected_keeps_the_reason(scene, make_status):
    scene.set_status(make_status())
    scene.session.lost("the application ended")
    state = shown_state(scene, scene.session)
    assert state.kind is StateKind.DISCONNECTED
    assert "the application ended" in state.detail


def test_connecting_and_live(session):
    assert shown_state(None, session).kind is StateKind.LIVE
    session.state = SessionState.CONNECTING
    assert shown_state(None, session).kind is StateKind.CONNECTING


@pytest.mark.parametrize("activity", list(OwnerActivity))
def test_every_activity_has_words(make_status, activity):
    assert activity_text(make_status(activity=activity, activity_s=1.25))


def test_the_rate_names_measured_and_target(scene, make_status):
    scene.set_status(make_status())
    scene.session.receive(
        SessionStatus(mode=PlaybackMode.PLAYING, speed=0.25, controller=1, clients=1)
    )
    assert rate_text(scene) == "0.98× of 1/4×"
    scene.set_status(make_status(mode=PlaybackMode.FAST_FORWARD, rtf=38.4))
    assert rate_text(scene) == "38.4× of max"
    scene.set_status(make_status(rtf=None))
    assert rate_text(scene) == ""


def test_a_scene_that_is_served_and_never_stepped_says_so_however_old_that_is(scene, make_status):
    still = make_status(activity=OwnerActivity.STEPPING, activity_s=0.0, rtf=None, total_steps=0)
    scene.set_status(still)
    for now in (scene.status_received, scene.status_received + 60.0):
        state = shown_state(scene, scene.session, now=now)
        assert state.kind is StateKind.LIVE
        assert "does not step it" in state.detail
    assert activity_text(still, elapsed=60.0) == "served, not stepped"


def test_an_owner_that_steps_freely_is_not_said_to_hang_in_a_step(make_status):
    stepping = make_status(activity=OwnerActivity.STEPPING, activity_s=0.0)
    assert activity_text(stepping, elapsed=5.0) == "stepping"
    slow = make_status(activity=OwnerActivity.STEPPING, activity_s=2.0)
    assert activity_text(slow, elapsed=1.0).startswith("in a physics step 3.0 s")
    # Apart, where there is not room for both in one line.
    assert activity(slow, elapsed=1.0) == ("in a physics step 3.0 s", slow.location)
    assert activity(stepping, elapsed=5.0) == ("stepping", "")


@pytest.mark.parametrize(
    ("reason", "farewell", "kind"),
    [
        ("train.py ended (exit code 0)", True, StateKind.ENDED),
        ("the application stopped its debug server", True, StateKind.ENDED),
        ("train.py ended with ValueError: no", True, StateKind.FAILED),
        ("train.py ended with exit code 0", True, StateKind.ENDED),
        ("train.py ended (exit code 2)", True, StateKind.FAILED),
        ("the application ended or closed the connection", False, StateKind.DISCONNECTED),
    ],
)
def test_what_an_application_said_when_it_left_decides_what_its_end_is_called(
    scene, make_status, reason, farewell, kind
):
    scene.set_status(make_status())
    scene.session.lost(reason, farewell=farewell)
    state = shown_state(scene, scene.session)
    assert (state.kind, state.detail) == (kind, reason)
