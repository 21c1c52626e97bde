"""``stroboscope replay`` in the window, whose own player plays as it was asked to."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import mujoco
import pytest
from plain_recording import record_plain
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

import stroboscope.engine as physics

MODEL = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody><body><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body></worldbody>
</mujoco>
"""
REPLAY = """
from stroboscope.engine.trajectory.showing import Playing, show_trajectory

show_trajectory({path!r}, launch=False, playing=Playing(speed={speed}, loop={loop}))
"""


@pytest.fixture
def replay(desktop: Any, run_script: Callable[..., Any], wait_until: Any) -> Callable[..., Any]:
    """``replay(path, speed, loop)``: as `stroboscope replay` does in front of an open window."""

    def start(path: Path, *, speed: float, loop: bool) -> Any:
        run_script(REPLAY.format(path=str(path), speed=speed, loop=loop))
        wait_until(lambda: desktop.sessions.shown is not None)
        return desktop.sessions.shown

    return start


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """4 s of a pendulum."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    record_plain(tmp_path / "arm.mcap", model, steps=400, control=lambda step, data: None)
    return tmp_path / "arm.mcap"


def _press(desktop: Any, key: Qt.Key) -> None:
    QTest.keyClick(desktop.window.scene_view.viewport, key)


def test_the_window_knows_that_it_plays_how_fast_and_in_a_loop_and_space_pauses_it(
    desktop: Any, replay: Callable[..., Any], run: Path, wait_until: Any
) -> None:
    scene, transport = replay(run, speed=2.0, loop=True), desktop.window.transport
    wait_until(lambda: transport.badge.word == "REPLAYING")
    wait_until(lambda: transport.speed.currentText() == "2×")
    assert desktop.window.actions_by_name["loop"].isChecked()
    seen: list[int] = []
    scene.history.changed.connect(lambda: seen.append(scene.history.near))
    wait_until(lambda: any(two < one for one, two in pairwise(seen)), 20)
    _press(desktop, Qt.Key.Key_Space)
    wait_until(lambda: transport.badge.word == "REPLAY")
    wait_until(lambda: scene.history.wanted is None)
    stands = scene.history.view
    desktop.sessions.set_speed(4.0)
    wait_until(lambda: transport.speed.currentText() == "4×")
    assert scene.history.view == stands
    _press(desktop, Qt.Key.Key_Space)
    wait_until(lambda: transport.badge.word == "REPLAYING")
    # Without the loop it ends.
    desktop.window.actions_by_name["loop"].trigger()
    wait_until(lambda: transport.badge.word == "REPLAY · END")
    assert scene.status.axis == 400  # nothing was simulated


def test_a_recording_of_few_frames_is_played_once_to_its_end(
    desktop: Any, replay: Callable[..., Any], tmp_path: Path, wait_until: Any
) -> None:
    simulated = physics.create_scene("Arm", MODEL)
    file = physics.TrajectoryFile(tmp_path / "few", every=20)
    with simulated.start_recording(file) as recording:
        simulated.step(nstep=130)
    simulated.destroy()
    with physics.load_trajectory(recording.path) as trajectory:
        frames = {trajectory.axis(number) for number in range(len(trajectory))}
    desktop.window.commands.time.set_loops(True)  # of a run before
    # Slowly: in a fraction of a second it is over before anybody has looked.
    scene, badge = replay(recording.path, speed=0.25, loop=False), desktop.window.transport.badge
    seen: set[int | None] = set()
    scene.history.changed.connect(lambda: seen.add(scene.history.view))
    wait_until(lambda: badge.word == "REPLAYING")
    assert not desktop.window.actions_by_name["loop"].isChecked()
    wait_until(lambda: badge.word == "REPLAY · END")
    assert seen <= {None, *frames}
    assert len(seen) > 3


def test_another_speed_goes_on_from_the_row_in_view(
    desktop: Any, replay: Callable[..., Any], run: Path, wait_until: Any
) -> None:
    scene = replay(run, speed=1.0, loop=False)
    wait_until(lambda: scene.history.view is not None and scene.history.view > 60)
    seen = [scene.history.view]
    scene.history.changed.connect(lambda: seen.append(scene.history.view))
    desktop.sessions.set_speed(0.125)
    wait_until(lambda: len(set(seen)) > 5)
    assert seen == sorted(seen)


def test_a_pace_that_the_window_has_not_is_the_nearest_one(
    desktop: Any, replay: Callable[..., Any], run: Path, wait_until: Any
) -> None:
    replay(run, speed=1000.0, loop=True)
    wait_until(lambda: desktop.window.transport.badge.word == "REPLAYING")
    wait_until(lambda: desktop.window.transport.speed.currentText() == "64×")
