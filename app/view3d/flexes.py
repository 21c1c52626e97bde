"""Flexes: ropes as round lines, cloth as a sheet with two sides, solids as their shell.

As in MuJoCo the skin of a flex stands for all of it; without it there are the faces, edges and
vertices of its elements. Each element has a material of its own.
"""

import dataclasses
from collections.abc import Mapping
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.view3d import shapes
from stroboscope.app.view3d.surface_normals import SurfaceNormals, face_normals
from stroboscope.app.view3d.tubes import TubeShape
from stroboscope.debugger_protocol.scene_description import FlexInfo

__all__ = ["FlexLook", "FlexPiece", "FlexShape"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Arrays = Mapping[str, NDArray[np.generic]]

_BALL_SEGMENTS = 8
# Corners of a tetrahedron's sides, seen from outside; MuJoCo's have the fourth below the others.
_SIDES = ((0, 1, 2), (0, 3, 1), (0, 2, 3), (1, 3, 2))


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FlexLook:
    """What of flexes is drawn; ``layer`` of a solid's elements, 0 the outermost, without skin."""

    skin: bool = True
    faces: bool = False
    edges: bool = True
    vertices: bool = False
    layer: int = 0

    @classmethod
    def of(cls, options: ViewOptions) -> Self:
        """Return what ``options`` ask for."""
        return cls(
            skin=options.flex_skin,
            faces=options.flex_faces,
            edges=options.flex_edges,
            vertices=options.flex_vertices,
            layer=options.flex_layer,
        )


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class FlexPiece:
    """What has one material, number ``slot`` of the flex's: ``faces`` into the vertices ``rows``.

    ``rows`` (n,) are those of :meth:`FlexShape.posed`, ``uv`` (n, 2) their texture coordinates.
    """

    slot: int
    rows: Ints
    faces: NDArray[np.uint32]
    uv: Floats


class _Part(Protocol):
    """Vertices that follow those of the flex; ``owner`` (nface,) is the element of each face."""

    faces: Ints
    uv: Floats
    owner: Ints

    def posed(self, points: Floats) -> tuple[Floats, Floats]: ...


class FlexShape:
    """One flex: ``pieces`` do not change, :meth:`posed` says where its vertices are.

    Raises KeyError or ValueError on damaged arrays.
    """

    def __init__(
        self,
        info: FlexInfo,
        arrays: Arrays,
        *,
        thinnest: float,
        segments: int = 12,
        look: FlexLook | None = None,
    ) -> None:
        self._info = info
        elements = np.asarray(arrays["elements"], dtype=np.int64).reshape(-1, info.dim + 1)
        self._parts = _parts(
            info, arrays, elements, look or FlexLook(), thinnest=thinnest, segments=segments
        )
        self.pieces = self._cut(_slots(info, arrays, len(elements)))

    def _cut(self, slot: Ints) -> tuple[FlexPiece, ...]:
        """Return the faces of each material apart, whose elements have the numbers ``slot``."""
        faces, uv, owner, first = [], [], [], 0
        for part in self._parts:
            faces.append(part.faces + first)
            uv.append(part.uv)
            owner.append(part.owner)
            first += len(part.uv)
        if not faces or not len(slot):
            return ()
        all_faces, all_uv = np.concatenate(faces), np.concatenate(uv)
        of_face = slot[np.concatenate(owner)]
        pieces = []
        for number in np.unique(of_face).tolist():
            rows, index = np.unique(all_faces[of_face == number], return_inverse=True)
            own = index.reshape(-1, 3).astype(np.uint32)
            pieces.append(FlexPiece(number, rows, own, all_uv[rows]))
        return tuple(pieces)

    def posed(self, flexvert_xpos: Floats) -> tuple[Floats, Floats]:
        """Return vertices and normals (n, 3) for ``flexvert_xpos`` (nflexvert, 3) [m]."""
        start = self._info.vert
        points = np.asarray(flexvert_xpos[start : start + self._info.nvert], dtype=np.float64)
        if len(points) != self._info.nvert:
            raise ValueError(f"{len(flexvert_xpos)} flex vertices, {start} + {self._info.nvert}")
        posed = [part.posed(points) for part in self._parts]
        if not posed:
            return np.zeros((0, 3)), np.zeros((0, 3))
        return np.concatenate([p[0] for p in posed]), np.concatenate([p[1] for p in posed])


def _slots(info: FlexInfo, arrays: Arrays, count: int) -> Ints:
    """Return (nelem,) which of the flex's materials each element has."""
    given = arrays.get("element_material")
    if given is None or len(info.materials) < 2 or len(given) != count:
        return np.zeros(count, dtype=np.int64)
    return np.clip(np.asarray(given, dtype=np.int64), 0, len(info.materials) - 1)


def _parts(
    info: FlexInfo,
    arrays: Arrays,
    elements: Ints,
    look: FlexLook,
    *,
    thinnest: float,
    segments: int,
) -> tuple[_Part, ...]:
    usable = np.flatnonzero(((elements >= 0) & (elements < info.nvert)).all(axis=1))
    if look.skin and info.dim > 1:
        if info.dim == 2:
            return (_Skin(info, arrays, elements, elements[usable], usable),)
        shell = np.asarray(arrays["shell"], dtype=np.int64).reshape(-1, 3)
        shell = shell[((shell >= 0) & (shell < info.nvert)).all(axis=1)]
        owner = _owners(shell, elements[usable], usable, info.nvert)
        return (_Skin(info, arrays, elements, shell, owner),)
    parts: list[_Part] = []
    radius = max(info.radius, thinnest)
    if look.faces and info.dim > 1:
        shown = usable
        layer = arrays.get("element_layer")
        if info.dim == 3 and layer is not None and len(layer) == len(elements):
            shown = usable[np.asarray(layer)[usable] == look.layer]
        parts.append(_Faces(info, arrays, elements, shown))
    if look.edges:
        parts.append(_Edges(elements[usable], usable, radius=radius, segments=segments))
    if look.vertices:
        parts.append(_Vertices(info, elements[usable], usable, radius=1.5 * radius))
    return tuple(part for part in parts if len(part.faces))


class _Skin:
    """A surface with smooth normals: both sides and the rim of a sheet, the shell of a solid."""

    def __init__(
        self, info: FlexInfo, arrays: Arrays, elements: Ints, triangles: Ints, owner: Ints
    ) -> None:
        self._info = info
        self._triangles = triangles
        self._normals = SurfaceNormals(triangles, info.nvert)
        coordinates = _Coordinates(info, arrays, elements)
        place = coordinates.of(triangles, owner).ravel()
        if info.flatskin:
            self._corner = triangles.ravel()
            sides = np.arange(len(self._corner), dtype=np.int64).reshape(-1, 3)
        else:
            # A vertex for each place in the image that it has: one, except at seams.
            pairs = triangles.ravel() * len(coordinates.places) + place
            _, first, inverse = np.unique(pairs, return_index=True, return_inverse=True)
            self._corner, place = triangles.ravel()[first], place[first]
            sides = np.asarray(inverse.reshape(-1, 3), dtype=np.int64)
        self.uv = coordinates.places[place]
        self.faces, self.owner = sides, owner
        if info.dim == 2:
            count = len(self._corner)
            at = _rim(sides, self._corner)
            rim = np.concatenate([sides[:, [0, 1]], sides[:, [1, 2]], sides[:, [2, 0]]])[at]
            back = sides[:, ::-1] + count
            band = np.concatenate(
                [
                    np.stack([rim[:, 1], rim[:, 0], rim[:, 0] + count], axis=1),
                    np.stack([rim[:, 1], rim[:, 0] + count, rim[:, 1] + count], axis=1),
                ]
            )
            self.faces = np.concatenate([sides, back, band])
            of_rim = np.tile(owner, 3)[at]
            self.owner = np.concatenate([owner, owner, of_rim, of_rim])
            self.uv = np.concatenate([self.uv, self.uv])

    def posed(self, points: Floats) -> tuple[Floats, Floats]:
        smooth = self._normals.of(points)
        normals = smooth[self._corner]
        offset = self._info.radius * normals
        if self._info.flatskin:
            normals = np.repeat(_unit(face_normals(points, self._triangles)), 3, axis=0)
        corners = points[self._corner]
        if self._info.dim == 2:
            return (
                np.concatenate([corners + offset, corners - offset]),
                np.concatenate([normals, -normals]),
            )
        return corners + offset, normals


class _Faces:
    """Each triangle on its own, a radius outside of where its corners are."""

    def __init__(self, info: FlexInfo, arrays: Arrays, elements: Ints, shown: Ints) -> None:
        self._radius = info.radius
        if info.dim == 2:
            sides = elements[shown]
            self._triangles = np.concatenate([sides, sides[:, ::-1]])
            self.owner = np.concatenate([shown, shown])
        else:
            self._triangles = np.concatenate([elements[shown][:, side] for side in _SIDES])
            self.owner = np.tile(shown, len(_SIDES))
        self.faces = np.arange(3 * len(self._triangles), dtype=np.int64).reshape(-1, 3)
        coordinates = _Coordinates(info, arrays, elements)
        self.uv = coordinates.places[coordinates.of(self._triangles, self.owner).ravel()]

    def posed(self, points: Floats) -> tuple[Floats, Floats]:
        normals = np.repeat(_unit(face_normals(points, self._triangles)), 3, axis=0)
        return points[self._triangles.ravel()] + self._radius * normals, normals


class _Edges:
    """Round lines between vertices of the same element; a rope is nothing else."""

    def __init__(self, elements: Ints, number: Ints, *, radius: float, segments: int) -> None:
        corners = elements.shape[1]
        pairs = [(a, b) for a in range(corners) for b in range(a + 1, corners)]
        ends = np.concatenate([elements[:, pair] for pair in pairs])
        low, high = ends.min(axis=1), ends.max(axis=1)
        _, first = np.unique(low << 32 | high, return_index=True)
        first.sort()
        self._ends = ends[first]
        self._radius = radius
        self._tube = TubeShape(segments=segments)
        self.faces = self._tube.faces(len(first)).astype(np.int64)
        self.uv = np.zeros((self._tube.n_vertices * len(first), 2))
        per_edge = len(self.faces) // max(len(first), 1)
        self.owner = np.repeat(np.tile(number, len(pairs))[first], per_edge)

    def posed(self, points: Floats) -> tuple[Floats, Floats]:
        radius = np.full(len(self._ends), self._radius)
        return self._tube.between(points[self._ends[:, 0]], points[self._ends[:, 1]], radius)


class _Vertices:
    """A ball for each vertex."""

    def __init__(self, info: FlexInfo, elements: Ints, number: Ints, *, radius: float) -> None:
        ball = shapes.ellipsoid((1.0, 1.0, 1.0), segments=_BALL_SEGMENTS)
        self._normals = ball.vertices.astype(np.float64)
        self._radius = radius
        size, count = len(ball.vertices), info.nvert
        own = ball.faces.astype(np.int64)
        self.faces = (own[None] + size * np.arange(count)[:, None, None]).reshape(-1, 3)
        self.uv = np.zeros((size * count, 2))
        of_vertex = np.zeros(count, dtype=np.int64)
        # Of the elements that share a vertex the first one lends it its material.
        of_vertex[elements[::-1].ravel()] = np.repeat(number[::-1], elements.shape[1])
        self.owner = np.repeat(of_vertex, len(own))

    def posed(self, points: Floats) -> tuple[Floats, Floats]:
        vertices = points[:, None] + self._radius * self._normals
        return vertices.reshape(-1, 3), np.tile(self._normals, (len(points), 1))


class _Coordinates:
    """Where in its image each corner of each element lies: at a seam a vertex has several."""

    def __init__(self, info: FlexInfo, arrays: Arrays, elements: Ints) -> None:
        self._elements = elements
        given = arrays.get("texcoords")
        self.places = np.zeros((1, 2))
        if given is not None and len(given):
            self.places = np.asarray(given, dtype=np.float64).reshape(-1, 2)
        index = arrays.get("element_texcoords")
        if index is not None and np.shape(index) == elements.shape:
            self._index = np.asarray(index, dtype=np.int64)
        elif len(self.places) == info.nvert:
            self._index = elements
        else:
            self._index = np.zeros_like(elements)
        self._index = np.clip(self._index, 0, len(self.places) - 1)

    def of(self, triangles: Ints, owner: Ints) -> Ints:
        """Return (n, 3) which of ``places`` the corners of ``triangles`` have in their elements."""
        own = self._elements[owner]
        corner = (own[:, None, :] == triangles[:, :, None]).argmax(axis=2)
        return np.asarray(np.take_along_axis(self._index[owner], corner, axis=1))


def _owners(shell: Ints, elements: Ints, number: Ints, nvert: int) -> Ints:
    """Return the element (nshell,) that each triangle of a solid's shell is a side of."""
    if not len(elements):
        return np.zeros(len(shell), dtype=np.int64)
    sides = np.concatenate([elements[:, side] for side in _SIDES])
    code = _triple(sides, nvert)
    order = np.argsort(code, kind="stable")
    at = np.searchsorted(code[order], _triple(shell, nvert)).clip(0, len(order) - 1)
    return np.asarray(np.tile(number, len(_SIDES))[order[at]], dtype=np.int64)


def _triple(triangles: Ints, nvert: int) -> Ints:
    """Return a number for each triangle (n,) that is the same whatever corner comes first."""
    ordered: Ints = np.sort(triangles, axis=1)
    code: Ints = (ordered[:, 0] * nvert + ordered[:, 1]) * nvert + ordered[:, 2]
    return code


def _rim(faces: Ints, corner: Ints) -> Ints:
    """Return which of all first, all second and all third edges only one face has."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    vertices = np.sort(corner[edges], axis=1)
    code = vertices[:, 0] << 32 | vertices[:, 1]
    _, inverse, counts = np.unique(code, return_inverse=True, return_counts=True)
    return np.asarray(np.flatnonzero(counts[inverse] == 1), dtype=np.int64)


def _unit(vectors: Floats) -> Floats:
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(length, 1e-30))
