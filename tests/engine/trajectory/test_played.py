"""Recorded runs played by a script, and files that a script opens in the window."""

import itertools
import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import pytest
from plain_recording import PlainRun, record_plain, state_of

import stroboscope.engine as physics
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.launch import EXECUTABLE_VARIABLE
from stroboscope.engine.runtime import current_runtime

Start = Callable[..., Any]

MODEL = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <body name="arm">
      <joint name="shoulder" axis="0 1 0" damping=".05"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    </body>
  </worldbody>
  <actuator><position joint="shoulder" kp="8"/></actuator>
</mujoco>
"""


def _control(step: int, data: Any) -> None:
    data.ctrl[:] = math.sin(0.05 * step)


@pytest.fixture
def run(tmp_path: Path) -> PlainRun:
    """0.2 s of an arm, in 50 steps; a reset before the 30th."""
    return record_plain(
        tmp_path / "run.mcap",
        mujoco.MjModel.from_xml_string(MODEL),
        steps=50,
        control=_control,
        resets=(30,),
    )


# --- play


@pytest.mark.parametrize("speed", [0.5, 1.0, 4.0])
def test_it_is_played_to_its_end_and_no_faster_than_it_should(run: PlainRun, speed: float) -> None:
    with physics.load_trajectory(run.path) as trajectory:
        began = time.monotonic()
        trajectory.play(speed)
        # How much later it ends is the machine's affair.
        assert time.monotonic() - began >= 0.2 / speed - 1e-3
        assert trajectory.position == 50
        assert state_of(run.model, trajectory.scene.data).tobytes() == run.rows[-1].tobytes()
        trajectory.scene.step()
        after = state_of(run.model, trajectory.scene.data)
        assert after.tobytes() == run.after(-1, 1).tobytes()


def test_it_is_played_from_where_it_was_sought(run: PlainRun) -> None:
    with physics.load_trajectory(run.path) as trajectory:
        trajectory.seek(45)
        began = time.monotonic()
        trajectory.play(0.1)
        assert time.monotonic() - began >= 0.2 - 1e-3
        assert trajectory.position == 50


def test_few_frames_take_as_long_as_all_of_them(tmp_path: Path) -> None:
    scene = physics.create_scene("Arm", MODEL)
    file = physics.TrajectoryFile(tmp_path / "few", every=5)
    with scene.start_recording(file) as recording:
        scene.step(nstep=50)
    with physics.load_trajectory(recording.path) as trajectory:
        assert len(trajectory) == 11
        began = time.monotonic()
        trajectory.play()
        assert time.monotonic() - began >= 0.2 - 1e-3
        assert trajectory.position == 10


@pytest.mark.parametrize(
    ("speed", "error"),
    [(0, ValueError), (-1.0, ValueError), (math.nan, ValueError), ("fast", TypeError)],
)
def test_a_speed_that_is_none_is_refused(run: PlainRun, speed: Any, error: type) -> None:
    with (
        physics.load_trajectory(run.path) as trajectory,
        pytest.raises(error, match="speed must be"),
    ):
        trajectory.play(speed)


LOOPED = """
import sys
import stroboscope.engine as physics

with physics.load_trajectory(sys.argv[1]) as trajectory:
    scene = trajectory.scene
    assert physics.debugger.attach(60, launch=False)
    trajectory.play(2.0, loop=True)
"""


def test_it_is_played_in_a_loop_in_front_of_who_looks_until_that_one_goes(
    run: PlainRun, start_warm: Start
) -> None:
    script = start_warm(LOOPED, str(run.path))
    seen: list[float] = []
    with script.connect() as client:
        assert client.wait_until(lambda c: bool(c.scenes()), 60)
        client.subscribe(client.scenes()[0].scene_id, [Topic.POSE], max_rate_hz=1000.0)
        # It goes back at the reset and at the end: after five times it has begun anew.
        while sum(two < one for one, two in itertools.pairwise(seen)) < 5:
            frame = client.next_frame(60)
            assert frame is not None
            if frame.topic is Topic.POSE and (not seen or frame.time != seen[-1]):
                seen.append(frame.time)
    code, _, errors = script.end()
    assert code == 0, errors
    assert set(seen) <= set(run.rows[:, 0].tolist())


def test_a_checkpoint_that_is_played_in_a_loop_is_shown_to_who_looks(
    start_warm: Start, tmp_path: Path
) -> None:
    scene = physics.create_scene("Still", MODEL)
    scene.step()
    path = scene.save_checkpoint(tmp_path / "still")
    scene.destroy()
    script = start_warm(LOOPED, str(path))
    with script.connect() as client:
        assert client.wait_until(lambda c: bool(c.scenes()), 60)
        client.subscribe(client.scenes()[0].scene_id, [Topic.POSE], max_rate_hz=1000.0)
        frame = client.next_frame(5)
    code, _, errors = script.end()
    assert code == 0, errors
    assert frame is not None


def test_who_looks_at_a_run_that_hardly_moves_is_served_and_it_ends_when_that_one_goes(
    run: PlainRun, start_warm: Start
) -> None:
    # Each frame takes 40 s.
    script = start_warm(LOOPED.replace("2.0, loop=True", "1e-4"), str(run.path))
    with script.connect() as client:
        assert client.wait_until(lambda c: bool(c.scenes()), 60)
        client.subscribe(client.scenes()[0].scene_id, [Topic.POSE], max_rate_hz=1000.0)
        assert client.next_frame(20) is not None
    code, _, errors = script.end()
    assert code == 0, errors


def test_one_frame_is_played_at_once_where_nobody_looks(tmp_path: Path) -> None:
    scene = physics.create_scene("Still", MODEL)
    scene.step()
    with physics.load_trajectory(scene.save_checkpoint(tmp_path / "still")) as trajectory:
        trajectory.play(loop=True)
        assert trajectory.position == 0


# --- show

SHOWN = """
import sys
import stroboscope.engine as physics

shown = getattr(physics, sys.argv[1])(sys.argv[2], show=True)
scene = getattr(shown, "scene", shown)
while physics.debugger.is_attached():
    scene.update_debugger()
print(scene.name, scene.step_count)
"""
# Stands for the window: says what it is shown, and goes.
WINDOW = """
import sys
from pathlib import Path
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.connection_file import find_session

session = find_session(sys.argv[sys.argv.index("--session") + 1])
with DebuggerClient(session) as client:
    client.wait_until(lambda c: c.scenes() and c.scenes()[0].step_count == {steps}, 20)
    scene = client.scenes()[0]
    Path({told!r}).write_text(f"{{scene.name}} at {{scene.step_count}}")
"""


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A file for each function that loads one."""
    scene = physics.create_scene("Arm", MODEL)
    with scene.start_recording(tmp_path / "run") as recording:
        for _ in range(20):
            scene.step()
    made = {
        "load_trajectory": recording.path,
        "load_checkpoint": scene.save_checkpoint(tmp_path / "there"),
        "load_scene": scene.export(tmp_path / "arm.strobe"),
    }
    scene.destroy()
    return made


LOADS = {
    "load_trajectory": "Arm at 0",
    "load_checkpoint": "Arm at 20",
    "load_scene": "Arm at 0",
}


@pytest.mark.parametrize("load", LOADS)
def test_what_a_script_loads_is_opened_in_the_window_where_it_asks_for_it(
    load: str,
    files: dict[str, Path],
    start_script: Start,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told, program = tmp_path / "told", tmp_path / "window"
    program.write_text(
        f"#!{sys.executable}\n{WINDOW.format(told=str(told), steps=LOADS[load].split()[-1])}"
    )
    program.chmod(0o755)
    monkeypatch.setenv("DISPLAY", ":99")
    monkeypatch.setenv(EXECUTABLE_VARIABLE, str(program))
    code, output, errors = start_script(SHOWN, load, str(files[load])).end()
    assert code == 0, errors
    assert told.read_text() == LOADS[load]
    assert output.strip() == LOADS[load].replace(" at", "")


def _open_files() -> set[str]:
    folder = "/proc/self/fd"
    found = (os.path.join(folder, name) for name in os.listdir(folder))
    return {os.readlink(path) for path in found if os.path.islink(path)}


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="which files are open is not known")
@pytest.mark.parametrize(
    "load",
    LOADS,
)
def test_where_there_is_no_window_it_says_so_and_leaves_nothing_behind(
    load: str, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(physics.StateError, match="'Arm' can't be shown: no window"):
        getattr(physics, load)(files[load], show=True)
    assert not list(current_runtime().scenes)
    assert str(files[load]) not in _open_files()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="which files are open is not known")
@pytest.mark.parametrize("load", LOADS)
def test_whether_it_is_shown_must_be_said_in_a_word_and_nothing_was_built_then(
    load: str, files: dict[str, Path]
) -> None:
    with pytest.raises(TypeError, match="show must be True or False"):
        getattr(physics, load)(files[load], show="yes")
    assert not list(current_runtime().scenes)
    assert str(files[load]) not in _open_files()
