"""Colours and places that a script has written into its model since it was described."""

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.view3d.items import ItemKind, Items
from stroboscope.app.view3d.rotations import quat_to_matrix

__all__ = ["items_as_told"]

_COLOURED = {"geom": ItemKind.GEOM, "site": ItemKind.SITE, "tendon": ItemKind.TENDON}
_PLACED = {"geom": ItemKind.GEOM, "site": ItemKind.SITE}


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


def _rows(items: Items, kind: ItemKind) -> NDArray[np.int64]:
    return np.flatnonzero(items.kind == kind)
