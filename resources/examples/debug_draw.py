"""Drawing from a script: an arrow, a text and a trail of points follow the end of an arm.

What is drawn belongs to the frame of the next step; what is persistent stays until it is removed.

    stroboscope demo debug-draw
"""

import collections
import sys
from typing import Final

import numpy as np

import stroboscope.engine as physics
from stroboscope.resources.examples.kicking_cart import KICK_DURATION, create_cart, kick_pose

__all__ = ["main"]

TRAIL: Final = 400


def main(*, launch: bool = True) -> None:
    """Kick once, drawing where the tip of the arm is going and where it has been."""
    scene, cart = create_cart("Debug draw")
    if not physics.debugger.attach(timeout_seconds=60.0, launch=launch):
        physics.destroy_scene(scene)
        raise SystemExit("No debugger came: see the log above for the reason.")
    draw, data, timestep = scene.debug_draw, scene.data, scene.options.timestep
    draw.frame((0.0, 0.0, 0.0), length=0.3, persistent=True)
    trail: collections.deque[np.ndarray] = collections.deque(maxlen=TRAIL)

    while (time := scene.get_total_simulation_time()) < KICK_DURATION:
        cart.set_articulated_target_pose(pose=kick_pose(time))
        scene.step()
        end = data.site("tip").xpos.copy()
        velocity = (end - trail[-1]) / timestep if trail else np.zeros(3)
        trail.append(end)
        speed = float(np.linalg.norm(velocity))
        draw.arrow(end, end + 0.2 * velocity, color="red")
        draw.text(np.add(end, (0.0, 0.0, 0.1)), f"{speed:.2f} m/s", color="white")
        draw.point_cloud(np.array(trail), color="cyan", size=4)

    print(f"Drew {len(trail)} points of the way, to {np.round(end, 2).tolist()}.")
    physics.destroy_scene(scene)
    physics.shutdown()


if __name__ == "__main__":
    main(launch="--no-window" not in sys.argv)
