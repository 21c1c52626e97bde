"""Compiled variants of the item shaders, made when first needed."""

from typing import Any

import numpy as np
from vispy import gloo

from stroboscope.app.view3d.programs import Program
from stroboscope.app.view3d.scene_buffers import SceneBuffers, VertexSource
from stroboscope.app.view3d.shaders import (
    DEPTH_FRAGMENT,
    FLAT_FRAGMENT,
    ITEM_FRAGMENT,
    ITEM_VERTEX,
    PICK_FRAGMENT,
    with_defines,
)

__all__ = ["ItemPrograms", "screen_quad"]

_VARIANTS = {
    "TEXTURED": 0,
    "LAMPS": 1,
    "SHADOW_TAPS": 0,
    "MIRRORED": 0,
    "GHOST": 0,
    "TWO_SIDED": 0,
}


def screen_quad() -> Any:
    """Return two triangles that cover the screen, as positions (6, 2) in clip space."""
    corners = [(-1, -1), (1, -1), (1, 1), (-1, -1), (1, 1), (-1, 1)]
    return gloo.VertexBuffer(np.array(corners, dtype=np.float32))


class ItemPrograms:
    """Programs that draw a scene's buffers, one per set of ``#define`` values."""

    def __init__(self) -> None:
        self._programs: dict[tuple[str, tuple[tuple[str, int], ...]], Any] = {}
        self._bound: dict[int, tuple[int, int, int]] = {}

    def shaded(self, buffers: SceneBuffers, source: VertexSource, **defines: int) -> Any:
        """Return the lit program; TEXTURED (1 image, 2 cube), LAMPS, … choose the variant."""
        chosen = {**_VARIANTS, **defines}
        attributes: tuple[str, ...] = ("a_position", "a_normal", "a_item")
        if chosen["TEXTURED"] == 1:
            attributes = (*attributes, "a_uv")
        return self._get(ITEM_FRAGMENT, buffers, source, attributes, SHADED=1, PICKING=0, **chosen)

    def flat(self, buffers: SceneBuffers, source: VertexSource, *, ghost: bool = False) -> Any:
        """Return the program that paints ``u_color``, for masks, lines and depth alone."""
        return self._plain(FLAT_FRAGMENT, buffers, source, PICKING=0, GHOST=int(ghost))

    def depth(self, buffers: SceneBuffers, source: VertexSource, *, ghost: bool = False) -> Any:
        """Return the program that writes depth as a colour, for the shadow map."""
        return self._plain(DEPTH_FRAGMENT, buffers, source, PICKING=0, GHOST=int(ghost))

    def pick(self, buffers: SceneBuffers, source: VertexSource) -> Any:
        """Return the program that writes world position and item number + 1."""
        return self._plain(PICK_FRAGMENT, buffers, source, PICKING=1, GHOST=0)

    def measured(self, buffers: SceneBuffers, source: VertexSource, fragment: str) -> Any:
        """Return the program whose ``fragment`` is told world position and item number."""
        return self._plain(fragment, buffers, source, PICKING=1, GHOST=0)

    def _plain(
        self, fragment: str, buffers: SceneBuffers, source: VertexSource, **defines: int
    ) -> Any:
        attributes = ("a_position", "a_item")
        return self._get(fragment, buffers, source, attributes, SHADED=0, TEXTURED=0, **defines)

    def _get(
        self,
        fragment: str,
        buffers: SceneBuffers,
        source: VertexSource,
        attributes: tuple[str, ...],
        **defines: int,
    ) -> Any:
        key = (fragment, tuple(sorted(defines.items())))
        program = self._programs.get(key)
        if program is None:
            program = Program(
                with_defines(ITEM_VERTEX, **defines), with_defines(fragment, **defines)
            )
            self._programs[key] = program
        bound = (buffers.revision, id(source), source.revision)
        if self._bound.get(id(program)) != bound:
            self._bound[id(program)] = bound
            for name in attributes:
                program[name] = source.vertices[name]
            # Each ghost brings its own.
            program["u_poses"] = buffers.poses
            program["u_poses_size"] = buffers.poses_size
            if defines["SHADED"]:
                program["u_surfaces"] = buffers.surfaces
                program["u_surfaces_size"] = buffers.surfaces_size
        return program
