"""Files made of what is in memory: the history, and the state as it stands."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stroboscope.engine as physics
from stroboscope.engine.files.errors import FileWriteError
from stroboscope.engine.recording.checkpoint_file import save_checkpoint_file

Make = Callable[..., physics.Scene]
OracleOf = Callable[..., Any]
Read = Callable[..., Any]


def test_the_history_is_saved_with_what_happened_and_what_was_logged(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene()
    scene.keep_history()
    oracle = oracle_of(scene)
    oracle.step(30)
    scene.reset()
    scene.log("note", "a new beginning")
    oracle.step(30)
    recorded = read(scene.save_history(tmp_path / "history"))
    assert recorded.complete
    assert recorded.rows.tobytes() == oracle.array().tobytes()
    assert [(event.kind, event.axis) for event in recorded.events] == [
        ("begin", 0),
        ("episode", 30),
        ("log", 30),
    ]
    oracle.step(5)
    assert list(tmp_path.iterdir()) == [tmp_path / "history.mcap"]


def test_rows_that_were_thinned_out_are_left_out_and_the_others_say_where_they_belong(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene()
    scene.keep_history(max_bytes=4 << 20)
    oracle = oracle_of(scene)
    oracle.step(1500)
    scene.reset()
    oracle.step(1500)
    recorded = read(scene.save_history(tmp_path / "history"))
    assert 500 < len(recorded.axes) < 2900
    assert (recorded.axes[0], recorded.axes[-1]) == (0, 3000)
    everything = oracle.array()
    assert recorded.rows.tobytes() == everything[recorded.axes].tobytes()
    assert recorded.steps == recorded.axes


def test_a_history_of_nothing_is_the_state_as_it_stands(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    oracle.step(3)
    recorded = read(scene.save_history(tmp_path / "history"))
    assert recorded.rows.tobytes() == oracle.array()[-1:].tobytes()
    assert recorded.axes == [3]


@pytest.mark.parametrize("steps", [0, 25])
def test_a_checkpoint_file_continues_bit_for_bit_in_a_scene_built_from_it(
    make_scene: Make, oracle_of: OracleOf, tmp_path: Path, steps: int
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    oracle.step(steps)
    path = scene.save_checkpoint(tmp_path / "checkpoint")
    other = physics.load_checkpoint(path)
    mine, theirs = oracle_of(scene, seed=3), oracle_of(other, seed=3)
    mine.step(30)
    theirs.step(30)
    assert mine.array().tobytes() == theirs.array().tobytes()
    assert (other.step_count, other.physics_step_count) == (steps + 30, steps + 30)


def test_a_checkpoint_without_its_scene_has_kilobytes_and_goes_back_into_a_running_one(
    make_scene: Make, oracle_of: OracleOf, tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    oracle.step(25)
    path = scene.save_checkpoint(tmp_path / "small.mcap", with_scene=False)
    assert path.stat().st_size < 10_000
    oracle.step(40)
    assert scene.load_checkpoint(path).is_exact
    assert scene.step_count == 25
    again = oracle_of(scene, seed=9)
    again.step(1)
    assert again.rows[0][0] == oracle.rows[25][0]


def test_options_that_the_script_has_set_itself_dont_keep_a_checkpoint_from_going_back(
    make_scene: Make, tmp_path: Path
) -> None:
    scene = make_scene()
    scene.model.opt.timestep = 0.001
    scene.step()
    path = scene.save_checkpoint(tmp_path / "checkpoint")
    scene.step()
    scene.load_checkpoint(path)
    assert scene.step_count == 1


def test_a_checkpoint_file_is_the_old_or_the_new_one_whatever_fails(
    make_scene: Make, failing_disk: Any, tmp_path: Path
) -> None:
    scene = make_scene("arm")
    path = scene.save_checkpoint(tmp_path / "checkpoint.mcap")
    before = path.read_bytes()
    for at in range(1, 30):
        disk = failing_disk(at)
        with contextlib.suppress(FileWriteError):
            save_checkpoint_file(scene, physics.TrajectoryFile(path), with_scene=True, disk=disk)
            break
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]
    assert at > 5
    scene.step()
    assert list(tmp_path.iterdir()) == [path]
