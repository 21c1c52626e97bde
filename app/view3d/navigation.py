"""Mouse and keys of the 3D view: MuJoCo's gestures, turned into camera moves and picks."""

import dataclasses
import enum
import time
from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QObject, QPointF, Qt, QTimer
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent

from stroboscope.app.view3d.camera import CameraState, Drag, ViewMode, dragged, view_axes
from stroboscope.app.view3d.grip import Grip
from stroboscope.debugger_protocol.edit_messages import PerturbKind

__all__ = ["Navigation", "PickAction"]

_FLY_KEYS = {
    Qt.Key.Key_W: (0.0, 0.0, 1.0),
    Qt.Key.Key_S: (0.0, 0.0, -1.0),
    Qt.Key.Key_D: (1.0, 0.0, 0.0),
    Qt.Key.Key_A: (-1.0, 0.0, 0.0),
    Qt.Key.Key_E: (0.0, 1.0, 0.0),
    Qt.Key.Key_Q: (0.0, -1.0, 0.0),
}
_PULLS = {
    Qt.MouseButton.LeftButton: PerturbKind.TORQUE,
    Qt.MouseButton.RightButton: PerturbKind.FORCE,
}
FLY_SPEED = 1.2  # distances to the point looked at, per second
WHEEL_STEP = 0.05  # of the view's height per notch, as in MuJoCo's viewer


class PickAction(enum.Enum):
    """What a double click asks for."""

    SELECT = "select"
    LOOK_AT = "look at"
    TRACK = "track"


class Navigation(QObject):
    """Turns Qt events into new camera states. Lives on the GUI thread.

    ``move`` receives every new state, ``pick`` an action and the position [logical px], ``grip``
    what is dragged with Ctrl.
    """

    def __init__(
        self,
        parent: QObject,
        *,
        camera: Callable[[], CameraState],
        move: Callable[[CameraState], None],
        pick: Callable[[PickAction, QPointF], None],
        extent: Callable[[], float],
        height: Callable[[], int],
        grip: Grip,
    ) -> None:
        super().__init__(parent)
        self._camera = camera
        self._move = move
        self._pick = pick
        self._extent = extent
        self._height = height
        self._grip = grip
        # What a Ctrl-drag will do to a body once the mouse moves; a click alone takes nothing.
        self._taking: PerturbKind | None = None
        self._pulls = False
        self._button = Qt.MouseButton.NoButton
        self._last = QPointF()
        self._keys: set[Qt.Key] = set()
        self._fly_timer = QTimer(self)
        self._fly_timer.setInterval(16)
        self._fly_timer.timeout.connect(self._fly)
        self._fly_time = 0.0

    @property
    def dragging(self) -> bool:
        """Whether a mouse button is held."""
        return self._button is not Qt.MouseButton.NoButton

    def press(self, event: QMouseEvent) -> None:
        """Start a drag with the button that went down."""
        if not self.dragging:
            self._button = event.button()
            control = event.modifiers() & Qt.KeyboardModifier.ControlModifier
            self._pulls = bool(control)
            self._taking = _PULLS.get(self._button) if control else None
        self._last = event.position()

    def release(self, event: QMouseEvent) -> None:
        """End the drag when its button goes up."""
        if event.button() == self._button:
            self._button = Qt.MouseButton.NoButton
            self._taking = None
            self._stop_flying()
            self._grip.release()

    def drag(self, event: QMouseEvent) -> None:
        """Move the camera by the mouse's way since the last event."""
        if self._taking is not None:
            taken, self._taking = self._taking, None
            self._grip.take(taken, self._last)
        kind = self._drag_kind(event.modifiers())
        way = event.position() - self._last
        self._last = event.position()
        scale = 1.0 / max(self._height(), 1)
        if self._pulls:
            shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
            self._grip.move(dx=way.x() * scale, dy=way.y() * scale, shift=shift)
            return
        if kind is None:
            return
        self._move(
            dragged(
                self._camera(),
                kind,
                dx=way.x() * scale,
                dy=way.y() * scale,
                extent=self._extent(),
            )
        )

    def _drag_kind(self, modifiers: Qt.KeyboardModifier) -> Drag | None:
        shift = bool(modifiers & Qt.KeyboardModifier.ShiftModifier)
        match self._button:
            case Qt.MouseButton.LeftButton:
                return Drag.ROTATE_HORIZONTAL if shift else Drag.ROTATE
            case Qt.MouseButton.RightButton:
                return Drag.MOVE_HORIZONTAL if shift else Drag.MOVE_VERTICAL
            case Qt.MouseButton.MiddleButton:
                return Drag.ZOOM
            case _:
                return None

    def double_click(self, event: QMouseEvent) -> None:
        """Ask for what a double click means: select, look at, or track."""
        if event.button() == Qt.MouseButton.LeftButton:
            self._pick(PickAction.SELECT, event.position())
        elif event.button() == Qt.MouseButton.RightButton:
            control = event.modifiers() & Qt.KeyboardModifier.ControlModifier
            self._pick(PickAction.TRACK if control else PickAction.LOOK_AT, event.position())

    def wheel(self, event: QWheelEvent) -> None:
        """Zoom: wheel away from you moves closer."""
        notches = event.angleDelta().y() / 120.0
        self._move(
            dragged(
                self._camera(), Drag.ZOOM, dx=0.0, dy=WHEEL_STEP * notches, extent=self._extent()
            )
        )

    def key_press(self, event: QKeyEvent) -> bool:
        """Start flying when the right button is held; return whether the key was used."""
        key = Qt.Key(event.key())
        if key not in _FLY_KEYS or self._button is not Qt.MouseButton.RightButton:
            return False
        if not event.isAutoRepeat():
            self._keys.add(key)
            if not self._fly_timer.isActive():
                self._fly_time = time.monotonic()
                self._fly_timer.start()
        return True

    def key_release(self, event: QKeyEvent) -> bool:
        """Stop flying in that direction; return whether the key was used."""
        key = Qt.Key(event.key())
        if event.isAutoRepeat() or key not in self._keys:
            return key in self._keys
        self._keys.discard(key)
        if not self._keys:
            self._stop_flying()
        return True

    def stop(self) -> None:
        """Forget held buttons and keys, as when the focus leaves."""
        self._button = Qt.MouseButton.NoButton
        self._taking = None
        self._stop_flying()
        self._grip.release()

    def _stop_flying(self) -> None:
        self._keys.clear()
        self._fly_timer.stop()

    def _fly(self) -> None:
        now = time.monotonic()
        elapsed, self._fly_time = min(now - self._fly_time, 0.1), now
        self._move(flown(self._camera(), self._keys, elapsed))


def flown(state: CameraState, keys: set[Qt.Key], seconds: float) -> CameraState:
    """Return ``state`` after flying with these keys held for ``seconds``."""
    if state.mode is not ViewMode.FREE or not keys:
        return state
    right, up, forward = view_axes(state.azimuth, state.elevation)
    way = np.zeros(3)
    for key in keys:
        x, y, z = _FLY_KEYS[key]
        way += x * right + y * up + z * forward
    lookat = np.array(state.lookat) + way * (FLY_SPEED * state.distance * seconds)
    x, y, z = (float(v) for v in lookat)
    return dataclasses.replace(state, lookat=(x, y, z))
