"""The surface for graphics cards: a widget with an OpenGL context of its own."""

import contextlib
import time
from collections.abc import Callable, Generator

import shiboken6
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QImage, QSurfaceFormat
from PySide6.QtOpenGL import QOpenGLFramebufferObject
from PySide6.QtOpenGLWidgets import QOpenGLWidget
from PySide6.QtWidgets import QWidget
from vispy.gloo import gl

from stroboscope.app.view3d.drawing import (
    VIEW_CLOSED,
    Drawing,
    PictureLost,
    ViewStats,
    notify_when_built,
    still_frame,
)
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.gl_canvas import gl_renderer_name, is_software
from stroboscope.app.view3d.measured import Measured
from stroboscope.app.view3d.picking import Hit
from stroboscope.app.view3d.renderer import Frame

__all__ = ["GlSurface"]


class GlSurface(QOpenGLWidget):
    """Draws what ``frame`` returns whenever Qt asks for it; starts anew when its context is lost.

    ``started`` comes when a picture is begun, ``drawn`` when it is done.
    """

    failed = Signal(str)
    started = Signal()
    drawn = Signal()
    built = Signal()  # meshes have become ready

    def __init__(self, parent: QWidget, *, scene: DrawnScene, frame: Callable[[], Frame]) -> None:
        super().__init__(parent)
        surface_format = QSurfaceFormat(QSurfaceFormat.defaultFormat())
        surface_format.setDepthBufferSize(24)
        # Multisampling in software costs more than everything else together.
        surface_format.setSamples(0 if is_software(gl_renderer_name()) else 4)
        self.setFormat(surface_format)
        self.drawing = Drawing(scene)
        notify_when_built(scene, self)
        self.built.connect(self.update)
        self._frame = frame
        self._target: QOpenGLFramebufferObject | None = None

    def initializeGL(self) -> None:
        """Make every OpenGL object anew: Qt calls this for the first context and each later one."""
        self.drawing.start(self._framebuffer)
        self.context().aboutToBeDestroyed.connect(self.release, Qt.ConnectionType.DirectConnection)

    def release(self) -> None:
        """Give all memory of OpenGL back, while the context is still there."""
        with contextlib.suppress(RuntimeError):  # Qt has taken the widget apart already
            self.makeCurrent()
            self.drawing.free()
            self.doneCurrent()

    def _framebuffer(self) -> int:
        return self._target.handle() if self._target else self.defaultFramebufferObject()

    def paintGL(self) -> None:
        """Draw one frame; called by Qt with the context current."""
        if self.drawing.error:
            return
        start = time.perf_counter()
        self.started.emit()
        frame = self._frame()
        if not self.drawing.draw(frame):
            self.failed.emit(self.drawing.error)
            return
        if is_software(gl_renderer_name()):
            gl.glFinish()  # it draws in threads of its own: without this no time would be seen
        self.drawing.count(frame, duration=time.perf_counter() - start)
        self.drawn.emit()

    def redraw(self) -> None:
        """Draw a new picture soon."""
        self.update()

    def draw_now(self, scale: float = 1.0) -> None:
        """Draw what is on show and wait for it; Qt knows no other ``scale`` than the screen's."""
        del scale
        self.drawing.scene.finish_building()
        self.repaint()

    def retry(self) -> None:
        """Try again after a failure: the scene is another one now."""
        self.drawing.error = ""
        self.update()

    def pick(self, x: float, y: float) -> Hit | None:
        """Return what is at (x, y) [logical px]; None for the sky or before the first frame."""
        if not self.isValid():
            return None
        ratio = self.devicePixelRatioF()
        self.makeCurrent()
        try:
            hit = self.drawing.pick(self._frame(), x=int(x * ratio), y=int(y * ratio))
        finally:
            self.doneCurrent()
        return hit

    def measure(self, *, size: tuple[int, int]) -> Measured | None:
        """Return what every pixel of a picture of ``size`` [px] shows; None when there is none."""
        if not self.isValid():
            return None
        self.drawing.scene.finish_building()
        self.makeCurrent()
        try:
            return self.drawing.measure(still_frame(self._frame(), size=size, fine=False))
        finally:
            self.doneCurrent()

    def picture(
        self,
        *,
        size: tuple[int, int] | None = None,
        transparent: bool = False,
        fine: bool = True,
    ) -> QImage:
        """Return the picture as it is now, drawn for this call, at ``size`` (width, height) [px].

        ``transparent``: the model alone, on nothing (premultiplied alpha). Unless it is to be
        ``fine`` it is drawn like moving pictures. Raises ValueError for a size that can't be drawn.
        """
        if fine:
            self.drawing.scene.finish_building()
        if size is None and not transparent:
            return self.grabFramebuffer()
        frame = still_frame(self._frame(), size=size, transparent=transparent, fine=fine)
        return self._picture(frame) if self.isValid() else QImage()

    def _picture(self, frame: Frame) -> QImage:
        self.makeCurrent()
        try:
            width, height = frame.size
            depth = QOpenGLFramebufferObject.Attachment.Depth
            self._target = QOpenGLFramebufferObject(width, height, depth)
            self._target.bind()
            if not self.drawing.draw(frame):
                return QImage()
            self._target.bind()
            image = self._target.toImage()
        finally:
            self._target = None
            self.doneCurrent()
        return image if frame.transparent else image.convertToFormat(QImage.Format.Format_RGB32)

    def picture_in_bands(self, frame: Frame) -> Generator[float, None, QImage]:
        """Yield once and return ``frame`` as a picture: a graphics card draws it in a moment.

        Raises PictureLost, with a sentence, as a picture that takes longer does.
        """
        revision = self.drawing.scene.geometry_revision
        yield 0.0
        if not (shiboken6.isValid(self) and self.isValid()):
            raise PictureLost(VIEW_CLOSED)
        self.drawing.check_shows(revision)
        image = self._picture(frame)
        if image.isNull():
            raise PictureLost(self.drawing.error)
        return image

    def stats(self) -> ViewStats:
        """Return what drawing costs at present."""
        return self.drawing.stats()
