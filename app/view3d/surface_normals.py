"""Smooth normals of triangles whose vertices move: the topology is sorted once, then only sums."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["SurfaceNormals"]

Floats = NDArray[np.float64]


class SurfaceNormals:
    """Area-weighted vertex normals of ``faces`` (m, 3) among ``n_vertices`` vertices."""

    def __init__(self, faces: NDArray[np.int64], n_vertices: int) -> None:
        self._faces = faces
        corners = faces.ravel()
        self._order = np.argsort(corners, kind="stable") // 3
        counts = np.bincount(corners, minlength=n_vertices)
        self._used = np.flatnonzero(counts)
        self._first = (np.cumsum(counts) - counts)[self._used]
        self._n_vertices = n_vertices

    def of(self, vertices: Floats) -> Floats:
        """Return unit normals (n, 3) at ``vertices`` (n, 3); +z where there is no face."""
        normals = np.zeros((self._n_vertices, 3))
        normals[:, 2] = 1.0
        if not len(self._faces):
            return normals
        weighted = face_normals(vertices, self._faces)
        sums = np.add.reduceat(weighted[self._order], self._first, axis=0)
        length = np.linalg.norm(sums, axis=1, keepdims=True)
        normals[self._used] = sums / np.maximum(length, 1e-30)
        return normals


def face_normals(vertices: Floats, faces: NDArray[np.int64]) -> Floats:
    """Return the normals (m, 3) of ``faces``, as long as twice their area [m²]."""
    corner = vertices[faces[:, 0]]
    one, two = vertices[faces[:, 1]] - corner, vertices[faces[:, 2]] - corner
    # np.cross is several times slower than its six products.
    cross = np.empty_like(corner)
    cross[:, 0] = one[:, 1] * two[:, 2] - one[:, 2] * two[:, 1]
    cross[:, 1] = one[:, 2] * two[:, 0] - one[:, 0] * two[:, 2]
    cross[:, 2] = one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]
    return cross
