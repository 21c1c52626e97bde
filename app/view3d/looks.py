"""Colours, places and sizes that a script has written into its model since it was described."""

import dataclasses
from collections.abc import Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.app.view3d.items import ItemKind, Items
from stroboscope.app.view3d.rotations import quat_to_matrix
from stroboscope.debugger_protocol.scene_description import GeomType, SceneDescription, TendonInfo

__all__ = ["SIZES", "items_as_told", "items_of_told_sizes", "tendons_as_told"]

SIZES = ("geom_size", "site_size", "tendon_width")
"""Those arrays of the topic LOOKS with which shapes have to be made anew."""

_COLOURED = {"geom": ItemKind.GEOM, "site": ItemKind.SITE, "tendon": ItemKind.TENDON}
_PLACED = {"geom": ItemKind.GEOM, "site": ItemKind.SITE}
# Their arrays say how large they are, whatever their size is.
_OF_ASSETS = (GeomType.MESH, GeomType.SDF, GeomType.HFIELD)


def items_as_told(items: Items, arrays: Mapping[str, NDArray[np.generic]]) -> Items:
    """Return ``items`` with the arrays of the topic LOOKS; those of another size are ignored."""
    material, pos, mat = items.material.copy(), items.pos.copy(), items.mat.copy()
    for kind, number in _COLOURED.items():
        rows, rgba = _rows(items, number), arrays.get(f"{kind}_rgba")
        if rgba is not None and rgba.shape == (len(rows), 4):
            material[rows, 0] = rgba
    for kind, number in _PLACED.items():
        rows, place = _rows(items, number), arrays.get(f"{kind}_pos")
        turn = arrays.get(f"{kind}_quat")
        if place is None or turn is None:
            continue
        if place.shape == (len(rows), 3) and turn.shape == (len(rows), 4):
            pos[rows], mat[rows] = place, quat_to_matrix(np.asarray(turn, dtype=np.float64))
    return dataclasses.replace(items, material=material, pos=pos, mat=mat)


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
