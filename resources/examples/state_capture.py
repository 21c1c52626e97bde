"""Capture a state, go on, come back: the same trajectory again, bit for bit.

A handle is the state of one scene, kept by the scene until it is released; ``repeat_kick`` uses it
to play the same second twice and compares the ends with ``is_equal_state``. For people there is
``capture_state_to_file``: JSON with every joint and actuator by name.

    stroboscope demo state-capture
"""

import sys
import tempfile
from pathlib import Path
from typing import Final

import stroboscope.engine as physics
from stroboscope.resources.examples.kicking_cart import create_cart, kick_pose

__all__ = ["main"]

STEPS: Final = 300


def kick(scene: physics.Scene, cart: physics.Articulation) -> physics.StateHandle:
    """Play STEPS steps of the kick and return the state they end in."""
    for _ in range(STEPS):
        pose = kick_pose(scene.get_total_simulation_time(), speed=2.0)
        cart.set_articulated_target_pose(pose=pose)
        scene.step()
    return scene.capture_state()


def main(*, launch: bool = True) -> None:
    """Kick, restore, kick again, compare."""
    scene, cart = create_cart("State capture")
    if not physics.debugger.attach(timeout_seconds=60.0, launch=launch):
        physics.destroy_scene(scene)
        raise SystemExit("No debugger came: see the log above for the reason.")

    start = scene.capture_state()
    first = kick(scene, cart)
    scene.restore_state(start)
    second = kick(scene, cart)
    same = scene.is_equal_state(first, second)
    print(f"Two runs of {STEPS} steps from one state are {'equal' if same else 'DIFFERENT'}.")

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "state.json"
        scene.capture_state_to_file(file)
        print(f"The state for people: {len(file.read_text(encoding='utf-8').splitlines())} lines.")

    scene.release_all_states()
    physics.destroy_scene(scene)
    physics.shutdown()


if __name__ == "__main__":
    main(launch="--no-window" not in sys.argv)
