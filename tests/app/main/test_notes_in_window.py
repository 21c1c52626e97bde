"""Texts, warnings and named checkpoints stand on the timeline, of a file as of a run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest

import stroboscope.engine as physics
from stroboscope.app.main.plot_feed import scene_key
from stroboscope.app.models.plot_store import PlotSeriesId

LEFT, CTRL = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier
NO_KEYS = Qt.KeyboardModifier.NoModifier
MODEL = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody><body><joint name="hinge" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body>
  </worldbody>
</mujoco>
"""
SHOW = """
from stroboscope.engine.trajectory.showing import show_trajectory

show_trajectory({path!r}, launch=False)
"""
STEPS = """
import stroboscope.engine as physics

scene = physics.create_scene("Arm", '''{model}''')
if physics.debugger.attach(60, launch=False):
    scene.step(nstep=40)
    scene.log("phase", "grasp")
    scene.step(nstep=40)
    scene.checkpoint("lifted")
    while physics.debugger.is_attached():
        scene.step()
"""
WARNING = "the arm is warm"
SAID = [
    (40, "text", "phase: grasp"),
    (80, "checkpoint", "checkpoint lifted"),
    (120, "warning", WARNING),
]


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A run of 160 steps in which something was said."""
    scene = physics.create_scene("Arm", MODEL)
    with scene.start_recording(tmp_path / "said") as recording:
        scene.step(nstep=40)
        scene.log("phase", "grasp")
        scene.step(nstep=40)
        scene.checkpoint("lifted")
        scene.step(nstep=40)
        scene.recorders.happened("warning", WARNING)
        scene.step(nstep=40)
    yield recording.path
    physics.shutdown()


def said(history: Any) -> list[tuple[int, str, str]]:
    kinds = ("text", "checkpoint", "warning")
    return [(m.axis, m.kind.value, m.text) for m in history.marks if m.kind.value in kinds]


def test_what_a_file_says_is_on_the_timeline_and_a_click_or_the_next_mark_goes_there(
    desktop: Any, traveller: Any, run_script: Any, wait_until: Any, path: Path
) -> None:
    run_script(SHOW.format(path=str(path)))
    wait_until(lambda: desktop.sessions.shown is not None)
    history, strip = desktop.sessions.shown.history, desktop.window.timeline.strip
    wait_until(lambda: history.view == 0 and len(said(history)) == 3)
    assert said(history) == SAID
    for axis, kind, text in SAID:
        at = QPoint(round(strip.scale.x(axis)) + 3, strip.height() - 8)
        told = traveller.hover(at)
        assert text in told
        assert kind == "text" or kind in told
        QTest.mouseClick(strip, LEFT, NO_KEYS, at)
        wait_until(lambda axis=axis: history.view == axis)
    viewport = desktop.window.scene_view.viewport
    for axis in (80, 40):
        QTest.keyClick(viewport, Qt.Key.Key_Left, CTRL)
        wait_until(lambda axis=axis: history.view == axis)
    QTest.keyClick(viewport, Qt.Key.Key_Right, CTRL)
    wait_until(lambda: history.view == 80)
    # The log says it in the same words, and at its time.
    (line,) = [line for line in desktop.sessions.log.lines if "grasp" in line.text]
    assert (line.text, line.time) == ("phase: grasp", pytest.approx(0.4))


def test_plots_mark_what_a_file_says_and_tell_it_at_the_cursor(
    desktop: Any, run_script: Any, wait_until: Any, path: Path
) -> None:
    run_script(SHOW.format(path=str(path)))
    wait_until(lambda: desktop.sessions.shown is not None)
    scene, plots = desktop.sessions.shown, desktop.window.plots
    wait_until(lambda: len(said(scene.history)) == 3)
    plots.add_signals(PlotSeriesId(scene_key(scene), "qpos", 0))
    desktop.window.panels.show("plots")
    wait_until(lambda: len(plots.cells) == 1 and len(plots.cells[0].view.events.times) == 3)
    view = plots.cells[0].view
    assert view.events.times == pytest.approx((0.4, 0.8, 1.2))
    assert view.stops.times == ()
    x = view.mapFromScene(view.getViewBox().mapViewToScene(QPointF(0.8, 0.0))).x()
    QTest.mouseMove(view.viewport(), QPoint(x, view.height() // 2))
    wait_until(lambda: "checkpoint lifted" in plots.toolbar.readout.text())
    # What was known of time when the file was opened was less than the rows have said since.
    wait_until(lambda: view.view_line.times == pytest.approx((0.0,)))


def test_what_a_running_script_says_is_marked_as_in_its_recording(
    desktop: Any, run_script: Any, wait_until: Any
) -> None:
    run_script(STEPS.format(model=MODEL))
    wait_until(lambda: desktop.sessions.shown.session.has_control)
    history = desktop.sessions.shown.history
    desktop.sessions.play()
    wait_until(lambda: len(said(history)) == 2)
    assert said(history) == SAID[:2]
