"""Rows of chosen environments reach further back than those of all."""

from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics

pytest.importorskip("mujoco.batch")

FULL = mujoco.mjtState.mjSTATE_INTEGRATION
MODEL = """
<mujoco><worldbody><body><joint name="j" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>
</worldbody><actuator><motor joint="j"/></actuator></mujoco>
"""
COUNT, STEPS, MATRICES = 8, 300, 40


def drive(scene: physics.BatchScene, begin: int, end: int) -> list[NDArray[np.float64]]:
    """Step; return the rows of all environments before each step."""
    rows = []
    for step in range(begin, end):
        scene.ctrl[:, 0] = np.sin(0.01 * step + np.arange(COUNT))
        rows.append(scene.environments.state.copy())
        scene.step()
    return rows


def herd(**history: object) -> physics.BatchScene:
    scene = physics.create_scene("herd", MODEL, n_envs=COUNT)
    room = MATRICES * scene.environments.state.nbytes
    scene.keep_history(max_bytes=room, **history)
    return scene


def reach(scene: physics.BatchScene) -> list[int]:
    """Return how many rows are remembered of each environment."""
    history = scene.batch_history
    return [history.end_axis() - history.first_of(env) for env in range(COUNT)]


def test_chosen_ones_and_the_one_in_view_reach_further_back_with_the_rows_that_were() -> None:
    scene = herd(envs_idx=[3, 6])
    rows = drive(scene, 0, STEPS)
    shallow = MATRICES * 3 // 4
    deep = shallow + MATRICES // 4 * COUNT // 3
    assert reach(scene) == [deep if env in (0, 3, 6) else shallow for env in range(COUNT)]
    history = scene.batch_history
    for env in range(COUNT):
        for axis in range(history.first_of(env), STEPS):
            row = history.row(env, axis)
            assert row is not None
            assert row.tobytes() == rows[axis][env].tobytes()
            assert history.step_at(axis) == axis
        assert history.row(env, history.first_of(env) - 1) is None
    assert history.nbytes <= history.max_bytes


def test_another_in_view_leaves_the_chosen_ones_theirs() -> None:
    scene = herd(envs_idx=3)
    rows = drive(scene, 0, STEPS)
    before = reach(scene)
    scene.select_environment(5)
    rows += drive(scene, STEPS, STEPS + 1)
    after = reach(scene)
    assert (after[3], after[0]) == (before[3], after[1])
    assert after[0] < before[0]
    rows += drive(scene, STEPS + 1, STEPS + 200)
    assert reach(scene)[5] == reach(scene)[3] == before[3]
    history = scene.batch_history
    oldest = history.row(3, history.first_of(3))
    assert oldest is not None
    assert oldest.tobytes() == rows[history.first_of(3)][3].tobytes()
    scene.keep_history(envs_idx=[])
    rows += drive(scene, STEPS + 200, STEPS + 201)
    assert reach(scene)[3] == reach(scene)[1]
    assert history.step_at(history.first_of(5)) == history.first_of(5)


def test_a_saved_history_has_what_is_remembered_of_each(tmp_path: Path) -> None:
    scene = herd(envs_idx=[2])
    rows = drive(scene, 0, STEPS)
    expected = reach(scene)
    scene.save_history(tmp_path / "past")
    for env, count in enumerate(expected):
        with physics.load_trajectory(tmp_path / "past.mcap", scene=env) as run:
            assert len(run) == count + 1
            first = run.frame(0)
            assert first.qpos.tolist() == rows[STEPS - count][env][1:2].tolist()


def test_too_many_are_refused_before_anything_changes() -> None:
    scene = physics.create_scene("herd", MODEL, n_envs=80)
    before = scene.batch_history.max_bytes
    with pytest.raises(ValueError, match=r"64 environments at most are kept longer .* not of 65"):
        scene.keep_history(max_bytes=1000, envs_idx=range(65))
    with pytest.raises(IndexError, match="no environment 80"):
        scene.keep_history(max_bytes=1000, envs_idx=[80])
    assert scene.batch_history.max_bytes == before
    assert not scene.keeps_history
