"""Where somebody who knows MuJoCo's viewer looks first: F2, F3, F4, and words in the palette."""

from pathlib import Path

import pytest
from event_loop import trigger
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.state import StateKind
from stroboscope.app.plots.add_signal_popup import AddSignalPopup
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco")

WORKSHOP = Path(__file__).with_name("workshop_process.py")
CONTROL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def workshop(desktop, run_script, wait_until):
    run_script(WORKSHOP.read_text())
    wait_until(lambda: desktop.sessions.shown.latest(Topic.POSE) is not None)
    desktop.window.scene_view.setFocus()
    return desktop.sessions.shown


def _wanted(scene):
    return {topic for topics, _ in scene._wanted.values() for topic in topics}


def press(desktop, key, modifier=Qt.KeyboardModifier.NoModifier):
    QTest.keyClick(desktop.window, key, modifier)


def test_f2_shows_numbers_over_the_picture_and_asks_for_them_only_then(
    desktop, workshop, wait_until
):
    info = desktop.window.info
    assert info.isHidden()
    assert Topic.SOLVER not in _wanted(workshop)
    press(desktop, Qt.Key.Key_F2)
    assert info.isVisible()
    wait_until(lambda: "NOW" in info.instant.text())
    wait_until(lambda: info.values["energy"].text().endswith("J"))
    wait_until(lambda: info.values["contacts"].text() == "0")
    wait_until(lambda: "iterations" in info.values["solver"].text())
    step = info.instant.text()
    desktop.sessions.play()
    wait_until(lambda: info.instant.text() != step and "× of 1×" in info.values["speed"].text())
    wait_until(lambda: "s" in info.values["step"].text())
    desktop.sessions.pause()
    press(desktop, Qt.Key.Key_F2)
    assert info.isHidden()
    wait_until(lambda: Topic.SOLVER not in _wanted(workshop))


def test_parents_sliders_the_profiler_sensors_and_signals_are_a_key_or_a_command_away(
    desktop, workshop, wait_until
):
    # The parent of what is selected.
    selection = desktop.sessions.selection
    names = [body.name for body in workshop.description.bodies]
    geom = next(n for n, g in enumerate(workshop.description.geoms) if g.name == "hand")
    selection.select(Element(ElementKind.GEOM, geom))
    for name in ("hand", "arm", "world", "world"):
        press(desktop, Qt.Key.Key_Up, CONTROL)
        assert selection.element == Element(ElementKind.BODY, names.index(name))
    # Sliders and states.
    window = desktop.window
    for name in ("joint_sliders", "control_sliders", "physics_options", "states"):
        trigger(window.actions_by_name[name])
        assert window.panels["controls"].in_front
    assert window.controls.states.isVisible()
    texts = [text for text, _, _ in window.actions_by_name.palette_entries()]
    assert "Window: Go to: States and keyframes" in texts
    # F3 is the profiler, F4 the sensors.
    panels = desktop.window.panels
    window.scene_view.setFocus()
    press(desktop, Qt.Key.Key_F3)
    assert panels["profiler"].in_front
    press(desktop, Qt.Key.Key_F4)
    assert panels["state"].in_front
    assert panels["state"].content.shown_kind is StateKind.SENSORS
    # F2 edits where something can be edited.
    desktop.window.panels.show("state")
    state = desktop.window.panels["state"].content
    state.choose(StateKind.JOINTS)
    wait_until(lambda: state.table.table is not None and state.table.table.count > 0)
    state.table.view.setFocus()
    QTest.keyClick(state.table.view, Qt.Key.Key_F2)
    assert desktop.window.info.isHidden()
    # A key opens the list of signals, another one an expression.
    window.scene_view.setFocus()
    plots = window.plots
    for modifier, text in ((CONTROL, ""), (CONTROL | Qt.KeyboardModifier.ShiftModifier, "= ")):
        press(desktop, Qt.Key.Key_G, modifier)
        wait_until(lambda: plots.findChildren(AddSignalPopup))
        popup = plots.findChildren(AddSignalPopup)[-1]
        assert popup.isVisible()
        assert popup.search.text() == text
        popup.close()
