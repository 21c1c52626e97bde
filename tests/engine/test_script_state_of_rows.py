"""Registered script state goes back with the scene to a step of its past."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.engine.history.script_rows import ScriptRows


class Controller:
    """A controller with a state of its own."""

    def __init__(self, scene: physics.Scene) -> None:
        self.scene = scene
        self.integral = np.zeros(2)
        self.fails = False
        scene.register_state("controller", lambda: self.integral, self.put)

    def put(self, value: Any) -> None:
        if self.fails:
            raise RuntimeError("not now")
        self.integral = value

    def step(self) -> None:
        self.integral = self.integral + 0.01 * (1.0 + self.scene.data.qpos[:2])
        self.scene.ctrl[:2] = self.integral
        self.scene.step()


@pytest.fixture
def scene(host: Host, make_scene: Callable[..., physics.Scene]) -> Iterator[physics.Scene]:
    host.attach(PlaybackMode.FAST_FORWARD)
    return make_scene("arm")


def machine(scene: physics.Scene) -> Any:
    return scene.backend.time_machine()


def exactly(scene: physics.Scene) -> None:
    """Have every step's state noted: on a loaded machine a getter may take a while."""
    scene.history.script_rows = ScriptRows(clock=lambda: 0.0)


def test_a_branch_goes_on_as_the_run_did_with_its_controllers_state(scene: physics.Scene) -> None:
    exactly(scene)
    controller = Controller(scene)
    for _ in range(60):
        controller.step()
    first = np.array(scene.data.qpos)
    segment = machine(scene).continue_from(30)
    assert "('controller') went back" in segment.text
    assert "before" not in segment.text
    # The step that stands at the row has its controls already.
    scene.step()
    for _ in range(29):
        controller.step()
    np.testing.assert_array_equal(scene.data.qpos, first)


def test_a_checkpoint_of_the_past_has_the_scripts_state_of_then(scene: physics.Scene) -> None:
    exactly(scene)
    controller = Controller(scene)
    for _ in range(40):
        controller.step()
        if scene.step_count == 21:
            then = controller.integral
    state = machine(scene).state_at(20)
    controller.integral = np.full(2, 99.0)
    scene.restore(state)
    np.testing.assert_array_equal(controller.integral, then)


def test_after_a_restore_the_history_knows_the_state_that_was_put_back(
    scene: physics.Scene,
) -> None:
    exactly(scene)
    controller = Controller(scene)
    for _ in range(10):
        controller.step()
    kept = scene.checkpoint()
    at = controller.integral
    for _ in range(10):
        controller.step()
    scene.restore(kept)
    scene.step()
    controller.integral = np.full(2, 99.0)
    machine(scene).continue_from(20)
    np.testing.assert_array_equal(controller.integral, at)


def test_a_setter_that_raises_moves_nothing(
    scene: physics.Scene, state_of: Callable[[physics.Scene], Any]
) -> None:
    exactly(scene)
    controller = Controller(scene)
    for _ in range(20):
        controller.step()
    before = state_of(scene)
    controller.fails = True
    with pytest.raises(CommandError, match=r"can't continue from here.*'controller'"):
        machine(scene).continue_from(5)
    np.testing.assert_array_equal(state_of(scene), before)
    assert scene.step_count == 20


def test_what_was_registered_later_stays_as_it_is_and_that_is_said(scene: physics.Scene) -> None:
    for _ in range(10):
        scene.step()
    controller = Controller(scene)
    for _ in range(10):
        controller.step()
    now = controller.integral
    segment = machine(scene).continue_from(5)
    assert "('controller') stays as it is: of this step nothing was kept" in segment.text
    np.testing.assert_array_equal(controller.integral, now)


def test_a_getter_that_raises_leaves_the_run_alone(scene: physics.Scene) -> None:
    scene.register_state("broken", lambda: 1 / 0, lambda _: None)
    for _ in range(5):
        scene.step()
    assert scene.step_count == 5
    segment = machine(scene).continue_from(2)
    assert "stays as it is" in segment.text


def test_a_slow_getter_is_asked_less_often_and_the_nearest_before_is_put_back() -> None:
    now = 0.0
    asked = []

    def clock() -> float:
        return now

    rows = ScriptRows(clock)

    def capture() -> bytes:
        nonlocal now
        now += 0.001
        asked.append(axis)
        return b"%d" % axis

    for axis in range(100):
        rows.note(axis, capture)
        now += 0.001
    assert len(asked) == 11  # of 2 ms at first, then a tenth of the time
    noted = rows.before(57, since=0)
    assert noted is not None
    assert noted == (asked[-5], b"%d" % asked[-5])
    assert rows.before(5, since=3) is None


def test_equal_states_and_many_of_them_take_little_memory() -> None:
    rows = ScriptRows(lambda: 0.0)
    for axis in range(1000):
        rows.note(axis, lambda: bytes(1 << 10))
    assert rows.nbytes == 1 << 10
    assert rows.before(700, since=0) == (700, bytes(1 << 10))
    for axis in range(1000, 1100):
        rows.note(axis, partial(bytes.__mul__, axis.to_bytes(2, "little"), 1 << 18))
    assert rows.nbytes <= 16 << 20
    rows.forget_before(1095)
    assert rows.before(1094, since=0) is None
    assert rows.before(1095, since=0) is not None


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("reset", "the scene was reset then, and episode 0 was over"),
        ("restore", "another state was restored then"),
        ("edit", "the state, or an option, was edited then"),
        ("branch", "the scene was moved to another step of its past then"),
    ],
)
def test_recorded_inputs_that_lead_elsewhere_say_where_why_and_what_to_do(
    scene: physics.Scene, action: str, reason: str
) -> None:
    kept = scene.checkpoint()
    for _ in range(20):
        scene.step()
    match action:
        case "reset":
            scene.reset()
        case "restore":
            scene.restore(kept)
        case "edit":
            scene.data.qvel[0] += 1.0
        case _:
            machine(scene).continue_from(10)
    for _ in range(5):
        scene.step()
    with pytest.raises(CommandError) as refused:
        list(machine(scene).replay_from(15))
    told = str(refused.value)
    assert reason in told
    assert "physics step 19 of episode 0" in told
    assert "row 25" in told
    assert "Try from here" in told
