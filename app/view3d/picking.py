"""What lies under a pixel: one draw into a framebuffer of a single float pixel, then glyphs."""

import dataclasses

import numpy as np
from numpy.typing import NDArray
from vispy import gloo

from stroboscope.app.models.selection import Element
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.gl_canvas import GlCanvas, read_float_pixel, read_float_pixels
from stroboscope.app.view3d.measured import Measured
from stroboscope.app.view3d.overlays.glyph_hit import glyph_at
from stroboscope.app.view3d.renderer import Frame, Renderer
from stroboscope.app.view3d.targets import ColorTarget

__all__ = ["Hit", "Picker"]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Hit:
    """A point (3,) [m] on a surface; ``element`` is None where that is no element's.

    ``env``: of another environment than the one that is looked at; -1: of that one.
    """

    element: Element | None
    point: NDArray[np.float64]
    env: int = -1


class Picker:
    """Answers what is under a pixel. Belongs to one context, like the renderer it uses."""

    def __init__(self, canvas: GlCanvas, renderer: Renderer) -> None:
        self._canvas = canvas
        self._renderer = renderer
        self._target = ColorTarget(depth=True, interpolation="nearest", floats=4)

    def pick(self, scene: DrawnScene, frame: Frame, *, x: float, y: float) -> Hit | None:
        """Return what is at pixel (x, y), y down; None for the sky. The context is current."""
        width, height = frame.size
        u = 2.0 * (x + 0.5) / width - 1.0
        v = 1.0 - 2.0 * (y + 0.5) / height
        narrow = np.diag([width, height, 1.0, 1.0])
        narrow[0, 3], narrow[1, 3] = -u * width, -v * height
        self._canvas.make_current()
        self._target.resize((1, 1))
        with self._target.framebuffer:
            gloo.set_viewport(0, 0, 1, 1)
            # Whole meshes cost milliseconds even for one pixel: only what the ray comes near.
            origin, direction = frame.view.ray(x + 0.5, y + 0.5, width=width, height=height)
            near = scene.near_ray(
                origin, direction, options=frame.options, slack=2e-3 * frame.extent
            )
            self._renderer.draw_pick(scene, frame, narrow @ frame.view.matrix(), items=near)
            self._canvas.flush()
            pixel = read_float_pixel()
        self._canvas.flush()
        surface = self._surface_hit(scene, pixel)
        if frame.overlays is None:
            return surface
        depth = (
            None
            if surface is None
            else float((surface.point - frame.view.eye) @ frame.view.forward)
        )
        glyph = glyph_at(
            frame.overlays,
            frame.view,
            size=frame.size,
            at=(x + 0.5, y + 0.5),
            pixel_ratio=frame.pixel_ratio,
            depth=depth,
            xray=frame.options.xray,
        )
        return surface if glyph is None else Hit(glyph.element, glyph.point)

    def measure(self, scene: DrawnScene, frame: Frame) -> Measured:
        """Return what every pixel of ``frame`` shows. The context is current."""
        width, height = frame.size
        self._canvas.make_current()
        target = ColorTarget(depth=True, interpolation="nearest", floats=4)
        target.resize((width, height))
        shown = np.flatnonzero(scene.visible(frame.options) & ~scene.items.is_plane)
        with target.framebuffer:
            gloo.set_viewport(0, 0, width, height)
            self._renderer.draw_pick(scene, frame, frame.view.matrix(), items=shown)
            self._canvas.flush()
            pixels = read_float_pixels(width, height)
        self._canvas.flush()
        target.delete()
        hit = pixels[..., 3] > 0.5
        depth = (pixels[..., :3] - frame.view.eye) @ frame.view.forward
        return Measured(
            item=np.where(hit, np.rint(pixels[..., 3]).astype(np.int64) - 1, -1),
            depth=np.where(hit, depth, np.inf).astype(np.float32),
        )

    @staticmethod
    def _surface_hit(scene: DrawnScene, pixel: NDArray[np.float32]) -> Hit | None:
        number = float(pixel[3])
        if number <= 0.0:
            return None
        item = int(number + 0.25) - 1
        element = scene.items.element(item) if 0 <= item < len(scene.items) else None
        return Hit(element, pixel[:3].astype(np.float64))
