"""What both surfaces share: one OpenGL context's renderer and picker, and what drawing costs."""

import contextlib
import dataclasses
import logging
import statistics
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from stroboscope.app.models.view_options import Quality, RenderMode
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.gl_canvas import (
    GlCanvas,
    gl_renderer_name,
    is_software,
    yield_processor,
)
from stroboscope.app.view3d.measured import Measured
from stroboscope.app.view3d.picking import Hit, Picker
from stroboscope.app.view3d.renderer import Frame, Renderer

__all__ = [
    "VIEW_CLOSED",
    "Drawing",
    "PictureLost",
    "ViewStats",
    "notify_when_built",
    "still_frame",
]

_log = logging.getLogger(__name__)
LARGEST = 8192  # pixels a side, which every OpenGL draws into
VIEW_CLOSED = "its view was closed while it was being drawn"
IDLE_S = 1.0  # a view that has drawn nothing for this long has no frame rate


class PictureLost(Exception):
    """What a picture shows is gone before it was finished; the message says what."""


@dataclasses.dataclass(frozen=True, slots=True)
class ViewStats:
    """What drawing costs: all frames so far, draw calls of the last, recent rate and duration.

    ``upload_ms`` is the GUI thread's own time for bringing the card up to date, drawing aside.
    ``scale`` is the resolution of the last frame, 1 for every pixel of the screen.
    """

    frames: int
    draw_calls: int
    fps: float
    frame_ms: float
    upload_ms: float
    gl_renderer: str
    contexts: int
    scale: float = 1.0


def still_frame(
    frame: Frame,
    *,
    size: tuple[int, int] | None = None,
    transparent: bool = False,
    fine: bool = True,
) -> Frame:
    """Return ``frame`` for a picture to keep: ``size`` (width, height) [px], full quality.

    ``transparent``: the model alone, on nothing. Without either it stays as it is. Unless it is
    to be ``fine`` it keeps the frame's own quality, for pictures that come one after another.
    Raises ValueError for a size that can't be drawn.
    """
    if size is None and not transparent:
        return frame
    width, height = size or frame.size
    if not (0 < width <= LARGEST and 0 < height <= LARGEST):
        raise ValueError(f"a picture of {width} × {height} pixels; at most {LARGEST} a side")
    # Neither ids nor depths have a mean.
    fine = fine and frame.options.render is RenderMode.PICTURE
    samples = 2 if fine and max(width, height) * 2 <= LARGEST // 2 else 1
    return dataclasses.replace(
        frame,
        size=(width, height),
        view=dataclasses.replace(frame.view, aspect=width / height),
        pixel_ratio=frame.pixel_ratio * height / max(frame.size[1], 1),
        quality=Quality.HIGH if fine else frame.quality,
        supersample=samples,
        coarse=False,
        transparent=transparent,
    )


def notify_when_built(scene: DrawnScene, owner: Any) -> None:
    """Emit ``owner.built`` (from another thread) whenever meshes of ``scene`` become ready."""
    weak = weakref.ref(owner)

    def tell() -> None:
        surface = weak()
        if surface is None:
            with contextlib.suppress(ValueError):
                scene.built_listeners.remove(tell)
            return
        with contextlib.suppress(RuntimeError):  # Qt has deleted it already
            surface.built.emit()

    scene.built_listeners.append(tell)


class Drawing:
    """Draws and picks in whichever context is current; the GUI thread only."""

    def __init__(self, scene: DrawnScene) -> None:
        self.scene = scene
        self.error = ""
        self.renderer: Renderer | None = None
        self._canvas: GlCanvas | None = None
        self._picker: Picker | None = None
        self._frames = 0
        self._contexts = 0
        self._scale = 1.0
        self._times: deque[float] = deque(maxlen=30)
        self._durations: deque[float] = deque(maxlen=30)
        self._compiled: set[tuple[bool, Quality]] = set()

    def start(self, default_framebuffer: Callable[[], int]) -> None:
        """Make every OpenGL object anew, for a context that has just been made and is current."""
        self._contexts += 1
        self._compiled.clear()
        if self._canvas is not None:
            self._canvas.forget()
        self._canvas = GlCanvas(default_framebuffer)
        self.renderer = Renderer(self._canvas)
        self._picker = Picker(self._canvas, self.renderer)
        self.error = ""
        if is_software(gl_renderer_name()):
            yield_processor()

    def free(self) -> None:
        """Give every OpenGL object back while its context is current; :meth:`start` begins anew."""
        canvas, self._canvas = self._canvas, None
        self.renderer, self._picker = None, None
        if canvas is not None:
            canvas.free()

    def prepare(self, frame: Frame) -> bool:
        """Begin ``frame`` with its shadow map; return whether that is still being drawn.

        Failures are kept in ``error``.
        """
        if self.renderer is None or self.error:
            return False
        try:
            return self.renderer.prepare(self.scene, frame)
        except Exception as error:  # noqa: BLE001
            self._fail(error)
            return False

    def draw(self, frame: Frame, *, prepared: bool = False) -> bool:
        """Draw ``frame``; return False when that is impossible, and ``error`` says why."""
        if self.renderer is None or self.error:
            return False
        try:
            self.renderer.draw(self.scene, frame, prepared=prepared)
        except Exception as error:  # noqa: BLE001
            self._fail(error)
            return False
        return True

    def check_shows(self, revision: int) -> None:
        """Raise PictureLost unless the geometry is still that of ``revision``."""
        if self.scene.geometry_revision != revision:
            raise PictureLost(
                "another scene, or a new description of this one, came while it was being drawn"
            )

    def _fail(self, error: Exception) -> None:
        # Qt would only log it and leave the view black; people must see what it was.
        self.error = f"{type(error).__name__}: {error}"
        _log.error("the 3D view can't draw this scene", exc_info=error)

    def count(self, frame: Frame, *, duration: float, scale: float = 1.0) -> None:
        """Take note of a finished picture that took ``duration`` [s]."""
        self._frames += 1
        self._scale = scale
        self._times.append(time.perf_counter())
        # The first of each kind compiles its shaders, which says nothing about the next one; nor
        # do refined still pictures say anything about playing.
        kind = (frame.coarse, frame.quality)
        if frame.supersample == 1 and kind in self._compiled:
            self._durations.append(duration)
        self._compiled.add(kind)

    def pick(self, frame: Frame, *, x: int, y: int) -> Hit | None:
        """Return what is at the pixel (x, y) of ``frame``; None for the sky."""
        if self._picker is None or self.error:
            return None
        return self._picker.pick(self.scene, frame, x=x, y=y)

    def measure(self, frame: Frame) -> Measured | None:
        """Return what every pixel of ``frame`` shows, None when it can't be drawn."""
        if self._picker is None or self.error:
            return None
        return self._picker.measure(self.scene, frame)

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
            draw_calls=self.renderer.draw_calls if self.renderer is not None else 0,
            fps=rate,
            frame_ms=1000.0 * typical,
            upload_ms=self.renderer.upload_ms if self.renderer is not None else 0.0,
            gl_renderer=gl_renderer_name(),
            contexts=self._contexts,
            scale=self._scale,
        )
