"""Files of pasts whose model nobody remembers say so, wherever something follows from that."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.app.main.cli import main
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.recording.doubts import doubts_of

Make = Callable[..., physics.Scene]

EPISODES, STEPS, MOST = 12, 10, 350
LOST = "not reproducible: what the model's fields were then is not remembered"


def _note(trajectory: Any, axis: int) -> str:
    machine = trajectory.scene.backend.time_machine()
    return str(machine.look_at(axis, frozenset({Topic.STATE})).note)


def _randomised(scene: Any, *, steps: int = STEPS) -> None:
    """Have each episode run with other gains."""
    for _ in range(EPISODES):
        scene.reset()
        scene.model.actuator_gainprm[:, 0] *= 1.01
        for k in range(steps):
            scene.ctrl[:] = np.sin(k)
            scene.step()


@pytest.mark.parametrize("kept", ["saved", "by a flight recorder, minimal"])
def test_frames_whose_model_was_let_go_of_are_marked_where_a_past_is_saved(
    make_scene: Make,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kept: str,
) -> None:
    monkeypatch.setattr("stroboscope.engine.history.segments.MOST_NUMBERS", MOST)
    scene = make_scene("arm")
    scene.keep_history(True)
    if kept != "saved":
        wanted = physics.TrajectoryFile(tmp_path / "past", keep_last=60, mode="minimal")
        scene.start_recording(wanted)
    _randomised(scene)
    known_from = scene.history.segments.fields_from
    assert 0 < known_from < EPISODES * STEPS
    path = scene.save_history(tmp_path / "past") if kept == "saved" else scene.stop_recording()
    monkeypatch.undo()
    with physics.load_trajectory(path) as trajectory:
        (doubt,) = doubts_of(trajectory.events)
        assert doubt[:2] == (0, known_from)
        assert doubt[2].startswith(LOST)
        assert f"(rows 0 to {known_from - 1})" in doubt[2]
        for axis in (0, known_from - 1):
            assert _note(trajectory, axis) == doubt[2]
        for axis in (known_from, EPISODES * STEPS - 1):
            assert _note(trajectory, axis) in ("", "verified")
        for frame in range(len(trajectory)):
            assert np.isfinite(trajectory.frame(frame).row).all()
        found = trajectory.verify(jobs=1)
        assert found.first is not None
        assert found.first.axis <= known_from
        assert found.note == doubt[2]
        # What is open is not compiled again.
        assert main(["verify", str(path)]) == 1
        assert doubt[2] in capsys.readouterr().out
        assert main(["cut", str(path), "5", "100", "-o", str(tmp_path / "part.mcap")]) == 0
        with physics.load_trajectory(tmp_path / "part.mcap") as part:
            assert _note(part, 6) == doubt[2]
            assert _note(part, known_from) in ("", "verified")


def test_doubts_about_single_steps_of_a_past_are_in_its_file(
    make_scene: Make, tmp_path: Path
) -> None:
    scene = make_scene("arm")
    scene.keep_history(True)
    for k in range(60):
        if k in (20, 40):  # nobody looks in between
            scene.model.actuator_gainprm[:, 0] *= 1.5
        scene.ctrl[:] = np.sin(k)
        scene.step()
    machine = scene.backend.time_machine()
    notes = [machine.look_at(axis, frozenset({Topic.STATE})).note for axis in range(60)]
    assert all(notes[20:40])
    assert not notes[-1]
    with physics.load_trajectory(scene.save_history(tmp_path / "past")) as trajectory:
        assert [_note(trajectory, axis) for axis in range(60)] == notes


def test_environments_whose_fields_were_let_go_of_are_marked(
    make_scene: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mujoco.batch")
    monkeypatch.setattr("stroboscope.engine.batch.field_notes._MOST_BYTES", 8000)
    scene: Any = make_scene("arm", n_envs=2)
    scene.keep_history(True)
    masses = scene.expand("body_mass")
    for _ in range(20):
        scene.step()
        masses[1] *= 1.01
    path = scene.save_history(tmp_path / "past")
    with physics.load_trajectory(path, scene=1) as trajectory:
        (doubt,) = doubts_of(trajectory.events)
        assert doubt[2].startswith(LOST)
        assert _note(trajectory, 0) == doubt[2]
        assert _note(trajectory, doubt[1]) in ("", "verified")
