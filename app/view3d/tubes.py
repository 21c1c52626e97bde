"""Round lines: one capsule per segment, so that bends of any angle are closed."""

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.view3d import shapes

__all__ = ["TubeShape"]

Floats = NDArray[np.float64]


class TubeShape:
    """Vertices of capsules between pairs of points, all made with the same topology."""

    def __init__(self, *, segments: int = 12) -> None:
        unit = shapes.capsule(1.0, 1.0, segments=segments)
        self._round = unit.normals.astype(np.float64)
        self._up = np.where(unit.vertices[:, 2] > 0.0, 1.0, 0.0)
        self._faces = unit.faces
        self.n_vertices = len(unit.vertices)

    def faces(self, count: int) -> NDArray[np.uint32]:
        """Return the faces of ``count`` capsules, one after the other."""
        first = np.arange(count, dtype=np.uint32) * np.uint32(self.n_vertices)
        return np.asarray((self._faces[None] + first[:, None, None]).reshape(-1, 3))

    def between(self, start: Floats, end: Floats, radius: Floats) -> tuple[Floats, Floats]:
        """Return vertices and normals (n * n_vertices, 3) of capsules from ``start`` to ``end``.

        ``start``, ``end`` (n, 3) and ``radius`` (n,) are in metres.
        """
        along = end - start
        length = np.linalg.norm(along, axis=1, keepdims=True)
        z = np.where(length > 1e-12, along / np.maximum(length, 1e-12), (0.0, 0.0, 1.0))
        helper = np.where(np.abs(z[:, 2:]) < 0.9, (0.0, 0.0, 1.0), (1.0, 0.0, 0.0))
        x = np.cross(helper, z)
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        axes = np.stack([x, np.cross(z, x), z], axis=1)  # (n, 3, 3), rows
        normals = np.matmul(self._round, axes)
        vertices = start[:, None] + normals * radius[:, None, None]
        vertices += self._up[None, :, None] * along[:, None]
        return vertices.reshape(-1, 3), normals.reshape(-1, 3)
