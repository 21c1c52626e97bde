"""Another gain for all twelve servos of a real robot, tried with keys in the dialog."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco")

SCRIPT = Path(__file__).with_name("gains_process.py").read_text()
CTRL = Qt.KeyboardModifier.ControlModifier
STEPS, BACK = 60, 40


def press(widget, key, modifier=Qt.KeyboardModifier.NoModifier):
    QTest.keyClick(widget, key, modifier)


@pytest.fixture
def dialog(desktop, run_script, robot_model, wait_until):
    """The dialog of a Go1 that was stepped, opened where it is looked at, some steps back."""
    run_script(SCRIPT.replace('"go1.xml"', repr(str(robot_model("go1")))))
    window = desktop.window
    window.resize(960, 600)
    wait_until(lambda: desktop.sessions.shown.session.has_control)
    scene = desktop.sessions.shown
    wait_until(lambda: scene.latest(Topic.POSE) is not None)
    window.commands.time.forward(STEPS)
    wait_until(lambda: scene.status.axis == STEPS)
    wait_until(lambda: scene.mode is PlaybackMode.PAUSED and scene.stands_still)
    wait_until(lambda: scene.history.told is not None and scene.history.told.rows == STEPS)
    window.commands.time.choose(STEPS - BACK)
    wait_until(lambda: scene.history.view == STEPS - BACK)
    press(window.scene_view.viewport, Qt.Key.Key_E, CTRL)
    dialog = window.commands.travel.try_dialog
    wait_until(dialog.isActiveWindow)
    return dialog


def listed(dialog):
    return [dialog.list.item(at).text() for at in range(dialog.list.count())]


def search(dialog, words):
    dialog.search.setFocus()
    dialog.search.selectAll()
    QTest.keyClicks(dialog.search, words)


def add(dialog, wait_until, words, *, down=0):
    search(dialog, words)
    for _ in range(down):
        press(dialog.search, Qt.Key.Key_Down)
    count = len(dialog.rows)
    press(dialog.search, Qt.Key.Key_Return)
    assert len(dialog.rows) == count + 1
    row = dialog.rows[-1]
    wait_until(lambda: row.now.text() not in ("", "–"))
    wait_until(row.input.hasFocus)
    return row


def type_value(row, text):
    row.line.selectAll()
    QTest.keyClicks(row.line, text)


def test_all_servos_get_another_gain_or_a_factor_in_one_row_and_the_trials_are_told_apart(
    desktop, dialog, wait_until
):
    window, scene = desktop.window, desktop.sessions.shown

    def try_it(row, count):
        wait_until(dialog.try_button.isEnabled)
        press(row.line, Qt.Key.Key_Return)
        wait_until(lambda: len(scene.rollouts.rollouts) == count)
        wait_until(lambda: len(scene.ghosts.entries) == count)
        return scene.rollouts.rollouts[-1]

    search(dialog, "kp")
    assert listed(dialog)[:3] == [
        "kp of all 12 servos",
        "scale kp of all 12 servos",
        "kp of FR_hip_joint",
    ]
    row = add(dialog, wait_until, "kp all")
    assert (row.now.text(), row.line.text(), row.unit.text()) == ("40", "40", "N·m/rad")
    type_value(row, "x2")
    assert "for a factor add “scale kp of all 12 servos”" in dialog.said.text()
    for count, value in enumerate(("60", "80"), 1):
        type_value(row, value)
        made = try_it(row, count)
        assert made.name == f"kp of all 12 servos: 40 → {value}"
        assert len(made.edits) == 1
        assert all(servo.name in made.edits[0] for servo in scene.description.actuators)
    dialog.remove(row)

    row = add(dialog, wait_until, "kp scale")
    assert (row.now.text(), row.line.text()) == ("40 N·m/rad", "1")
    assert not dialog.try_button.isEnabled(), "once its own gain tries nothing"
    type_value(row, "×1.5")
    assert row.unit.text() == "= 60"
    factor = try_it(row, 3)
    assert factor.name == "kp of all 12 servos: ×1.5"
    same = [dict(each.numbers) for each in scene.rollouts.rollouts]
    assert same[0] == same[2] != same[1]
    dialog.remove(row)

    # Some of them, by what their names have in common.
    search(dialog, "kp.*hip*")
    assert listed(dialog) == ["kp of 4 servos (*hip*)", "scale kp of 4 servos (*hip*)"]
    row = add(dialog, wait_until, "kp.*hip*")
    type_value(row, "10")
    wait_until(dialog.try_button.isEnabled)

    # Each can be told from the others by what can be read of it.
    press(dialog, Qt.Key.Key_Escape)
    wait_until(lambda: not dialog.isVisible())
    names = window.travel.ghosts.names
    wait_until(lambda: len(names) == 3)
    assert [name.text() for name in names] == [
        "kp of all 12 servos: 40 → 60",
        "kp of all 12 servos: 40 → 80",
        "kp of all 12 servos: ×1.5",
    ]
    # The scene has not moved, and its model is what it was.
    assert scene.history.view == STEPS - BACK
    assert {each.kp for each in scene.description.actuators} == {40.0}
