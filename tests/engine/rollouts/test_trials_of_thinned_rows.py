"""Trials of rows of which only a digest is left say whether they lead to what was recorded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mujoco
import pytest
from noted_run import SENSED, Run

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import RolloutInfo

COUNT = 30


def push(_model: Any, data: Any) -> None:
    data.ctrl[0] = 0.5


@pytest.fixture
def pushed(tmp_path: Path) -> Iterator[Path]:
    """A minimal recording of steps of which the last third was taken with a callback."""
    scene = physics.create_scene("sensed", SENSED)
    run = Run(scene)
    recording = scene.start_recording(physics.TrajectoryFile(tmp_path / "run", mode="minimal"))
    try:
        run.step(20)
        mujoco.set_mjcb_control(push)
        run.step(10)
    finally:
        mujoco.set_mjcb_control(None)
    scene.stop_recording()
    yield recording.path
    scene.destroy()


def trial(scene: physics.Scene, axis: int, steps: int = 0) -> RolloutInfo:
    machine = scene.backend.time_machine()
    *_, _done = machine.resimulate(axis, steps=steps, edits=(), name="again")
    info: RolloutInfo = machine.rollouts()[-1]
    return info


def test_a_trial_of_a_minimal_recording_says_where_it_leads_elsewhere(pushed: Path) -> None:
    with physics.load_trajectory(pushed) as trajectory:
        scene = trajectory.scene
        assert trial(scene, 3, 15).reproducible == ""
        assert "before step 21 does not follow" in trial(scene, 3).reproducible
        with pytest.raises(CommandError, match="row 25 can't be had: not reproducible"):
            trial(scene, 25)
