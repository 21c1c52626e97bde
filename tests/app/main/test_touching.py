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
    """Return where a body stands; no number while nothing of the shown instant has come."""
    frame = desktop.sessions.shown.latest(Topic.POSE)
    return np.full(3, np.nan) if frame is None else np.array(frame.arrays["xpos"][body])


def _per_pixel(hand):
    """Return how far a pixel is at the distance of the camera [m]."""
    return 2.0 * 4.0 * np.tan(np.radians(22.5)) / hand.viewport.height()


def test_hands_twist_and_pull_what_moves_and_the_script_never_sees_it(
    desktop, hand, wait_until, own_folders
):
    scene, body = desktop.sessions.shown, _select(desktop, "hand")
    shift = CONTROL | Qt.KeyboardModifier.ShiftModifier
    desktop.sessions.play()
    wait_until(lambda: scene.mode is PlaybackMode.PLAYING)
    # A twist turns the body about what the mouse turns it; Esc lets go.
    quat = np.array(scene.latest(Topic.POSE).arrays["xquat"][body])
    hand.press(LEFT, hand.pixel(body), shift)
    hand.move(LEFT, QPoint(80, 0), shift)
    assert "Twisting hand" in desktop.window.status.currentMessage()

    def turned():
        now = np.array(scene.latest(Topic.POSE).arrays["xquat"][body])
        return abs(float(now @ quat)) < 0.999

    wait_until(turned)
    QTest.keyClick(hand.surface, Qt.Key.Key_Escape)
    wait_until(lambda: scene.edits.interventions.perturbed_body == -1)
    assert desktop.sessions.selection.element is not None, "Esc let go and did no more"
    hand.release(LEFT)
    # From rest again, a spring pulls.
    desktop.sessions.pause()
    wait_until(lambda: scene.mode is PlaybackMode.PAUSED and not scene.session.pending)
    desktop.sessions.restore_initial()
    wait_until(lambda: scene.status.step_count == 0 and scene.stands_still)
    wait_until(lambda: _pos(desktop, body)[0] == 0.0)
    desktop.sessions.play()
    wait_until(lambda: scene.mode is PlaybackMode.PLAYING)
    hand.press(RIGHT, hand.pixel(body))
    hand.move(RIGHT, QPoint(60, 0))
    assert hand.viewport._overlays.perturbation is not None
    assert "Pulling hand" in desktop.window.status.currentMessage()
    assert hand.surface.cursor().shape() is Qt.CursorShape.ClosedHandCursor
    wait_until(lambda: scene.edits.interventions.perturbed_body == body)
    wait_until(lambda: _pos(desktop, body)[0] > 0.05)
    hand.release(RIGHT)
    wait_until(lambda: scene.edits.interventions.perturbed_body == -1)
    assert hand.viewport._overlays.perturbation is None
    assert desktop.window.status.currentMessage() == ""
    # A hand lets go when another scene is shown.
    hand.press(RIGHT, hand.pixel(body))
    hand.move(RIGHT, QPoint(60, 0))
    wait_until(lambda: scene.edits.interventions.perturbed_body == body)
    desktop.sessions.show(None)
    wait_until(lambda: scene.edits.interventions.perturbed_body == -1)
    hand.release(RIGHT)
    desktop.sessions.remove(scene.session)
    report = own_folders / "report.json"
    wait_until(lambda: report.exists() and report.read_text().endswith("}"))
    assert json.loads(report.read_text())["xfrc"] == 0.0


def test_bodies_are_moved_and_turned_at_once_while_paused(desktop, hand, wait_until):
    scene, body = desktop.sessions.shown, _body(desktop, "crate")
    forty = 40 * _per_pixel(hand)
    nearer = forty * (4.0 - 0.15) / 4.0  # where it is taken, on its front
    # With nothing selected the body under the mouse is taken.
    before = _pos(desktop, body)
    hand.drag(RIGHT, QPoint(40, 0), start=hand.pixel(body))
    wait_until(lambda: _pos(desktop, body)[0] == pytest.approx(before[0] + nearer, abs=2e-3))
    assert desktop.sessions.selection.element.kind is ElementKind.GEOM
    # A free body that is selected is moved and turned.
    _select(desktop, "crate")
    wait_until(lambda: hand.viewport._scene.body_pos[body][0] == _pos(desktop, body)[0])
    hand.drag(RIGHT, QPoint(-40, 0), start=hand.pixel(body))
    wait_until(lambda: _pos(desktop, body)[0] == pytest.approx(before[0], abs=2e-3))
    wait_until(lambda: not scene.session.pending)
    moved = _pos(desktop, body)
    hand.drag(LEFT, QPoint(0, 40), start=hand.pixel(body))
    wait_until(lambda: abs(scene.latest(Topic.POSE).arrays["xquat"][body][0]) < 0.99)
    wait_until(lambda: not scene.session.pending)
    assert _pos(desktop, body) == pytest.approx(moved, abs=1e-6)
    assert scene.edits.interventions.perturbed_body == -1
    # It is moved from where it stands, not from the executed step; one step is 0.1 m here.
    scene.edits.set_state(EditField.QVEL, 2, [20.0])
    wait_until(lambda: not scene.session.pending)
    desktop.sessions.step()
    wait_until(lambda: scene.status.step_count == 1)
    wait_until(lambda: scene.has_instant(Instant.EXECUTED) and scene.has_instant(Instant.NOW))
    wait_until(lambda: scene.stands_still)
    wait_until(lambda: scene.latest(Topic.POSE, Instant.NOW).step == 1)
    now = np.array(scene.latest(Topic.POSE, Instant.NOW).arrays["xpos"][body])
    assert now[0] == pytest.approx(before[0] + 0.1, abs=2e-3)
    desktop.window.view.set_instant(Instant.EXECUTED)
    hand.drag(RIGHT, QPoint(0, -40), start=hand.pixel(body))
    assert desktop.window.view.instant is Instant.NOW
    wait_until(lambda: _pos(desktop, body)[2] > now[2] + 0.9 * nearer)
    assert _pos(desktop, body)[0] == pytest.approx(now[0], abs=1e-6)


def test_a_mocap_body_follows_the_mouse_the_edit_can_be_reverted_and_what_cant_move_says_why(
    desktop, hand, wait_until
):
    scene, body = desktop.sessions.shown, _select(desktop, "guide")
    before = _pos(desktop, body)
    hand.drag(RIGHT, QPoint(0, -80), start=hand.pixel(body))
    wanted = before[2] + 80 * _per_pixel(hand)
    wait_until(lambda: _pos(desktop, body)[2] == pytest.approx(wanted, rel=1e-3))
    assert _pos(desktop, body)[0] == pytest.approx(before[0], abs=1e-9)
    wait_until(lambda: not scene.session.pending and scene.edits.last is not None)
    scene.edits.revert(scene.edits.last.edit_id)
    wait_until(lambda: _pos(desktop, body)[2] == pytest.approx(before[2], abs=1e-12))
    wait_until(lambda: not scene.session.pending)
    # What can't be pulled says why, and the camera stays.
    camera, entries = hand.viewport.camera, len(scene.edits.entries)
    for name, word in (("post", "fixed to the world"), ("world", "does not move")):
        body = _select(desktop, name)
        hand.drag(RIGHT, QPoint(40, 0), start=QPoint(50, 50))
        assert word in desktop.window.status.currentMessage(), body
    assert hand.viewport.camera == camera
    wait_until(lambda: not scene.session.pending)
    assert len(scene.edits.entries) == entries
    assert desktop.log.counts[LogLevel.ERROR] == 0
