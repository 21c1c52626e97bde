"""What changes its shape: flexes, skins and tendons, as vertices that are new with each frame."""

import dataclasses
import logging
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.view3d.flexes import FlexLook, FlexShape
from stroboscope.app.view3d.items import ItemKind, Items
from stroboscope.app.view3d.scene_geometry import NO_UV, VERTEX, AssetArrays
from stroboscope.app.view3d.skins import SkinShape
from stroboscope.app.view3d.tendons import TendonTubes, at_limit
from stroboscope.app.view3d.tubes import TubeShape
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["Deformables", "SoftGeometry"]

_log = logging.getLogger(__name__)
Values = Mapping[Topic, Mapping[str, NDArray[np.generic]]]
Floats = NDArray[np.float64]
# Item, vertices, faces among them, and what their topology depends on.
_Part = tuple[int, NDArray[np.void], NDArray[np.uint32], object]
_THIN = 1e-3  # of the scene's extent: a rope without a radius is still seen


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SoftGeometry:
    """The vertices of one instant, in the world frame; faces are ordered by item.

    ``start`` (n + 1,), ``low`` and ``high`` (n, 3) have an entry for each of the scene's items.
    ``topology`` grows when ``faces`` are others than before.
    """

    vertices: NDArray[np.void]
    faces: NDArray[np.uint32]
    start: NDArray[np.int64]
    low: Floats
    high: Floats
    topology: int


class Deformables:
    """All soft items of one description, made when their assets are here."""

    def __init__(
        self,
        description: SceneDescription,
        items: Items,
        assets: Mapping[str, AssetArrays],
    ) -> None:
        self._description = description
        self._items = items
        self._assets = assets
        self._tube = TubeShape()
        self._skins: dict[int, SkinShape] = {}
        self._look = FlexLook()
        self._flexes = self._made_flexes(self._look)
        self._topology = 0
        self._parts_key: object = None
        self._faces = np.zeros((0, 3), dtype=np.uint32)
        self._start = np.zeros(len(items) + 1, dtype=np.int64)
        for index, skin in enumerate(description.skins):
            if skin.digest in assets:
                item = items.first[ItemKind.SKIN] + index
                try:
                    self._skins[item] = SkinShape(skin, assets[skin.digest])
                except (KeyError, ValueError, TypeError, IndexError) as error:
                    _damaged(f"skin {skin.name!r}", error)

    def _made_flexes(self, look: FlexLook) -> dict[int, FlexShape]:
        shapes = {}
        for index, flex in enumerate(self._description.flexes):
            if flex.digest not in self._assets:
                continue
            try:
                shapes[index] = FlexShape(
                    flex,
                    self._assets[flex.digest],
                    thinnest=_THIN * self._description.extent,
                    look=look,
                )
            except (KeyError, ValueError, TypeError, IndexError) as error:
                _damaged(f"flex {flex.name!r}", error)
        return shapes

    @property
    def any(self) -> bool:
        """Whether the description has anything soft."""
        return len(self._items) > self._items.n_rigid

    def geometry(
        self, body_pos: Floats, body_mat: Floats, values: Values, look: FlexLook
    ) -> SoftGeometry:
        """Return everything soft at these poses (nbody, 3), (nbody, 3, 3) and values."""
        if look != self._look:
            self._look, self._flexes = look, self._made_flexes(look)
        parts = self._flex_parts(values)
        for item, skin in self._skins.items():
            part = _part(*skin.posed(body_pos, body_mat), skin.uv, item)
            parts.append((item, part, skin.faces.astype(np.uint32), None))
        parts.extend(self._tendons(values))
        return self._joined(parts)

    def _flex_parts(self, values: Values) -> list[_Part]:
        points = values.get(Topic.DEFORMABLE, {}).get("flexvert_xpos")
        if points is None:
            return []
        positions = np.asarray(points, dtype=np.float64)
        parts: list[_Part] = []
        for index, shape in self._flexes.items():
            try:
                vertices, normals = shape.posed(positions)
            except ValueError as error:
                _log.warning("a flex can't be drawn: %s", error)
                continue
            items = self._items.of_flex(index)
            for piece in shape.pieces:
                item = int(items[min(piece.slot, len(items) - 1)])
                part = _part(vertices[piece.rows], normals[piece.rows], piece.uv, item)
                parts.append((item, part, piece.faces, self._look))
        return parts

    def at_limit(self, values: Values) -> NDArray[np.int64]:
        """Return the items of tendons that are at a limit."""
        arrays = values.get(Topic.TENDONS)
        if arrays is None or not self._description.tendons:
            return np.zeros(0, dtype=np.int64)
        found = np.flatnonzero(at_limit(self._description.tendons, arrays))
        return found + self._items.first[ItemKind.TENDON]

    def _tendons(self, values: Values) -> list[_Part]:
        arrays = values.get(Topic.TENDONS)
        if arrays is None or not self._description.tendons:
            return []
        tubes = TendonTubes(self._description.tendons, arrays, self._tube)
        parts: list[_Part] = []
        size = self._tube.n_vertices
        for tendon in np.unique(tubes.owner).tolist():
            # In the order of the path, so that the owner's segments stand together.
            begin, end = np.searchsorted(tubes.owner, [tendon, tendon + 1])
            rows = slice(begin * size, end * size)
            item = self._items.first[ItemKind.TENDON] + tendon
            uv = np.full((size * (end - begin), 2), NO_UV)
            part = _part(tubes.vertices[rows], tubes.normals[rows], uv, item)
            count = int(end - begin)
            parts.append((item, part, self._tube.faces(count), count))
        return parts

    def _joined(self, parts: list[_Part]) -> SoftGeometry:
        count = len(self._items)
        low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
        parts.sort(key=lambda part: part[0])
        key = tuple((item, size) for item, _, _, size in parts)
        if key != self._parts_key:
            self._parts_key = key
            self._topology += 1
            n_faces = np.zeros(count, dtype=np.int64)
            faces, first = [], 0
            for item, vertices, own, _ in parts:
                faces.append(own + np.uint32(first))
                first += len(vertices)
                n_faces[item] = len(own)
            self._faces = np.concatenate(faces) if faces else np.zeros((0, 3), dtype=np.uint32)
            self._start = np.concatenate([[0], np.cumsum(n_faces)]).astype(np.int64)
        for item, vertices, _, _ in parts:
            position = vertices["a_position"]
            low[item], high[item] = position.min(axis=0), position.max(axis=0)
        return SoftGeometry(
            np.concatenate([part[1] for part in parts]) if parts else np.zeros(0, dtype=VERTEX),
            self._faces,
            self._start,
            low,
            high,
            self._topology,
        )


def _part(vertices: Floats, normals: Floats, uv: Floats, item: int) -> NDArray[np.void]:
    part = np.empty(len(vertices), dtype=VERTEX)
    part["a_position"], part["a_normal"], part["a_uv"] = vertices, normals, uv
    part["a_item"] = item
    return part


def _damaged(what: str, error: Exception) -> None:
    _log.warning("%s can't be drawn: its arrays are damaged (%r)", what, error)
