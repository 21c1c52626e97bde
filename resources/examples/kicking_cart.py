"""The cart with a double pendulum that several demos share: its scene and its kick."""

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

import stroboscope.engine as physics

__all__ = ["KICK_DURATION", "create_cart", "kick_pose"]

MODEL: Final = Path(__file__).parents[1] / "models" / "cart_with_double_pendulum.xml"

KICK_DURATION: Final = 5.0
"""How long the kick takes at nominal speed [s]."""

# When, as a fraction of the kick, which pose is reached: slider [m], shoulder and elbow [rad].
_MOMENTS: Final = (0.0, 0.12, 0.34, 0.46, 0.62, 0.86, 1.0)
_POSES: Final = (
    (0.00, 0.00, 0.00),
    (0.00, 0.00, 0.00),
    (-0.35, -0.90, -0.70),
    (0.30, 0.70, 0.35),
    (0.25, 0.50, 0.90),
    (0.20, 0.35, 0.50),
    (0.20, 0.35, 0.50),
)


def create_cart(name: str) -> tuple[physics.Scene, physics.Articulation]:
    """Create a scene with the cart and give its three joints a pose controller.

    The calling thread owns the scene and is the only one that may use it or the articulation.
    """
    scene = physics.create_scene(name, MODEL)
    cart = scene.get_articulation("cart")
    cart.add_articulated_pose_controller(
        physics.PoseControllerParams(stiffness=(900.0, 120.0, 60.0), damping=(90.0, 6.0, 2.5))
    )
    return scene, cart


def kick_pose(time: float, *, speed: float = 1.0) -> NDArray[np.float64]:
    """Return the target pose (3,) at simulation ``time`` [s]: slider [m], shoulder, elbow [rad].

    ``speed`` 2 runs through the kick in half of KICK_DURATION; the last pose is held after that.
    """
    progress = min(time * speed / KICK_DURATION, 1.0)
    poses = np.asarray(_POSES)
    last = min(int(np.searchsorted(_MOMENTS, progress, side="right")), len(_MOMENTS) - 1)
    start, end = _MOMENTS[last - 1], _MOMENTS[last]
    fraction = (progress - start) / (end - start)
    eased = fraction * fraction * (3.0 - 2.0 * fraction)
    pose: NDArray[np.float64] = poses[last - 1] + eased * (poses[last] - poses[last - 1])
    return pose
