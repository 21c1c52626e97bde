"""A file that has its size before all that waits is written: whoever ends it hears that."""

import contextlib
import logging
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import stroboscope.engine as physics
from stroboscope.engine.files.disk import Disk
from stroboscope.engine.recording.file_recording import FileRecording

Make = Callable[..., physics.Scene]
_MAX_SIZE = 300_000
# They need more room than that.
_STEPS = 600


class _HeldDisk(Disk):
    """Takes nothing while ``goes`` is not set."""

    def __init__(self) -> None:
        self.goes = threading.Event()
        self.goes.set()

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        assert self.goes.wait(30)
        return super().write(descriptor, data)


def _small(tmp_path: Path) -> physics.TrajectoryFile:
    return physics.TrajectoryFile(tmp_path / "run.mcap", max_size=_MAX_SIZE, chunk_size=20)


class _Held:
    """A recording of ``scene`` whose rows wait until it is let go."""

    def __init__(self, scene: physics.Scene, tmp_path: Path) -> None:
        self.scene = scene
        self._disk = _HeldDisk()
        self.recording = FileRecording(_small(tmp_path), [scene], disk=self._disk)
        self.recording.begin(scene)
        self._disk.goes.clear()

    def step(self) -> None:
        """Take more steps than there is room for, none of which is written before the last."""
        _step(self.scene, _STEPS)
        self._disk.goes.set()


def _step(scene: physics.Scene, count: int) -> None:
    for _ in range(count):
        scene.step()


def _check_file(path: Path) -> None:
    """Check that a file is closed, and says how many frames it does not have."""
    with physics.load_trajectory(path) as trajectory:
        assert trajectory.complete
        assert not trajectory.damage
        gap = trajectory.events[-1]
        assert gap.kind == "gap"
        missing = _STEPS - len(trajectory)
        # Where the file was full before the end, the last state did not even wait.
        assert missing > 0
        assert gap.data["frames"] in (missing, missing + 1)
        assert gap.axis == trajectory.axis(-1) + 1
        assert f"{gap.data['frames']:,} frames" in gap.text
        assert f"max_size of {_MAX_SIZE:,} bytes" in gap.text
    assert path.stat().st_size <= _MAX_SIZE


def test_whoever_stops_a_recording_hears_of_frames_that_the_full_file_did_not_take(
    make_scene: Make, tmp_path: Path
) -> None:
    scene = make_scene()
    held = _Held(scene, tmp_path)
    recording = held.recording
    held.step()
    with pytest.raises(physics.RecordingFullError, match="that waited at the end were left out"):
        recording.stop()
    assert recording.stop() == recording.path  # said once
    _check_file(recording.path)


def test_a_block_that_ends_well_raises_when_its_file_was_full_before(
    make_scene: Make, tmp_path: Path
) -> None:
    scene = make_scene()
    held = _Held(scene, tmp_path)
    with (
        pytest.raises(physics.RecordingFullError, match="max_size of 300,000"),
        held.recording as recording,
    ):
        held.step()
    _check_file(recording.path)


def test_a_scene_that_ends_its_recording_hears_that_the_file_was_full_before(
    make_scene: Make, tmp_path: Path
) -> None:
    scene = make_scene()
    held = _Held(scene, tmp_path)
    recording = held.recording
    held.step()
    with pytest.raises(physics.RecordingFullError, match="max_size of 300,000"):
        scene.stop_recording()
    _check_file(recording.path)


def _fail_within(held: _Held) -> None:
    with contextlib.suppress(ZeroDivisionError), held.recording:
        held.step()
        raise ZeroDivisionError


@pytest.mark.parametrize("how", ["shutdown", "destroyed", "exception"])
def test_a_file_that_is_full_before_an_end_that_nobody_asked_for_is_logged(
    make_scene: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    scene = make_scene()
    held = _Held(scene, tmp_path)
    recording = held.recording
    with caplog.at_level(logging.WARNING, "stroboscope"):
        if how == "exception":
            _fail_within(held)
        else:
            held.step()
            physics.shutdown() if how == "shutdown" else physics.destroy_scene(scene)
    assert [record.message for record in caplog.records] == [str(recording.error)]
    assert "left out" in caplog.text
    _check_file(recording.path)


def test_a_recording_that_fits_to_the_last_frame_says_nothing(
    make_scene: Make, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for count in range(20, 400, 20):
        scene = make_scene()
        recording = scene.start_recording(_small(tmp_path))
        _step(scene, count)
        try:
            recording.stop()
        except physics.RecordingFullError:
            break
        with physics.load_trajectory(recording.path) as trajectory:
            assert len(trajectory) == count + 1
    else:
        raise AssertionError("never full")
    assert not caplog.records


def test_a_full_file_is_told_to_each_thread_that_ends_a_scene_of_it(
    make_scene: Make, tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    made: list[physics.Scene] = []
    heard: list[str] = []
    begins, goes_on = threading.Event(), threading.Event()

    def other() -> None:
        scene = make_scene()
        made.append(scene)
        assert begins.wait(30)
        scene.step()
        made.append(scene)
        assert goes_on.wait(30)
        try:
            scene.stop_recording()
        except physics.RecordingFullError as error:
            heard.append(str(error))

    thread = threading.Thread(target=other)
    thread.start()
    wait_until(lambda: made)
    scene = make_scene()
    physics.start_recording(_small(tmp_path), scenes=[scene, made[0]])
    begins.set()
    wait_until(lambda: len(made) == 2)
    with pytest.raises(physics.RecordingFullError):
        _step(scene, 1_000_000)
    goes_on.set()
    thread.join(30)
    assert heard
    assert "max_size" in heard[0]
