"""The hand in the 3D view: takes hold of the selected body with Ctrl and the mouse, and lets go."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QPointF, Signal

from stroboscope.app.view3d.camera import View
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.pulling import Pulling
from stroboscope.debugger_protocol.edit_messages import PerturbKind

__all__ = ["Grip"]


class Grip(QObject):
    """Follows one drag. Lives on the GUI thread.

    ``body`` answers which body is to be taken (position of the mouse [logical px]), -1 for none.
    ``pulled`` carries a :class:`Pull` with every movement.
    """

    pulled = Signal(object)  # Pull
    let_go = Signal()

    def __init__(
        self,
        parent: QObject,
        *,
        scene: DrawnScene,
        view: Callable[[], View],
        body: Callable[[QPointF], int],
    ) -> None:
        super().__init__(parent)
        self._scene = scene
        self._view = view
        self._body = body
        self._pulling: Pulling | None = None
        # Where the mouse has pointed at a body when it was selected, in that body's frame.
        self._touched: tuple[int, NDArray[np.float64]] | None = None
        # Asked with the body before it is taken; says why not by itself, in words.
        self.may_take: Callable[[int], bool] = lambda _body: True

    @property
    def body(self) -> int:
        """The body that is held, -1 for none."""
        return self._pulling.body if self._pulling is not None else -1

    @property
    def touched(self) -> tuple[int, tuple[float, float, float]] | None:
        """The body that was pointed at when it was selected, and where [m] in its frame."""
        if self._touched is None:
            return None
        body, point = self._touched
        return body, (float(point[0]), float(point[1]), float(point[2]))

    def touch(self, body: int, point: NDArray[np.float64]) -> None:
        """Remember which point (3,) [m] of a body in the world was pointed at."""
        mat = self._scene.body_mat[body]
        self._touched = body, mat.T @ (point - self._scene.body_pos[body])

    def take(self, kind: PerturbKind, at: QPointF) -> bool:
        """Take hold of the body; False when there is none or it may not be taken."""
        self.release()
        body = self._body(at)
        if not self.may_take(body) or not 0 < body < len(self._scene.body_pos):
            return False
        touched = self._touched
        point = touched[1] if touched is not None and touched[0] == body else None
        self._pulling = Pulling(self._scene, body=body, kind=kind, point=point)
        return True

    def move(self, *, dx: float, dy: float, shift: bool) -> None:
        """Follow the mouse by (dx, dy) in fractions of the view's height, y down."""
        if self._pulling is not None:
            self.pulled.emit(self._pulling.move(self._view(), dx=dx, dy=dy, shift=shift))

    def release(self) -> None:
        """Let go of what is held."""
        if self._pulling is not None:
            self._pulling = None
            self.let_go.emit()

    def forget(self) -> None:
        """Another scene is shown: let go, and know no point of it."""
        self.release()
        self._touched = None
