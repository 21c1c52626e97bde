"""A pose controller: three joints follow target poses, and the targets are part of the state.

The controller appends one position actuator per joint to the model. Its targets live in ``ctrl``,
so checkpoints hold them, plots show them, and you can change them in the window while paused.

    stroboscope demo pose-controller
"""

import sys
from typing import Final

import numpy as np

import stroboscope.engine as physics
from stroboscope.resources.examples.kicking_cart import create_cart

__all__ = ["main"]

STEPS_PER_TARGET: Final = 200
# Slider [m], shoulder [rad], elbow [rad].
TARGETS: Final = ((0.3, 0.6, 0.8), (-0.4, -0.6, -0.8), (0.0, 1.2, -1.5), (0.0, 0.0, 0.0))


def main(*, launch: bool = True) -> None:
    """Move through the targets once, then end."""
    scene, cart = create_cart("Pose controller")
    if not physics.debugger.attach(timeout_seconds=60.0, launch=launch):
        physics.destroy_scene(scene)
        raise SystemExit("No debugger came: see the log above for the reason.")
    print(f"Joints: {', '.join(cart.joint_names)}")

    for target in TARGETS:
        cart.set_articulated_target_pose(pose=target)
        for _ in range(STEPS_PER_TARGET):
            scene.step()
            error = np.abs(np.subtract(cart.get_articulated_pose(), target))
            # A channel of our own: drag "pose error" into a plot.
            scene.log("pose error", error, names=cart.joint_names)
        print(f"Target {target}: largest error {error.max():.3f}")

    physics.destroy_scene(scene)
    physics.shutdown()


if __name__ == "__main__":
    main(launch="--no-window" not in sys.argv)
