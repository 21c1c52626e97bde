"""A stiff wrist servo: the simulation blows up, and the debugger stops just before it does.

For a second the arm stands still and nothing is wrong. Then it reaches out, and the wrist's servo,
whose damping is more than the timestep can take, shakes the hand to pieces within a few steps. The
scene stops by itself and names the servo. Step back with the left arrow, and try half the timestep
from there: the ghost stays calm.

The same happens to a script that knows nothing of the debugger, under ``stroboscope run``.

    stroboscope demo explode
"""

import math
import sys
from importlib.resources import as_file, files
from typing import Final

import stroboscope.engine as physics

__all__ = ["main"]

STEPS: Final = 1500
STARTS_AT: Final = 1.0  # [s]


def targets(time: float) -> tuple[float, float]:
    """Return where shoulder and wrist are to be at ``time`` [s], in rad."""
    if time < STARTS_AT:
        return 0.0, 0.0
    swing = math.sin(2.0 * (time - STARTS_AT))
    return 0.8 * swing, 0.6 * swing


def main(*, launch: bool = True) -> None:
    """Reach out after a second, and end after STEPS steps, blown up or not."""
    with as_file(files("stroboscope.resources") / "models/stiff_wrist.xml") as model:
        scene = physics.create_scene("Stiff wrist", model)
    if not physics.debugger.attach(timeout_seconds=60.0, launch=launch):
        physics.destroy_scene(scene)
        raise SystemExit("No debugger came: see the log above for the reason.")

    for _ in range(STEPS):
        scene.ctrl[:] = targets(scene.get_total_simulation_time())
        scene.step()

    stop = scene.last_stop
    print(f"Stopped by: {stop.culprit if stop else 'nothing'}")
    physics.destroy_scene(scene)
    physics.shutdown()


if __name__ == "__main__":
    main(launch="--no-window" not in sys.argv)
