from collections.abc import Callable

import pytest
from oscillator import Scene

from stroboscope.debugger_protocol.host.control import Control, OnDisconnect
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import ControlChanged, PlaybackMode

PAUSED, PLAYING, FAST = PlaybackMode.PAUSED, PlaybackMode.PLAYING, PlaybackMode.FAST_FORWARD
Make = Callable[..., Control]


@pytest.fixture
def announced() -> list[ControlChanged]:
    return []


@pytest.fixture
def make(host: Host, announced: list[ControlChanged]) -> Make:
    def control(
        *,
        grants_control: bool = True,
        on_disconnect: OnDisconnect = OnDisconnect.CONTINUE,
    ) -> Control:
        return Control(
            host,
            mode=PAUSED,
            grants_control=grants_control,
            on_disconnect=on_disconnect,
            announce=announced.append,
        )

    return control


def test_the_first_client_that_does_not_observe_gets_control(host: Host, make: Make) -> None:
    control = make()
    control.joined(1, "watcher", observe=True)
    assert (control.controller, host.playback.mode) == (None, FAST)
    control.joined(2, "window", observe=False)
    assert (control.controller, host.playback.mode) == (2, PAUSED)
    control.joined(3, "other", observe=False)
    assert control.controller == 2


def test_the_last_client_detaches(host: Host, make: Make) -> None:
    control = make()
    control.joined(1, "a", observe=False)
    assert host.playback.attached
    control.left(1, "closed")
    assert not host.playback.attached
    # Whoever comes next begins as the first one did.
    control.joined(2, "b", observe=False)
    assert (control.controller, host.playback.mode) == (2, PAUSED)


def test_an_observer_that_leaves_changes_nothing(
    host: Host, make: Make, announced: list[ControlChanged]
) -> None:
    control = make()
    control.joined(1, "window", observe=False)
    control.joined(2, "watcher", observe=True)
    known = list(announced)
    control.left(2, "closed")
    assert (control.controller, host.playback.mode) == (1, PAUSED)
    assert announced == known


def test_who_only_passes_by_is_not_attached_until_it_has_control(host: Host, make: Make) -> None:
    control = make()
    control.joined(1, "ctl list", observe=True, passing=True)
    assert (control.attached, host.playback.attached) == (0, False)
    control.left(1, "closed")
    assert not host.playback.attached
    control.joined(2, "ctl pause", observe=True, passing=True)
    control.request(2, "ctl pause")
    assert (control.attached, control.controller, host.playback.mode) == (1, 2, PAUSED)
    control.joined(3, "ctl list", observe=True, passing=True)
    control.left(2, "closed")
    # Nobody but the passer-by is left, and nobody controls: that is detached.
    assert (control.attached, host.playback.attached) == (0, False)


def test_a_passer_by_does_not_end_the_waiting_for_a_reconnect(host: Host, make: Make) -> None:
    control = make(on_disconnect=OnDisconnect.HOLD)
    control.joined(1, "window", observe=False)
    control.left(1, "kill -9")
    control.joined(2, "ctl list", observe=True, passing=True)
    assert control.is_held_for_reconnect
    control.left(2, "closed")
    assert control.is_held_for_reconnect
    assert host.playback.attached


def test_the_controllers_going_lets_everything_play_and_is_announced(
    host: Host, make: Make, announced: list[ControlChanged]
) -> None:
    control = make()
    scene = Scene(host)
    control.joined(1, "window", observe=False)
    control.joined(2, "watcher", observe=True)
    host.pause(scene.link.scene_id)
    control.left(1, "kill -9")
    assert host.playback.mode is PLAYING
    assert not scene.link.holds
    assert announced[-1].controller is None
    assert "kill -9" in announced[-1].reason


def test_hold_keeps_everything_for_a_reconnect(host: Host, make: Make) -> None:
    control = make(on_disconnect=OnDisconnect.HOLD)
    scene = Scene(host)
    control.joined(1, "window", observe=False)
    host.play()
    host.pause(scene.link.scene_id)
    control.left(1, "gone")
    assert control.is_held_for_reconnect
    assert host.playback.attached
    assert scene.link.holds
    control.joined(2, "watcher", observe=True)
    control.left(2, "closed")
    assert host.playback.attached
    control.joined(3, "window", observe=False)
    assert (control.controller, host.playback.mode) == (3, PLAYING)
    assert scene.link.holds


def test_control_can_be_asked_for_and_given_up(
    host: Host, make: Make, announced: list[ControlChanged]
) -> None:
    control = make()
    control.joined(1, "window", observe=False)
    control.joined(2, "laptop", observe=False)
    assert "window (client 1) controls" in control.refusal(2)
    control.request(2, "laptop")
    assert control.refusal(2) == ""
    assert "taken from window" in announced[-1].reason
    assert host.playback.mode is PAUSED
    control.release(1)
    assert control.controller == 2
    control.release(2)
    assert (control.controller, host.playback.mode) == (None, PLAYING)
    assert "nobody controls" in control.refusal(1)


def test_who_listens_changes_nothing_and_leaves_nothing_changed(host: Host, make: Make) -> None:
    control = make(grants_control=False)
    control.joined(1, "window", observe=False)
    assert (control.controller, host.playback.mode) == (None, FAST)
    control.request(1, "window")
    assert (control.controller, host.playback.mode) == (1, FAST)
    host.pause()
    control.joined(2, "watcher", observe=True)
    control.left(1, "closed")
    assert host.playback.mode is FAST
