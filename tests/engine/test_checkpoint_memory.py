"""Checkpoints over memory that is there: the same bytes, at any place, all of them or none."""

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics

StateOf = Callable[[physics.Scene], NDArray[np.float64]]

SMALL = """<mujoco><worldbody><body><joint name="a"/><geom size=".1"/></body></worldbody>
<actuator><motor joint="a"/></actuator></mujoco>"""
LARGE = SMALL.replace(
    "</worldbody>",
    """<replicate count="30" offset=".3 0 0"><body><freejoint/><geom size=".1"/></body></replicate>
    </worldbody>""",
)
ASLEEP = LARGE.replace("<worldbody>", '<option><flag sleep="enable"/></option><worldbody>')
MODELS = {"small": SMALL, "large": LARGE, "asleep": ASLEEP}


def appended(scene: physics.Scene) -> bytes:
    buffer = physics.DynamicArrayUint8()
    scene.capture_state_to_bytes(buffer)
    return bytes(buffer)


@pytest.fixture(params=MODELS)
def scene(request: pytest.FixtureRequest) -> physics.Scene:
    if request.param == "asleep" and not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"):
        pytest.skip("this MuJoCo has no sleep")
    made = physics.create_scene("Scene", MODELS[request.param])
    made.step(nstep=3)
    return made


@pytest.mark.parametrize("at", [0, 3, 8, 4096])
def test_a_checkpoint_over_other_bytes_is_the_one_that_would_be_appended(
    scene: physics.Scene, at: int
) -> None:
    expected = appended(scene)
    buffer = physics.DynamicArrayUint8(b"\xaa" * (at + len(expected) + 50))
    scene.capture_state_to_bytes(buffer, at=at)
    assert buffer[at : at + len(expected)] == expected
    assert buffer[:at] == b"\xaa" * at
    assert buffer[at + len(expected) :] == b"\xaa" * 50


def test_a_buffer_whose_beginning_was_cut_off_is_written_to_as_well(scene: physics.Scene) -> None:
    expected = appended(scene)
    buffer = physics.DynamicArrayUint8(len(expected) + 5)
    del buffer[:5]  # its numbers stand at odd addresses from now on
    scene.capture_state_to_bytes(buffer, at=0)
    assert bytes(buffer) == expected


def test_a_buffer_grows_when_it_must(scene: physics.Scene) -> None:
    expected = appended(scene)
    buffer = physics.DynamicArrayUint8(b"head")
    scene.capture_state_to_bytes(buffer, at=4)
    assert bytes(buffer) == b"head" + expected
    scene.capture_state_to_bytes(buffer, at=2)
    assert bytes(buffer) == b"he" + expected + expected[-2:]


def test_states_in_one_buffer_go_back_each(scene: physics.Scene, state_of: StateOf) -> None:
    size = len(appended(scene))
    buffer = physics.DynamicArrayUint8(3 * size)
    states = []
    for number in range(3):
        scene.capture_state_to_bytes(buffer, at=number * size)
        states.append(state_of(scene))
        scene.step()
    view = memoryview(buffer)
    for number in (1, 0, 2):
        scene.restore_state_from_bytes(view[number * size : (number + 1) * size])
        assert np.array_equal(state_of(scene), states[number])
        assert scene.physics_step_count == 3 + number


def test_views_of_the_buffer_may_stay_while_its_length_does(scene: physics.Scene) -> None:
    expected = appended(scene)
    buffer = physics.DynamicArrayUint8(len(expected))
    with memoryview(buffer) as view:
        scene.capture_state_to_bytes(buffer, at=0)
        assert bytes(view) == expected
        with pytest.raises(physics.StateError, match="memoryview"):
            scene.capture_state_to_bytes(buffer, at=1)
    assert bytes(buffer) == expected


def test_a_place_outside_the_buffer_is_refused_and_nothing_is_written(scene: physics.Scene) -> None:
    buffer = physics.DynamicArrayUint8(b"keep")
    for wrong in (-1, 5):
        with pytest.raises(ValueError, match="0…4"):
            scene.capture_state_to_bytes(buffer, at=wrong)
    for no_number in (1.0, "1", True):
        with pytest.raises(TypeError, match="whole number"):
            scene.capture_state_to_bytes(buffer, at=no_number)  # type: ignore[arg-type]
    assert bytes(buffer) == b"keep"


def test_what_the_script_keeps_is_written_over_as_well(scene: physics.Scene) -> None:
    kept = {"value": 1}
    scene.register_state("kept", lambda: dict(kept), kept.update)
    expected = appended(scene)
    buffer = physics.DynamicArrayUint8(len(expected))
    scene.capture_state_to_bytes(buffer, at=0)
    assert bytes(buffer) == expected
    kept["value"] = 2
    scene.restore_state_from_bytes(buffer)
    assert kept == {"value": 1}


def test_a_script_that_fails_to_tell_its_state_leaves_the_buffer_as_it_was(
    scene: physics.Scene,
) -> None:
    def fail() -> int:
        raise ArithmeticError("no state today")

    size = len(appended(scene))
    scene.register_state("failing", lambda: 1, lambda value: None)()
    scene.register_state("failing", fail, lambda value: None)
    buffer = physics.DynamicArrayUint8(b"\xaa" * (2 * size))
    with pytest.raises(Exception, match="no state today"):
        scene.capture_state_to_bytes(buffer, at=0)
    assert bytes(buffer) == b"\xaa" * (2 * size)


def test_a_checkpoint_that_was_not_finite_is_looked_at_again(
    state_of: StateOf, caplog: pytest.LogCaptureFixture
) -> None:
    scene = physics.create_scene("Scene", LARGE)
    scene.data.ctrl[0] = -np.inf
    strange = scene.checkpoint()
    scene.data.ctrl[0] = 0.0
    scene.data.qvel[0] = -np.inf
    diverged = scene.checkpoint()
    scene.data.qvel[0] = 1e200  # its square is infinite, it is not
    huge = scene.checkpoint()
    before = state_of(scene)
    with pytest.raises(physics.StateCorruptError, match="not finite"):
        scene.restore(diverged)
    assert np.array_equal(state_of(scene), before)
    for _ in range(2):
        scene.restore(strange)
        assert "not finite" in caplog.text
        caplog.clear()
        scene.restore(huge)
        assert np.array_equal(state_of(scene), before)
        assert "not finite" not in caplog.text
