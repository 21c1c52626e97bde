"""All vertices of a scene in one array: merged from the meshes of its items. No OpenGL, no Qt.

Works on any thread, on things that do not change: a description, its items and assets.
"""

import dataclasses
import enum
import logging
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.view3d import shapes
from stroboscope.app.view3d.hulls import HullShape, hull_shape
from stroboscope.app.view3d.items import Items, primitive_mesh
from stroboscope.app.view3d.mesh_detail import MeshDetail
from stroboscope.debugger_protocol.scene_description import (
    GeomInfo,
    GeomType,
    HeightFieldInfo,
    SceneDescription,
    SiteInfo,
)

__all__ = [
    "NO_UV",
    "VERTEX",
    "AssetArrays",
    "Buffers",
    "Detail",
    "build_buffers",
    "build_hulls",
    "ranges",
]

_log = logging.getLogger(__name__)
AssetArrays = Mapping[str, NDArray[np.generic]]
Ints = NDArray[np.int64]
# In full, coarse, and for moving pictures; None: as the one before.
_Levels = tuple[shapes.Mesh | None, shapes.Mesh | None, shapes.Mesh | None]
_NO_SHAPE: _Levels = (None, None, None)
VERTEX = np.dtype(
    [
        ("a_position", np.float32, 3),
        ("a_normal", np.float32, 3),
        ("a_uv", np.float32, 2),
        ("a_item", np.float32),
    ]
)
# Of vertices without texture coordinates of their own; shaders then take them from the position.
NO_UV = 1e9
# Beyond this many items primitives get fewer segments, so that a crowd stays drawable.
CROWD = 600
_SEGMENTS = {False: (32, 24), True: (16, 8)}  # crowd -> full, coarse


class Detail(enum.Enum):
    """Which faces of an item are drawn."""

    FULL = "full"
    COARSE = "coarse"
    MOVING = "moving"


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Buffers:
    """All vertices of a scene in one array, and which faces belong to which item.

    ``faces`` (m, 3) uint32 are ordered by item; item i owns ``faces[start[i]:start[i + 1]]``.
    ``coarse_faces`` and ``coarse_start`` are the same with fewer faces, ``moving_faces`` and
    ``moving_start`` with the fewest. ``low`` and ``high``
    (n, 3) [m] bound each item's vertices in its own frame. ``edges`` (k, 2) with ``edge_start``
    are lines, where there are any.
    """

    vertices: NDArray[np.void]
    faces: NDArray[np.uint32]
    start: Ints
    coarse_faces: NDArray[np.uint32]
    coarse_start: Ints
    moving_faces: NDArray[np.uint32]
    moving_start: Ints
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    edges: NDArray[np.uint32] | None = None
    edge_start: Ints | None = None

    def faces_of(self, items: Ints, detail: Detail = Detail.FULL) -> NDArray[np.uint32]:
        """Return the faces of ``items``, in that order."""
        if detail is Detail.COARSE:
            return self.coarse_faces[ranges(self.coarse_start, items)]
        if detail is Detail.MOVING:
            return self.moving_faces[ranges(self.moving_start, items)]
        return self.faces[ranges(self.start, items)]

    def padded(self, count: int) -> "Buffers":
        """Return these for a scene of ``count`` items, of which the last ones have no faces."""
        more = count - len(self.low)
        if more <= 0:
            return self
        return dataclasses.replace(
            self,
            start=np.pad(self.start, (0, more), mode="edge"),
            coarse_start=np.pad(self.coarse_start, (0, more), mode="edge"),
            moving_start=np.pad(self.moving_start, (0, more), mode="edge"),
            low=np.pad(self.low, ((0, more), (0, 0)), constant_values=np.inf),
            high=np.pad(self.high, ((0, more), (0, 0)), constant_values=-np.inf),
        )

    def edges_of(self, items: Ints) -> NDArray[np.uint32]:
        """Return the lines of ``items``, in that order."""
        if self.edges is None or self.edge_start is None:
            return np.empty((0, 2), dtype=np.uint32)
        return self.edges[ranges(self.edge_start, items)]


def ranges(start: Ints, items: Ints) -> Ints:
    """Return the rows of ``items``, where item i owns the rows from start[i] to start[i + 1]."""
    begin = start[items]
    counts = start[items + 1] - begin
    shift = begin - (np.cumsum(counts) - counts)
    return np.asarray(np.repeat(shift, counts) + np.arange(int(counts.sum())))


def build_buffers(
    description: SceneDescription,
    items: Items,
    assets: Mapping[str, AssetArrays],
    meshes: Mapping[str, MeshDetail | None],
) -> Buffers:
    """Return the merged geometry of geoms and sites; what has no mesh yet is left out."""
    crowd = len(items.infos) > CROWD
    found: dict[object, _Levels] = {}
    levels: list[_Levels] = []
    for info in items.infos:
        key = _mesh_key(info, description)
        if key not in found:
            found[key] = _item_mesh(info, description, assets, meshes, crowd=crowd)
        levels.append(found[key])
    full = [level[0] for level in levels]
    vertices, faces, start = _merged(full, base=0)
    parts, fewer = [vertices], [(faces, start)]
    for level in (1, 2):
        base = sum(len(part) for part in parts)
        more, less_faces, less_start = _merged([each[level] for each in levels], base=base)
        parts.append(more)
        has = np.array([each[level] is not None for each in levels], dtype=np.bool_)
        fewer.append(_instead(fewer[-1], (less_faces, less_start), has))
    low, high = _bounds(full)
    return Buffers(np.concatenate(parts), *fewer[0], *fewer[1], *fewer[2], low, high).padded(
        len(items)
    )


def _instead(
    known: tuple[NDArray[np.uint32], Ints],
    other: tuple[NDArray[np.uint32], Ints],
    has_other: NDArray[np.bool_],
) -> tuple[NDArray[np.uint32], Ints]:
    """Return faces and starts with those of ``other`` for the items that have some there."""
    (faces, start), (other_faces, other_start) = known, other
    begin = np.where(has_other, other_start[:-1] + len(faces), start[:-1])
    counts = np.where(has_other, np.diff(other_start), np.diff(start))
    rows = np.repeat(begin - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
    chosen = np.concatenate([faces, other_faces])[rows]
    return chosen, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def build_hulls(
    description: SceneDescription, items: Items, assets: Mapping[str, AssetArrays]
) -> Buffers:
    """Return the convex hulls of all mesh geoms, with their feature edges."""
    shapes_of: dict[str, HullShape | None] = {}
    hulls: list[HullShape | None] = []
    for info in items.infos:
        hull = None
        if isinstance(info, GeomInfo) and 0 <= info.mesh < len(description.meshes):
            digest = description.meshes[info.mesh].digest
            if digest not in shapes_of and digest in assets:
                shapes_of[digest] = hull_shape(assets[digest])
            hull = shapes_of.get(digest)
        hulls.append(hull)
    meshes = [hull.mesh if hull is not None else None for hull in hulls]
    vertices, faces, start = _merged(meshes, base=0)
    low, high = _bounds(meshes)
    offsets = np.cumsum([0] + [0 if m is None else len(m.vertices) for m in meshes])
    edges = [
        hull.edges + np.uint32(offset)
        for hull, offset in zip(hulls, offsets, strict=False)
        if hull is not None
    ]
    counts = [0 if hull is None else len(hull.edges) for hull in hulls]
    return Buffers(
        vertices,
        faces,
        start,
        faces,
        start,
        faces,
        start,
        low,
        high,
        np.concatenate(edges) if edges else np.empty((0, 2), dtype=np.uint32),
        np.pad(
            np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]),
            (0, len(items) - len(counts)),
            mode="edge",
        ),
    ).padded(len(items))


def _merged(
    meshes: list[shapes.Mesh | None], *, base: int
) -> tuple[NDArray[np.void], NDArray[np.uint32], Ints]:
    """Return vertices, faces (counted from ``base``) and where each item's faces start."""
    groups: dict[int, tuple[shapes.Mesh, list[int]]] = {}
    n_vertices = np.zeros(len(meshes), dtype=np.int64)
    n_faces = np.zeros(len(meshes), dtype=np.int64)
    for item, mesh in enumerate(meshes):
        if mesh is not None and len(mesh.faces):
            groups.setdefault(id(mesh), (mesh, []))[1].append(item)
            n_vertices[item], n_faces[item] = len(mesh.vertices), len(mesh.faces)
    first = np.cumsum(n_vertices) - n_vertices
    start = np.concatenate([[0], np.cumsum(n_faces)]).astype(np.int64)
    vertices = np.empty(int(n_vertices.sum()), dtype=VERTEX)
    faces = np.empty((int(n_faces.sum()), 3), dtype=np.uint32)
    for mesh, members in groups.values():
        part = np.empty(len(mesh.vertices), dtype=VERTEX)
        part["a_position"], part["a_normal"] = mesh.vertices, mesh.normals
        part["a_uv"] = mesh.uv if mesh.has_uv else NO_UV
        for chunk in np.array_split(np.array(members), max(len(members) // 4096, 1)):
            copies = np.tile(part, (len(chunk), 1))
            copies["a_item"] = chunk[:, None]
            vertices[first[chunk][:, None] + np.arange(len(part))] = copies
            faces[start[chunk][:, None] + np.arange(len(mesh.faces))] = (
                mesh.faces[None] + (first[chunk] + base).astype(np.uint32)[:, None, None]
            )
    return vertices, faces, start


def _bounds(
    meshes: list[shapes.Mesh | None],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    low, high = np.full((len(meshes), 3), np.inf), np.full((len(meshes), 3), -np.inf)
    known: dict[int, tuple[NDArray[np.float32], NDArray[np.float32]]] = {}
    for item, mesh in enumerate(meshes):
        if mesh is None or not len(mesh.vertices):
            continue
        if id(mesh) not in known:
            known[id(mesh)] = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
        low[item], high[item] = known[id(mesh)]
    return low, high


def _mesh_key(info: GeomInfo | SiteInfo, description: SceneDescription) -> object:
    if isinstance(info, GeomInfo):
        if info.type in (GeomType.MESH, GeomType.SDF) and 0 <= info.mesh < len(description.meshes):
            return description.meshes[info.mesh].digest
        if info.type is GeomType.HFIELD:
            return "hfield", info.hfield
    return info.type, info.size


def _item_mesh(
    info: GeomInfo | SiteInfo,
    description: SceneDescription,
    assets: Mapping[str, AssetArrays],
    meshes: Mapping[str, MeshDetail | None],
    *,
    crowd: bool,
) -> _Levels:
    """Return an item's mesh in full, and with fewer faces where it has such."""
    if info.type is GeomType.PLANE:
        return _NO_SHAPE
    if isinstance(info, GeomInfo) and info.type in (GeomType.MESH, GeomType.SDF):
        if not 0 <= info.mesh < len(description.meshes):
            return _NO_SHAPE
        detail = meshes.get(description.meshes[info.mesh].digest)
        return _NO_SHAPE if detail is None else (detail.full, _other(detail), detail.moving)
    if isinstance(info, GeomInfo) and info.type is GeomType.HFIELD:
        if not 0 <= info.hfield < len(description.hfields):
            return _NO_SHAPE
        field = description.hfields[info.hfield]
        arrays = assets.get(field.digest)
        return _NO_SHAPE if arrays is None else (_height_field(arrays, field), None, None)
    full, coarse = _SEGMENTS[crowd]
    mesh = primitive_mesh(info, segments=full)
    if mesh is None or info.type is GeomType.BOX:
        return mesh, None, None
    return mesh, primitive_mesh(info, segments=coarse), None


def _other(detail: MeshDetail) -> shapes.Mesh | None:
    return None if detail.coarse is detail.full else detail.coarse


def _height_field(arrays: AssetArrays, field: HeightFieldInfo) -> shapes.Mesh | None:
    data = np.asarray(arrays.get("data", ()), dtype=np.float32)
    if data.size != field.nrow * field.ncol or min(field.nrow, field.ncol) < 2:
        _log.warning(
            "height field %r can't be drawn: %d × %d heights are announced, %d arrived",
            field.name,
            field.nrow,
            field.ncol,
            data.size,
        )
        return None
    return shapes.height_field(data.reshape(field.nrow, field.ncol), size=field.size)
