"""A running application for the monkey: ``monkey_process.py MODEL [--scenes N] [--swap MODEL]``.

It goes on whether somebody is attached or not, and lets itself be attached to again. ``--swap``
replaces the first scene by one of another model now and then, as scripts do between episodes.
"""

import argparse
import sys
import time

import stroboscope.engine as physics

_LIFE_S = 1800.0  # an end for those that nobody kills


def main() -> None:
    """Step every scene in turn until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--scenes", type=int, default=1)
    parser.add_argument("--swap", default="")
    options = parser.parse_args()
    scenes = [physics.create_scene("Scene", model=options.model) for _ in range(options.scenes)]
    models = [options.model, options.swap]
    end, rounds = time.monotonic() + _LIFE_S, 0
    while time.monotonic() < end:
        if not physics.debugger.is_attached():
            physics.debugger.attach(60.0, launch=False, mode="playing")
        for scene in scenes:
            scene.step()
        rounds += 1
        if rounds % 100 == 0:
            scenes[0].log("round", rounds)
        if options.swap and rounds % 300 == 0:
            physics.destroy_scene(scenes[0])
            models.reverse()
            scenes[0] = physics.create_scene("Scene", model=models[0])
        if options.scenes > 8:
            time.sleep(0.005)  # leaves a core to the window that is tested


if __name__ == "__main__":
    sys.exit(main())
