"""The controls panel on a real scene: sliders, overrides, options, keyframes, checkpoints."""

import json
from pathlib import Path

import numpy as np
import pytest
from event_loop import trigger
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from stroboscope.app.panels.controls.actuators_page import shown_names
from stroboscope.app.panels.controls.page import split_names
from stroboscope.debugger_protocol.messages import LogLevel, PlaybackMode
from stroboscope.debugger_protocol.scene_description import ActuatorInfo
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco")

WORKSHOP = Path(__file__).with_name("workshop_process.py")
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def controls(desktop, run_script, wait_until):
    """The controls of the paused workshop, in front."""
    run_script(WORKSHOP.read_text())
    wait_until(lambda: desktop.sessions.shown.latest(Topic.POSE) is not None)
    wait_until(lambda: desktop.sessions.shown.session.has_control)
    desktop.window.resize(1280, 900)
    desktop.window.panels.show("controls")
    controls = desktop.window.controls
    wait_until(lambda: controls.joints.bars)
    bar = controls.joints.bars["swing"]
    wait_until(lambda: bar.value is not None)
    # Where to press is computed from what is laid out.
    wait_until(lambda: desktop.window.width() == 1280 and bar.isVisible() and bar.bar_width > 24)
    return controls


def _state(desktop, name):
    frame = desktop.sessions.shown.latest(Topic.STATE)
    # For a moment after an edit there may be the poses of an instant and not yet its state.
    return np.full(99, np.nan) if frame is None else np.asarray(frame.arrays[name]).reshape(-1)


def _drag(bar, part):
    """Drag a bar to ``part`` of its width, as a person does."""
    start = round(bar.bar_width) // 2
    _drag_over(bar, start, start + 6, round(part * (bar.bar_width - 2)) + 1)


def _drag_over(bar, start, *places):
    """Press at ``start`` [px] and drag over ``places``."""
    y = bar.height() // 2
    QTest.mousePress(bar, LEFT, Qt.KeyboardModifier.NoModifier, QPoint(start, y))
    for x in places:
        at = QPointF(x, y)
        move = QMouseEvent(
            QEvent.Type.MouseMove,
            at,
            bar.mapToGlobal(at),
            LEFT,
            LEFT,
            Qt.KeyboardModifier.NoModifier,
        )
        QApplication.sendEvent(bar, move)
    QTest.mouseRelease(bar, LEFT, Qt.KeyboardModifier.NoModifier, QPoint(x, y))


def _type(bar, text):
    QTest.mouseDClick(bar, LEFT)
    QTest.keyClicks(bar.field, text)
    QTest.keyClick(bar.field, Qt.Key.Key_Return)


def test_sliders_numbers_and_switches_set_joints_while_paused_and_only_then(
    desktop, controls, wait_until
):
    # The bar ends where its number begins, and the number drags from where it is.
    bar = controls.joints.bars["swing"]
    low = bar.fontMetrics().horizontalAdvance("\u2212120.000")
    assert 24 < bar.bar_width < bar.width() - low / 2
    _type(bar, "0.5")
    end = bar.width() - 10
    _drag_over(bar, end, end - 5, end - 10)
    assert 0.0 < bar.value < 0.5
    wait_until(lambda: _state(desktop, "qpos")[0] == pytest.approx(bar.value, abs=1e-12))
    # Numbers of a free joint are typed, and its quaternion stays one.
    _type(controls.joints.bars["free.z"], "0.75")
    wait_until(lambda: _state(desktop, "qpos")[4] == 0.75)
    _type(controls.joints.bars["free.qx"], "1")
    wait_until(lambda: _state(desktop, "qpos")[6] == pytest.approx(2**-0.5))
    assert np.linalg.norm(_state(desktop, "qpos")[5:9]) == pytest.approx(1.0)
    # An equality is switched on.
    switch = controls.joints.switches[0]
    assert not switch.isChecked()
    QTest.mouseClick(switch, LEFT, Qt.KeyboardModifier.NoModifier, QPoint(8, switch.height() // 2))
    wait_until(lambda: _state(desktop, "eq_active")[0] == 1)
    wait_until(switch.isChecked)
    # A slider sets a joint while paused, and only then.
    bar = controls.joints.bars["swing"]
    _drag(bar, 0.75)
    wait_until(lambda: _state(desktop, "qpos")[0] == pytest.approx(bar.value, abs=1e-12))
    assert bar.value == pytest.approx(np.radians(60.0), abs=0.05)
    _type(bar, "-0.25")
    wait_until(lambda: _state(desktop, "qpos")[0] == -0.25)
    desktop.sessions.play()
    wait_until(lambda: desktop.sessions.shown.mode is PlaybackMode.PLAYING)
    wait_until(lambda: "paused" in bar.toolTip())
    entries = len(desktop.sessions.shown.edits.entries)
    _drag(bar, 0.2)
    assert len(desktop.sessions.shown.edits.entries) == entries
    assert desktop.log.counts[LogLevel.ERROR] == 0


def test_names_before_a_slash_stand_once_over_their_rows():
    names = ["left/waist", "left/elbow", "right/waist", "lone/hinge", "neck"]
    assert split_names(names) == [
        ("left", "waist"),
        ("left", "elbow"),
        ("", "right/waist"),
        ("", "lone/hinge"),
        ("", "neck"),
    ]


def test_an_override_is_marked_acts_and_is_given_back_without_the_script_seeing_it(
    desktop, controls, wait_until, click, own_folders
):
    scene = desktop.sessions.shown
    controls.show_page(controls.actuators)
    wait_until(lambda: "push" in controls.actuators.bars)
    bar, lock = controls.actuators.bars["push"], controls.actuators.locks[0]
    wait_until(lambda: bar.value == 0.0)
    _drag(bar, 1.0)
    wait_until(lambda: scene.edits.override(0) == 5.0)
    wait_until(lock.isChecked)
    status = desktop.window.status.interventions
    wait_until(status.isVisible)
    assert status.text().startswith("1 control overridden")
    desktop.sessions.play()
    wait_until(lambda: (_state(desktop, "ctrl")[0]) == 5.0)
    click(lock)
    wait_until(lambda: scene.edits.override(0) is None)
    wait_until(lambda: not status.isVisible())
    wait_until(lambda: bar.value == 0.0)
    click(lock)
    wait_until(lambda: scene.edits.override(0) == 0.0)
    wait_until(status.isVisible)
    click(status)
    wait_until(lambda: scene.edits.override(0) is None)
    desktop.sessions.remove(scene.session)
    wait_until(lambda: (own_folders / "report.json").exists())
    assert json.loads((own_folders / "report.json").read_text())["ctrl"] == 0.0


def test_all_controls_are_cleared_and_given_back_or_one_of_them_from_the_status_bars_menu(
    desktop, controls, wait_until, click
):
    scene = desktop.sessions.shown
    controls.show_page(controls.actuators)
    wait_until(lambda: "push" in controls.actuators.bars)
    wait_until(lambda: controls.actuators.bars["push"].value is not None)
    _drag(controls.actuators.bars["push"], 1.0)
    wait_until(lambda: scene.edits.override(0) == 5.0)
    click(controls.actuators.zero)
    wait_until(lambda: dict(scene.edits.interventions.overrides) == {0: 0.0, 1: 0.0})
    click(controls.actuators.give_back)
    wait_until(lambda: not scene.edits.interventions.overrides)
    # One of several is given back from the status bar's menu.
    button = desktop.window.status.interventions
    scene.edits.set_override(0, 1.5)
    scene.edits.set_override(1, 0.0)
    scene.edits.set_noise(0.01, 0.1)
    wait_until(lambda: button.text() == "2 controls overridden, noise — give back")
    entries = button.menu_of_entries.actions()
    assert [each.text() for each in entries] == [
        "Give back push\t1.500", f"Give back {scene.description.actuators[1].name}\t0.000",
        "End the noise",
    ]  # fmt: skip
    trigger(entries[0])
    wait_until(lambda: button.text() == "1 control overridden, noise — give back")
    assert dict(scene.edits.interventions.overrides) == {1: 0.0}
    trigger(button.menu_of_entries.actions()[1])
    wait_until(lambda: button.text() == "1 control overridden — give back")


def test_an_option_is_edited_marked_and_reverted(desktop, controls, wait_until, click):
    controls.show_page(controls.physics)
    wait_until(lambda: "timestep" in controls.physics.options)
    row = controls.physics.options["timestep"]
    wait_until(lambda: row.value == (0.005,))
    field = row.widget.fields[0]
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "0.002")
    QTest.keyClick(field, Qt.Key.Key_Return)
    wait_until(lambda: row.value == (0.002,))
    wait_until(row.back.isVisible)
    assert "0.005" in row.back.toolTip()
    click(row.back)
    wait_until(lambda: row.value == (0.005,))
    wait_until(lambda: not row.back.isVisible())
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "-1")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert field.hasFocus()
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert field.text() == "0.005"
    assert desktop.log.counts[LogLevel.ERROR] == 0


def test_a_keyframe_is_loaded_the_state_copied_and_checkpoints_are_a_click_away(
    desktop, controls, wait_until, click
):
    _type(controls.joints.bars["swing"], "0.3")
    wait_until(lambda: _state(desktop, "qpos")[0] == 0.3)
    states = controls.states
    controls.show_page(states)
    wait_until(lambda: states.loads)
    click(states.loads[0])
    wait_until(lambda: _state(desktop, "qpos") is not None and _state(desktop, "qpos")[0] == 1.0)
    QTest.mouseClick(states.copied, LEFT)
    text = QApplication.clipboard().text()
    assert text.startswith('<key name="state"')
    assert 'qpos="1 0 1 0 0.5 1 0 0 0"' in text
    click(states.checkpoints)
    wait_until(desktop.window.checkpoints.isVisible)


def test_every_edit_is_listed_and_can_be_reverted(desktop, controls, wait_until, click):
    before = _state(desktop, "qpos")[1]
    _type(controls.joints.bars["wrist"], "0.4")
    wait_until(lambda: _state(desktop, "qpos")[1] == 0.4)
    controls.show_page(controls.edits)
    wait_until(lambda: controls.edits.lines)
    (line,) = controls.edits.lines.values()
    assert "wrist" in line.text.full_text
    click(line.revert)
    wait_until(lambda: not line.revert.isEnabled())
    controls.show_page(controls.joints)
    wait_until(lambda: controls.joints.bars["wrist"].value == before)


def test_keys_save_and_undo_a_search_leaves_what_fits_and_what_is_hidden_subscribes_to_nothing(
    desktop, controls, wait_until
):
    # Keys save a checkpoint and undo the last edit.
    scene, window = desktop.sessions.shown, desktop.window
    _type(controls.joints.bars["swing"], "0.3")
    wait_until(lambda: _state(desktop, "qpos")[0] == 0.3)
    wait_until(lambda: scene.edits.last is not None)
    window.scene_view.viewport.setFocus()
    QTest.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ShiftModifier)
    wait_until(lambda: [c.name for c in scene.edits.checkpoints] == ["t 0.000 s"])
    QTest.keyClick(window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    wait_until(lambda: _state(desktop, "qpos")[0] == 0.0)
    wait_until(lambda: scene.edits.last is None)
    # Searching leaves what fits.
    QTest.keyClicks(controls.search, "wri")
    assert controls.joints.bars["wrist"].isVisible()
    assert not controls.joints.bars["swing"].isVisible()
    assert not controls.joints.no_match.isVisible()
    QTest.keyClicks(controls.search, "ggle")
    assert not controls.joints.bars["wrist"].isVisible()
    assert controls.joints.no_match.isVisible()
    assert controls.joints.no_match.text() == "Nothing on this page matches “wriggle”."
    controls.search.clear()
    assert not controls.joints.no_match.isVisible()
    # A hidden panel and hidden pages subscribe to nothing.
    assert "controls joints" in scene._wanted
    controls.show_page(controls.physics)
    assert "controls joints" not in scene._wanted
    assert "controls physics" in scene._wanted
    desktop.window.panels.show("inspector")
    wait_until(lambda: not any(who.startswith("controls") for who in scene._wanted))


def test_actuators_without_a_name_are_called_by_what_they_drive():
    def named(name, target):
        return ActuatorInfo(name=name, kind="motor", joint=0, target=target)

    actuators = [
        named("actuator 0", "arm/elbow"),
        named("", "arm/waist"),
        named("grip", "arm/finger"),
        named("", "twice"),
        named("actuator 4", "twice"),
    ]
    shown = ["arm/elbow", "arm/waist", "grip", "actuator 3", "actuator 4"]
    assert shown_names(actuators) == shown
