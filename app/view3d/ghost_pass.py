"""Draws see-through copies: ghosts at other poses, convex hulls, what is behind something.

Each writes its depth first and blends afterwards, so that only its nearest surface is seen and
nothing has to be sorted.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from vispy import gloo

from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.scene_buffers import Batch, GhostBuffers, SceneBuffers
from stroboscope.app.view3d.shader_programs import ItemPrograms

__all__ = ["GhostPass"]

HULL_OPACITY = 0.34
_APART = 1e-4  # of the depth range, from one ghost to the next
HULL_EDGE = (0.95, 0.97, 1.0, 0.75)


class GhostPass:
    """The programs of ghost and hulls. Leaves depth function and colour mask as they were."""

    def __init__(self) -> None:
        self._programs = ItemPrograms()

    def draw(
        self,
        scene: DrawnScene,
        buffers: SceneBuffers,
        *,
        light: dict[str, Any],
        matrix: NDArray[np.float32],
        lamps: int,
        taps: int,
        bias: float,
    ) -> int:
        """Draw the ghosts and the hulls, if any; return how many draw calls that took."""
        calls = 0
        for number, ghost in enumerate(buffers.ghosts):
            if ghost.batches:
                # Two that stand in the same place would share it in stripes: the later one has it.
                nearer = matrix.copy()
                nearer[:, 2] -= np.float32(number * _APART) * nearer[:, 3]
                calls += self._blended(
                    buffers,
                    ghost.batches,
                    light=light,
                    matrix=nearer,
                    variant=(1, lamps, taps),
                    ghost=ghost,
                    opacity=1.0,
                )
        if buffers.hull_faces:
            closer = matrix.copy()
            closer[:, 2] -= np.float32(bias) * closer[:, 3]  # over the mesh it wraps tightly
            calls += self._blended(
                buffers,
                buffers.hull_faces,
                light=light,
                matrix=closer,
                variant=(0, lamps, taps),
                ghost=None,
                opacity=HULL_OPACITY,
            )
            closer[:, 2] -= np.float32(bias) * closer[:, 3]
            calls += self._edges(buffers, closer)
        return calls

    def _blended(
        self,
        buffers: SceneBuffers,
        batches: list[Batch],
        *,
        light: dict[str, Any],
        matrix: NDArray[np.float32],
        variant: tuple[int, int, int],
        ghost: GhostBuffers | None,
        opacity: float,
    ) -> int:
        is_ghost, lamps, taps = variant
        gloo.set_state(depth_test=True, depth_mask=True, blend=False, cull_face=True)
        gloo.set_cull_face("back")
        gloo.set_color_mask(False, False, False, False)
        for batch in batches:
            program = self._programs.flat(buffers, batch.source, ghost=bool(is_ghost))
            if ghost is not None:
                program["u_poses"] = ghost.poses
            program["u_matrix"] = matrix
            program["u_color"] = (0.0, 0.0, 0.0, 0.0)
            program.draw("triangles", batch.indices)
        gloo.set_color_mask(True, True, True, True)
        gloo.set_state(depth_mask=False, blend=True, depth_func="lequal")
        gloo.set_blend_func("src_alpha", "one_minus_src_alpha", "one", "one_minus_src_alpha")
        for batch in batches:
            program = self._programs.shaded(
                buffers, batch.source, LAMPS=lamps, SHADOW_TAPS=taps, GHOST=is_ghost
            )
            for name, value in light.items():
                program[name] = value
            if ghost is not None:
                program["u_poses"] = ghost.poses
                program["u_ghost_color"] = ghost.rgba
                program["u_ghost_tint"] = ghost.tint
            program["u_matrix"] = matrix
            program["u_highlight_color"] = (1.0, 1.0, 1.0)
            program["u_opacity"] = opacity
            program["u_solid"] = 0.0
            program.draw("triangles", batch.indices)
        gloo.set_state(depth_mask=True, depth_func="less", blend=False)
        return 2 * len(batches)

    def _edges(self, buffers: SceneBuffers, matrix: NDArray[np.float32]) -> int:
        gloo.set_state(depth_test=True, depth_mask=False, blend=True, depth_func="lequal")
        gloo.set_blend_func("src_alpha", "one_minus_src_alpha", "one", "one_minus_src_alpha")
        for batch in buffers.hull_edges:
            program = self._programs.flat(buffers, batch.source)
            program["u_matrix"] = matrix
            program["u_color"] = HULL_EDGE
            program.draw("lines", batch.indices)
        gloo.set_state(depth_mask=True, depth_func="less", blend=False)
        return len(buffers.hull_edges)
