"""Draws ids as colours and depth as grey, or both as numbers to be read."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from vispy import gloo

from stroboscope.app.models.view_options import RenderMode
from stroboscope.app.view3d.camera import View
from stroboscope.app.view3d.floor_pass import FloorPass
from stroboscope.app.view3d.floors import Floor
from stroboscope.app.view3d.programs import Program
from stroboscope.app.view3d.scene_buffers import SceneBuffers
from stroboscope.app.view3d.shader_programs import ItemPrograms
from stroboscope.app.view3d.shaders import FLOOR_VERTEX, GREY_FRAGMENT, IDS_FRAGMENT, with_defines

__all__ = ["MeasuredPass"]

_FRAGMENTS = {RenderMode.IDS: IDS_FRAGMENT, RenderMode.DEPTH: GREY_FRAGMENT}


class MeasuredPass:
    """Pictures of ids and of depth; belongs to one OpenGL context."""

    def __init__(self) -> None:
        self._floor_programs: dict[RenderMode, Any] = {}

    def draw(
        self,
        mode: RenderMode,
        *,
        view: View,
        between: tuple[float, float],
        buffers: SceneBuffers,
        programs: ItemPrograms,
        floors: list[Floor],
        floor_pass: FloorPass,
    ) -> int:
        """Draw everything into the bound framebuffer; return how many draw calls that took.

        ``between``: the depths [m] of black and white.
        """
        matrix = view.matrix()
        gloo.set_state(depth_test=True, depth_mask=True, blend=False, cull_face=False)
        calls = 0
        for batch in (*buffers.opaque, *buffers.transparent):
            program = programs.measured(buffers, batch.source, _FRAGMENTS[mode])
            program["u_matrix"] = np.ascontiguousarray(matrix.T, dtype=np.float32)
            _set_range(program, mode, view, between)
            program.draw("triangles", batch.indices)
            calls += 1
        for floor in floors:
            program = self._floor_program(mode)
            _set_range(program, mode, view, between)
            floor_pass.draw_pick(floor, matrix, eye=view.eye, reach=view.far, program=program)
            calls += 1
        return calls

    def _floor_program(self, mode: RenderMode) -> Any:
        if mode not in self._floor_programs:
            vertex = with_defines(FLOOR_VERTEX, PICKING=1)
            self._floor_programs[mode] = Program(vertex, _FRAGMENTS[mode])
        return self._floor_programs[mode]


def _set_range(program: Any, mode: RenderMode, view: View, between: tuple[float, float]) -> None:
    if mode is RenderMode.DEPTH:
        program["u_eye"] = _vector(view.eye)
        program["u_forward"] = _vector(view.forward)
        program["u_range"] = between


def _vector(values: NDArray[np.float64]) -> tuple[float, float, float]:
    return float(values[0]), float(values[1]), float(values[2])
