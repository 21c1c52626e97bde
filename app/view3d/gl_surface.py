"""The widget that owns the OpenGL context: draws, picks, and starts anew when it is lost."""

import dataclasses
import logging
import statistics
import time
from collections import deque
from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QSurfaceFormat,
    QWheelEvent,
)
from PySide6.QtOpenGLWidgets import QOpenGLWidget
from PySide6.QtWidgets import QWidget
from vispy.gloo import gl

from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.gl_canvas import (
    GlCanvas,
    gl_renderer_name,
    is_software,
    yield_processor,
)
from stroboscope.app.view3d.navigation import Navigation
from stroboscope.app.view3d.picking import Hit, Picker
from stroboscope.app.view3d.renderer import Frame, Renderer

__all__ = ["GlSurface", "ViewStats"]

_log = logging.getLogger(__name__)
IDLE_S = 1.0  # a view that has drawn nothing for this long has no frame rate


@dataclasses.dataclass(frozen=True, slots=True)
class ViewStats:
    """What drawing costs: all frames so far, draw calls of the last, recent rate and duration.

    ``upload_ms`` is the GUI thread's own time for bringing the card up to date, drawing aside.
    """

    frames: int
    draw_calls: int
    fps: float
    frame_ms: float
    upload_ms: float
    gl_renderer: str
    contexts: int


class GlSurface(QOpenGLWidget):
    """Draws what ``frame`` returns whenever Qt asks for it; forwards the mouse to navigation."""

    failed = Signal(str)
    drawn = Signal()
    hovered = Signal(float, float)
    left = Signal()

    def __init__(self, parent: QWidget, *, scene: DrawnScene, frame: Callable[[], Frame]) -> None:
        super().__init__(parent)
        surface_format = QSurfaceFormat(QSurfaceFormat.defaultFormat())
        surface_format.setDepthBufferSize(24)
        # Multisampling in software costs more than everything else together.
        surface_format.setSamples(0 if is_software(gl_renderer_name()) else 4)
        self.setFormat(surface_format)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setMouseTracking(True)
        self.setMinimumSize(16, 16)
        self.navigation: Navigation | None = None
        self._scene = scene
        self._frame = frame
        self._canvas: GlCanvas | None = None
        self._renderer: Renderer | None = None
        self._picker: Picker | None = None
        self._frames = 0
        self._contexts = 0
        self._times: deque[float] = deque(maxlen=30)
        self._durations: deque[float] = deque(maxlen=30)
        self._error = ""

    def initializeGL(self) -> None:
        """Make every OpenGL object anew: Qt calls this for the first context and each later one."""
        self._contexts += 1
        if self._canvas is not None:
            self._canvas.forget()
        self._canvas = GlCanvas(self.defaultFramebufferObject)
        self._renderer = Renderer(self._canvas)
        self._picker = Picker(self._canvas, self._renderer)
        self._error = ""
        if is_software(gl_renderer_name()):
            yield_processor()

    def paintGL(self) -> None:
        """Draw one frame; called by Qt with the context current."""
        if self._renderer is None or self._error:
            return
        start = time.perf_counter()
        try:
            frame = self._frame()
            self._renderer.draw(self._scene, frame)
        except Exception as error:  # noqa: BLE001
            # Qt would only log it and leave the view black; people must see what it was.
            self._error = f"{type(error).__name__}: {error}"
            _log.exception("the 3D view can't draw this scene")
            self.failed.emit(self._error)
            return
        if is_software(gl_renderer_name()):
            gl.glFinish()  # it draws in threads of its own: without this no time would be seen
        self._frames += 1
        now = time.perf_counter()
        if frame.supersample == 1:  # refined still pictures say nothing about playing
            self._durations.append(now - start)
        self._times.append(now)
        self.drawn.emit()

    def retry(self) -> None:
        """Try again after a failure: the scene is another one now."""
        self._error = ""
        self.update()

    def pick(self, x: float, y: float) -> Hit | None:
        """Return what is at (x, y) [logical px]; None for the sky or before the first frame."""
        if self._picker is None or self._error or not self.isValid():
            return None
        ratio = self.devicePixelRatioF()
        self.makeCurrent()
        try:
            hit = self._picker.pick(self._scene, self._frame(), x=int(x * ratio), y=int(y * ratio))
        finally:
            self.doneCurrent()
        return hit

    def picture(self) -> QImage:
        """Return the picture as it is now, drawn for this call."""
        return self.grabFramebuffer()

    def stats(self) -> ViewStats:
        """Return what drawing costs at present."""
        rate = 0.0
        idle = not self._times or time.perf_counter() - self._times[-1] > IDLE_S
        if not idle and len(self._times) > 1 and self._times[-1] > self._times[0]:
            rate = (len(self._times) - 1) / (self._times[-1] - self._times[0])
        # The first frame of a scene compiles and uploads: a median forgets it.
        typical = statistics.median_low(self._durations) if self._durations else 0.0
        return ViewStats(
            frames=self._frames,
            draw_calls=self._renderer.draw_calls if self._renderer is not None else 0,
            fps=rate,
            frame_ms=1000.0 * typical,
            upload_ms=self._renderer.upload_ms if self._renderer is not None else 0.0,
            gl_renderer=gl_renderer_name(),
            contexts=self._contexts,
        )

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Forward to navigation."""
        if self.navigation is not None:
            self.navigation.press(event)
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """Forward to navigation."""
        if self.navigation is not None:
            self.navigation.release(event)
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Drag the camera, or tell what the mouse hovers over."""
        if self.navigation is not None and self.navigation.dragging:
            self.navigation.drag(event)
        else:
            self.hovered.emit(event.position().x(), event.position().y())
        event.accept()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Forward to navigation; the second press is also the start of a drag."""
        if self.navigation is not None:
            self.navigation.press(event)
            self.navigation.double_click(event)
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Forward to navigation."""
        if self.navigation is not None:
            self.navigation.wheel(event)
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Fly while the right button is held; everything else belongs to the window."""
        if self.navigation is None or not self.navigation.key_press(event):
            super().keyPressEvent(event)

    def keyReleaseEvent(self, event: QKeyEvent) -> None:
        """Forward to navigation."""
        if self.navigation is None or not self.navigation.key_release(event):
            super().keyReleaseEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Forget held keys: their release goes elsewhere."""
        if self.navigation is not None:
            self.navigation.stop()
        super().focusOutEvent(event)

    def leaveEvent(self, event: QEvent) -> None:
        """Tell that nothing is hovered any more."""
        self.left.emit()
        super().leaveEvent(event)
