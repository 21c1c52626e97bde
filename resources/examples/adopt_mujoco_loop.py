"""A script that calls ``mj_step`` itself, made debuggable by adopting its model and data.

The loop below is what most MuJoCo scripts look like. ``debugger.watch`` makes a scene of the
script's own model and data, without copying them; the loop then calls ``scene.step()`` where it
called ``mj_step``. (``stroboscope run`` does the same to a script that was not changed at all.)

    stroboscope demo adopt-mujoco-loop
"""

import math
import sys
from typing import Final

import mujoco

import stroboscope.engine as physics
from stroboscope.resources.examples.kicking_cart import MODEL

__all__ = ["main"]

STEPS: Final = 600


def main(*, launch: bool = True) -> None:
    """Swing the pendulum with a sine on its shoulder, STEPS times."""
    model = mujoco.MjModel.from_xml_path(str(MODEL))
    data = mujoco.MjData(model)

    scene = physics.debugger.watch(model, data, "My own loop")
    if not physics.debugger.attach(timeout_seconds=60.0, launch=launch):
        raise SystemExit("No debugger came: see the log above for the reason.")

    shoulder = model.joint("shoulder").dofadr[0]
    for _ in range(STEPS):
        data.qfrc_applied[shoulder] = 4.0 * math.sin(2.0 * math.pi * 0.8 * data.time)
        scene.step()  # was: mujoco.mj_step(model, data)

    print(f"The loop ended at {data.time:.3f} s of simulation.")
    physics.shutdown()


if __name__ == "__main__":
    main(launch="--no-window" not in sys.argv)
