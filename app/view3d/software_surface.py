"""The surface for processors that draw: a plain widget that paints pictures drawn elsewhere.

llvmpipe rasterises in threads of its own. A QOpenGLWidget waits for them and then composes the
whole window by OpenGL once more, which costs as much as half the picture. Here a picture is begun,
the event loop goes on, and the finished picture is painted as an image: a click never waits for
more than the beginning of a picture.
"""

import dataclasses
import time
from collections import deque
from collections.abc import Callable, Generator

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import (
    QImage,
    QOffscreenSurface,
    QOpenGLContext,
    QPainter,
    QPaintEvent,
    QSurfaceFormat,
)
from PySide6.QtOpenGL import QOpenGLFramebufferObject
from PySide6.QtWidgets import QWidget

from stroboscope.app.view3d.bands import BandPlan
from stroboscope.app.view3d.drawing import (
    VIEW_CLOSED,
    Drawing,
    PictureLost,
    ViewStats,
    notify_when_built,
    still_frame,
)
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.gl_sync import GlSync
from stroboscope.app.view3d.measured import Measured
from stroboscope.app.view3d.picking import Hit
from stroboscope.app.view3d.renderer import Frame

__all__ = ["MovingScale", "SoftwareSurface"]

POLL_MS = 2
TURN_MS = 4
SCALES = (0.5, 0.71, 1.0)  # each has twice the pixels of the one before
LONG_FRAME_S = 0.040
SHORT_FRAME_S = 0.016


class MovingScale:
    """Chooses the resolution of moving pictures from how long the last ones took."""

    def __init__(self) -> None:
        self._index = 1
        self._recent: deque[float] = deque(maxlen=5)

    @property
    def value(self) -> float:
        """Pixels drawn per pixel of the screen and axis."""
        return SCALES[self._index]

    def note(self, duration: float) -> None:
        """Learn that a picture at this scale took ``duration`` [s]."""
        self._recent.append(duration)
        if len(self._recent) < 5:
            return
        typical = sorted(self._recent)[2]
        step = -1 if typical > LONG_FRAME_S else 1 if typical < SHORT_FRAME_S else 0
        index = min(max(self._index + step, 0), len(SCALES) - 1)
        if index != self._index:
            self._index = index
            self._recent.clear()


@dataclasses.dataclass(slots=True, eq=False)
class _Begun:
    """A picture in the making: what it shows, since when, and where it is drawn.

    Without a ``target`` only its shadow map is being drawn, of the scene's ``revision``.
    """

    frame: Frame
    start: float
    scale: float
    revision: int
    sync: GlSync
    target: QOpenGLFramebufferObject | None = None


class SoftwareSurface(QWidget):
    """Begins a picture when the event loop has nothing else to do, and paints it when it is done.

    ``started`` comes when a picture is begun, ``drawn`` when it is done. ``moving`` says whether
    the next one may be drawn at a lower resolution. Lives on the GUI thread.
    """

    failed = Signal(str)
    started = Signal()
    drawn = Signal()
    built = Signal()  # meshes have become ready

    def __init__(
        self,
        parent: QWidget,
        *,
        scene: DrawnScene,
        frame: Callable[[], Frame],
        moving: Callable[[], bool],
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.drawing = Drawing(scene)
        notify_when_built(scene, self)
        self.built.connect(self.redraw)
        self._frame = frame
        self._moving = moving
        self._scale = MovingScale()
        self._context: QOpenGLContext | None = None
        self._offscreen: QOffscreenSurface | None = None
        self._sync: GlSync | None = None
        self._targets: dict[tuple[int, int], QOpenGLFramebufferObject] = {}
        self._bound = 0
        self._begun: _Begun | None = None
        self._held = False  # a picture is drawn in bands: until then nothing else may be uploaded
        self._wanted = False
        # Two pictures at once take twice as long each and hold up the event loop: they take turns.
        self.neighbours: tuple[SoftwareSurface, ...] = ()
        self._image = QImage()
        self._pixels: NDArray[np.uint8] | None = None  # the image's memory
        # Without delay, but after everything that people do and the network brings.
        self._begin_timer = QTimer(self)
        self._begin_timer.setSingleShot(True)
        self._begin_timer.setInterval(0)
        self._begin_timer.timeout.connect(self._begin)
        self._poll_timer = QTimer(self)
        self._poll_timer.setInterval(POLL_MS)
        self._poll_timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._poll_timer.timeout.connect(self._poll)

    @property
    def busy(self) -> bool:
        """Whether a picture is in the making or about to be."""
        return self._wanted or self._begun is not None

    @property
    def is_drawing(self) -> bool:
        """Whether a picture is in the making."""
        return self._begun is not None

    def redraw(self) -> None:
        """Draw a new picture soon; of several wishes during one picture, one is fulfilled."""
        self._wanted = True
        if self._begun is None and not self._held and not self.drawing.error:
            self._begin_timer.start(0)

    def retry(self) -> None:
        """Try again after a failure: the scene is another one now."""
        self.drawing.error = ""
        self.redraw()

    def draw_now(self, scale: float = 1.0) -> None:
        """Draw what is on show in full resolution and wait for it; for pictures of the window.

        ``scale`` is how many pixels a side are wanted for one of the screen.
        """
        if self._held:
            return
        self.stop()
        self._wanted = False
        self.drawing.scene.finish_building()
        self.started.emit()
        frame = self._frame()
        if scale != 1.0:
            width, height = frame.size
            frame = still_frame(frame, size=(round(scale * width), round(scale * height)))
        begun = self._draw(1.0, frame)
        if begun is not None:
            self._finish(begun)

    def stop(self) -> None:
        """Begin nothing more and forget the picture in the making."""
        self._begin_timer.stop()
        self._poll_timer.stop()
        self._begun = None

    def release(self) -> None:
        """Give all memory of OpenGL back; the next picture makes a new context."""
        self.stop()
        if self._context is None:
            return
        self._make_current()
        self.drawing.free()
        self._targets.clear()
        self._done_current()
        self._context.deleteLater()
        self._context, self._offscreen, self._sync = None, None, None

    def pick(self, x: float, y: float) -> Hit | None:
        """Return what is at (x, y) [logical px]; None for the sky or before the first frame."""
        if self._context is None or self._held or self.drawing.error:
            return None
        ratio = self.devicePixelRatioF()
        self._make_current()
        try:
            return self.drawing.pick(self._frame(), x=int(x * ratio), y=int(y * ratio))
        finally:
            self._done_current()

    def measure(self, *, size: tuple[int, int]) -> Measured | None:
        """Return what every pixel of a picture of ``size`` [px] shows; None when there is none."""
        if self._context is None or self._held:
            return None
        self.drawing.scene.finish_building()
        self._make_current()
        try:
            return self.drawing.measure(still_frame(self._frame(), size=size, fine=False))
        finally:
            self._done_current()

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
        if self._held:
            return QImage()
        if fine:
            self.drawing.scene.finish_building()
        frame = still_frame(self._frame(), size=size, transparent=transparent, fine=fine)
        begun = self._draw(1.0, frame)
        if begun is None:
            return QImage()
        pixels = self._read(begun)
        self._count(begun)
        return _image(pixels, transparent=transparent).copy()

    def picture_in_bands(self, frame: Frame) -> Generator[float, None, QImage]:
        """Draw ``frame`` bit by bit; yield how much of it is there, 0…1, return the picture.

        Nothing waits long. Until it is over or closed the surface draws nothing else: what has
        been uploaded belongs to this picture. Raises PictureLost, with a sentence, when that or
        the view is gone before it is finished, and when it can't be drawn.
        """
        self.stop()
        self._held = True
        target: QOpenGLFramebufferObject | None = None
        try:
            width, height = frame.size
            pixels = np.empty((height, width, 4), dtype=np.uint8)
            revision, plan = self.drawing.scene.geometry_revision, BandPlan(frame)
            sync = self._make_current()
            depth = QOpenGLFramebufferObject.Attachment.Depth
            target = QOpenGLFramebufferObject(width, height, depth)
            self.drawing.prepare(frame)
            sync.mark()
            while not plan.is_over:
                while not self._is_finished():
                    yield plan.done
                self._check_context(sync)
                self.drawing.check_shows(revision)
                start = time.perf_counter()
                self._make_current()
                self._bound = target.handle()
                target.bind()
                if not self.drawing.draw(plan.begin(), prepared=True):
                    self.failed.emit(self.drawing.error)
                    raise PictureLost(self.drawing.error)
                sync.mark()
                while not self._is_finished():
                    yield plan.done
                self._check_context(sync)
                self._make_current()
                target.bind()
                low, high = plan.rows
                pixels[height - high : height - low] = sync.pixels(frame.size, plan.rows)
                plan.end(time.perf_counter() - start)
                yield plan.done
        finally:
            if target is not None and self._context is not None:
                self._make_current()
            del target
            self._done_current()
            self._held = False
            if self._context is not None:
                self.redraw()
        return _image(pixels, transparent=frame.transparent).copy()

    def _check_context(self, sync: GlSync) -> None:
        if self._sync is not sync:
            raise PictureLost(VIEW_CLOSED)

    def _is_finished(self) -> bool:
        """Return whether what was asked for last is drawn, or never will be."""
        if self._sync is None:
            return True
        self._make_current()
        return self._sync.finished()

    @property
    def is_preparing(self) -> bool:
        """Whether this thread has to do with a picture; False while llvmpipe's threads draw it."""
        begun = self._begun
        return self._wanted if begun is None else begun.target is None

    def stats(self) -> ViewStats:
        """Return what drawing costs at present."""
        return self.drawing.stats()

    def _begin(self) -> None:
        if self._begun is not None or self._held or not self.isVisible():
            return
        if any(other.is_drawing for other in self.neighbours):
            self._begin_timer.start(TURN_MS)
            return
        self._wanted = False
        self.started.emit()
        self._begun = self._start(self._scale.value if self._moving() else 1.0)
        if self._begun is not None:
            self._poll_timer.start()

    def _poll(self) -> None:
        begun = self._begun
        if begun is None:
            self._poll_timer.stop()
            return
        self._make_current()
        finished = begun.sync.finished()
        self._done_current()
        if finished and begun.target is not None:
            self._finish(begun)
        elif finished and not self._rasterise(begun):
            self.stop()

    def _finish(self, begun: _Begun) -> None:
        self._poll_timer.stop()
        self._begun = None
        self._pixels = self._read(begun)
        self._image = _image(self._pixels)
        if begun.frame.supersample == 1 and begun.scale == self._scale.value:
            self._scale.note(time.perf_counter() - begun.start)
        self._count(begun)
        self.update()
        self.drawn.emit()
        if self._wanted:
            # A neighbour that waits comes first.
            self._begin_timer.start(2 * TURN_MS if self.neighbours else 0)

    def _count(self, begun: _Begun) -> None:
        duration = time.perf_counter() - begun.start
        self.drawing.count(begun.frame, duration=duration, scale=begun.scale)

    def _draw(self, scale: float, frame: Frame | None = None) -> _Begun | None:
        """Ask for a whole picture at ``scale``; None when it can't be drawn."""
        begun = self._start(scale, frame)
        if begun is not None and begun.target is None and not self._rasterise(begun):
            return None
        return begun

    def _start(self, scale: float, frame: Frame | None = None) -> _Begun | None:
        """Ask for a picture, at first only for its shadow map if that is due; wait for nothing.

        Returns None when it can't be drawn.
        """
        start = time.perf_counter()
        sync = self._make_current()
        try:
            frame = frame or self._frame()
            if scale != 1.0:
                width, height = frame.size
                frame = dataclasses.replace(
                    frame,
                    size=(max(round(width * scale), 1), max(round(height * scale), 1)),
                    pixel_ratio=frame.pixel_ratio * scale,
                    coarse=True,
                )
            begun = _Begun(frame, start, scale, self.drawing.scene.geometry_revision, sync)
            if self.drawing.prepare(frame):
                sync.mark()
                return begun
        finally:
            self._done_current()
        return begun if self._rasterise(begun) else None

    def _rasterise(self, begun: _Begun) -> bool:
        """Ask for the picture itself; return False when it can't be drawn."""
        self._make_current()
        try:
            if begun.revision != self.drawing.scene.geometry_revision:  # another scene by now
                begun.frame = dataclasses.replace(
                    self._frame(),
                    size=begun.frame.size,
                    pixel_ratio=begun.frame.pixel_ratio,
                    coarse=begun.frame.coarse,
                )
                prepared = False
            else:
                prepared = True
            begun.target = self._target(begun.frame.size)
            begun.target.bind()
            if self.drawing.draw(begun.frame, prepared=prepared):
                begun.sync.mark()
                return True
        finally:
            self._done_current()
        self.failed.emit(self.drawing.error)
        return False

    def _read(self, begun: _Begun) -> NDArray[np.uint8]:
        self._make_current()
        try:
            if begun.target is not None:
                begun.target.bind()
            return begun.sync.pixels(begun.frame.size)
        finally:
            self._done_current()

    def _target(self, size: tuple[int, int]) -> QOpenGLFramebufferObject:
        target = self._targets.get(size)
        if target is None:
            # One per scale is enough; those of another window size only take memory.
            if len(self._targets) >= len(SCALES):
                self._targets.clear()
            depth = QOpenGLFramebufferObject.Attachment.Depth
            target = QOpenGLFramebufferObject(size[0], size[1], depth)
            self._targets[size] = target
        self._bound = target.handle()
        return target

    def _make_current(self) -> GlSync:
        if self._context is None or self._offscreen is None or self._sync is None:
            self._context = QOpenGLContext(self)
            self._context.setFormat(QSurfaceFormat.defaultFormat())
            self._context.create()
            self._offscreen = QOffscreenSurface()
            self._offscreen.setFormat(self._context.format())
            self._offscreen.create()
            self._context.makeCurrent(self._offscreen)
            self._sync = GlSync(self._context)
            self.drawing.start(lambda: self._bound)
            return self._sync
        self._context.makeCurrent(self._offscreen)
        return self._sync

    def _done_current(self) -> None:
        if self._context is not None:
            self._context.doneCurrent()

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the last picture, stretched to the widget; the first one is drawn for this."""
        if self._image.isNull() and not self.drawing.error:
            self.draw_now()
        painter = QPainter(self)
        if self._image.isNull():
            painter.fillRect(self.rect(), self.palette().window())
            return
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(self.rect(), self._image)


def _image(pixels: NDArray[np.uint8], *, transparent: bool = False) -> QImage:
    """Return ``pixels`` (height, width, 4), blue first, as an image that uses their memory."""
    height, width, _ = pixels.shape
    kind = QImage.Format.Format_RGB32
    if transparent:
        kind = QImage.Format.Format_ARGB32_Premultiplied
    return QImage(pixels.data, width, height, 4 * width, kind)
