"""Ghosts that a terminal has asked for, in the windows of the session."""

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco")

GOOD = Path(__file__).with_name("servo_process.py").read_text().replace("STIFF = 1", "STIFF = 0")


def test_a_ghost_of_a_terminal_is_drawn_listed_and_removed_here(
    desktop, run_script, wait_until, play_on, click
):
    run_script(GOOD)
    wait_until(lambda: desktop.sessions.shown.latest(Topic.POSE) is not None)
    window, scene = desktop.window, desktop.sessions.shown
    wait_until(lambda: scene.session.has_control)
    play_on(40)

    def show(*words):
        session = ["--session", str(scene.session.info.pid)]
        assert ctl.main([*session, "ghosts", *words, "--scene", scene.name]) == 0

    axis = scene.history.live - 20
    drawn = window.scene_view.viewport._scene
    show(f"row:{axis}")
    wait_until(lambda: len(drawn.others) == 1)
    there = drawn.others[0].pos.copy()
    assert not np.allclose(there, drawn.item_pos)
    wait_until(lambda: len(window.travel.ghosts.rows) == 1)
    ((entry, _, _),) = window.travel.ghosts.rows
    assert entry.label == scene.history.step_text(axis)
    # One that is added here leaves it where it is.
    window.scene_view.viewport.setFocus()
    QTest.keyClick(window, Qt.Key.Key_G, Qt.KeyboardModifier.ShiftModifier)
    wait_until(lambda: len(drawn.others) == 2)
    assert np.allclose(drawn.others[0].pos, there)
    show("none")
    wait_until(lambda: not drawn.others)
    wait_until(lambda: not window.travel.ghosts.isVisible())
    # What a terminal shows is removed with a click, for everybody.
    show(f"row:{axis}")
    wait_until(lambda: len(window.travel.ghosts.rows) == 1)
    ((_, _, remove),) = window.travel.ghosts.rows
    click(remove)
    wait_until(lambda: not drawn.others)
