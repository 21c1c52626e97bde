"""A second set of poses for a scene, and poses as shaders read them."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

__all__ = ["GHOST_RGBA", "GHOST_TINT", "Ghost", "OtherPose", "pose_texels"]

GHOST_RGBA = (0.30, 0.60, 1.0, 0.5)
GHOST_TINT = 0.85


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class OtherPose:
    """Poses of all bodies beside those of the scene: a ghost, or another environment.

    ``xpos`` (nbody, 3) [m] and ``xquat`` (nbody, 4) wxyz; ``env``: its number, -1: a ghost.
    """

    xpos: NDArray[np.float64]
    xquat: NDArray[np.float64]
    rgba: tuple[float, float, float, float] = GHOST_RGBA
    tint: float = GHOST_TINT
    env: int = -1


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Ghost:
    """A second set of item poses, ``pos`` (nitem, 3) and ``mat`` (nitem, 3, 3), and its colour.

    ``tint``: how much of that colour lies over the items' own, 0 to 1; ``env`` as there.
    """

    pos: NDArray[np.float64]
    mat: NDArray[np.float64]
    rgba: tuple[float, float, float, float]
    tint: float = GHOST_TINT
    env: int = -1

    def texels(self) -> NDArray[np.float32]:
        """Return (nitem, 3, 4) float32 as :meth:`DrawnScene.pose_texels`."""
        return pose_texels(self.pos, self.mat)


def pose_texels(pos: NDArray[np.float64], mat: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return (n, 3, 4) float32: the rows of 3x4 matrices of ``pos`` (n, 3), ``mat`` (n, 3, 3)."""
    texels = np.empty((len(pos), 3, 4), dtype=np.float32)
    texels[:, :, :3] = mat
    texels[:, :, 3] = pos
    return texels
