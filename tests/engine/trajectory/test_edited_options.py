"""Runs in which somebody has edited physics options: each frame goes on with those of its time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import stroboscope.engine as physics

FULL = mujoco.mjtState.mjSTATE_INTEGRATION


@pytest.mark.parametrize("mode", ["exact", "minimal"])
def test_frames_are_had_and_go_on_with_the_options_that_were_in_force(
    model_path: Callable[[str], Path], tmp_path: Path, mode: str
) -> None:
    scene = physics.create_scene("Arm", model_path("arm"))
    rows: list[bytes] = []

    def row(of: Any) -> bytes:
        state = np.empty(mujoco.mj_stateSize(of.model, FULL))
        mujoco.mj_getState(of.model, of.data, state, FULL)
        return state.tobytes()

    def step(count: int) -> None:
        for _ in range(count):
            rows.append(row(scene))
            scene.step()

    scene.start_recording(physics.TrajectoryFile(tmp_path / "run", mode=mode, chunk_size=16))
    step(20)
    scene.backend.edit_option("gravity", [0.0, 0.0, -1.0])
    step(25)
    scene.backend.edit_option("timestep", [0.0005])
    step(20)
    scene.backend.edit_option("gravity", [0.0, 0.0, -9.0])
    step(20)
    path = scene.stop_recording()
    rows.append(row(scene))
    with physics.load_trajectory(path) as trajectory:
        assert [trajectory.frame(i).row.tobytes() for i in range(86)] == rows
        for index in (25, 3, 50, 70, 19, 84):
            trajectory.seek(index)
            trajectory.scene.step()
            assert row(trajectory.scene) == rows[index + 1], index
        assert trajectory.verify(jobs=1).exit_code == 0


@pytest.mark.parametrize(("mode", "saves"), [("exact", False), ("minimal", False), ("exact", True)])
def test_the_last_frame_goes_on_with_the_timestep_that_was_in_force(
    model_path: Callable[[str], Path], tmp_path: Path, mode: str, saves: bool
) -> None:
    scene = physics.create_scene("Arm", model_path("arm"))
    scene.keep_history()
    scene.backend.edit_option("timestep", [0.0005])
    wanted = physics.TrajectoryFile(tmp_path / "run", mode=mode)
    recording = None if saves else scene.start_recording(wanted)
    for _ in range(10):
        scene.step()
    path = scene.save_history(tmp_path / "run") if recording is None else scene.stop_recording()
    scene.step()
    with physics.load_trajectory(path) as trajectory:
        assert trajectory.frame(-1).timestep == 0.0005
        trajectory.seek(-1)
        trajectory.scene.step()
        assert trajectory.scene.data.time == scene.data.time
        assert trajectory.scene.data.qpos.tobytes() == scene.data.qpos.tobytes()
