"""A scene that is held while its session plays: Play goes on from there, and so do its keys."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from samples import few

from stroboscope.debugger_protocol.messages import PlaybackMode


@pytest.fixture
def held(desktop, attached, wait_until):
    """The window shows a scene that its script holds while the session plays."""
    attached("--mode", "playing", "--hold-at", "20")
    wait_until(lambda: desktop.window.transport.badge.word == "HELD")
    assert desktop.sessions.shown.session.mode is PlaybackMode.PLAYING
    return desktop


@pytest.mark.parametrize("key", few([Qt.Key.Key_Space, Qt.Key.Key_F5], 1))
def test_one_key_press_continues_a_held_scene(held, wait_until, key):
    scene = held.sessions.shown
    stands_at = scene.status.step_count
    QTest.keyClick(held.window, key)
    wait_until(lambda: scene.status.step_count > stands_at + 5)
    wait_until(lambda: held.window.transport.badge.word == "PLAYING")


def test_the_button_of_a_held_scene_says_continue(held, click, wait_until):
    scene, play = held.sessions.shown, held.window.actions_by_name["play"]
    wait_until(lambda: play.text() == "Continue")
    assert "Continue" in play.toolTip()
    stands_at = scene.status.step_count
    click(held.window.transport.buttons["play"])
    wait_until(lambda: scene.status.step_count > stands_at)
    wait_until(lambda: play.text() == "Pause")
