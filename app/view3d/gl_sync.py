"""The two OpenGL calls that gloo has no word for: is it finished, and give me the pixels."""

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtGui import QOpenGLContext
from vispy.gloo import gl

__all__ = ["GlSync"]

_BGRA = 0x80E1
_UNSIGNED_BYTE = 0x1401
_COMMANDS_COMPLETE = 0x9117
_TIMEOUT_EXPIRED = 0x911B


class GlSync:
    """Knows whether what was drawn is finished. Every call needs ``context`` to be current."""

    def __init__(self, context: QOpenGLContext) -> None:
        self._context = context
        self._fence = 0
        pointer, unsigned, integer = ctypes.c_void_p, ctypes.c_uint, ctypes.c_int
        self._make = self._function(b"glFenceSync", pointer, unsigned, unsigned)
        self._wait = self._function(
            b"glClientWaitSync", unsigned, pointer, unsigned, ctypes.c_uint64
        )
        self._delete = self._function(b"glDeleteSync", None, pointer)
        self._read = self._function(
            b"glReadPixels", None, integer, integer, integer, integer, unsigned, unsigned, pointer
        )

    def _function(self, name: bytes, result: Any, *arguments: Any) -> Any:
        address = self._context.getProcAddress(name)
        return ctypes.CFUNCTYPE(result, *arguments)(int(address)) if address else None

    def mark(self) -> None:
        """Begin to draw what was asked for; :meth:`finished` then refers to it."""
        self.forget()
        if None in (self._make, self._wait, self._delete):
            gl.glFinish()  # OpenGL before 3.2: the only way to know is to wait
            return
        self._fence = self._make(_COMMANDS_COMPLETE, 0) or 0
        gl.glFlush()

    def finished(self) -> bool:
        """Return whether everything before the last :meth:`mark` is drawn; returns at once."""
        return not self._fence or self._wait(self._fence, 0, 0) != _TIMEOUT_EXPIRED

    def forget(self) -> None:
        """Give the mark back."""
        if self._fence:
            self._delete(self._fence)
            self._fence = 0

    def pixels(
        self, size: tuple[int, int], rows: tuple[int, int] | None = None
    ) -> NDArray[np.uint8]:
        """Return the bound framebuffer (height, width, 4), blue first, the top row first.

        ``size`` is (width, height) [px], ``rows`` which of its rows are wanted, from the bottom.
        Waits for what is still being drawn.
        """
        low, high = rows or (0, size[1])
        data = np.empty((high - low, size[0], 4), dtype=np.uint8)
        self._read(0, low, size[0], high - low, _BGRA, _UNSIGNED_BYTE, data.ctypes.data)
        return np.ascontiguousarray(data[::-1])
