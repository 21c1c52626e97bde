"""A second set of poses for a scene, and poses as shaders read them."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

__all__ = ["GHOST_RGBA", "Ghost", "pose_texels"]

GHOST_RGBA = (0.30, 0.60, 1.0, 0.5)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Ghost:
    """A second set of item poses, ``pos`` (nitem, 3) and ``mat`` (nitem, 3, 3), and its colour."""

    pos: NDArray[np.float64]
    mat: NDArray[np.float64]
    rgba: tuple[float, float, float, float]

    def texels(self) -> NDArray[np.float32]:
        """Return (nitem, 3, 4) float32 as :meth:`DrawnScene.pose_texels`."""
        return pose_texels(self.pos, self.mat)


def pose_texels(pos: NDArray[np.float64], mat: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return (n, 3, 4) float32: the rows of 3x4 matrices of ``pos`` (n, 3), ``mat`` (n, 3, 3)."""
    texels = np.empty((len(pos), 3, 4), dtype=np.float32)
    texels[:, :, :3] = mat
    texels[:, :, 3] = pos
    return texels
