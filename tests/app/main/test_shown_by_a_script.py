"""Files that a script opens in the window: ``show=True``, and ``play`` in front of somebody."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtTest import QTest

import stroboscope.engine as physics
from stroboscope.app.main.application import DesktopApplication
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.debugger_protocol.window_link import WindowLock

MODEL = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <body name="arm" pos="0 0 .6">
      <joint name="shoulder" axis="0 1 0" damping=".05"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    </body>
  </worldbody>
</mujoco>
"""
STEPS_ON = """
import stroboscope.engine as physics

shown = physics.{load}({path!r}, show=True)
scene = getattr(shown, "scene", shown)
while physics.debugger.is_attached():
    scene.step()
"""
PLAYS = """
import stroboscope.engine as physics

with physics.load_trajectory({path!r}, show=True) as trajectory:
    trajectory.play(2.0, loop=True)
"""


@pytest.fixture
def desktop(qapp, own_folders: Path) -> Iterator[DesktopApplication]:
    """The one window of this user, which scripts reach by themselves."""
    desktop = DesktopApplication(qapp, lock=WindowLock.acquire())
    desktop.window.show()
    assert QTest.qWaitForWindowExposed(desktop.window, 60_000)
    yield desktop
    desktop.window.close()
    desktop.window.deleteLater()


@pytest.fixture
def files(tmp_path: Path) -> Iterator[dict[str, Path]]:
    """A run of 0.3 s, a state after it, and the scene."""
    scene = physics.create_scene("Shown", MODEL)
    with scene.start_recording(tmp_path / "run") as recording:
        scene.step(nstep=30)
    yield {
        "load_trajectory": recording.path,
        "load_checkpoint": scene.save_checkpoint(tmp_path / "there"),
        "load_scene": scene.export(tmp_path / "arm.strobe"),
    }
    physics.shutdown()


@pytest.mark.parametrize(
    ("load", "time"), [("load_trajectory", 0.0), ("load_checkpoint", 0.3), ("load_scene", 0.0)]
)
def test_what_a_script_loads_stands_in_the_window_and_is_stepped_there(
    desktop, files, run_script: Callable[..., Any], wait_until, load: str, time: float
) -> None:
    script = run_script(STEPS_ON.format(load=load, path=str(files[load])), open_it=False)
    sessions = desktop.sessions
    wait_until(lambda: sessions.shown is not None and sessions.shown.description is not None, 90)
    scene = sessions.shown
    wait_until(lambda: scene.session.has_control and scene.status is not None)
    assert scene.name == "Shown"
    wait_until(lambda: scene.status.time == pytest.approx(time))
    sessions.step(3)
    wait_until(lambda: scene.status.time == pytest.approx(time + 0.03))
    desktop.window.close()
    wait_until(lambda: script.poll() == 0)


def test_a_run_that_a_script_plays_moves_in_the_picture_until_the_window_is_closed(
    desktop, files, run_script: Callable[..., Any], wait_until
) -> None:
    script = run_script(PLAYS.format(path=str(files["load_trajectory"])), open_it=False)
    sessions = desktop.sessions
    wait_until(lambda: sessions.shown is not None and sessions.shown.description is not None, 90)
    scene = sessions.shown
    times: list[float] = []

    def has_begun_anew() -> bool:
        pose = scene.latest(Topic.POSE)
        if pose is not None and (not times or pose.time != times[-1]):
            times.append(pose.time)
        return sum(two < one for one, two in pairwise(times)) >= 2

    wait_until(has_begun_anew)
    assert 0.0 <= min(times) < max(times) <= 0.3 + 1e-9
    desktop.window.close()
    wait_until(lambda: script.poll() == 0)
