"""What a script keeps itself is a part of checkpoints, exactly and all or nothing."""

import random
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.host.host import HostListener
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.engine.runtime import current_runtime

Scene = physics.Scene
Make = Callable[..., Scene]
StateOf = Callable[[Scene], NDArray[np.float64]]


def captured(scene: Scene) -> bytes:
    buffer = physics.DynamicArrayUint8()
    scene.capture_state_to_bytes(buffer)
    return bytes(buffer)


class Controller:
    """An integrating controller with noise: three kinds of state that no physics state has."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.integral = np.zeros(scene.model.nu)
        self.random = np.random.default_rng(5)
        self.calls = 0
        self.end = scene.register_state("controller", self.get, self.set)

    def get(self) -> dict[str, object]:
        state = self.random.bit_generator.state
        return {"integral": self.integral, "random": state, "calls": self.calls}

    def set(self, value: dict[str, object]) -> None:
        self.integral = value["integral"]
        self.random.bit_generator.state = value["random"]
        self.calls = value["calls"]

    def drive(self, steps: int) -> NDArray[np.float64]:
        positions = np.empty((steps, self.scene.model.nq))
        for k in range(steps):
            self.integral += self.random.normal(size=self.integral.shape)
            self.calls += 1
            self.scene.ctrl[:] = np.tanh(0.1 * self.integral)
            self.scene.step()
            positions[k] = self.scene.data.qpos
        return positions


def test_a_controller_with_memory_and_noise_repeats_bit_for_bit(make_scene: Make) -> None:
    controller = Controller(make_scene())
    controller.drive(50)
    checkpoint = captured(controller.scene)
    handle = controller.scene.capture_state()
    first = controller.drive(300)
    controller.scene.restore_state_from_bytes(checkpoint)
    assert controller.calls == 50
    assert np.array_equal(first, controller.drive(300))
    controller.scene.restore_state(handle)
    assert np.array_equal(first, controller.drive(300))
    other = Controller(make_scene())
    other.scene.restore_state_from_bytes(checkpoint)
    assert np.array_equal(first, other.drive(300))


VALUES = [
    *(None, True, False, 0, -1, 2**63 - 1, 2**64, -(2**200), 1.5, -0.0, float("inf")),
    *("", "naïve", b"\0\xff", [1, [2.0, None]], (1, ("a",)), {"a": {"b": (1, 2)}}),
    random.Random(3).getstate(),
    np.random.default_rng(3).bit_generator.state,
    np.arange(6, dtype=np.int16).reshape(2, 3),
    np.empty((0, 4)),
    np.array([[True], [False]]),
    np.array([1 + 2j]),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.float32(0.1),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_every_kind_of_value_comes_back_as_it_was(make_scene: Make, value: object) -> None:
    scene = make_scene()
    back: list[object] = []
    scene.register_state("x", lambda: value, back.append)
    scene.restore_state_from_bytes(captured(scene))
    (got,) = back
    assert type(got) is type(value)
    if isinstance(value, np.ndarray):
        assert got.dtype == value.dtype
        assert got.flags.writeable
        np.testing.assert_array_equal(got, value)
    else:
        assert got == value
        assert repr(got) == repr(value)


@pytest.mark.parametrize("value", [object(), {1, 2}, {1: 2}, lambda: 0, np.array([{}]), "\ud800"])
def test_a_value_that_can_not_travel_leaves_the_buffer_as_it_was(
    make_scene: Make, value: object
) -> None:
    scene = make_scene()
    buffer = physics.DynamicArrayUint8(b"kept")
    scene.register_state("odd", lambda: value, print)
    with pytest.raises(TypeError, match="script state 'odd' can't be part of a checkpoint"):
        scene.capture_state_to_bytes(buffer)
    assert bytes(buffer) == b"kept"


def test_a_value_that_holds_itself_is_refused(make_scene: Make) -> None:
    scene = make_scene()
    loop: list[object] = []
    loop.append(loop)
    scene.register_state("loop", lambda: loop, print)
    with pytest.raises(TypeError, match="'loop'"):
        scene.capture_state()


def test_what_a_getter_raises_reaches_the_capture(make_scene: Make) -> None:
    scene = make_scene()
    scene.register_state("bad", lambda: 1 // 0, print)
    with pytest.raises(ZeroDivisionError):
        scene.capture_state()


def test_a_setter_that_raises_leaves_everything_as_it_was(
    make_scene: Make, state_of: StateOf
) -> None:
    scene = make_scene()
    kept = {"first": 1}

    def refuse(value: object) -> None:
        if value == "then":
            raise ZeroDivisionError("not now")

    second = ["then"]
    scene.register_state("first", lambda: kept["first"], lambda v: kept.update(first=v))
    scene.register_state("second", lambda: second[0], refuse)
    checkpoint = captured(scene)
    kept["first"], second[0] = 2, "now"
    scene.step(nstep=10)
    before = state_of(scene)
    with pytest.raises(physics.StateError, match=r"'second'.*ZeroDivisionError\('not now'\)"):
        scene.restore_state_from_bytes(checkpoint)
    assert kept["first"] == 2
    assert np.array_equal(state_of(scene), before)
    assert scene.physics_step_count == 10


def test_no_setter_runs_when_the_physics_does_not_fit(make_scene: Make) -> None:
    scene, arm = make_scene(), make_scene("arm")
    calls: list[object] = []
    for each in (scene, arm):
        each.register_state("x", lambda: 1, calls.append)
    with pytest.raises(physics.StateMismatchError, match="another model"):
        arm.restore_state_from_bytes(captured(scene))
    assert calls == []


def test_a_scene_that_does_not_know_the_state_refuses_and_names_it(
    make_scene: Make, state_of: StateOf
) -> None:
    controller = Controller(make_scene())
    checkpoint = captured(controller.scene)
    other = make_scene()
    other.step()
    before = state_of(other)
    with pytest.raises(physics.StateMismatchError, match=r"'controller'.*register_state"):
        other.restore_state_from_bytes(checkpoint)
    assert np.array_equal(state_of(other), before)
    assert other.step_count == 1


def test_a_checkpoint_from_before_the_registration_is_restored_with_a_warning(
    make_scene: Make, caplog: pytest.LogCaptureFixture
) -> None:
    scene = make_scene()
    checkpoint = captured(scene)
    scene.step()
    controller = Controller(scene)
    controller.calls = 7
    scene.restore_state_from_bytes(checkpoint)
    assert scene.step_count == 0
    assert controller.calls == 7
    assert "'controller'" in caplog.text
    controller.end()
    caplog.clear()
    scene.restore_state_from_bytes(checkpoint)
    assert caplog.text == ""
    assert captured(scene) == checkpoint


def test_damage_anywhere_is_refused_and_nothing_changes(
    make_scene: Make, state_of: StateOf
) -> None:
    scene = make_scene("arm")
    calls: list[object] = []
    scene.register_state("x", lambda: {"integral": np.arange(3.0), "k": (1, 2)}, calls.append)
    checkpoint = captured(scene)
    scene.step()
    before = state_of(scene)
    for at in range(len(checkpoint)):
        damaged = bytearray(checkpoint)
        damaged[at] ^= 0x41
        with pytest.raises(physics.StateError):
            scene.restore_state_from_bytes(damaged)
        with pytest.raises(physics.StateError):
            scene.restore_state_from_bytes(checkpoint[:at])
    with pytest.raises(physics.StateError):
        scene.restore_state_from_bytes(checkpoint + b"\0")
    assert calls == []
    assert np.array_equal(state_of(scene), before)


def test_names_and_functions_that_make_no_sense_are_refused(make_scene: Make) -> None:
    scene = make_scene()
    for name in ("", "x" * 257, 3):
        with pytest.raises(ValueError, match="1 to 256 bytes"):
            scene.register_state(name, dict, print)
    with pytest.raises(TypeError, match="two functions"):
        scene.register_state("x", 3, print)
    end = scene.register_state("x", dict, print)
    with pytest.raises(ValueError, match="already"):
        scene.register_state("x", dict, print)
    end()
    scene.register_state("x", dict, print)
    end()  # the old registration's: the new one stays
    with pytest.raises(ValueError, match="already"):
        scene.register_state("x", dict, print)


def test_the_debuggers_restore_takes_the_controller_back_too(make_scene: Make) -> None:
    physics.initialize()
    host = current_runtime().host
    host.listener = HostListener()
    scene = make_scene()
    controller = Controller(scene)
    host.attach(PlaybackMode.FAST_FORWARD)
    first = controller.drive(40)
    ticket = host.restore_initial(scene.scene_id)
    scene.update_debugger()
    assert ticket.settled
    # The initial state is that of inside the first step: the controller had already run for it.
    assert (controller.calls, scene.step_count) == (1, 0)
    scene.step()
    assert np.array_equal(first[0], scene.data.qpos)
    assert np.array_equal(first[1:], controller.drive(39))
    host.detach("the test is over")
