"""Textures that are drawn into."""

from typing import Any

from vispy import gloo

from stroboscope.app.view3d.gl_canvas import DEPTH24

__all__ = ["ColorTarget"]


class ColorTarget:
    """A colour texture with its framebuffer, made at first use and again when its size changes."""

    def __init__(self, *, depth: bool, interpolation: str = "linear", floats: int = 0) -> None:
        self._depth = depth
        self._interpolation = interpolation
        self._floats = floats  # channels of float32; 0 means RGBA8
        self.size = (0, 0)
        self.texture: Any = None
        self.framebuffer: Any = None

    def resize(self, size: tuple[int, int]) -> None:
        """Make the target ``size`` (width, height) pixels large; its contents are undefined."""
        if size == self.size:
            return
        self.size = size
        shape = (size[1], size[0])
        channels = self._floats or 4
        self.texture = gloo.Texture2D(
            (*shape, channels),
            format="red" if channels == 1 else "rgba",
            internalformat={0: "rgba8", 1: "r32f", 4: "rgba32f"}[self._floats],
            interpolation=self._interpolation,
        )
        depth = gloo.RenderBuffer(shape, DEPTH24) if self._depth else None
        self.framebuffer = gloo.FrameBuffer(color=self.texture, depth=depth)

    def delete(self) -> None:
        """Give its memory back; it can be made anew."""
        if self.framebuffer is not None:
            if self.framebuffer.depth_buffer is not None:
                self.framebuffer.depth_buffer.delete()
            self.framebuffer.delete()
            self.texture.delete()
        self.texture = self.framebuffer = None
        self.size = (0, 0)
