"""Several scenes in one file, of one thread or of many, and environments of a batch."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.engine.trajectory.commands import main

Make = Callable[..., physics.Scene]
OracleOf = Callable[..., Any]
Read = Callable[..., Any]


def test_all_scenes_go_into_one_file(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    oracles = [oracle_of(make_scene(model), seed=k) for k, model in enumerate(["arm", "humanoid"])]
    oracles.append(oracle_of(make_scene("arm"), seed=9))
    oracles[2].step(4)
    with physics.start_recording(tmp_path / "all") as recording:
        for _ in range(150):
            for oracle in oracles:
                oracle.step()
    for index, begin in enumerate((0, 0, 4)):
        recorded = read(recording.path, index)
        assert recorded.rows.tobytes() == oracles[index].array()[begin:].tobytes()
        assert recorded.events[0].axis == begin
    assert all(oracle.scene._bare for oracle in oracles)


def test_one_of_several_scenes_may_end_before_the_others(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    first, second, third = (oracle_of(make_scene("arm"), seed=k) for k in range(3))
    recording = physics.start_recording(
        tmp_path / "run", scenes=[first.scene, second.scene, third.scene]
    )
    for oracle in (first, second, third):
        oracle.step(10)
    first.scene.stop_recording()
    expected = second.array()
    second.scene.destroy()
    third.step(10)
    first.step(10)
    assert recording.is_recording
    third.scene.stop_recording()
    assert not recording.is_recording
    assert read(recording.path, 0).axes == list(range(11))
    assert read(recording.path, 1).rows.tobytes() == expected.tobytes()
    assert read(recording.path, 2).axes == list(range(21))


def test_sixteen_scenes_of_sixteen_threads_are_recorded_from_their_next_step_on(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    count = 16
    begun, recorded, over = threading.Barrier(count + 1), threading.Event(), threading.Event()
    oracles: dict[int, Any] = {}
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            oracle = oracles[number] = oracle_of(make_scene("arm"), seed=number)
            oracle.step(5)
            begun.wait()
            assert recorded.wait(60)
            oracle.step(200)
            if number % 2:
                oracle.scene.stop_recording()
                oracle.rows.append(oracle.array()[-1])
                begun.wait()
            else:
                begun.wait()
                while not over.is_set():
                    oracle.step()
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    begun.wait()
    scenes = [oracles[number].scene for number in range(count)]
    recording = physics.start_recording(tmp_path / "run", scenes=scenes)
    recorded.set()
    begun.wait()
    recording.stop()
    over.set()
    for thread in threads:
        thread.join()
    assert not failures
    for number in range(count):
        found = read(recording.path, number)
        assert found.complete
        assert found.has_final
        rows = np.array(oracles[number].rows)[5 : 5 + len(found.axes)]
        assert len(found.axes) >= 201
        assert found.rows.tobytes() == rows.tobytes()


def test_a_scene_of_another_thread_that_stands_still_does_not_keep_a_recording_from_ending(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    made: list[Any] = []
    ready, over = threading.Event(), threading.Event()

    def work() -> None:
        made.append(oracle_of(make_scene("arm")))
        with_recording = made[0].scene.start_recording(tmp_path / "run")
        made.append(with_recording)
        made[0].step(20)
        ready.set()
        over.wait()

    thread = threading.Thread(target=work)
    thread.start()
    assert ready.wait(60)
    path = made[1].stop()
    over.set()
    thread.join()
    recorded = read(path)
    assert recorded.complete
    assert recorded.rows.tobytes() == made[0].array(final=False).tobytes()


def test_a_flight_recorder_is_of_one_scene(make_scene: Make, tmp_path: Path) -> None:
    make_scene("arm")
    wanted = physics.TrajectoryFile(tmp_path / "run", keep_last=1.0)
    with pytest.raises(physics.RecordingError, match="start one for each"):
        physics.start_recording(wanted)


# --- environments


def test_chosen_environments_are_recorded_each_as_a_scene(
    model_path: Callable[[str], Path], read: Read, tmp_path: Path
) -> None:
    scene = physics.create_scene("batch", model_path("arm"), n_envs=6)
    random = np.random.default_rng(0)
    rows: list[NDArray[np.float64]] = []

    def step(count: int) -> None:
        for _ in range(count):
            scene.ctrl[:] = random.uniform(-1, 1, scene.ctrl.shape)
            rows.append(scene.environments.state.copy())
            scene.step()

    step(3)
    with scene.start_recording(
        physics.TrajectoryFile(tmp_path / "batch", envs=[1, 4])
    ) as recording:
        step(300)
        scene.reset(envs_idx=[0, 4])
        scene.log("mean reward", 0.5)
        step(20)
    rows.append(scene.environments.state.copy())
    everything = np.array(rows)[3:]
    for index, env in enumerate((1, 4)):
        recorded = read(recording.path, index)
        assert recorded.complete
        assert recorded.axes == list(range(3, 324))
        assert recorded.rows.tobytes() == np.ascontiguousarray(everything[:, env]).tobytes()
    assert read(recording.path, 0).kinds() == ["begin"]
    assert [(e.kind, e.axis, e.step_count) for e in read(recording.path, 1).events] == [
        ("begin", 3, 3),
        ("episode", 303, 0),
    ]
    assert not scene.guards_detached


def test_too_many_environments_have_to_be_chosen(
    model_path: Callable[[str], Path], tmp_path: Path
) -> None:
    scene = physics.create_scene("batch", model_path("arm"), n_envs=300)
    with pytest.raises(ValueError, match="say which are to be recorded"):
        scene.start_recording(tmp_path / "batch")
    assert not list(tmp_path.iterdir())


def test_the_states_of_environments_are_a_checkpoint_file(
    model_path: Callable[[str], Path], read: Read, tmp_path: Path
) -> None:
    scene = physics.create_scene("batch", model_path("arm"), n_envs=4)
    for _ in range(5):
        scene.step()
    path = scene.save_checkpoint(tmp_path / "states", envs_idx=[3, 1])
    for index, env in enumerate((1, 3)):
        recorded = read(path, index)
        assert recorded.rows.tobytes() == scene.environments.state[env].tobytes()
        assert recorded.axes == [5]


def test_every_environment_of_a_file_is_verified_and_has_a_name_of_its_own(
    model_path: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scene = physics.create_scene("Many", model_path("arm"), n_envs=3)
    with scene.start_recording(tmp_path / "run") as recording:
        for _ in range(20):
            scene.step()
    with physics.load_trajectory(recording.path) as first:
        assert first.name == "Many[0]"
        assert list(first.others()) == ["Many[0]", "Many[1]", "Many[2]"]
    with physics.load_trajectory(recording.path, scene="Many[2]") as third:
        assert third.frame(5).axis == 5
    assert main("verify", [str(recording.path)]) == 0
    told = capsys.readouterr().out
    assert "Many[0] to Many[2] (3 scenes): reproduces bit for bit (20 of 21" in told


def test_a_scene_that_is_named_twice_is_recorded_once(make_scene: Make, tmp_path: Path) -> None:
    scene, other = make_scene(), make_scene()
    with physics.start_recording(tmp_path / "run", scenes=[scene, other, scene]) as recording:
        for _ in range(20):
            scene.step()
    assert recording.frames == 21 + 1
    with physics.load_trajectory(recording.path) as trajectory:
        assert len(trajectory.scenes) == 2
        assert len(trajectory) == 21
        assert [each.kind for each in trajectory.events] == ["begin"]
        assert trajectory.verify(jobs=1).checked == 20
