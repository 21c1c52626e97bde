"""Spatial tendons as tubes along their path, thinner where they wrap, as in MuJoCo."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.view3d.tubes import TubeShape
from stroboscope.debugger_protocol.scene_description import TendonInfo

__all__ = ["TendonTubes", "at_limit"]

Arrays = Mapping[str, NDArray[np.generic]]
PULLEY = -2  # of ``wrap``: the path is interrupted here


class TendonTubes:
    """The segments of all tendons of one frame."""

    def __init__(self, tendons: tuple[TendonInfo, ...], arrays: Arrays, tube: TubeShape) -> None:
        path = np.asarray(arrays.get("path", np.zeros((0, 3))), dtype=np.float64).reshape(-1, 3)
        first = np.asarray(arrays.get("first", ()), dtype=np.int64)
        count = np.asarray(arrays.get("count", ()), dtype=np.int64)
        wrap = np.asarray(arrays.get("wrap", np.full(len(path), -1)), dtype=np.int64)
        known = min(len(tendons), len(first), len(count))
        starts, owners = [], []
        for tendon in range(known):
            begin, end = int(first[tendon]), int(first[tendon] + count[tendon])
            if begin >= 0 and end <= len(path) and end - begin > 1:
                starts.append(np.arange(begin, end - 1))
                owners.append(np.full(end - begin - 1, tendon))
        start = np.concatenate(starts) if starts else np.zeros(0, dtype=np.int64)
        owner = np.concatenate(owners) if owners else np.zeros(0, dtype=np.int64)
        good = (wrap[start] != PULLEY) & (wrap[start + 1] != PULLEY) if len(start) else start > 0
        good &= np.isfinite(path[start]).all(axis=1) & np.isfinite(path[start + 1]).all(axis=1)
        start, self.owner = start[good], owner[good]
        width = np.array([tendon.width for tendon in tendons])
        radius = width[self.owner]
        wrapped = (wrap[start] >= 0) & (wrap[start + 1] >= 0)
        radius = np.where(wrapped, 0.5 * radius, radius)
        self.vertices, self.normals = tube.between(path[start], path[start + 1], radius)


def at_limit(tendons: tuple[TendonInfo, ...], arrays: Arrays) -> NDArray[np.bool_]:
    """Return (ntendon,) bool: which tendons are at or beyond a limit of their length."""
    found = np.zeros(len(tendons), dtype=np.bool_)
    length = np.asarray(arrays.get("length", ()), dtype=np.float64).ravel()
    for index, tendon in enumerate(tendons[: len(length)]):
        if tendon.range is not None:
            low, high = tendon.range
            found[index] = not low + tendon.margin < length[index] < high - tendon.margin
    return found
