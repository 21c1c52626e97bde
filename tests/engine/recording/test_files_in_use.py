"""A file that is recorded into, and others who want its name, move it away, or delete it."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stroboscope.engine as physics
from stroboscope.engine.files.atomic import write_file
from stroboscope.engine.files.errors import FileWriteError

Make = Callable[..., physics.Scene]
OracleOf = Callable[..., Any]
Read = Callable[..., Any]
WaitUntil = Callable[..., None]

needs_locks = pytest.mark.skipif(sys.platform == "win32", reason="nothing can be moved away there")

OTHER = """
    import os
    import sys
    import time
    import stroboscope.engine as physics

    path, keep_last = sys.argv[1], float(sys.argv[2]) or None
    scene = physics.create_scene("other")
    file = physics.TrajectoryFile(path, keep_last=keep_last)
    recording = scene.start_recording(file)
    for _ in range(300):
        scene.step()
    sys.stdout.write("ready")
    sys.stdout.flush()
    if sys.stdin.readline():
        recording.stop()
        sys.stdout.write(recording.path.name)
    else:
        os.kill(os.getpid(), 9)
"""


class Other:
    """Another process that records into a file."""

    def __init__(self, path: Path, keep_last: float = 0.0) -> None:
        script = textwrap.dedent(OTHER)
        self.process = subprocess.Popen(
            [sys.executable, "-c", script, str(path), str(keep_last)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.read(5) == "ready"

    def stop(self) -> str:
        """Have it complete its file; returns the name."""
        return self.process.communicate("stop\n", timeout=60)[0]

    def kill(self) -> None:
        """Have it die."""
        self.process.communicate("", timeout=60)


@pytest.fixture
def other() -> Any:
    made: list[Other] = []

    def start(path: Path, keep_last: float = 0.0) -> Other:
        made.append(Other(path, keep_last))
        return made[-1]

    yield start
    for each in made:
        each.process.kill()
        each.process.communicate()


@needs_locks
def test_a_file_that_another_process_records_into_is_refused_naming_that(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path, other: Any
) -> None:
    path = tmp_path / "run.mcap"
    first = other(path)
    scene = make_scene("arm")
    oracle = oracle_of(scene)
    with pytest.raises(FileWriteError, match="being recorded into by process") as refused:
        scene.start_recording(path)
    if sys.platform == "linux":
        assert f"process {first.process.pid}" in str(refused.value)
    scene.start_recording(tmp_path / "mine")
    oracle.step(5)
    scene.stop_recording()
    for write in (
        lambda: scene.save_history(path),
        lambda: scene.save_checkpoint(path),
        lambda: write_file(path, b"something else"),
    ):
        with pytest.raises((FileWriteError, physics.RecordingError), match="being recorded into"):
            write()
    assert first.stop() == "run.mcap"
    assert read(path).axes == list(range(301))
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []
    with scene.start_recording(path):
        oracle.step(5)
    assert read(path).axes == list(range(5, 11))


def test_what_a_killed_process_has_recorded_into_is_in_nobody_s_way(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path, other: Any
) -> None:
    path = tmp_path / "run.mcap"
    other(path).kill()
    scene = make_scene("arm")
    with scene.start_recording(path):
        oracle_of(scene).step(5)
    assert read(path).axes == list(range(6))


@needs_locks
def test_a_file_by_another_name_is_the_same_file(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    scene = make_scene("arm")
    oracle = oracle_of(scene)
    with scene.start_recording(tmp_path / "folder" / "run"):
        oracle.step(10)
        with pytest.raises(FileWriteError, match="being recorded into by this process"):
            scene.start_recording(tmp_path / "link" / "run")
        oracle.step(10)
    assert read(tmp_path / "folder" / "run.mcap").axes == list(range(21))


def test_flight_recorders_of_several_processes_take_each_a_name_of_their_own(
    read: Read, tmp_path: Path, other: Any
) -> None:
    others = [other(tmp_path / "crash", 0.5) for _ in range(3)]
    for each in others:
        assert each.process.stdin is not None
        each.process.stdin.write("stop\n")
        each.process.stdin.flush()
    names = {each.process.communicate(timeout=60)[0] for each in others}
    assert names == {"crash.mcap", "crash-2.mcap", "crash-3.mcap"}
    for name in names:
        recorded = read(tmp_path / name)
        assert recorded.complete
        assert recorded.axes[-1] == 300
    assert {each.name for each in tmp_path.iterdir()} == names


def test_a_recording_stays_in_its_folder_where_the_script_goes_into_another_one(
    make_scene: Make,
    oracle_of: OracleOf,
    read: Read,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    scene = make_scene()
    oracle = oracle_of(scene)
    rotating = physics.TrajectoryFile("run", max_size=400_000, chunk_size=32, rotate=True)
    recordings = [
        scene.start_recording(rotating),
        scene.start_recording(physics.TrajectoryFile("crash", keep_last=0.1)),
    ]
    monkeypatch.chdir(tmp_path / "elsewhere")
    oracle.step(1_500)
    for recording in reversed(recordings):
        recording.stop()
        assert recording.paths
        assert all(path.parent == tmp_path and read(path).complete for path in recording.paths)
    assert list((tmp_path / "elsewhere").iterdir()) == []


# --- taken away


@needs_locks
def test_a_file_that_is_moved_away_is_completed_where_it_is(
    make_scene: Make,
    oracle_of: OracleOf,
    read: Read,
    wait_until: WaitUntil,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = make_scene("arm")
    oracle = oracle_of(scene)
    recording = scene.start_recording(tmp_path / "run")
    oracle.step(50)
    (tmp_path / "run.mcap").rename(tmp_path / "run.mcap.1")
    (tmp_path / "run.mcap").write_bytes(b"of somebody else")
    told = "run.mcap was moved away while it was recorded"
    wait_until(lambda: told in caplog.text)
    oracle.step(50)
    moved = tmp_path / "run.mcap.1"
    assert recording.stop() == moved
    recorded = read(moved)
    assert recorded.complete
    assert recorded.rows.tobytes() == oracle.array().tobytes()
    assert caplog.text.count(told) == 1
    assert recording.error is None
    assert (tmp_path / "run.mcap").read_bytes() == b"of somebody else"


@needs_locks
@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_file_that_is_deleted_is_told_and_recording_goes_on_in_a_new_one(
    make_scene: Make,
    oracle_of: OracleOf,
    read: Read,
    wait_until: WaitUntil,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    is_replaced: bool,
) -> None:
    scene = make_scene("arm")
    oracle = oracle_of(scene)
    recording = scene.start_recording(tmp_path / "run")
    path = recording.path
    oracle.step(50)
    wait_until(lambda: recording.frames == 50)
    path.unlink()
    if is_replaced:
        path.write_bytes(b"of somebody else")
    wait_until(lambda: "was deleted while it was recorded" in caplog.text)
    oracle.step(70)
    name = "run-2.mcap" if is_replaced else "run.mcap"
    assert recording.stop() == tmp_path / name
    recorded = read(tmp_path / name)
    assert recorded.complete
    assert recorded.axes == list(range(50, 121))
    assert recorded.rows.tobytes() == oracle.array()[50:].tobytes()
    warning = next(event for event in recorded.events if event.kind == "warning")
    assert "50 frames are lost" in warning.text
    assert recorded.events[0].kind == "begin"
    assert caplog.text.count("was deleted") == 1
    assert "50 frames are lost" in caplog.text
    assert scene.step_count == 120
    if is_replaced:
        assert path.read_bytes() == b"of somebody else"


@needs_locks
def test_a_file_that_is_cut_off_is_told_and_recording_goes_on_in_a_new_one(
    make_scene: Make,
    oracle_of: OracleOf,
    read: Read,
    wait_until: WaitUntil,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = make_scene("arm")
    oracle = oracle_of(scene)
    recording = scene.start_recording(tmp_path / "run")
    oracle.step(50)
    wait_until(lambda: recording.frames == 50)
    os.truncate(recording.path, 0)
    wait_until(lambda: "was cut off while it was recorded" in caplog.text)
    oracle.step(70)
    assert recording.stop() == tmp_path / "run-2.mcap"
    assert read(recording.path).rows.tobytes() == oracle.array()[50:].tobytes()
    assert recording.paths == (tmp_path / "run.mcap", tmp_path / "run-2.mcap")


@needs_locks
def test_a_file_that_is_deleted_with_its_folder_ends_the_recording_and_not_the_run(
    make_scene: Make,
    oracle_of: OracleOf,
    wait_until: WaitUntil,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    scene = make_scene("arm")
    oracle = oracle_of(scene)
    recording = scene.start_recording(folder / "run")
    oracle.step(50)
    recording.path.unlink()
    folder.rmdir()
    wait_until(lambda: recording.error is not None)
    oracle.step(50)
    assert scene.step_count == 100
    with pytest.raises(physics.RecordingError, match="was deleted while it was recorded"):
        recording.stop()
    assert caplog.text.count("the simulation goes on") == 1


@needs_locks
def test_a_file_that_is_deleted_right_before_its_end_is_told_as_lost(
    make_scene: Make,
    oracle_of: OracleOf,
    read: Read,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = make_scene("arm")
    oracle = oracle_of(scene)
    recording = scene.start_recording(tmp_path / "run")
    oracle.step(50)
    recording.path.unlink()
    recording.stop()
    assert "was deleted while it was recorded: " in caplog.text
    assert "frames are lost" in caplog.text
    recorded = read(recording.path)
    assert recorded.complete
    assert recorded.has_final
