"""Draws planes: endless ones as rings about the point below the camera, others as quads."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from vispy import gloo

from stroboscope.app.models.overlay_words import Role
from stroboscope.app.view3d import shapes
from stroboscope.app.view3d.camera import View
from stroboscope.app.view3d.floors import Floor, FloorPattern
from stroboscope.app.view3d.programs import Program
from stroboscope.app.view3d.shaders import (
    FLOOR_FRAGMENT,
    FLOOR_VERTEX,
    GRID_FRAGMENT,
    PICK_FRAGMENT,
    with_defines,
)

__all__ = ["FloorPass", "Rect", "around", "screen_area"]

Rect = tuple[int, int, int, int]
"""Left, bottom, width, height [px]."""

_RIM = 4  # pixels about a shadowed area: shadows are looked up a little aside


class FloorPass:
    """Programs and the two meshes for planes."""

    def __init__(self) -> None:
        endless = shapes.rings(inner=1e-4, growth=1.5)
        # A wall-sized quad interpolates badly across the near plane; a lattice does not.
        finite = _lattice(16)
        self._endless = _buffers(endless)
        self._finite = _buffers(finite)
        self._programs: dict[tuple[int, int, int, int], Any] = {}
        self._pick: Any = None
        self._grid: Any = None

    def draw(
        self,
        floor: Floor,
        matrix: NDArray[np.float64],
        light: dict[str, Any],
        *,
        view: View,
        alpha: float,
        taps: int,
        lamps: int,
        image: Any,
        reflection: Any,
        pixels: tuple[int, int],
        shadowed: NDArray[np.float64] | None = None,
        rows: tuple[int, int] | None = None,
    ) -> None:
        """Draw one plane with blending as set; ``alpha`` multiplies its own.

        ``rows`` are all that is drawn, from the bottom [px], None for everything.

        ``shadowed`` (4, 3) are the corners of what the shadow map covers of it, where that is
        known: looking the map up costs a third of a picture, and elsewhere there is nothing in it.
        """
        pattern = floor.pattern
        if pattern is FloorPattern.GRID:
            self._draw_grid(floor, matrix, view=view)
            return
        if pattern is FloorPattern.IMAGE and image is None:
            pattern = FloorPattern.LINES
        areas: list[tuple[int, Rect | None]] = [(taps, None)]
        if taps and shadowed is not None:
            within = screen_area(shadowed, matrix, pixels)
            if within is not None:
                areas = [(0, rest) for rest in around(within, pixels)]
                if within[2] > 0 and within[3] > 0:
                    areas.append((taps, within))
        toward = 1.0 if float((view.eye - floor.pos) @ floor.mat[:, 2]) >= 0.0 else -1.0
        if rows is not None:
            areas = [(used, _between(area, rows, pixels)) for used, area in areas]
        for used, area in areas:
            if area is not None and (area[2] <= 0 or area[3] <= 0):
                continue
            program = self._program(pattern, used, lamps, reflection is not None)
            for name, value in light.items():
                if used or not name.startswith("u_shadow"):
                    program[name] = value
            vertices, faces = self._place(program, floor, matrix, eye=view.eye, reach=view.far)
            program["a_position"] = vertices
            program["u_normal"] = floor.mat[:, 2] * toward
            program["u_color_a"] = (*floor.color_a[:3], floor.color_a[3] * alpha)
            program["u_color_b"] = floor.color_b
            program["u_line_color"] = floor.line
            program["u_line_width"] = floor.line_width
            program["u_repeat"] = floor.repeat
            program["u_offset"] = floor.offset
            program["u_line_period"] = floor.line_period
            program["u_floor_surface"] = floor.surface
            program["u_fade"] = 1.0 / (0.9 * view.far) if floor.half is None else 0.0
            if pattern is FloorPattern.IMAGE:
                program["u_texture"] = image
            if reflection is not None:
                program["u_reflection"] = reflection
                program["u_pixels"] = (float(pixels[0]), float(pixels[1]))
            if area is not None:
                gloo.set_state(scissor_test=True)
                gloo.set_scissor(*area)
            program.draw("triangles", faces)
        gloo.set_state(scissor_test=rows is not None)
        if rows is not None:
            gloo.set_scissor(0, rows[0], pixels[0], rows[1] - rows[0])

    def _draw_grid(self, floor: Floor, matrix: NDArray[np.float64], *, view: View) -> None:
        if self._grid is None:
            self._grid = Program(with_defines(FLOOR_VERTEX, PICKING=0), GRID_FRAGMENT)
            self._grid["u_color_x"] = Role.AXIS_X.value[:3]
            self._grid["u_color_y"] = Role.AXIS_Y.value[:3]
        program = self._grid
        vertices, faces = self._place(program, floor, matrix, eye=view.eye, reach=view.far)
        program["a_position"] = vertices
        program["u_line_color"] = floor.line
        program["u_repeat"] = floor.repeat
        program["u_fade"] = 1.0 / (0.9 * view.far)
        program.draw("triangles", faces)

    def draw_pick(
        self,
        floor: Floor,
        matrix: NDArray[np.float64],
        *,
        eye: NDArray[np.float64],
        reach: float,
        program: Any = None,
    ) -> None:
        """Draw one plane's positions and item number, or what ``program`` makes of them."""
        if program is None:
            if self._pick is None:
                self._pick = Program(with_defines(FLOOR_VERTEX, PICKING=1), PICK_FRAGMENT)
            program = self._pick
        vertices, faces = self._place(program, floor, matrix, eye=eye, reach=reach)
        program["a_position"] = vertices
        program["u_item"] = float(floor.item)
        program.draw("triangles", faces)

    def _place(
        self,
        program: Any,
        floor: Floor,
        matrix: NDArray[np.float64],
        *,
        eye: NDArray[np.float64],
        reach: float,
    ) -> tuple[Any, Any]:
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = floor.mat, floor.pos
        program["u_pose"] = np.ascontiguousarray(pose.T, dtype=np.float32)
        program["u_matrix"] = np.ascontiguousarray(matrix.T, dtype=np.float32)
        if floor.half is not None:
            program["u_center"] = (0.0, 0.0)
            program["u_scale"] = floor.half
            return self._finite
        center = floor.mat[:, :2].T @ (eye - floor.pos)
        program["u_center"] = center
        program["u_scale"] = (0.9 * reach, 0.9 * reach)
        return self._endless

    def _program(self, pattern: FloorPattern, taps: int, lamps: int, reflection: bool) -> Any:
        key = (int(pattern), taps, lamps, int(reflection))
        program = self._programs.get(key)
        if program is None:
            fragment = with_defines(
                FLOOR_FRAGMENT, PATTERN=key[0], SHADOW_TAPS=key[1], LAMPS=key[2], REFLECTION=key[3]
            )
            program = Program(with_defines(FLOOR_VERTEX, PICKING=0), fragment)
            self._programs[key] = program
        return program


def _buffers(mesh: shapes.Mesh) -> tuple[Any, Any]:
    return gloo.VertexBuffer(mesh.vertices), gloo.IndexBuffer(mesh.faces.ravel())


def _lattice(cells: int) -> shapes.Mesh:
    flat = np.zeros((cells + 1, cells + 1), dtype=np.float32)
    field = shapes.height_field(flat, size=(1.0, 1.0, 1.0, 0.0))
    used = 2 * cells * cells  # the surface comes first, then the walls
    return shapes.Mesh(field.vertices, field.normals, field.uv, field.faces[:used])


def screen_area(
    points: NDArray[np.float64], matrix: NDArray[np.float64], pixels: tuple[int, int]
) -> Rect | None:
    """Return the part of the picture in which ``points`` (n, 3) lie.

    None where that can't be told: some lie behind the eye, or nowhere, where a scene has diverged.
    """
    with np.errstate(all="ignore"):
        clip = np.column_stack((points, np.ones(len(points)))) @ matrix.T
        at = clip[:, :2] / clip[:, 3:] * 0.5 + 0.5
    if not ((clip[:, 3] > 1e-6).all() and np.isfinite(at).all()):
        return None
    size = np.array(pixels, dtype=float)
    at *= size
    low = np.clip(np.floor(at.min(axis=0)) - _RIM, 0.0, size)
    high = np.clip(np.ceil(at.max(axis=0)) + _RIM, 0.0, size)
    left, bottom = (int(value) for value in low)
    width, height = (int(value) for value in high - low)
    return left, bottom, width, height


def _between(area: Rect | None, rows: tuple[int, int], pixels: tuple[int, int]) -> Rect:
    """Return the part of ``area`` (None: all of it) in these rows of a picture."""
    left, bottom, width, height = area or (0, 0, *pixels)
    low, high = max(bottom, rows[0]), min(bottom + height, rows[1])
    return left, low, width, high - low


def around(rect: Rect, pixels: tuple[int, int]) -> list[Rect]:
    """Return what of a picture is not in ``rect``, without overlaps and without empty ones."""
    left, bottom, width, height = rect
    all_width, all_height = pixels
    right, top = left + width, bottom + height
    rest = (
        (0, 0, all_width, bottom),
        (0, top, all_width, all_height - top),
        (0, bottom, left, height),
        (right, bottom, all_width - right, height),
    )
    return [each for each in rest if each[2] > 0 and each[3] > 0]
