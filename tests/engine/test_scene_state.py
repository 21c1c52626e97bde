"""States kept by a scene, compared, and written for people."""

import errno
import json
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.engine.files.errors import FileWriteError

Scene = physics.Scene
Make = Callable[..., Scene]
Drive = Callable[..., NDArray[np.float64]]


def test_a_kept_state_can_be_restored_again_and_again(make_scene: Make, drive: Drive) -> None:
    scene = make_scene()
    drive(scene, 50)
    handle = scene.capture_state()
    first = drive(scene, 100, seed=1)
    for _ in range(2):
        scene.restore_state(handle)
        assert np.array_equal(first, drive(scene, 100, seed=1))


def test_released_states_are_gone(make_scene: Make) -> None:
    scene = make_scene()
    one, two, three = (scene.capture_state() for _ in range(3))
    scene.restore_state(one, release_immediately=True)
    with pytest.raises(physics.StateError, match="released"):
        scene.restore_state(one)
    scene.release_state(two)
    with pytest.raises(physics.StateError, match="released"):
        scene.release_state(two)
    scene.release_all_states()
    with pytest.raises(physics.StateError, match="released"):
        scene.is_equal_state(three, three)


def test_equality_is_to_the_last_bit_and_sees_time_counters_and_inputs(make_scene: Make) -> None:
    scene = make_scene()
    a = scene.capture_state()
    assert scene.is_equal_state(a, scene.capture_state())
    scene.ctrl[0] = np.nextafter(0.0, 1.0)
    assert not scene.is_equal_state(a, scene.capture_state())
    scene.ctrl[0] = 0.0
    scene.step()
    b = scene.capture_state()
    assert not scene.is_equal_state(a, b)
    scene.restore_state(a)
    scene.step()
    assert scene.is_equal_state(b, scene.capture_state())


def test_a_handle_of_another_scene_is_refused_and_points_to_bytes(make_scene: Make) -> None:
    one, two = make_scene(), make_scene()
    handle = one.capture_state()
    with pytest.raises(physics.StateMismatchError, match="capture_state_to_bytes"):
        two.restore_state(handle)
    with pytest.raises(TypeError, match="StateHandle"):
        two.restore_state(b"")  # type: ignore[arg-type]


def test_the_file_for_people_has_every_joint_and_actuator_with_units(
    make_scene: Make, tmp_path: Path
) -> None:
    scene = make_scene("arm")
    scene.reset(keyframe="home")
    scene.step(nstep=3)
    scene.data.xfrc_applied[2, 0] = 4.0
    file = tmp_path / "state.json"
    scene.capture_state_to_file(file)
    state = json.loads(file.read_text(encoding="utf-8"))
    assert state["time"] == {"value": pytest.approx(0.006), "unit": "s"}
    assert state["joints"]["joint4"]["position"]["unit"] == "rad"
    assert state["joints"]["joint4"]["position"]["value"] == scene.data.qpos[3]
    assert state["joints"]["left_finger"]["velocity"]["unit"] == "m/s"
    assert len(state["joints"]["block"]["position"]["value"]) == 7
    assert state["actuators"]["joint4"]["control"] == {"value": 1.6, "unit": "rad"}
    assert state["actuators"]["gripper"]["kind"] == "position"
    assert len(state["joints"]) == scene.model.njnt
    assert len(state["actuators"]) == scene.model.nu
    assert list(state["applied_forces"].values()) == [
        {"force": [4.0, 0, 0, 0, 0, 0], "unit": "N, N·m"}
    ]
    assert [p.name for p in tmp_path.iterdir()] == ["state.json"]


def test_a_file_that_can_not_be_written_leaves_the_old_one(
    make_scene: Make, tmp_path: Path
) -> None:
    scene = make_scene("arm")
    with pytest.raises(FileWriteError, match="missing"):
        scene.capture_state_to_file(tmp_path / "missing" / "state.json")
    file = tmp_path / "state.json"
    scene.data.qpos[0] = np.nan
    scene.capture_state_to_file(file)
    text = file.read_text()
    assert '"nan"' in text
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
    try:
        with pytest.raises(FileWriteError, match=os.strerror(errno.EFBIG)):
            scene.capture_state_to_file(file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert file.read_text() == text
    assert [each.name for each in tmp_path.iterdir()] == ["state.json"]
