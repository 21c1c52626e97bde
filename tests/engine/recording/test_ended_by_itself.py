"""What is said of a recording that has ended by itself, and of one that no file can hold all of."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import mujoco
import pytest
from rewritten_file import rewrite_file

import stroboscope.engine as physics
from stroboscope.engine.recording.file_recording import FileRecording

Make = Callable[..., physics.Scene]


def test_a_full_file_has_as_many_frames_as_its_recording_says(
    make_scene: Make, oracle_of: Callable[..., Any], read: Callable[..., Any], tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    wanted = physics.TrajectoryFile(tmp_path / "run", max_size=100_000, chunk_size=100)
    recording = scene.start_recording(wanted)
    with pytest.raises(physics.RecordingFullError, match=r"with [\d,]+ frames") as caught:
        oracle.step(1_000_000)
    recorded = read(recording.path)
    assert recording.frames == len(recorded.rows)
    assert f"with {len(recorded.rows):,} frames" in str(caught.value)
    assert scene.stop_recording() == recording.path
    with pytest.raises(physics.RecordingError, match="is not recorded"):
        scene.stop_recording()


def test_stopping_says_that_the_disk_has_failed_meanwhile(
    make_scene: Make, oracle_of: Callable[..., Any], failing_disk: Any, tmp_path: Path
) -> None:
    scene = make_scene()
    oracle = oracle_of(scene)
    disk = failing_disk(8, stays=True)
    wanted = physics.TrajectoryFile(tmp_path / "run", chunk_size=20)
    recording = FileRecording(wanted, [scene], disk=disk)
    recording.begin(scene)
    while scene.recorders.recordings:
        oracle.step(50)
    with pytest.raises(physics.RecordingError, match="No space left on device"):
        scene.stop_recording()


def test_a_callback_of_mujoco_is_why_a_file_is_not_exact(make_scene: Make, tmp_path: Path) -> None:
    scene = make_scene()

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        data.ctrl[:] = data.time

    mujoco.set_mjcb_control(control)
    try:
        with scene.start_recording(tmp_path / "run") as recording:
            for _ in range(20):
                scene.step()
    finally:
        mujoco.set_mjcb_control(None)
    with physics.load_trajectory(recording.path) as trajectory:
        assert trajectory.exactness == "the script's mjcb_control can't be in a file"
        assert trajectory.record.callbacks == ("mjcb_control",)
        found = trajectory.verify(jobs=1)
    assert found.exit_code == 1
    assert "the script's mjcb_control can't be in a file" in str(found)


@pytest.mark.parametrize(
    ("exactness", "callbacks", "without"),
    [
        ("the script's mjcb_passive can't be in a file", None, True),
        ("something else", ("mjcb_passive",), True),
        ("a body called mjcb_passive has a plugin", (), False),
        ("", None, False),
    ],
)
def test_which_callbacks_a_script_had_a_file_says_itself_and_an_older_one_in_words(
    make_scene: Make,
    tmp_path: Path,
    exactness: str,
    callbacks: tuple[str, ...] | None,
    without: bool,
) -> None:
    scene = make_scene()
    with scene.start_recording(tmp_path / "run") as recording:
        for _ in range(3):
            scene.step()
    path = rewrite_file(
        recording.path,
        tmp_path / "other.mcap",
        record=lambda record: msgspec.structs.replace(
            record, exactness=exactness, callbacks=callbacks
        ),
    )
    with physics.load_trajectory(path) as trajectory:
        told = trajectory.scene.history.recorded_without
    assert told == ("the script's mjcb_passive can't be in a file" if without else "")
