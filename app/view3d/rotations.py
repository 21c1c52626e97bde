"""Quaternions (wxyz) and frames as arrays; the one place where view3d converts them."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["compose", "quat_to_matrix"]

Floats = NDArray[np.float64]


def quat_to_matrix(quat: Floats) -> Floats:
    """Return rotation matrices (n, 3, 3) for quaternions (n, 4) wxyz.

    Quaternions need not be of unit length; a zero one gives the identity, as in MuJoCo.
    """
    q = np.asarray(quat, dtype=np.float64)
    squared = np.einsum("ij,ij->i", q, q)
    scale = np.where(squared > 0.0, 2.0 / np.where(squared > 0.0, squared, 1.0), 0.0)
    w, x, y, z = q.T
    matrix = np.empty((len(q), 3, 3))
    xs, ys, zs = x * scale, y * scale, z * scale
    wx, wy, wz = w * xs, w * ys, w * zs
    xx, xy, xz = x * xs, x * ys, x * zs
    yy, yz, zz = y * ys, y * zs, z * zs
    matrix[:, 0, 0] = 1.0 - (yy + zz)
    matrix[:, 0, 1] = xy - wz
    matrix[:, 0, 2] = xz + wy
    matrix[:, 1, 0] = xy + wz
    matrix[:, 1, 1] = 1.0 - (xx + zz)
    matrix[:, 1, 2] = yz - wx
    matrix[:, 2, 0] = xz - wy
    matrix[:, 2, 1] = yz + wx
    matrix[:, 2, 2] = 1.0 - (xx + yy)
    return matrix


def compose(
    parent_pos: Floats, parent_mat: Floats, *, pos: Floats, mat: Floats
) -> tuple[Floats, Floats]:
    """Return world positions (n, 3) and rotations (n, 3, 3) of frames given in parent frames."""
    world_pos = parent_pos + np.matmul(parent_mat, pos[:, :, None])[:, :, 0]
    return world_pos, np.matmul(parent_mat, mat)
