"""The world's axes in the lower left corner."""

import itertools

import numpy as np
from numpy.typing import NDArray
from vispy import gloo

from stroboscope.app.view3d.camera import View
from stroboscope.app.view3d.overlays.frames import axes
from stroboscope.app.view3d.overlays.glyph_pass import GlyphPass
from stroboscope.app.view3d.overlays.glyphs import Shape

__all__ = ["TRIAD_PIXELS", "Triad", "triad_matrix"]

TRIAD_PIXELS = 84  # side of the corner square, in logical pixels


class Triad:
    """Three arrows of unit length."""

    def __init__(self) -> None:
        texels = axes(np.zeros((1, 3)), np.eye(3)[None], length=1.0, radius=0.05).texels
        # One for each order of drawing: what has not changed is not sent again.
        self._texels = {order: texels[list(order)] for order in itertools.permutations(range(3))}

    def draw(
        self, glyphs: GlyphPass, view: View, *, size: tuple[int, int], pixel_ratio: float
    ) -> int:
        """Draw the axes into their corner of a picture of ``size`` [px]; return the draw calls."""
        side = round(TRIAD_PIXELS * pixel_ratio)
        if side > min(size):
            return 0
        gloo.set_viewport(0, 0, side, side)
        gloo.set_state(depth_test=False, blend=False, cull_face=True)
        # Without a depth buffer of its own: axes that point away from the eye come first.
        first, second, third = np.argsort(-view.forward).tolist()
        uniforms = {
            "u_matrix": np.ascontiguousarray(triad_matrix(view).T, dtype=np.float32),
            "u_toward_eye": -view.forward,
            "u_pixel": 0.0,
            "u_strength": 1.0,
            "u_bias": 0.0,
        }
        glyphs.draw_some(Shape.ARROW, self._texels[first, second, third], uniforms)
        gloo.set_viewport(0, 0, *size)
        return 1


def triad_matrix(view: View) -> NDArray[np.float64]:
    """Return the matrix (4, 4) that turns world axes into the triad's square, -1…1."""
    matrix = np.eye(4)
    matrix[0, :3], matrix[1, :3], matrix[2, :3] = view.right, view.up, -view.forward
    matrix[:3, :3] *= 0.62
    matrix[2, :3] *= -0.5
    return matrix
