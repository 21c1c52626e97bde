"""Checkpoints in the window: kept by a key, named, restored elsewhere, compared, deleted."""

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMessageBox

from stroboscope.app.models.checkpoints import kept_checkpoints
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco")

GOOD = Path(__file__).with_name("servo_process.py").read_text().replace("STIFF = 1", "STIFF = 0")


def _scene(desktop, name):
    return next(scene for scene in desktop.sessions.all_scenes() if scene.name == name)


def _keep(desktop, count, wait_until):
    desktop.window.scene_view.viewport.setFocus()
    QTest.keyClick(desktop.window, Qt.Key.Key_K, Qt.KeyboardModifier.ShiftModifier)
    wait_until(lambda: len(kept_checkpoints(desktop.sessions.shown.session)) == count)


@pytest.fixture
def panel(desktop, run_script, wait_until):
    """The Checkpoints panel in front of a paused scene that has a twin."""
    run_script(GOOD)
    window = desktop.window
    window.resize(1280, 900)
    window.panels.show("checkpoints")
    wait_until(lambda: len(desktop.sessions.all_scenes()) == 3)
    wait_until(lambda: all(s.description is not None for s in desktop.sessions.all_scenes()))
    desktop.sessions.show(_scene(desktop, "Twin"))
    wait_until(lambda: desktop.sessions.shown.latest(Topic.POSE) is not None)
    wait_until(lambda: desktop.sessions.shown.session.has_control)
    wait_until(window.checkpoints.isVisible)
    return window.checkpoints


def test_an_empty_list_says_how_to_fill_it(panel):
    assert "Shift+K" in panel.table.sentence
    assert panel.capture_button.isEnabled()
    assert not panel.restore_button.isEnabled()
    assert panel.restore_button.toolTip() == "Select one checkpoint."


def test_a_state_is_kept_named_compared_and_comes_back(desktop, panel, wait_until, click, play_on):
    scene = desktop.sessions.shown
    _keep(desktop, 1, wait_until)
    play_on(60)
    click(panel.capture_button)
    wait_until(lambda: len(scene.edits.checkpoints) == 2)
    wait_until(lambda: panel.table.table.count == 2)
    first, second = (each.ref for each in kept_checkpoints(scene.session))
    panel.choose(first)
    wait_until(panel.edit_button.isEnabled)
    click(panel.edit_button)
    wait_until(lambda: panel.dialog is not None and panel.dialog.isVisible())
    dialog = panel.dialog
    dialog.name.setText("at rest")
    dialog.note.setText("before anything moves")
    dialog.accept()
    wait_until(lambda: scene.edits.checkpoints[0].name == "at rest")
    assert scene.edits.checkpoints[0].note == "before anything moves"
    wait_until(lambda: "at rest" in panel.table.as_text(everything=True))
    panel.choose(first, second)
    click(panel.compare_button)
    wait_until(lambda: panel.comparison.result is not None)
    values = {each.name: each for each in panel.comparison.result.differences}
    assert any("elbow" in name for name in values)
    panel.choose(first)
    click(panel.restore_button)
    wait_until(lambda: scene.status.step_count == 0)

    def at_rest():
        state = scene.latest(Topic.STATE)
        return state is not None and np.all(state.arrays["qpos"] == 0.0)

    wait_until(at_rest)


def test_a_checkpoint_goes_into_another_scene_of_the_same_model_and_no_other(
    desktop, panel, wait_until, click, play_on
):
    scene, other = desktop.sessions.shown, _scene(desktop, "Like the twin")
    play_on(40)
    _keep(desktop, 1, wait_until)
    play_on(40)
    wait_until(lambda: panel.table.table.count == 1)
    (kept,) = kept_checkpoints(scene.session)
    panel.choose(kept.ref)
    wait_until(panel.into_button.isEnabled)
    menu = panel.into_menu()
    names = [action.text() for action in menu.actions()]
    assert "Like the twin" in names
    next(action for action in menu.actions() if action.text() == "Like the twin").trigger()
    menu.close()
    wait_until(lambda: other.status.step_count == kept.info.step_count)
    assert scene.status.step_count > kept.info.step_count


def test_a_checkpoint_is_a_ghost_until_it_is_deleted_after_asking(
    desktop, panel, wait_until, click, play_on
):
    window, scene = desktop.window, desktop.sessions.shown
    play_on(40)
    _keep(desktop, 1, wait_until)
    wait_until(lambda: panel.table.table.count == 1)
    (kept,) = kept_checkpoints(scene.session)
    panel.toggle_ghost(kept.ref)
    wait_until(lambda: len(window.scene_view.viewport._scene.others) == 1)
    wait_until(lambda: window.travel.ghosts.rows[0][0].label == kept.info.name)
    panel.choose(kept.ref)
    wait_until(panel.delete_button.isEnabled)
    click(panel.delete_button)
    wait_until(lambda: isinstance(panel.dialog, QMessageBox) and panel.dialog.isVisible())
    cancel = panel.dialog.button(QMessageBox.StandardButton.Cancel)
    click(cancel)
    wait_until(lambda: panel.dialog is None)
    assert len(scene.edits.checkpoints) == 1
    panel.table.view.setFocus()
    QTest.keyClick(panel.table.view, Qt.Key.Key_Delete)
    wait_until(lambda: isinstance(panel.dialog, QMessageBox) and panel.dialog.isVisible())
    click(panel.dialog.defaultButton())
    wait_until(lambda: not scene.edits.checkpoints)
    wait_until(lambda: not scene.ghosts.entries)
    wait_until(lambda: not window.scene_view.viewport._scene.others)
