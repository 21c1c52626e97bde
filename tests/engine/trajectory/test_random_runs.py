"""Recorded runs of models of every kind: their files say of each frame how the run goes on."""

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from random_models import disturb, random_model
from samples import few

import stroboscope.engine as physics
from stroboscope.engine.trajectory.verify import Outcome

FULL = mujoco.mjtState.mjSTATE_INTEGRATION
# Dominoes that fall asleep, with whatever else their models have.
SLEEPING = (0, 8, 13, 18, 20, 25)


def _row(scene: physics.Scene) -> bytes:
    row = np.empty(mujoco.mj_stateSize(scene.model, FULL))
    mujoco.mj_getState(scene.model, scene.data, row, FULL)
    return row.tobytes()


def _step(scene: physics.Scene, seed: int, end: int, *, first: int = 0) -> None:
    for number in range(first, end):
        disturb(scene.model, scene.data, np.random.default_rng([seed, number]), gently=True)
        scene.step()


@pytest.fixture
def make() -> Callable[[int], physics.Scene]:
    """``make(seed)``: a scene of the random model of a seed."""
    return lambda seed: physics.create_scene(f"Random {seed}", random_model(seed).xml)


@pytest.mark.parametrize("seed", few(SLEEPING, 2))
@pytest.mark.parametrize("mode", ["exact", "minimal"])
def test_blocks_that_do_not_say_what_sleeps_are_read_from_those_before(
    make: Callable[[int], physics.Scene], tmp_path: Path, seed: int, mode: str
) -> None:
    scene = make(seed)
    _step(scene, seed, 10)
    scene.start_recording(physics.TrajectoryFile(tmp_path / "run", mode=mode, chunk_size=7))
    _step(scene, seed, 90)
    path, end = scene.stop_recording(), _row(scene)
    with physics.load_trajectory(path) as trajectory:
        found = trajectory.verify(jobs=2)
        assert (found.outcome, found.checked) == (Outcome.SAME, 90), str(found)
        for index in (0, 30, 63, 64, 89):
            trajectory.seek(index)
            twin = trajectory.scene
            twin.step()  # with the inputs that stand there
            _step(twin, seed, 90, first=index + 1)
            assert _row(twin) == end, index


@pytest.mark.parametrize("seed", few(SLEEPING, 2))
def test_a_recording_that_begins_beside_another_knows_what_sleeps(
    make: Callable[[int], physics.Scene], tmp_path: Path, seed: int
) -> None:
    scene = make(seed)
    scene.start_recording(tmp_path / "first")
    _step(scene, seed, 40)
    scene.start_recording(physics.TrajectoryFile(tmp_path / "second", mode="minimal"))
    _step(scene, seed, 20)
    with physics.load_trajectory(scene.stop_recording()) as trajectory:
        found = trajectory.verify(jobs=1)
    assert (found.outcome, found.checked) == (Outcome.SAME, 20), str(found)


@pytest.mark.parametrize("how", ["edit", "reset", "mj_resetData", "restore"])
def test_a_state_that_was_replaced_before_the_end_is_no_difference(
    make: Callable[[int], physics.Scene], tmp_path: Path, how: str
) -> None:
    scene = make(1)
    checkpoint = scene.checkpoint()
    scene.start_recording(tmp_path / "run")
    _step(scene, 1, 20)
    match how:
        case "edit":
            scene.data.qvel[0] += 0.5
        case "reset":
            scene.reset()
        case "mj_resetData":
            mujoco.mj_resetData(scene.model, scene.data)
        case _:
            scene.restore(checkpoint)
    end = _row(scene)
    with physics.load_trajectory(scene.stop_recording()) as trajectory:
        assert trajectory.frame(-1).row.tobytes() == end
        found = trajectory.verify(jobs=1)
        assert (found.exit_code, found.checked) == (0, 19), str(found)
        if how == "edit":
            assert found.changes == (20,)


def test_every_so_many_frames_of_what_sleeps_are_sought_as_they_were(
    make: Callable[[int], physics.Scene], tmp_path: Path
) -> None:
    scene = make(8)
    scene.start_recording(physics.TrajectoryFile(tmp_path / "run", every=7))
    _step(scene, 8, 100)
    with physics.load_trajectory(scene.stop_recording()) as trajectory:
        for index in range(len(trajectory)):
            frame = trajectory.seek(index)
            assert _row(trajectory.scene) == frame.row.tobytes()
