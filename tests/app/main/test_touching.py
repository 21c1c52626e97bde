"""A hand in the picture: springs, mocap bodies, free bodies while paused, and who may do it."""

import json
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.view3d.camera import CameraState
from stroboscope.debugger_protocol.messages import EditField, LogLevel, PlaybackMode
from stroboscope.debugger_protocol.topics import Instant, Topic

pytest.importorskip("mujoco")

WORKSHOP = Path(__file__).with_name("workshop_process.py")
CONTROL = Qt.KeyboardModifier.ControlModifier
RIGHT, LEFT = Qt.MouseButton.RightButton, Qt.MouseButton.LeftButton


class Hand:
    """A mouse over the picture."""

    def __init__(self, desktop):
        self.window = desktop.window
        self.viewport = desktop.window.scene_view.viewport
        self.surface = self.viewport._surface
        self.at = QPoint()

    def pixel(self, body):
        """Return where the origin of a body is drawn."""
        v = self.viewport
        pos = v._scene.body_pos[body]
        x, y, _ = v.view().project(pos[None], width=v.width(), height=v.height())[0]
        return QPoint(round(x), round(y))

    def press(self, button, at, modifier=CONTROL):
        self.at = at
        QTest.mousePress(self.surface, button, modifier, at)

    def move(self, button, by, modifier=CONTROL):
        # QTest's moves carry no button: send the event a real mouse would.
        self.at = self.at + by
        at = QPointF(self.at)
        move = QMouseEvent(
            QEvent.Type.MouseMove, at, self.surface.mapToGlobal(at), button, button, modifier
        )
        QApplication.sendEvent(self.surface, move)

    def release(self, button, modifier=CONTROL):
        QTest.mouseRelease(self.surface, button, modifier, self.at)

    def drag(self, button, by, *, start, steps=4, modifier=CONTROL):
        """Press, move in steps, release."""
        self.press(button, start, modifier)
        for _ in range(steps):
            self.move(button, QPoint(by.x() // steps, by.y() // steps), modifier)
        self.release(button, modifier)


@pytest.fixture
def hand(desktop, run_script, wait_until):
    """The workshop, attached and paused, seen from the front (x to the right, z up)."""
    run_script(WORKSHOP.read_text())
    wait_until(lambda: desktop.sessions.shown.latest(Topic.POSE) is not None)
    viewport = desktop.window.scene_view.viewport
    viewport.set_camera(CameraState(azimuth=90.0, elevation=0.0, distance=4.0))
    wait_until(lambda: desktop.sessions.shown.status is not None)
    wait_until(lambda: desktop.sessions.shown.session.has_control)
    return Hand(desktop)


def _body(desktop, name):
    description = desktop.sessions.shown.description
    return next(i for i, body in enumerate(description.bodies) if body.name == name)


def _select(desktop, name):
    body = _body(desktop, name)
    desktop.sessions.selection.select(Element(ElementKind.BODY, body))
    return body


def _pos(desktop, body):
    return np.array(desktop.sessions.shown.latest(Topic.POSE).arrays["xpos"][body])


def test_a_spring_pulls_the_selected_body_and_the_script_never_sees_it(
    desktop, hand, wait_until, own_folders
):
    scene, body = desktop.sessions.shown, _select(desktop, "hand")
    before = _pos(desktop, body)
    desktop.sessions.play()
    wait_until(lambda: scene.mode is PlaybackMode.PLAYING)
    hand.press(RIGHT, hand.pixel(body))
    hand.move(RIGHT, QPoint(60, 0))
    assert hand.viewport._overlays.perturbation is not None
    assert "Pulling hand" in desktop.window.status.currentMessage()
    assert hand.surface.cursor().shape() is Qt.CursorShape.ClosedHandCursor
    wait_until(lambda: scene.edits.interventions.perturbed_body == body)
    wait_until(lambda: _pos(desktop, body)[0] > before[0] + 0.05)
    hand.release(RIGHT)
    wait_until(lambda: scene.edits.interventions.perturbed_body == -1)
    assert hand.viewport._overlays.perturbation is None
    assert desktop.window.status.currentMessage() == ""
    desktop.sessions.remove(scene.session)
    wait_until(lambda: (own_folders / "report.json").exists())
    assert json.loads((own_folders / "report.json").read_text())["xfrc"] == 0.0


def test_a_twist_turns_the_body_about_what_the_mouse_turns_it(desktop, hand, wait_until):
    scene, body = desktop.sessions.shown, _select(desktop, "hand")
    desktop.sessions.play()
    wait_until(lambda: scene.mode is PlaybackMode.PLAYING)
    quat = np.array(scene.latest(Topic.POSE).arrays["xquat"][body])
    hand.press(LEFT, hand.pixel(body), CONTROL | Qt.KeyboardModifier.ShiftModifier)
    hand.move(LEFT, QPoint(80, 0), CONTROL | Qt.KeyboardModifier.ShiftModifier)
    assert "Twisting hand" in desktop.window.status.currentMessage()

    def turned():
        now = np.array(scene.latest(Topic.POSE).arrays["xquat"][body])
        return abs(float(now @ quat)) < 0.999

    wait_until(turned)
    QTest.keyClick(hand.surface, Qt.Key.Key_Escape)
    wait_until(lambda: scene.edits.interventions.perturbed_body == -1)
    assert desktop.sessions.selection.element is not None, "Esc let go and did no more"
    hand.release(LEFT)


def test_a_mocap_body_follows_the_mouse_while_paused_and_the_edit_can_be_reverted(
    desktop, hand, wait_until
):
    scene, body = desktop.sessions.shown, _select(desktop, "guide")
    before = _pos(desktop, body)
    hand.drag(RIGHT, QPoint(0, -80), start=hand.pixel(body))
    span = 2.0 * 4.0 * np.tan(np.radians(22.5)) / hand.viewport.height()
    wait_until(lambda: _pos(desktop, body)[2] == pytest.approx(before[2] + 80 * span, rel=1e-3))
    assert _pos(desktop, body)[0] == pytest.approx(before[0], abs=1e-9)
    wait_until(lambda: scene.edits.last is not None)
    scene.edits.revert(scene.edits.last.edit_id)
    wait_until(lambda: _pos(desktop, body)[2] == pytest.approx(before[2], abs=1e-12))


def test_a_free_body_is_moved_and_turned_at_once_while_paused(desktop, hand, wait_until):
    scene, body = desktop.sessions.shown, _select(desktop, "crate")
    before = _pos(desktop, body)
    hand.drag(RIGHT, QPoint(40, 0), start=hand.pixel(body))
    wait_until(lambda: _pos(desktop, body)[0] > before[0] + 0.1)
    moved = _pos(desktop, body)
    hand.drag(LEFT, QPoint(0, 40), start=hand.pixel(body))
    wait_until(lambda: abs(scene.latest(Topic.POSE).arrays["xquat"][body][0]) < 0.99)
    assert _pos(desktop, body) == pytest.approx(moved, abs=1e-6)
    assert scene.edits.interventions.perturbed_body == -1


def test_a_body_is_moved_from_where_it_stands_not_from_the_executed_step(desktop, hand, wait_until):
    scene, body = desktop.sessions.shown, _select(desktop, "crate")
    scene.edits.set_state(EditField.QVEL, 2, [20.0])
    wait_until(lambda: not scene.session.pending)
    desktop.sessions.step()
    wait_until(lambda: scene.status.step_count == 1)
    wait_until(lambda: scene.has_instant(Instant.EXECUTED) and scene.has_instant(Instant.NOW))
    wait_until(lambda: scene.stands_still)
    now = np.array(scene.latest(Topic.POSE, Instant.NOW).arrays["xpos"][body])
    desktop.window.view.set_instant(Instant.EXECUTED)
    hand.drag(RIGHT, QPoint(0, -40), start=hand.pixel(body))
    assert desktop.window.view.instant is Instant.NOW
    # One step is 0.1 m here.
    wanted = now[2] + 40 * 2.0 * 4.0 * np.tan(np.radians(22.5)) / hand.viewport.height()
    wait_until(lambda: _pos(desktop, body)[2] == pytest.approx(wanted, abs=1e-3))


def test_with_nothing_selected_the_body_under_the_mouse_is_taken(desktop, hand, wait_until):
    body = _body(desktop, "crate")
    before = _pos(desktop, body)
    hand.drag(RIGHT, QPoint(40, 0), start=hand.pixel(body))
    wait_until(lambda: _pos(desktop, body)[0] > before[0] + 0.1)
    assert desktop.sessions.selection.element.kind is ElementKind.GEOM


def test_what_cant_be_pulled_says_why_and_the_camera_stays(desktop, hand, wait_until):
    camera = hand.viewport.camera
    for name, word in (("post", "fixed to the world"), ("world", "does not move")):
        body = _select(desktop, name)
        hand.drag(RIGHT, QPoint(40, 0), start=QPoint(50, 50))
        assert word in desktop.window.status.currentMessage(), body
    assert hand.viewport.camera == camera
    assert not desktop.sessions.shown.edits.entries
    assert desktop.log.counts[LogLevel.ERROR] == 0
    wait_until(lambda: not desktop.window.status.currentMessage(), 10)


def test_a_hand_lets_go_when_another_scene_is_shown(desktop, hand, wait_until):
    scene, body = desktop.sessions.shown, _select(desktop, "hand")
    desktop.sessions.play()
    wait_until(lambda: scene.mode is PlaybackMode.PLAYING)
    hand.press(RIGHT, hand.pixel(body))
    hand.move(RIGHT, QPoint(60, 0))
    wait_until(lambda: scene.edits.interventions.perturbed_body == body)
    desktop.sessions.show(None)
    wait_until(lambda: scene.edits.interventions.perturbed_body == -1)
    hand.release(RIGHT)
