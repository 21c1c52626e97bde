"""Files made of what a batched scene remembers: of all environments, and more of one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.engine.trajectory.commands import main

pytest.importorskip("mujoco.batch")

Read = Callable[..., Any]
ModelPath = Callable[[str], Path]


def drive(scene: physics.BatchScene, count: int, seed: int = 0) -> list[NDArray[np.float64]]:
    """Step with random controls; return all rows before each step."""
    random, rows = np.random.default_rng(seed), []
    for _ in range(count):
        scene.ctrl[:] = random.uniform(-1, 1, scene.ctrl.shape)
        rows.append(scene.environments.state.copy())
        scene.step()
    return rows


def of(env: int, rows: list[NDArray[np.float64]], scene: physics.BatchScene) -> bytes:
    everything = np.array([*rows, scene.environments.state])
    return np.ascontiguousarray(everything[:, env]).tobytes()


def test_the_history_of_all_environments_is_saved_with_what_happened_to_each(
    model_path: ModelPath, read: Read, tmp_path: Path
) -> None:
    scene = physics.create_scene("batch", model_path("arm"), n_envs=5)
    scene.keep_history()
    rows = drive(scene, 30)
    scene.reset(envs_idx=[1, 4])
    scene.log("note", "a new beginning")
    scene.log("reward", 0.5)
    rows += drive(scene, 30, seed=1)
    scene.qvel[2] = 1e9
    rows += drive(scene, 1, seed=2)
    scene.fork(0, [3])
    path = scene.save_history(tmp_path / "history")
    assert list(tmp_path.iterdir()) == [tmp_path / "history.mcap"]
    for env in range(5):
        recorded = read(path, env)
        assert recorded.complete
        assert recorded.axes == list(range(62))
        assert recorded.rows.tobytes() == of(env, rows, scene)
        kinds = [(event.kind, event.axis) for event in recorded.events if event.kind != "log"]
        assert kinds[0] == ("begin", 0)
        assert (("episode", 30) in kinds) == (env in (1, 4))
        assert (("stop", 60) in kinds) == (env == 2)
        assert (("restore", 61) in kinds) == (env == 3)
        with physics.load_trajectory(path, scene=f"batch[{env}]") as trajectory:
            assert trajectory.frame(-1).physics_step == scene.physics_step_count[env]
            found = trajectory.verify()
            assert (found.exit_code, found.differing) == (0, 0)
            assert (60 in found.changes) == (env == 2)
    assert "log" in read(path, 0).kinds()
    with physics.load_trajectory(path) as trajectory:
        assert trajectory.signals["reward"].axes.tolist() == [30]
        assert trajectory.to_show() == {"batch": "batch[2]"}
    assert drive(scene, 2)


def test_the_one_that_is_looked_at_reaches_back_further(
    model_path: ModelPath, read: Read, tmp_path: Path
) -> None:
    scene = physics.create_scene("batch", model_path("arm"), n_envs=8)
    scene.select_environment(5)
    row_bytes = 8 * scene.environments.layout.size
    scene.keep_history(max_bytes=8 * 40 * row_bytes)
    rows = drive(scene, 200)
    path = scene.save_history(tmp_path / "history")
    shallow = read(path, 0).axes
    deep = read(path, 5).axes
    assert len(shallow) < 40
    assert len(deep) > 2 * len(shallow)
    for env, axes in ((0, shallow), (5, deep)):
        assert axes == list(range(axes[0], 201))
        expected = of(env, rows[axes[0] :], scene)
        assert read(path, env).rows.tobytes() == expected
        begin = read(path, env).events[0]
        assert (begin.kind, begin.axis, begin.physics_step) == ("begin", axes[0], axes[0])
    assert main("verify", [str(path)]) == 0


def test_some_of_them_are_saved_where_that_is_asked_for(
    model_path: ModelPath, read: Read, tmp_path: Path
) -> None:
    scene = physics.create_scene("batch", model_path("arm"), n_envs=300)
    scene.keep_history()
    rows = drive(scene, 5)
    path = scene.save_history(tmp_path / "some", envs_idx=[299, 7])
    assert read(path, 0).rows.tobytes() == of(7, rows, scene)
    assert read(path, 1).rows.tobytes() == of(299, rows, scene)
    with physics.load_trajectory(scene.save_history(tmp_path / "all")) as trajectory:
        assert len(trajectory.others()) == 300


def test_a_batch_that_remembers_nothing_saves_where_it_stands(
    model_path: ModelPath, read: Read, tmp_path: Path
) -> None:
    scene = physics.create_scene("batch", model_path("arm"), n_envs=3)
    drive(scene, 4)
    path = scene.save_history(tmp_path / "history")
    for env in range(3):
        recorded = read(path, env)
        assert recorded.axes == [4]
        assert recorded.rows.tobytes() == of(env, [], scene)
        assert recorded.events[0].text == "nothing is remembered of what was before"


def test_what_was_noted_of_rows_that_are_gone_goes_too(
    model_path: ModelPath, tmp_path: Path
) -> None:
    scene = physics.create_scene("batch", model_path("arm"), n_envs=8)
    scene.keep_history(max_bytes=8 * 20 * 8 * scene.environments.layout.size)
    for _ in range(300):
        scene.log("note", "once more")
        scene.log("k", 1.0)
        scene.step()
    notes = scene.recorders.notes
    assert len(notes.events) < 200
    assert len(notes.values) < 200
    scene.keep_history(False)
    scene.step()
    scene.raise_on_stop = True
    scene.step()
    assert not notes.events


def test_the_fields_that_an_environment_has_of_its_own_are_saved_with_it(
    model_path: ModelPath, tmp_path: Path
) -> None:
    scene = physics.create_scene("batch", model_path("arm"), n_envs=3)
    scene.expand("body_mass")[1] *= 3.0
    scene.set_const()
    scene.keep_history()
    drive(scene, 20)
    path = scene.save_history(tmp_path / "history")
    for env in range(3):
        with physics.load_trajectory(path, scene=f"batch[{env}]") as trajectory:
            assert trajectory.verify().exit_code == 0
    alone = physics.load_checkpoint(scene.save_checkpoint(tmp_path / "one", envs_idx=1))
    mine = scene.get_model(1)
    assert np.array_equal(alone.model.body_mass, mine.body_mass)
    assert np.array_equal(alone.model.dof_invweight0, mine.dof_invweight0)
    alone.step()
    scene.step()
    assert alone.data.qpos.tobytes() == scene.qpos[1].tobytes()
