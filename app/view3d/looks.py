"""What a script has written into its model since it was described: colours, sizes, lights, …"""

import dataclasses
from collections.abc import Mapping
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.app.view3d.items import ItemKind, Items
from stroboscope.app.view3d.rotations import quat_to_matrix
from stroboscope.debugger_protocol.scene_description import (
    CameraInfo,
    GeomType,
    LightInfo,
    SceneDescription,
    TendonInfo,
)

__all__ = [
    "SIZES",
    "described_as_told",
    "items_as_told",
    "items_of_told_sizes",
    "tendons_as_told",
]

_Info = TypeVar("_Info", CameraInfo, LightInfo)
SIZES = ("geom_size", "site_size", "tendon_width")
"""Those arrays of the topic LOOKS with which shapes have to be made anew."""

_COLOURED = {
    "geom": ItemKind.GEOM,
    "site": ItemKind.SITE,
    "tendon": ItemKind.TENDON,
    "skin": ItemKind.SKIN,
}
_PLACED = {"geom": ItemKind.GEOM, "site": ItemKind.SITE}
# Their arrays say how large they are, whatever their size is.
_OF_ASSETS = (GeomType.MESH, GeomType.SDF, GeomType.HFIELD)
_PLAIN = np.array([0.5, 0.5, 0.5, 1.0], dtype=np.float32)
_CAMERA_FIELDS = ("pos", "quat", "fovy")
_LIGHT_FIELDS = ("pos", "dir", "ambient", "diffuse", "specular", "active")


def items_as_told(items: Items, arrays: Mapping[str, NDArray[np.generic]]) -> Items:
    """Return ``items`` with the arrays of the topic LOOKS; those of another size are ignored."""
    material, pos, mat = items.material.copy(), items.pos.copy(), items.mat.copy()
    for kind, number in _COLOURED.items():
        rows, rgba = _rows(items, number), arrays.get(f"{kind}_rgba")
        if rgba is not None and rgba.shape == (len(rows), 4):
            material[rows, 0] = rgba
    _paint_flexes(items, arrays, material)
    for kind, number in _PLACED.items():
        rows, place = _rows(items, number), arrays.get(f"{kind}_pos")
        turn = arrays.get(f"{kind}_quat")
        if place is None or turn is None:
            continue
        if place.shape == (len(rows), 3) and turn.shape == (len(rows), 4):
            pos[rows], mat[rows] = place, quat_to_matrix(np.asarray(turn, dtype=np.float64))
    return dataclasses.replace(items, material=material, pos=pos, mat=mat)


def _paint_flexes(
    items: Items, arrays: Mapping[str, NDArray[np.generic]], material: NDArray[np.float32]
) -> None:
    """Write the colours of flexes; one of several materials has theirs unless it has its own."""
    rgba = arrays.get("flex_rgba")
    count = int((items.kind == ItemKind.FLEX).sum())
    if rgba is None or rgba.shape != (count, 4):
        return
    for index in range(count):
        parts = items.of_flex(index)
        if len(parts) == 1 or not np.array_equal(rgba[index], _PLAIN):
            material[parts, 0] = rgba[index]


def described_as_told(
    description: SceneDescription, arrays: Mapping[str, NDArray[np.generic]]
) -> SceneDescription:
    """Return ``description`` with the cameras and lights of the topic LOOKS.

    The same object where none is another.
    """
    cameras = _with_fields(description.cameras, "cam", _CAMERA_FIELDS, arrays)
    lights = _with_fields(description.lights, "light", _LIGHT_FIELDS, arrays)
    if cameras is description.cameras and lights is description.lights:
        return description
    return msgspec.structs.replace(description, cameras=cameras, lights=lights)


def _with_fields(
    infos: tuple[_Info, ...],
    prefix: str,
    fields: tuple[str, ...],
    arrays: Mapping[str, NDArray[np.generic]],
) -> tuple[_Info, ...]:
    """Return ``infos`` with what the arrays say otherwise than they do, in single precision."""
    found = list(infos)
    for field in fields if infos else ():
        told = arrays.get(f"{prefix}_{field}")
        known = np.array([getattr(info, field) for info in infos], dtype=np.float32)
        if told is None or told.shape != known.shape or not np.isfinite(told).all():
            continue
        for index in np.flatnonzero((told != known).reshape(len(infos), -1).any(axis=1)).tolist():
            value = told[index].tolist()
            plain = bool(value) if field == "active" else value
            plain = tuple(plain) if isinstance(plain, list) else plain
            found[index] = msgspec.structs.replace(found[index], **{field: plain})
    return infos if all(a is b for a, b in zip(found, infos, strict=True)) else tuple(found)


def items_of_told_sizes(
    items: Items, description: SceneDescription, arrays: Mapping[str, NDArray[np.generic]]
) -> Items:
    """Return ``items`` with the sizes of the topic LOOKS; the same object where none is another."""
    sizes = {}
    for kind, number in _PLACED.items():
        rows, told = _rows(items, number), arrays.get(f"{kind}_size")
        if told is None or told.shape != (len(rows), 3) or not len(rows):
            continue
        first = int(rows[0])
        told = np.abs(told.astype(np.float32))
        known = np.array([items.infos[row].size for row in rows.tolist()], dtype=np.float32)
        good = np.isfinite(told).all(axis=1)
        for row in np.flatnonzero(good & (told != known).any(axis=1)).tolist():
            if items.infos[first + row].type not in _OF_ASSETS:
                x, y, z = told[row].tolist()
                sizes[first + row] = (x, y, z)
    return items.with_sizes(sizes, description) if sizes else items


def tendons_as_told(
    tendons: tuple[TendonInfo, ...], arrays: Mapping[str, NDArray[np.generic]]
) -> tuple[TendonInfo, ...]:
    """Return ``tendons`` with the widths of the topic LOOKS."""
    told = arrays.get("tendon_width")
    if told is None or told.shape != (len(tendons),) or not np.isfinite(told).all():
        return tendons
    widths = np.maximum(told, 0.0).tolist()
    return tuple(
        msgspec.structs.replace(tendon, width=width)
        for tendon, width in zip(tendons, widths, strict=True)
    )


def _rows(items: Items, kind: ItemKind) -> NDArray[np.int64]:
    return np.flatnonzero(items.kind == kind)
