"""Watched expressions in a real window over a real script: values, instants, mistakes, plots."""

import numpy as np
import pytest
from event_loop import trigger
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QDropEvent, QEnterEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from stroboscope.app.main.plot_feed import scene_key
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.settings import SettingsStore
from stroboscope.debugger_protocol.topics import Instant

pytest.importorskip("mujoco")

# A puck that coasts at 1 m/s on a floor that it presses with its weight; ctrl counts the steps.
SCRIPT = """
import stroboscope.engine as physics

MODEL = '''<mujoco><option timestep="0.01"/><worldbody>
<geom name="floor" type="plane" size="5 5 .1" condim="1"/>
<body name="puck" pos="0 0 .05"><freejoint name="root"/>
<geom name="disc" type="box" size=".1 .1 .05" mass="2" condim="1"/></body></worldbody>
<actuator><motor name="push" joint="root" gear="0 0 0 0 0 0"/></actuator></mujoco>'''
scene = physics.create_scene("Coasting", model=MODEL)
for _ in range(200):
    scene.step()
scene.data.qpos[0], scene.data.qvel[0] = 0.0, 1.0
k = 0
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.ctrl[0] = k
        scene.step()
        scene.log("reward", 10.0 * k)
        k += 1
"""


@pytest.fixture
def puck(desktop, run_script, wait_until):
    """The window, attached to the script."""
    run_script(SCRIPT)
    wait_until(lambda: desktop.sessions.shown.status is not None)
    wait_until(lambda: desktop.sessions.shown.session.has_control)
    wait_until(lambda: desktop.sessions.shown.stands_still)
    return desktop


@pytest.fixture
def watch(puck):
    """The Watch panel, in front."""
    puck.window.panels.show("watch")
    return puck.window.panels["watch"].content


def press(watch, key):
    """Press a key where the keyboard is: the list of completions has it while it is open."""
    QTest.keyClick(QApplication.activePopupWidget() or watch.field.line, key)


def enter(watch, text):
    QTest.keyClicks(watch.field.line, text)
    if watch.field.offered():
        press(watch, Qt.Key.Key_Escape)
    press(watch, Qt.Key.Key_Return)


def step(puck, wait_until):
    """Take one step and stand."""
    scene = puck.sessions.shown
    before = scene.status.axis
    trigger(puck.window.actions_by_name["step"])
    wait_until(lambda: not scene.session.pending)
    wait_until(lambda: scene.stands_still and scene.status.axis == before + 1)


def shown(watch, index):
    return watch.rows[index].number.text()


def test_a_watch_shows_the_value_of_the_instant_that_is_stated(puck, watch, wait_until):
    enter(watch, "qpos['root'][0] * 100")
    enter(watch, "contact['puck','floor'].force[2]")
    enter(watch, "xpos['puck']")
    wait_until(lambda: shown(watch, 0) not in ("", "—"))
    scene = puck.sessions.shown
    for _ in range(3):
        step(puck, wait_until)
    wait_until(lambda: "NOW" in watch.instant.full_text)
    wait_until(lambda: shown(watch, 0) == "3.000")
    assert watch.rows[0].unit.text().strip() == "m"
    assert float(shown(watch, 1)) == pytest.approx(2 * 9.81, abs=0.02)
    assert watch.rows[1].unit.text().strip() == "N"
    assert shown(watch, 2).startswith("0.030  0.000  0.05")
    puck.window.view.set_instant(Instant.EXECUTED)
    wait_until(lambda: shown(watch, 0) == "2.000")
    assert watch.instant.full_text.startswith("EXECUTED")
    assert "step 2" in watch.moment.full_text
    # What the script logs counts with its newest value of that instant: three steps are done and
    # logged (20), and the script stands before the fourth (3).
    puck.window.view.set_instant(Instant.NOW)
    wait_until(lambda: "reward" in scene.user_channels)
    enter(watch, "reward + ctrl['push']")
    wait_until(lambda: shown(watch, 3) == "23.000")
    step(puck, wait_until)
    wait_until(lambda: shown(watch, 3) == "34.000")


def test_names_are_completed_and_a_mistake_is_shown_under_its_place_and_can_be_corrected(
    watch, wait_until
):
    QTest.keyClicks(watch.field.line, "qp")
    assert watch.field.offered() == ["qpos"]
    press(watch, Qt.Key.Key_Return)
    QTest.keyClicks(watch.field.line, "['ro")
    assert watch.field.offered()[:2] == ["root", "root.x"]
    press(watch, Qt.Key.Key_Down)
    press(watch, Qt.Key.Key_Return)
    assert watch.field.line.text() == "qpos['root.x']"
    watch.field.set_text("")
    QTest.keyClicks(watch.field.line, "contact['di")
    assert watch.field.offered() == ["disc"]
    press(watch, Qt.Key.Key_Return)
    QTest.keyClicks(watch.field.line, ",'fl")
    press(watch, Qt.Key.Key_Return)
    QTest.keyClicks(watch.field.line, ".nor")
    press(watch, Qt.Key.Key_Return)
    assert watch.field.line.text() == "contact['disc','floor'].normal"
    watch.field.set_text("")
    enter(watch, "norm(qvell)")
    problem = watch.field.problem.text().split("\n")
    assert problem[0].startswith("there is no signal 'qvell'; did you mean 'qvel'")
    assert problem[2].index("^") == problem[1].index("qvell")
    assert watch.rows == []
    QTest.keyClick(watch.field.line, Qt.Key.Key_Return)  # once more keeps it
    (row,) = watch.rows
    wait_until(lambda: "did you mean" in row.problem.text())
    wait_until(row.problem.isVisible)
    QTest.mouseDClick(row, Qt.MouseButton.LeftButton)
    row.field.line.setText("norm(qvel)")
    QTest.keyClick(row.field.line, Qt.Key.Key_Return)
    assert watch.list.texts == ("norm(qvel)",)
    wait_until(lambda: shown(watch, 0) == "1.000")
    assert not watch.rows[0].problem.isVisible()


def test_a_body_a_watch_that_is_dragged_and_one_that_is_clicked_are_plotted_at_every_step(
    puck, watch, wait_until, click
):
    scene, store, plots = puck.sessions.shown, puck.window.store, puck.window.plots
    first = scene.status.axis
    # A body is plotted by its position.
    puck.window.plot_element(scene, Element(ElementKind.BODY, 1))
    series = plots.plots.all_series()
    assert [store.label(each) for each in series] == [
        f"xpos['puck'][puck.{axis}]" for axis in "xyz"
    ]
    assert store.unit(series[0]) == "m"
    wait_until(lambda: not scene.session.pending)
    step(puck, wait_until)
    columns = store.columns(series[0].scene, series[0].channel)
    wait_until(lambda: columns.count == 1)
    assert columns.values(0)[0] == pytest.approx(0.0, abs=1e-9)
    plots.plots.clear()
    assert not plots.plots.all_series()
    # A watch is dragged there.
    watch.add("xpos['puck']")
    wait_until(lambda: shown(watch, 0) not in ("", "—"))
    mime = watch.rows[0].number.on_drag()
    drop = QDropEvent(
        QPointF(plots.rect().center()),
        Qt.DropAction.CopyAction,
        mime,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    plots.dropEvent(drop)
    labels = [store.label(each) for each in plots.plots.all_series()]
    assert labels == [f"xpos['puck'][puck.{axis}]" for axis in "xyz"]
    plots.plots.clear()
    # A button of a watch plots it, with every physics step.
    puck.window.panels.show("watch")
    enter(watch, "ctrl['push'] * 2 + time * 0")
    wait_until(lambda: shown(watch, 1) not in ("", "—"))
    # Xvfb's pointer does not always come along while windows open and close.
    spot, row = QPointF(5.0, 5.0), watch.rows[1]
    height = row.sizeHint().height()
    QApplication.sendEvent(row, QEnterEvent(spot, spot, spot))
    assert row.sizeHint().height() == height
    wait_until(row.plot.isVisible)
    click(row.plot)
    (series,) = plots.plots.all_series()
    assert series.channel == "= ctrl['push'] * 2 + time * 0"
    wait_until(lambda: not scene.session.pending)
    begin = scene.status.axis
    puck.sessions.fast_forward()
    wait_until(lambda: scene.status.axis > begin + 500)
    puck.sessions.pause()
    wait_until(lambda: not scene.session.pending)
    wait_until(lambda: scene.stands_still)
    columns = store.columns(scene_key(scene), series.channel)
    wait_until(lambda: columns.count and columns.axis[-1] == scene.status.axis - 1)
    assert columns.lost == 0
    np.testing.assert_array_equal(np.diff(columns.axis), 1)
    np.testing.assert_array_equal(columns.values(0), 2.0 * (columns.axis - first))


def test_watches_are_moved_removed_and_remembered_and_while_hidden_they_ask_for_nothing(
    puck, watch, own_folders, wait_until
):
    for text in ("time", "energy.total", "norm(qvel)"):
        watch.add(text)
    scene = puck.sessions.shown
    wait_until(lambda: "energy" in scene._subscribed)
    puck.window.panels.show("inspector")
    wait_until(lambda: "energy" not in scene._subscribed)
    puck.window.panels.show("watch")
    wait_until(lambda: "energy" in scene._subscribed)
    QTest.keyClick(watch.rows[2], Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert watch.list.texts == ("time", "norm(qvel)", "energy.total")
    wait_until(watch.rows[1].hasFocus)
    QTest.keyClick(watch.rows[0], Qt.Key.Key_Delete)
    assert watch.list.texts == ("norm(qvel)", "energy.total")
    identity = scene.session.identity
    # Written a second after the change, without anybody closing the window.
    store = SettingsStore(own_folders / "config" / "settings.json")

    def kept():
        memory = store.load().scripts.get(identity)
        return memory is not None and memory.watches == ["norm(qvel)", "energy.total"]

    wait_until(kept)
