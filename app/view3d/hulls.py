"""Convex hulls that meshes collide as: flat faces, and only the edges that are edges."""

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.view3d.shapes import Mesh

__all__ = ["HullShape", "hull_shape"]

FEATURE = np.cos(np.radians(12.0))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class HullShape:
    """A hull with flat normals, and its feature edges (n, 2) into the same vertices."""

    mesh: Mesh
    edges: NDArray[np.uint32]


def hull_shape(arrays: Mapping[str, NDArray[np.generic]]) -> HullShape | None:
    """Return the hull of the mesh asset ``arrays``; None when it has none."""
    if "hull_faces" not in arrays:
        return None
    points = np.asarray(arrays["vertices"], dtype=np.float64).reshape(-1, 3)
    faces = np.asarray(arrays["hull_faces"], dtype=np.int64).reshape(-1, 3)
    faces = faces[((faces >= 0) & (faces < len(points))).all(axis=1)]
    if not len(faces):
        return None
    corners = points[faces]
    # Outwards, whatever the order in the asset: a hull holds its own centre.
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inwards = np.einsum("ij,ij->i", normals, corners[:, 0] - corners.mean(axis=(0, 1))) < 0.0
    faces[inwards] = faces[inwards][:, ::-1]
    normals[inwards] *= -1.0
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
    count = 3 * len(faces)
    mesh = Mesh(
        points[faces].reshape(-1, 3).astype(np.float32),
        np.repeat(normals, 3, axis=0).astype(np.float32),
        np.zeros((count, 2), dtype=np.float32),
        np.arange(count, dtype=np.uint32).reshape(-1, 3),
    )
    return HullShape(mesh, _feature_edges(faces, normals))


def _feature_edges(faces: NDArray[np.int64], normals: NDArray[np.float64]) -> NDArray[np.uint32]:
    """Return the edges between faces that meet at an angle, as corner numbers."""
    count = len(faces)
    corner = np.arange(3 * count).reshape(-1, 3)
    edges = np.concatenate([corner[:, [0, 1]], corner[:, [1, 2]], corner[:, [2, 0]]])
    face = np.tile(np.arange(count), 3)
    ends = np.sort(faces.ravel()[edges], axis=1)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    ends, edges, face = ends[order], edges[order], face[order]
    same = (ends[1:] == ends[:-1]).all(axis=1)
    gentle = np.einsum("ij,ij->i", normals[face[1:]], normals[face[:-1]]) > FEATURE
    kept = np.ones(len(edges), dtype=np.bool_)
    kept[1:] &= ~same  # once per pair
    kept[:-1] &= ~(same & gentle)
    return np.asarray(edges[kept], dtype=np.uint32)
