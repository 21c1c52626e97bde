"""Files that end before anybody has looked at the model say so; those that go on take it back."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.topics import Topic

ARM = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <site name="target" pos="0 0 1"/>
    <body pos="0 0 1"><joint name="elbow" axis="0 1 0" damping="0.2"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/></body>
  </worldbody>
  <actuator><motor joint="elbow" gear="3"/></actuator>
  <sensor><framepos objtype="site" objname="target"/></sensor>
</mujoco>
"""
KILLED = f"""
import os, signal, sys
import stroboscope.engine as physics
from stroboscope.engine.recording.trajectory_file import TrajectoryFile

scene = physics.create_scene("arm", '''{ARM}''')
recording = scene.start_recording(TrajectoryFile(sys.argv[1], mode=sys.argv[2]))
for k in range(50):
    if k == 20:
        scene.model.site_pos[0] = [3, 0, 0]
    scene.ctrl[:] = 0.1
    scene.step()
while True:  # until rows and what is said of them are in the file
    if recording.frames < 49:
        continue
    with physics.load_trajectory(recording.path) as run:
        if run.axis(-1) >= 48 and any(each.kind == "doubt" for each in run.events):
            break
os.kill(os.getpid(), signal.SIGKILL)
"""


def _notes(path: Path) -> list[str]:
    with physics.load_trajectory(path) as run:
        machine = run.scene.backend.time_machine()
        last = run.axis(-1)
        return [machine.look_at(axis, frozenset({Topic.STATE})).note for axis in range(last)]


def _is_known(note: str) -> bool:
    return note in ("", "verified")


@pytest.mark.parametrize("mode", ["exact", "minimal"])
def test_a_recording_whose_process_was_killed_doubts_rows_whose_model_nobody_has_seen(
    tmp_path: Path, mode: str
) -> None:
    path = tmp_path / "run.mcap"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path), mode], check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    notes = _notes(path)
    assert len(notes) >= 48
    assert not any(_is_known(note) for note in notes[20:])
    assert "before anybody saw what" in notes[-1]


@pytest.mark.parametrize("told", ["gear", "damping and back"])
def test_a_recording_that_goes_on_takes_back_what_it_doubted_where_steps_tell(
    tmp_path: Path, wait_until: Callable[..., None], told: str
) -> None:
    scene = physics.create_scene("arm", ARM)
    with scene.start_recording(tmp_path / "run.mcap") as recording:
        for k in range(40):
            if k == 20:
                scene.model.actuator_gear[0, 0] = 9.0
            scene.ctrl[:] = 0.1
            scene.step()
        wait_until(lambda: recording.frames >= 40)
        wait_until(lambda: bool(_doubts(recording.path)))
        if told != "gear":
            scene.model.actuator_gear[0, 0] = 3.0
        for _ in range(20):
            scene.step()
    scene.destroy()
    with physics.load_trajectory(recording.path) as run:
        assert run.verify(jobs=1).exit_code == (0 if told == "gear" else 1)
    notes = _notes(recording.path)
    assert all(map(_is_known, notes)) == (told == "gear")
    if told != "gear":  # nobody has ever seen it
        assert not any(map(_is_known, notes[20:39]))


def test_a_timestep_that_a_step_takes_for_a_moment_is_no_doubt(
    tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    scene = physics.create_scene("arm", ARM)
    with scene.start_recording(tmp_path / "run.mcap") as recording:
        scene.step()
        scene.model.opt.timestep = 0.001  # as in the middle of one
        scene.step()
        wait_until(lambda: recording.frames >= 2)
    assert not _doubts(recording.path)
    scene.destroy()


def _doubts(path: Path) -> list[object]:
    with physics.load_trajectory(path) as run:
        return [event for event in run.events if event.kind == "doubt"]
