"""Skins: meshes that several bodies pull along (linear blend skinning)."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.view3d.rotations import quat_to_matrix
from stroboscope.app.view3d.surface_normals import SurfaceNormals
from stroboscope.debugger_protocol.scene_description import SkinInfo

__all__ = ["SkinShape"]

Floats = NDArray[np.float64]


class SkinShape:
    """One skin, ready to follow its bones. Raises ValueError or KeyError on damaged arrays."""

    def __init__(self, info: SkinInfo, arrays: Mapping[str, NDArray[np.generic]]) -> None:
        self.rest = np.asarray(arrays["vertices"], dtype=np.float64).reshape(-1, 3)
        count = len(self.rest)
        faces = np.asarray(arrays["faces"], dtype=np.int64).reshape(-1, 3)
        self.faces = faces[((faces >= 0) & (faces < count)).all(axis=1)]
        self.uv = np.zeros((count, 2))
        if "texcoords" in arrays and len(arrays["texcoords"]) == count:
            self.uv = np.asarray(arrays["texcoords"], dtype=np.float64)
        self._inflate = info.inflate
        self._body = np.asarray(arrays["bone_body"], dtype=np.int64)
        self._bind_pos = np.asarray(arrays["bone_pos"], dtype=np.float64).reshape(-1, 3)
        bind_quat = np.asarray(arrays["bone_quat"], dtype=np.float64).reshape(-1, 4)
        self._bind_inverse = quat_to_matrix(bind_quat).transpose(0, 2, 1)
        n_bones = len(self._body)
        bone = np.repeat(np.arange(n_bones), np.asarray(arrays["bone_count"], dtype=np.int64))
        vertex = np.asarray(arrays["bone_vertex"], dtype=np.int64)
        weight = np.asarray(arrays["bone_weight"], dtype=np.float64)
        if not len(bone) == len(vertex) == len(weight) or not len(bone):
            raise ValueError(f"{len(bone)} bone entries, {len(vertex)} vertices of bones")
        if vertex.min() < 0 or vertex.max() >= count:
            raise ValueError(f"a bone names vertex {vertex.max()} of {count}")
        order = np.argsort(vertex, kind="stable")
        counts = np.bincount(vertex, minlength=count)
        self._bone, self._weight = bone[order], weight[order][:, None]
        self._moved = np.flatnonzero(counts)
        self._first = (np.cumsum(counts) - counts)[self._moved]
        self._normals = SurfaceNormals(self.faces, count)

    def posed(self, body_pos: Floats, body_mat: Floats) -> tuple[Floats, Floats]:
        """Return vertices and normals (nvert, 3) for bodies at ``body_pos`` and ``body_mat``."""
        body = np.clip(self._body, 0, len(body_pos) - 1)
        turn = np.matmul(body_mat[body], self._bind_inverse)
        shift = body_pos[body] - np.matmul(turn, self._bind_pos[:, :, None])[:, :, 0]
        affine = np.concatenate([turn.reshape(-1, 9), shift], axis=1)
        blended = np.add.reduceat(affine[self._bone] * self._weight, self._first, axis=0)
        vertices = self.rest.copy()
        rest = self.rest[self._moved]
        vertices[self._moved] = (
            np.matmul(blended[:, :9].reshape(-1, 3, 3), rest[:, :, None])[:, :, 0] + blended[:, 9:]
        )
        normals = self._normals.of(vertices)
        if self._inflate:
            vertices += self._inflate * normals
        return vertices, normals
