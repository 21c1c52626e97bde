"""The outline about what is selected: a mask of its own pixels, then the edge around it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from vispy import gloo

from stroboscope.app.view3d.floor_pass import Rect
from stroboscope.app.view3d.programs import Program
from stroboscope.app.view3d.scene_buffers import SceneBuffers
from stroboscope.app.view3d.shader_programs import ItemPrograms, screen_quad
from stroboscope.app.view3d.shaders import EDGE_FRAGMENT, SCREEN_VERTEX
from stroboscope.app.view3d.targets import ColorTarget

__all__ = ["OutlinePass"]


class OutlinePass:
    """The mask and the edge program. The outline shows through whatever stands before it."""

    def __init__(self) -> None:
        self._mask = ColorTarget(depth=False)
        self._edge: Any = Program(SCREEN_VERTEX, EDGE_FRAGMENT)
        self._edge["a_position"] = screen_quad()

    def draw_mask(
        self,
        programs: ItemPrograms,
        buffers: SceneBuffers,
        *,
        matrix: NDArray[np.float32],
        size: tuple[int, int],
    ) -> int:
        """Draw the pixels of what is selected into the mask; return the number of draw calls.

        llvmpipe makes :meth:`draw_edge` wait until that is done, and everything before it: draw
        the mask before the picture, and the picture when the mask is finished.
        """
        self._mask.resize(size)
        with self._mask.framebuffer:
            gloo.set_viewport(0, 0, *size)
            gloo.set_state(depth_test=False, blend=False, cull_face=False)
            gloo.clear(color=(0.0, 0.0, 0.0, 1.0))
            for batch in buffers.selected:
                program = programs.flat(buffers, batch.source)
                program["u_matrix"] = matrix
                program["u_color"] = (1.0, 1.0, 1.0, 1.0)
                program.draw("triangles", batch.indices)
        return len(buffers.selected)

    def draw_edge(
        self,
        *,
        size: tuple[int, int],
        color: tuple[float, float, float],
        pixel_ratio: float,
        area: Rect | None = None,
    ) -> int:
        """Draw the line about the mask; return the number of draw calls.

        ``area`` is where all of it lies in the picture, None: anywhere. Looking for edges elsewhere
        takes a processor a third of a picture.
        """
        gloo.set_viewport(0, 0, *size)
        gloo.set_state(depth_test=False, blend=True, cull_face=False)
        gloo.set_blend_func("src_alpha", "one_minus_src_alpha", "one", "one_minus_src_alpha")
        self._edge["u_mask"] = self._mask.texture
        self._edge["u_pixel"] = (pixel_ratio / size[0], pixel_ratio / size[1])
        self._edge["u_color"] = (*color, 1.0)
        if area is not None:
            gloo.set_state(scissor_test=True)
            gloo.set_scissor(*area)
        self._edge.draw("triangles")
        gloo.set_state(scissor_test=False)
        return 1
