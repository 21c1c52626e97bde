"""Flexes: ropes as round lines, cloth as a sheet with two sides, solids as their shell."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.view3d.surface_normals import SurfaceNormals, face_normals
from stroboscope.app.view3d.tubes import TubeShape
from stroboscope.debugger_protocol.scene_description import FlexInfo

__all__ = ["FlexShape"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class FlexShape:
    """One flex: ``faces`` and ``uv`` do not change, :meth:`posed` says where its vertices are.

    Raises KeyError or ValueError on damaged arrays.
    """

    def __init__(
        self,
        info: FlexInfo,
        arrays: Mapping[str, NDArray[np.generic]],
        *,
        thinnest: float,
        segments: int = 12,
    ) -> None:
        elements = np.asarray(arrays["elements"], dtype=np.int64).reshape(-1, info.dim + 1)
        self._info = info
        self._radius = info.radius
        self._tube: TubeShape | None = None
        if info.dim == 1:
            self._lines = _inside(elements, info.nvert)
            self._tube = TubeShape(segments=segments)
            self._radius = max(info.radius, thinnest)
            self.faces = self._tube.faces(len(self._lines)).astype(np.int64)
            self.uv = np.zeros((self._tube.n_vertices * len(self._lines), 2))
            return
        triangles = elements
        if info.dim == 3:
            triangles = np.asarray(arrays["shell"], dtype=np.int64).reshape(-1, 3)
        triangles = _inside(triangles, info.nvert)
        self._corner, self.uv, sides = self._corners(triangles, elements, arrays)
        self._outside = sides
        self._normals = SurfaceNormals(triangles, info.nvert)
        self._triangles = triangles
        count = len(self._corner)
        self.faces = sides
        if info.dim == 2:
            rim = _rim(sides, self._corner)
            back = sides[:, ::-1] + count
            band = np.concatenate(
                [
                    np.stack([rim[:, 1], rim[:, 0], rim[:, 0] + count], axis=1),
                    np.stack([rim[:, 1], rim[:, 0] + count, rim[:, 1] + count], axis=1),
                ]
            )
            self.faces = np.concatenate([sides, back, band])
            self.uv = np.concatenate([self.uv, self.uv])

    def _corners(
        self,
        triangles: Ints,
        elements: Ints,
        arrays: Mapping[str, NDArray[np.generic]],
    ) -> tuple[Ints, Floats, Ints]:
        """Return which vertex each drawn corner is, its texture coordinates, and the faces."""
        count = self._info.nvert
        texcoords = arrays.get("texcoords")
        if self._info.flatskin:
            corner = triangles.ravel()
            faces = np.arange(len(corner), dtype=np.int64).reshape(-1, 3)
        else:
            corner, faces = np.arange(count), triangles
        uv = np.zeros((len(corner), 2))
        if texcoords is None or not len(texcoords):
            return corner, uv, faces
        coordinates = np.asarray(texcoords, dtype=np.float64).reshape(-1, 2)
        index = arrays.get("element_texcoords")
        of_vertex = np.zeros(count, dtype=np.int64)
        if index is not None and np.shape(index) == elements.shape:
            # One coordinate per vertex: seams within a flex are rare, and cost a vertex each.
            of_vertex[elements.ravel()] = np.asarray(index, dtype=np.int64).ravel()
        elif len(coordinates) == count:
            of_vertex = np.arange(count)
        of_vertex = np.clip(of_vertex, 0, len(coordinates) - 1)
        return corner, coordinates[of_vertex[corner]], faces

    def shown(self, options: ViewOptions) -> bool:
        """Return whether any part of this flex is drawn with ``options``."""
        if self._info.dim == 1:
            return options.flex_edges or options.flex_skin
        return options.flex_skin or options.flex_faces or options.flex_edges

    def posed(self, flexvert_xpos: Floats) -> tuple[Floats, Floats]:
        """Return vertices and normals (n, 3) for ``flexvert_xpos`` (nflexvert, 3) [m]."""
        start = self._info.vert
        points = np.asarray(flexvert_xpos[start : start + self._info.nvert], dtype=np.float64)
        if len(points) != self._info.nvert:
            raise ValueError(f"{len(flexvert_xpos)} flex vertices, {start} + {self._info.nvert}")
        if self._tube is not None:
            radius = np.full(len(self._lines), self._radius)
            return self._tube.between(points[self._lines[:, 0]], points[self._lines[:, 1]], radius)
        smooth = self._normals.of(points)
        normals = smooth[self._corner]
        if self._info.flatskin:
            flat = face_normals(points, self._triangles)
            flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-30)
            normals = np.repeat(flat, 3, axis=0)
        offset = self._radius * smooth[self._corner]
        corners = points[self._corner]
        if self._info.dim == 2:
            return (
                np.concatenate([corners + offset, corners - offset]),
                np.concatenate([normals, -normals]),
            )
        return corners + offset, normals


def _inside(index: Ints, count: int) -> Ints:
    return index[((index >= 0) & (index < count)).all(axis=1)]


def _rim(faces: Ints, corner: Ints) -> Ints:
    """Return the edges (n, 2) of ``faces`` that only one face has, in that face's direction."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    vertices = np.sort(corner[edges], axis=1)
    code = vertices[:, 0] << 32 | vertices[:, 1]
    _, inverse, counts = np.unique(code, return_inverse=True, return_counts=True)
    return np.asarray(edges[counts[inverse] == 1])
