"""The newest seconds in memory, and in a file when something goes wrong: nothing is attached."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stroboscope.engine as physics
from stroboscope.engine.files.frames import BlockKind

Make = Callable[..., physics.Scene]
OracleOf = Callable[..., Any]
Read = Callable[..., Any]


def recorder(path: Path, **options: Any) -> physics.TrajectoryFile:
    return physics.TrajectoryFile(path / "flight.mcap", **{"keep_last": 1.0, **options})


def test_the_newest_second_is_written_when_recording_stops(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    scene.start_recording(recorder(tmp_path))
    oracle.step(700)
    assert not list(tmp_path.iterdir())
    recorded = read(scene.stop_recording())
    assert recorded.complete
    assert recorded.axes == list(range(500, 701))
    assert recorded.rows.tobytes() == oracle.array()[500:].tobytes()
    begin = recorded.events[0]
    assert (begin.kind, begin.axis, begin.physics_step, begin.step_count) == (
        "begin",
        500,
        500,
        500,
    )
    assert scene._bare
    assert scene.history.nbytes == 0


def test_a_stop_is_written_with_the_step_that_went_wrong_and_the_run_goes_on(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    recording = scene.start_recording(recorder(tmp_path, save_on_stop=True))
    oracle.step(300)
    scene.data.qvel[:] = 1e9
    oracle.step(1)
    oracle.step(20)
    recording.finish()
    first, second = recording.paths
    assert (first.name, second.name) == ("flight.mcap", "flight-2.mcap")
    recorded = read(first)
    assert recorded.axes == list(range(100, 301))
    # The last frame is what the step that went wrong began with.
    assert recorded.rows.tobytes() == oracle.array()[100:301].tobytes()
    assert recorded.blocks[-1].kind is BlockKind.FINAL
    stop = recorded.events[-1]
    assert (stop.kind, stop.axis) == ("stop", 300)
    assert stop.data["reason"] in ("autoreset", "exploding")
    assert read(second).axes[-1] == scene.counters.axis


@pytest.mark.parametrize("save_on_stop", [True, False])
def test_files_of_earlier_runs_stay_and_whoever_looks_for_the_new_one_is_told(
    make_scene: Make,
    oracle_of: OracleOf,
    read: Read,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    save_on_stop: bool,
) -> None:
    (tmp_path / "flight.mcap").write_bytes(b"of yesterday")
    (tmp_path / "flight-3.mcap").write_bytes(b"of last week")
    scene = make_scene()
    oracle = oracle_of(scene)
    recording = scene.start_recording(recorder(tmp_path, save_on_stop=save_on_stop))
    assert recording.path.name == "flight-2.mcap"
    oracle.step(30)
    if save_on_stop:
        scene.data.qvel[:] = 1e9
        oracle.step(1)
    recording.finish()
    names = ["flight-2.mcap"] + (["flight-4.mcap"] if save_on_stop else [])
    assert [path.name for path in recording.paths] == names
    assert all(read(path).complete for path in recording.paths)
    assert (tmp_path / "flight.mcap").read_bytes() == b"of yesterday"
    assert (tmp_path / "flight-3.mcap").read_bytes() == b"of last week"
    told = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert sum("flight-2.mcap" in text for text in told) == save_on_stop
    assert not any("flight-4.mcap" in text for text in told)  # somebody has asked for that one


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]


def blow_up(scene: physics.Scene, oracle: Any) -> None:
    scene.data.qvel[:] = 1e9
    oracle.step(1)


def test_a_stop_that_is_saved_says_why_and_where_and_how_to_open_the_file(
    model_path: Callable[[str], Path],
    oracle_of: OracleOf,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = physics.create_scene("left arm", model_path("arm"))
    oracle = oracle_of(scene)
    (tmp_path / "my runs").mkdir()
    scene.start_recording(recorder(tmp_path / "my runs", save_on_stop=True))
    oracle.step(5)
    scene.reset()
    oracle.step(20)
    blow_up(scene, oracle)
    stop = scene.last_stop
    assert stop is not None
    (told,) = warnings_of(caplog)
    assert told.startswith("scene 'left arm': stopped at episode 1, physics step 20 (t = 0.04")
    for part in (stop.message, stop.culprit):
        assert part
        assert part in told
    assert told.endswith(f"stroboscope open '{tmp_path / 'my runs' / 'flight.mcap'}'")


def test_what_repeats_leaves_room_for_files_of_other_causes_and_says_so_once(
    make_scene: Make, oracle_of: OracleOf, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scene = make_scene("arm")
    oracle = oracle_of(scene)
    recording = scene.start_recording(recorder(tmp_path, save_on_stop=True))
    for _ in range(12):
        oracle.step(5)
        blow_up(scene, oracle)
    assert len(list(recording.paths)) == 3
    told = warnings_of(caplog)
    assert len(told) == 4
    assert "not saved, nor will others like it be: 3 files of this cause are written" in told[-1]
    scene.break_when("qpos[0] > 100")
    scene.data.qpos[0] = 101
    oracle.step(1)
    assert len(recording.paths) == 4
    assert "“qpos[0] > 100”" in warnings_of(caplog)[-1]
    recording.finish()
    assert len(recording.paths) == 5  # somebody has asked for that one
    assert "9 more stops had no file of their own" in warnings_of(caplog)[-1]


def test_only_stops_are_worth_a_file_where_that_is_asked_for(
    make_scene: Make, oracle_of: OracleOf, tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    scene.start_recording(recorder(tmp_path, save_on_stop=True))
    oracle.step(50)
    physics.shutdown()
    assert not list(tmp_path.iterdir())
    scene = make_scene()
    scene.start_recording(recorder(tmp_path))
    oracle_of(scene).step(50)
    physics.shutdown()
    assert [path.name for path in tmp_path.iterdir()] == ["flight.mcap"]


def test_an_exception_in_the_block_is_written_as_a_stop(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    recording = scene.start_recording(recorder(tmp_path, save_on_stop=True))

    def run() -> None:
        with recording:
            oracle.step(20)
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        run()
    recorded = read(recording.path)
    assert recorded.rows.tobytes() == oracle.array().tobytes()
    assert recorded.events[-1].kind == "stop"
    assert "ZeroDivisionError" in recorded.events[-1].text


SCRIPT = """
    import sys
    import threading
    import stroboscope.engine as physics

    folder, where = sys.argv[1:]
    scene = physics.create_scene("scene")
    file = physics.TrajectoryFile(folder + "/flight", keep_last=0.5, save_on_stop=True)

    def run():
        scene.start_recording(file)
        for k in range(600):
            scene.log("step", k)
            scene.step()
        raise RuntimeError("the controller diverged")

    if where == "thread":
        thread = threading.Thread(target=run)
        def make_and_run():
            global scene
            scene = physics.create_scene("mine")
            run()
        thread = threading.Thread(target=make_and_run)
        thread.start()
        thread.join()
    else:
        run()
"""


@pytest.mark.parametrize("where", ["main", "thread"])
def test_a_script_that_dies_of_an_exception_leaves_its_last_half_second(
    start_warm: Callable[..., Any], read: Read, tmp_path: Path, where: str
) -> None:
    code, _, errors = start_warm(SCRIPT, str(tmp_path), where).end()
    assert code == (1 if where == "main" else 0)
    assert "the controller diverged" in errors
    recorded = read(tmp_path / "flight.mcap")
    assert recorded.complete
    assert (recorded.axes[0], recorded.axes[-1]) == (350, 600)
    stop = recorded.events[-1]
    assert (stop.kind, stop.axis) == ("stop", 600)
    assert "RuntimeError: the controller diverged (script.py:" in stop.text


def test_a_folder_that_cant_be_written_is_refused_at_once(make_scene: Make, tmp_path: Path) -> None:
    scene = make_scene()
    with pytest.raises(physics.RecordingError, match="there is no folder"):
        scene.start_recording(recorder(tmp_path / "missing"))
    assert scene._bare


def test_its_memory_stays_flat_and_the_seconds_are_all_there(
    make_scene: Make, oracle_of: OracleOf, tmp_path: Path
) -> None:
    scene = make_scene()
    scene.start_recording(recorder(tmp_path, keep_last=20.0))
    oracle = oracle_of(scene)
    oracle.step(9_000)
    full = scene.history.nbytes
    oracle.rows.clear()
    oracle.step(6_000)
    oracle.rows.clear()
    assert scene.history.nbytes <= 1.05 * full
    ring = scene.history.ring
    assert scene.counters.axis - ring.dense >= 4_000
    assert scene.counters.axis - ring.first <= 8_000
    assert os.listdir(tmp_path) == []


def test_what_the_script_wrote_into_its_model_is_part_of_what_led_there(
    make_scene: Make, oracle_of: OracleOf, tmp_path: Path
) -> None:
    scene = make_scene("humanoid")
    scene.model.actuator_gainprm[1, 0] *= 1.1  # before anybody looks: the model as it is then
    oracle = oracle_of(scene)
    scene.start_recording(recorder(tmp_path, keep_last=4.0))
    oracle.step(150)
    scene.model.actuator_gainprm[0, 0] *= 1.5  # before the first frame that will be left
    oracle.step(400)
    scene.model.actuator_gainprm[0, 0] *= 2.0
    scene.model.opt.gravity[2] = -5.0
    oracle.step(450)
    path, rows = scene.stop_recording(), oracle.array()
    with physics.load_trajectory(path) as trajectory:
        first, end = trajectory.axes
        assert (first > 150, end) == (True, 1000)
        found = trajectory.verify()
        assert (found.exit_code, found.differing) == (0, 0), str(found)
        assert "the model was changed from outside before step 550: opt.gravity" in str(found)
        for axis in (first, 549, 550, 999):
            trajectory.seek(axis - first)
            again = trajectory.scene
            again.step()
            assert again.data.qpos.tobytes() == rows[axis + 1, 1:29].tobytes(), axis
