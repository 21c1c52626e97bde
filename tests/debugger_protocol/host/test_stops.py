"""Stops hold one scene before the step that they are about; rules and conditions say which."""

import math
from collections.abc import Callable

import pytest
from remembering import GuardedStepper

from stroboscope.debugger_protocol import messages as m
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host, HostListener
from stroboscope.debugger_protocol.host.playback import HoldKind
from stroboscope.debugger_protocol.host.server import DebugServer
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.time_messages import StopReason

Connect = Callable[..., DebuggerClient]
Remember = Callable[..., GuardedStepper]


def held(client: DebuggerClient, scene_id: int) -> bool:
    return any(
        s.held and s.activity is m.OwnerActivity.PARKED
        for s in client.scenes()
        if s.scene_id == scene_id
    )


def stopped(client: DebuggerClient, scene_id: int, count: int = 1) -> bool:
    return client.stop_rules(scene_id).count >= count


def stands(stepper: GuardedStepper) -> bool:
    """Whether the scene is held: it has put back the step that it was stopped in."""
    return stepper.scene.link.owner.parked_in is not None


def spoil(stepper: GuardedStepper) -> None:
    """Give the scene an input that is no number, as a script with a bug would."""
    stepper.scene.backend.ctrl = math.nan


def test_a_scene_that_goes_bad_is_held_before_the_bad_step_and_others_run_on(
    connect: Connect, remember: Remember
) -> None:
    client, bad, good = connect(), remember("bad"), remember("good")
    client.fast_forward()
    assert client.wait_until(lambda c: all(s.axis > 50 for s in c.scenes()), 60)
    spoil(bad)
    assert client.wait_until(lambda c: held(c, bad.id) and stopped(c, bad.id) and stands(bad), 60)
    (stop,) = client.stops(bad.id)
    assert (stop.reason, stop.held, stop.stop_id) == (StopReason.NON_FINITE, True, 1)
    backend = bad.scene.backend
    assert stop.axis == backend.axis
    assert stop.physics_step == backend.physics_step_count
    assert math.isfinite(backend.q)
    scene = next(s for s in client.scenes() if s.scene_id == bad.id)
    assert scene.hold_reason == stop.message == "qvel of spring is nan"
    assert client.wait_until(lambda c: any(e.scene_id == bad.id for e in c._log), 60)
    entry = next(e for e in client.log_entries() if e.scene_id == bad.id)
    assert (entry.level, entry.text) == (m.LogLevel.ERROR, "qvel of spring is nan. Cause: ctrl.")
    axis = next(s.axis for s in client.scenes() if s.scene_id == good.id)
    assert client.wait_until(
        lambda c: next(s.axis for s in c.scenes() if s.scene_id == good.id) > axis + 100, 60
    )
    assert client.session_status.mode is PlaybackMode.FAST_FORWARD


@pytest.mark.parametrize("goes_on", ["play", "step", "fast_forward"])
def test_going_on_runs_the_bad_step_once_unguarded_and_the_next_one_is_guarded(
    connect: Connect, remember: Remember, goes_on: str
) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 5)
    spoil(stepper)
    client.play()
    assert client.wait_until(lambda c: stopped(c, stepper.id), 60)
    getattr(client, goes_on)(*([stepper.id] if goes_on == "step" else []))
    if goes_on == "step":
        assert stepper.scene.backend.axis == 6
        assert math.isnan(stepper.scene.backend.v)
        assert client.stop_rules(stepper.id).count == 1
        return
    assert client.wait_until(lambda c: stopped(c, stepper.id, 2) and stands(stepper), 60)
    assert stepper.scene.backend.axis == 6


def test_a_restored_scene_is_guarded_again(connect: Connect, remember: Remember) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 5)
    spoil(stepper)
    client.play()
    assert client.wait_until(lambda c: stopped(c, stepper.id), 60)
    client.restore_initial(stepper.id)
    (scene,) = client.scenes()
    assert scene.hold_reason == "initial state restored, after it had stopped"
    spoil(stepper)
    client.play()
    assert client.wait_until(lambda c: stopped(c, stepper.id, 2), 60)


def test_a_step_that_stops_is_answered_with_the_reason(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    client.step(stepper.id, 2)
    spoil(stepper)
    with pytest.raises(CommandError, match="step was interrupted: the scene has stopped: qvel of"):
        client.step(stepper.id, 10)
    assert stepper.scene.backend.axis == 2


def test_rules_are_switched_off_mark_only_or_stop_all(connect: Connect, remember: Remember) -> None:
    client, bad, good = connect(), remember("bad"), remember("good")
    client.set_stop_rules(bad.id, mark_only=True)
    client.fast_forward()
    spoil(bad)
    assert client.wait_until(lambda c: stopped(c, bad.id), 60)
    assert not client.stops(bad.id)[0].held
    assert not held(client, bad.id)
    client.set_stop_rules(bad.id, off=["non_finite"])
    rules = client.stop_rules(bad.id)
    assert (rules.off, rules.mark_only) == ((StopReason.NON_FINITE,), False)
    axis = bad.scene.backend.axis
    assert client.wait_until(lambda c: c.scenes()[0].axis > axis + 50, 60)
    client.set_stop_rules(bad.id, stop_all=True)
    assert client.wait_until(lambda c: held(c, bad.id), 60)
    assert client.wait_until(lambda c: c.session_status.mode is PlaybackMode.PAUSED, 60)
    assert not held(client, good.id)


def test_a_condition_stops_where_it_becomes_true(connect: Connect, remember: Remember) -> None:
    client, stepper = connect(), remember()
    condition = client.break_when(stepper.id, "qpos < 0.5", name="half way")
    client.fast_forward()
    assert client.wait_until(lambda c: held(c, stepper.id), 60)
    backend = stepper.scene.backend
    assert backend.q >= 0.5
    (stop,) = client.stops(stepper.id)
    assert (stop.reason, stop.condition_id) == (StopReason.CONDITION, condition)
    assert client.wait_until(lambda c: any(stop.message in e.text for e in c._log), 60)
    levels = {entry.level for entry in client.log_entries() if stop.message in entry.text}
    assert levels == {m.LogLevel.WARNING}, "what was asked for was logged as an error"
    client.step(stepper.id)
    assert backend.q < 0.5
    (info,) = client.conditions(stepper.id)
    assert (info.name, info.hit_count) == ("half way", 1)
    client.remove_condition(condition)
    assert client.conditions(stepper.id) == ()


def test_a_condition_that_is_found_after_its_step_leaves_the_next_step_guarded(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    stepper.memory.takes_nothing_back = True
    client.break_when(stepper.id, "qpos < 0.5")
    client.fast_forward()
    assert client.wait_until(lambda c: held(c, stepper.id), 60)
    backend = stepper.scene.backend
    assert backend.q < 0.5
    assert client.stops(stepper.id)[0].axis == backend.axis - 1
    axis = backend.axis
    stepper.memory.takes_nothing_back = False
    spoil(stepper)
    client.play()
    assert client.wait_until(lambda c: stopped(c, stepper.id, 2), 60)
    assert client.stops(stepper.id)[-1].axis == axis


def test_conditions_count_hits_stop_once_only_log_and_are_edited(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    second = client.break_when(stepper.id, "qpos < 0", hits=2, once=True)
    marked = client.break_when(stepper.id, "qpos > 0", log_only=True)
    client.fast_forward()
    assert client.wait_until(lambda c: held(c, stepper.id), 60)
    assert [each.held for each in client.stops(stepper.id)] == [False, True]
    assert client.wait_until(
        lambda c: [each.condition_id for each in c.conditions(stepper.id)] == [marked], 60
    )
    with pytest.raises(CommandError, match=f"there is no condition {second}"):
        client.remove_condition(second, scene_id=stepper.id)
    client.edit_condition(marked, log_only=False, expression="qvel > 0")
    (info,) = client.conditions(stepper.id)
    assert (info.expression, info.log_only, info.hit_count) == ("qvel > 0", False, 1)
    client.edit_condition(marked, enabled=False)
    client.fast_forward()
    axis = stepper.scene.backend.axis
    assert client.wait_until(lambda c: c.scenes()[0].axis > axis + 2000, 60)
    with pytest.raises(CommandError, match="hits must be"):
        client.edit_condition(marked, hits=0)
    with pytest.raises(CommandError, match="is no condition"):
        client.break_when(stepper.id, "banana")
    with pytest.raises(CommandError, match="needs an expression"):
        client.break_when(stepper.id, "  ")


def test_rules_and_conditions_outlive_the_window_and_hold_before_the_first_step(
    server: DebugServer, host: Host, remember: Remember
) -> None:
    stepper = remember()
    with DebuggerClient.connect(server.connection_file) as client:
        assert client.wait_until(lambda c: bool(c.scenes()), 60)
        condition = client.break_when(stepper.id, "qpos < 0.999")
        client.set_stop_rules(stepper.id, off=["warning"])
    with DebuggerClient.connect(server.connection_file) as client:
        assert client.wait_until(lambda c: bool(c.scenes()), 60)
        assert [each.condition_id for each in client.conditions(stepper.id)] == [condition]
        assert client.stop_rules(stepper.id).off == (StopReason.WARNING,)
        client.edit_state(stepper.id, "qpos", 0, [1.0])
        with pytest.raises(CommandError, match=r"qpos < 0\.999"):
            client.step(stepper.id, 1000)
        assert stepper.scene.backend.q >= 0.999


def test_the_newest_sixty_four_stops_are_told_and_all_are_counted(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    client.set_stop_rules(stepper.id, mark_only=True)
    client.break_when(stepper.id, "qpos > 0")
    client.fast_forward()
    assert client.wait_until(lambda c: stopped(c, stepper.id, 70), 60)
    client.pause()
    told = client.stop_rules(stepper.id)
    assert len(told.stops) == 64
    assert told.stops[-1].stop_id == told.count


def test_nothing_is_held_when_nobody_controls_the_session(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    watcher = connect(observe=True)
    client.release_control()
    spoil(stepper)
    assert watcher.wait_until(lambda c: stopped(c, stepper.id), 60)
    assert not watcher.stops(stepper.id)[0].held
    axis = stepper.scene.backend.axis
    assert watcher.wait_until(lambda c: c.scenes()[0].axis > axis + 50, 60)


def test_a_stopped_scene_is_let_go_when_the_controlling_client_leaves(
    connect: Connect, remember: Remember
) -> None:
    client, stepper = connect(), remember()
    watcher = connect(observe=True)
    client.play()
    spoil(stepper)
    assert watcher.wait_until(lambda c: held(c, stepper.id), 60)
    client.close()
    assert watcher.wait_until(lambda c: not held(c, stepper.id), 60)
    axis = stepper.scene.backend.axis
    assert watcher.wait_until(lambda c: c.scenes()[0].axis > axis, 60)


class Eager(HostListener):
    """Lets the scenes go on as soon as one of them says that it has stopped."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.has_released = False

    def wake(self) -> None:
        stopped = any(HoldKind.STOP in link.holds for link in self._host.links.values())
        if stopped and not self.has_released:
            self.has_released = True
            self._host.fast_forward()

    def released(self, reason: str) -> None:
        pass


def test_who_lets_a_scene_go_on_before_its_bad_step_is_taken_back_needs_not_ask_twice(
    host: Host, remember: Remember, wait_until: Callable[..., None]
) -> None:
    host.listener = eager = Eager(host)
    host.attach(PlaybackMode.PAUSED)
    stepper = remember()
    link = stepper.scene.link
    wait_until(lambda: link.owner.parked_in is link)
    spoil(stepper)  # while it stands: what is put back then has the bad input, too
    host.fast_forward()
    wait_until(lambda: link.past.stops.stops.count == 2)
    assert eager.has_released
    first, second = link.past.stops.stops.stops
    # The bad step has run, and the next one is guarded.
    assert second.axis == first.axis + 1
    host.listener = None
