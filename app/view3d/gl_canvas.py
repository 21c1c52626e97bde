"""A vispy.gloo context inside a Qt OpenGL widget, without vispy's own canvas."""

import contextlib
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QOffscreenSurface, QOpenGLContext, QSurfaceFormat
from vispy import gloo
from vispy.gloo import context as gloo_context
from vispy.gloo import gl

__all__ = [
    "GlCanvas",
    "gl_renderer_name",
    "is_software",
    "read_float_pixel",
    "read_float_pixels",
    "yield_processor",
]

# RenderBuffer(format="depth") has 16 bits; this is GL_DEPTH_COMPONENT24.
DEPTH24 = 0x81A6
_SEAMLESS_CUBES = 0x884F
# Above what the GUI thread has. Drawing still gets a quarter of a core that others keep busy.
_DRAWING_NICENESS = 5
_MOST_NICENESS = 19
_SOFTWARE = ("llvmpipe", "softpipe", "swiftshader", "software rasterizer", "gdi generic")


class GlCanvas:
    """What gloo needs to know of the widget it draws into.

    gloo finds the framebuffer to return to through ``canvas._backend``; a QOpenGLWidget's is not
    0 and changes with its size. One object lives exactly as long as one OpenGL context.
    """

    def __init__(self, default_framebuffer: Callable[[], int]) -> None:
        self.context: Any = gloo_context.GLContext()
        self._backend = self
        self._default_framebuffer = default_framebuffer
        self.make_current()

    def _vispy_get_fb_bind_location(self) -> int:
        return self._default_framebuffer()

    def make_current(self) -> None:
        """Make gloo talk to this context; Qt must have made it current already."""
        gloo_context.set_current_canvas(self)
        # Errors that others left in the context would be blamed on our next draw call.
        for _ in range(8):
            if not gl.glGetError():
                break

    def flush(self) -> None:
        """Run everything gloo has queued."""
        self.context.flush_commands()

    def forget(self) -> None:
        """Leave gloo's list of canvases; nothing drawn with this one exists any more."""
        gloo_context.forget_canvas(self)

    def free(self) -> None:
        """Delete every OpenGL object made here; the context they belong to is current.

        In a group of shared contexts nobody else would: they outlive the context.
        """
        self.make_current()
        objects = self.context.shared.parser._objects
        for thing in list(objects.values()):
            if hasattr(thing, "delete"):
                thing.delete()
        objects.clear()
        self.forget()

    def handle_of(self, texture: gloo.Texture2D | gloo.TextureCube) -> int:
        """Return the OpenGL name of ``texture``, made now if need be."""
        self.context.glir.associate(texture.glir)
        self.flush()
        return int(self.context.shared.parser.get_object(texture.id).handle)

    def make_mipmaps(self, texture: gloo.Texture2D) -> None:
        """Give ``texture`` mipmaps and use them; gloo itself has no word for that."""
        handle = self.handle_of(texture)
        gl.glBindTexture(gl.GL_TEXTURE_2D, handle)
        gl.glGenerateMipmap(gl.GL_TEXTURE_2D)
        gl.glTexParameteri(gl.GL_TEXTURE_2D, gl.GL_TEXTURE_MIN_FILTER, gl.GL_LINEAR_MIPMAP_LINEAR)
        gl.glBindTexture(gl.GL_TEXTURE_2D, 0)

    def make_cube_mipmaps(self, texture: gloo.TextureCube) -> None:
        """The same for a cube, whose sides are filtered across their edges where that works."""
        handle = self.handle_of(texture)
        gl.glBindTexture(gl.GL_TEXTURE_CUBE_MAP, handle)
        gl.glGenerateMipmap(gl.GL_TEXTURE_CUBE_MAP)
        gl.glTexParameteri(
            gl.GL_TEXTURE_CUBE_MAP, gl.GL_TEXTURE_MIN_FILTER, gl.GL_LINEAR_MIPMAP_LINEAR
        )
        gl.glBindTexture(gl.GL_TEXTURE_CUBE_MAP, 0)
        gl.glEnable(_SEAMLESS_CUBES)
        gl.glGetError()  # OpenGL before 3.2 does not know it: nothing is lost but smooth edges


def read_float_pixel() -> NDArray[np.float32]:
    """Return the one RGBA pixel (4,) of a bound 1x1 float framebuffer."""
    data = gl.glReadPixels(0, 0, 1, 1, gl.GL_RGBA, gl.GL_FLOAT)
    return np.frombuffer(data, dtype=np.float32)


def read_float_pixels(width: int, height: int) -> NDArray[np.float32]:
    """Return all pixels (height, width, 4) of a bound float framebuffer, rows from the top."""
    data = gl.glReadPixels(0, 0, width, height, gl.GL_RGBA, gl.GL_FLOAT)
    return np.frombuffer(data, dtype=np.float32).reshape(height, width, 4)[::-1]


def is_software(renderer: str) -> bool:
    """Return whether ``renderer`` (GL_RENDERER) draws on the processor."""
    return any(word in renderer.lower() for word in _SOFTWARE)


def yield_processor() -> None:
    """Let the threads in which llvmpipe draws step back for whatever else wants the processor.

    There is one per core, so they would take turns with the simulation on its own core. On an
    idle machine nothing changes. Linux only; elsewhere nothing is done.
    """
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(OSError):
        # Of this thread: a program that was started with less than the usual stays below that.
        nice = min(os.getpriority(os.PRIO_PROCESS, 0) + _DRAWING_NICENESS, _MOST_NICENESS)
        for task in Path("/proc/self/task").iterdir():
            with contextlib.suppress(OSError):
                if (task / "comm").read_text().startswith("llvmpipe"):
                    os.setpriority(os.PRIO_PROCESS, int(task.name), nice)


@functools.cache
def gl_renderer_name() -> str:
    """Return GL_RENDERER, "" when there is no OpenGL. Needs a QGuiApplication; GUI thread.

    Asked once per process, because the widget's format (multisampling) must be chosen before
    its own context exists.
    """
    context = QOpenGLContext()
    context.setFormat(QSurfaceFormat.defaultFormat())
    if not context.create():
        return ""
    surface = QOffscreenSurface()
    surface.setFormat(context.format())
    surface.create()
    if not context.makeCurrent(surface):
        return ""
    name = str(gl.glGetParameter(gl.GL_RENDERER))
    context.doneCurrent()
    surface.destroy()
    return name
