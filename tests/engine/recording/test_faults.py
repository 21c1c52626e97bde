"""What a recording does when the disk, or the process, does not."""

import contextlib
import errno
import os
import resource
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.host.frames import frames_of_thread
from stroboscope.engine.files.errors import FileWriteError
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.recording.file_recording import FileRecording

Make = Callable[..., physics.Scene]
OracleOf = Callable[..., Any]
Read = Callable[..., Any]


def start(scene: physics.Scene, path: Path, disk: Any, **options: Any) -> FileRecording:
    recording = FileRecording(physics.TrajectoryFile(path, **options), [scene], disk=disk)
    recording.begin(scene)
    return recording


def stored(path: Path) -> tuple[Any, bool]:
    """Return the rows that can be read, and whether the file was closed."""
    with TrajectoryReader(path) as reader:
        rows = [reader.block(0, i).rows for i in range(len(reader.index(0).count))]
        return np.concatenate(rows) if rows else None, reader.complete


@pytest.mark.parametrize("stays", [False, True])
def test_whichever_call_fails_the_run_goes_on_and_what_was_before_is_there(
    make_scene: Make,
    oracle_of: OracleOf,
    failing_disk: Any,
    tmp_path: Path,
    stays: bool,
    caplog: Any,
) -> None:
    at, ended_well = 0, False
    while not ended_well:
        at += 1
        assert at < 60
        scene = make_scene("arm")
        oracle = oracle_of(scene)
        path = tmp_path / f"{at}.mcap"
        try:
            recording = start(scene, path, failing_disk(at, stays=stays), chunk_size=16)
        except FileWriteError:
            assert not recording_threads()
            oracle.step(5)
            continue
        caplog.clear()
        oracle.step(100)
        expected = oracle.array()
        with contextlib.suppress(physics.RecordingError):
            recording.stop()
            ended_well = True
        assert ended_well or "No space left" in str(recording.error)
        told = 0 if ended_well else 1
        oracle.step(1)
        assert scene.step_count == 101
        assert scene._bare
        assert len([r for r in caplog.records if "the simulation goes on" in r.message]) == told
        rows, complete = stored(path)
        assert complete or not ended_well
        if rows is not None:
            assert rows.tobytes() == expected[: len(rows)].tobytes()
        scene.destroy()
    assert at > 8


def recording_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("stroboscope recording")]


def test_the_next_step_raises_where_that_is_wanted(
    make_scene: Make, oracle_of: OracleOf, failing_disk: Any, tmp_path: Path
) -> None:
    scene = make_scene("arm")
    oracle = oracle_of(scene)
    start(scene, tmp_path / "run", failing_disk(6, stays=True), raise_on_error=True)
    with pytest.raises(physics.RecordingError, match="No space left"):
        oracle.step(1_000_000)
    # The step that raised has moved nothing.
    assert scene.step_count == len(oracle.rows) - 1
    before, after = oracle.array()[-2:]
    assert after.tobytes() == before.tobytes()
    scene.step()
    assert scene.step_count == len(oracle.rows)


def _has_taken(recording: physics.Recording, frames: int) -> Callable[[], bool]:
    return lambda: recording.frames > frames or recording.error is not None


def test_a_full_file_is_intact_and_the_next_step_raises_once(
    make_scene: Make, oracle_of: OracleOf, wait_until: Callable[..., None], tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    wanted = physics.TrajectoryFile(tmp_path / "run", max_size=400_000, chunk_size=32)
    recording = scene.start_recording(wanted)

    def fill() -> None:
        for _ in range(200):
            oracle.step(100)
            wait_until(_has_taken(recording, len(oracle.rows) - 100))

    with pytest.raises(physics.RecordingFullError, match="has reached its max_size of 400,000"):
        fill()
    steps = scene.step_count
    assert steps == len(oracle.rows) - 1  # the step that raised has moved nothing
    oracle.rows.pop()
    scene.step()
    assert scene._bare
    assert recording.path.stat().st_size <= 400_000
    rows, complete = stored(recording.path)
    assert complete
    assert rows.tobytes() == oracle.array(final=False)[: len(rows)].tobytes()
    assert recording.stop() == recording.path


def test_a_recording_that_rotates_goes_on_in_files_that_each_stand_alone(
    make_scene: Make, oracle_of: OracleOf, read: Read, tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    path = tmp_path / "run"
    recording = start(scene, path, None, max_size=400_000, chunk_size=32, rotate=True)
    with recording:
        oracle.step(1_200)
        scene.reset()
        oracle.step(300)
    names = [path.name for path in recording.paths]
    assert names[:3] == ["run.mcap", "run-2.mcap", "run-3.mcap"]
    rows, axes, previous = [], [], ""
    for number, path in enumerate(recording.paths):
        assert path.stat().st_size <= 400_000
        found = read(path)
        assert found.complete
        rows.append(found.rows)
        axes += found.axes
        first = found.events[0]
        assert first.kind in ("begin", "episode")
        assert first.physics_step == (first.axis if first.axis < 1_200 else first.axis - 1_200)
        with TrajectoryReader(path) as reader:
            assert (reader.manifest.segment, reader.manifest.previous) == (number, previous)
            previous = reader.manifest.uuid
            assert reader.attachment("stroboscope/scene.strobe")
    with TrajectoryReader(recording.paths[-1]) as reader:  # each file's chunks are its own
        chunks = recording._thread._writer._chunks
        assert chunks.count == len(reader._contents.entries)
    assert axes == list(range(1_501))
    assert np.concatenate(rows).tobytes() == oracle.array().tobytes()


def test_a_disk_that_takes_nothing_makes_the_step_wait_and_nothing_is_lost(
    make_scene: Make,
    oracle_of: OracleOf,
    stuck_disk: Any,
    wait_until: Callable[..., None],
    tmp_path: Path,
) -> None:
    disk = stuck_disk(after=8)
    result: dict[str, Any] = {}

    def work() -> None:
        scene = make_scene()
        result["oracle"] = oracle = oracle_of(scene)
        result["recording"] = recording = start(scene, tmp_path / "run.mcap", disk)
        oracle.step(6_000)
        result["path"] = recording.stop()

    thread = threading.Thread(target=work)
    thread.start()
    assert disk.is_stuck.wait(60)
    (tap,) = result["recording"]._taps.values()
    wait_until(lambda: len(tap.feed.items) > 8, 60)
    assert len(result["oracle"].rows) < 5_000
    disk.free.set()
    thread.join()
    rows, complete = stored(result["path"])
    assert complete
    assert len(rows) == 6_001
    assert rows[:-1].tobytes() == result["oracle"].array(final=False).tobytes()


def test_who_stops_again_after_ctrl_c_while_the_disk_is_slow_waits_for_the_file(
    make_scene: Make,
    oracle_of: OracleOf,
    stuck_disk: Any,
    wait_until: Callable[..., None],
    tmp_path: Path,
) -> None:
    disk = stuck_disk(after=8)
    scene = make_scene()
    recording = start(scene, tmp_path / "run.mcap", disk)
    oracle = oracle_of(scene)
    oracle.step(3_000)
    main = threading.get_ident()
    is_told = threading.Event()

    def waits_in_stop() -> bool:
        with frames_of_thread(main) as frames:
            names = [frame.f_code.co_name for frame in frames]
        return "end" in names and names[0] in ("wait", "_wait_for_tstate_lock")

    def interrupt() -> None:
        wait_until(waits_in_stop)
        os.kill(os.getpid(), signal.SIGINT)
        assert is_told.wait(60)
        wait_until(waits_in_stop)
        disk.free.set()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            recording.stop()
        is_told.set()
        path = recording.stop()
    finally:
        disk.free.set()
        thread.join()
    rows, complete = stored(path)
    assert complete
    assert len(rows) == 3_001


def test_where_frames_may_be_dropped_the_file_says_which(
    make_scene: Make, oracle_of: OracleOf, stuck_disk: Any, read: Read, tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    disk = stuck_disk(after=8)
    recording = start(scene, tmp_path / "run.mcap", disk, slow_disk="drop")
    oracle.step(2_000)
    while not disk.is_stuck.is_set():
        oracle.step(10)
    oracle.step(6_000)
    disk.free.set()
    recorded = read(recording.stop())
    gaps = [event for event in recorded.events if event.kind == "gap"]
    missing: set[int] = set()
    for gap in gaps:
        assert isinstance(gap, FileEvent)
        missing |= set(range(gap.axis, gap.axis + int(str(gap.data["frames"]))))
    assert missing
    assert set(recorded.axes) | missing == set(range(len(oracle.rows) + 1))
    assert not set(recorded.axes) & missing
    assert recorded.rows.tobytes() == oracle.array()[recorded.axes].tobytes()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_without_permission_is_refused_at_once(make_scene: Make, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(FileWriteError, match="Permission denied"):
        make_scene("arm").start_recording(tmp_path / "run")


def test_a_folder_that_is_not_there_is_refused_at_once(make_scene: Make, tmp_path: Path) -> None:
    scene = make_scene("arm")
    with pytest.raises(FileWriteError, match="can't be created"):
        scene.start_recording(tmp_path / "missing" / "run")
    assert scene._bare
    assert not recording_threads()


@contextlib.contextmanager
def no_file_larger_than(nbytes: int) -> Iterator[None]:
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_file_system_limit_is_told_once_and_the_file_is_a_valid_log(
    make_scene: Make, oracle_of: OracleOf, wait_until: Callable[..., None], tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    with no_file_larger_than(600_000):
        recording = scene.start_recording(tmp_path / "run")
        oracle.step(2_000)
        wait_until(lambda: recording.error is not None)
        with pytest.raises(physics.RecordingError, match=os.strerror(errno.EFBIG)):
            recording.stop()
    rows, _ = stored(recording.path)
    assert len(rows) > 200
    assert rows.tobytes() == oracle.array()[: len(rows)].tobytes()


@pytest.mark.parametrize("limit", [3_000, 60_000])
def test_what_a_full_disk_does_not_take_is_told_by_its_name_and_leaves_nothing_hidden(
    make_scene: Make,
    tmp_path: Path,
    limit: int,
    caplog: Any,
) -> None:
    scene = make_scene()
    scene.start_recording(physics.TrajectoryFile(tmp_path / "flight", keep_last=60))
    for _ in range(500):
        scene.ctrl[:] = np.sin(scene.data.time)
        scene.step()
    with no_file_larger_than(limit):
        if limit < 10_000:
            with pytest.raises(FileWriteError, match=r"\brun.mcap: can't be written"):
                scene.start_recording(tmp_path / "run")
        with pytest.raises(physics.EngineError, match=r"\bflight.mcap: can't be written"):
            scene.stop_recording()
    assert ".part" not in caplog.text
    left = [path.name for path in tmp_path.iterdir() if path.suffix == ".part"]
    assert left == []
    assert not (tmp_path / "run.mcap").exists()
    assert not recording_threads()


@pytest.mark.parametrize("is_link", [False, True])
def test_an_old_recording_stays_where_the_new_one_can_not_begin(
    make_scene: Make, tmp_path: Path, is_link: bool
) -> None:
    scene = make_scene()
    path = tmp_path / "a.mcap"
    real = tmp_path / "real.mcap" if is_link else path
    with scene.start_recording(real):
        scene.step(nstep=50)
    if is_link:
        path.symlink_to(real)
    before, names = real.read_bytes(), sorted(tmp_path.iterdir())
    with no_file_larger_than(10_000), pytest.raises(FileWriteError, match=r"\ba.mcap: .*stays"):
        scene.start_recording(path)
    assert path.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == names
    with scene.start_recording(path):
        scene.step(nstep=20)
    assert sorted(tmp_path.iterdir()) == names
    assert not path.is_symlink()
    assert len(stored(path)[0]) == 21
    assert not is_link or real.read_bytes() == before


def test_places_that_can_not_be_recorded_into_are_named_and_not_the_room_on_the_disk(
    make_scene: Make, tmp_path: Path
) -> None:
    scene = make_scene("arm")
    os.mkfifo(tmp_path / "pipe.mcap")
    (tmp_path / "folder.mcap").mkdir()
    (tmp_path / "file").touch()
    for place, wrong in {
        "pipe": "it is a pipe or a device",
        "folder": "it is a folder: name a file in it",
        "missing/run": f"the folder {tmp_path / 'missing'} is not there: make it",
        "file/run": f"the folder {tmp_path / 'file'} is a file",
    }.items():
        with pytest.raises(FileWriteError, match=wrong) as raised:
            scene.start_recording(tmp_path / f"{place}.mcap")
        assert "room" not in str(raised.value)
    assert (tmp_path / "pipe.mcap").is_fifo()
    assert not recording_threads()


# --- the process

KILLED = """
    import sys
    import numpy as np
    import mujoco
    import stroboscope.engine as physics

    folder, model = sys.argv[1:]
    scene = physics.create_scene("scene", model)
    scene.start_recording(folder + "/run.mcap")
    random = np.random.default_rng(0)
    out = open(folder + "/oracle", "wb", buffering=0)
    row = np.empty(mujoco.mj_stateSize(scene.model, mujoco.mjtState.mjSTATE_INTEGRATION))
    import time
    while True:
        scene.ctrl[:] = random.uniform(-1, 1, scene.model.nu)
        mujoco.mj_getState(scene.model, scene.data, row, mujoco.mjtState.mjSTATE_INTEGRATION)
        out.write(np.append(row, (time.thread_time(), time.monotonic())).tobytes())
        scene.step()
"""


BLOCK = 256  # rows, of what is recorded so fast


def _has(path: Path, size: int) -> Callable[[], bool]:
    return lambda: path.exists() and path.stat().st_size >= size


def _kill_trials(
    count: int, most: int, start_warm: Callable[..., Any], model: Path, folder: Path
) -> None:
    for trial in range(count):
        place = folder / f"trial{trial:03}"
        place.mkdir()
        script = start_warm(KILLED, str(place), str(model))
        oracle = place / "oracle"
        wanted = 100_000 + (most - 100_000) * (trial % 20) // 19  # bytes, 1,800 of each step
        script.wait_until(_has(oracle, wanted), 60)
        script.process.kill()
        script.process.communicate()
        with TrajectoryReader(place / "run.mcap") as reader:
            assert not reader.complete
            assert all("cut" in each.what or "end" in each.what for each in reader.damage)
            width = reader.scene(0).width
            blocks = [reader.block(0, i) for i in range(len(reader.index(0).count))]
        seen = np.fromfile(oracle, dtype=np.float64)
        seen = seen[: len(seen) // (width + 2) * (width + 2)].reshape(-1, width + 2)
        rows = np.concatenate([block.rows for block in blocks]) if blocks else seen[:0, :-2]
        assert rows.tobytes() == seen[: len(rows), :-2].tobytes()
        lost = seen[len(rows) :, -2:]
        if len(lost) > BLOCK:
            own, wall = lost[-1] - lost[0]
            # Of the stepping thread's own time: in the other a busy machine has a part.
            assert own < 0.25
            assert wall < 1.0


def test_what_a_killed_process_has_recorded_is_there_but_the_last_moment(
    start_warm: Callable[..., Any], model_path: Callable[[str], Path], tmp_path: Path
) -> None:
    _kill_trials(20, 4_000_000, start_warm, model_path("humanoid"), tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_two_hundred_killed_processes_leave_valid_logs(
    start_warm: Callable[..., Any], model_path: Callable[[str], Path], tmp_path: Path
) -> None:
    _kill_trials(200, 14_000_000, start_warm, model_path("humanoid"), tmp_path)


FORKED = """
    import os
    import sys
    import warnings
    import stroboscope.engine as physics

    warnings.simplefilter("ignore")
    scene = physics.create_scene("scene")
    recording = scene.start_recording(sys.argv[1] + "/run.mcap")
    for _ in range(100):
        scene.step()
    child = os.fork()
    if not child:
        for _ in range(50):
            scene.step()
        assert not recording.is_recording
        scene.start_recording(sys.argv[1] + "/child.mcap")
        for _ in range(50):
            scene.step()
        scene.stop_recording()
        physics.shutdown()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    for _ in range(100):
        scene.step()
"""


def test_a_forked_child_leaves_the_file_alone_and_records_into_its_own(
    start_script: Callable[..., Any], read: Read, tmp_path: Path
) -> None:
    code, _, errors = start_script(FORKED, str(tmp_path)).end()
    assert (code, errors) == (0, "")
    run, child = read(tmp_path / "run.mcap"), read(tmp_path / "child.mcap")
    assert run.complete
    assert run.axes == list(range(201))
    assert child.complete
    assert child.axes == list(range(150, 201))


def test_a_script_that_just_ends_leaves_a_complete_file(
    start_script: Callable[..., Any], read: Read, tmp_path: Path
) -> None:
    script = """
        import sys
        import stroboscope.engine as physics

        scene = physics.create_scene("scene")
        scene.start_recording(sys.argv[1] + "/run.mcap")
        for _ in range(123):
            scene.step()
    """
    code, _, errors = start_script(script, str(tmp_path)).end()
    assert (code, errors) == (0, "")
    recorded = read(tmp_path / "run.mcap")
    assert recorded.complete
    assert recorded.has_final
    assert recorded.axes == list(range(124))


def test_what_is_logged_counts_into_the_size_of_a_file(
    make_scene: Make, wait_until: Callable[..., None], tmp_path: Path
) -> None:
    scene = make_scene("arm")
    recording = scene.start_recording(physics.TrajectoryFile(tmp_path / "run", max_size=200_000))
    random = np.random.default_rng(0)
    scene.step()

    def fill() -> bool:
        for _ in range(500):
            scene.log("noise", random.normal(size=20))
        return recording.error is not None

    wait_until(fill)
    with pytest.raises(physics.RecordingFullError):
        scene.step()
    rows, complete = stored(recording.path)
    assert complete
    assert len(rows) == 1
