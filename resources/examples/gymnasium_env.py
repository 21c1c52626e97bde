"""A Gymnasium environment: watched, paused and plotted without changing it.

``debugger.watch(env)`` finds the MuJoCo model and data in the environment, and from then on
``env.step`` steps the scene. Humanoid-v5 runs five physics steps in each; the debugger can stop
before every one of them. What the environment knows and the physics does not, the script logs:
here the reward.

    stroboscope demo gymnasium-env
"""

import sys
from typing import Final

import gymnasium

import stroboscope.engine as physics

__all__ = ["main"]

STEPS: Final = 200


def main(*, launch: bool = True) -> None:
    """Act at random for STEPS environment steps, resetting when the humanoid has fallen."""
    env = gymnasium.make("Humanoid-v5")
    env.reset(seed=0)
    env.action_space.seed(0)
    scene = physics.debugger.watch(env, name="Humanoid-v5")
    if not physics.debugger.attach(timeout_seconds=60.0, launch=launch):
        raise SystemExit("No debugger came: see the log above for the reason.")

    episodes = 0
    for _ in range(STEPS):
        _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        scene.log("reward", float(reward))
        if terminated or truncated:
            env.reset()
            episodes += 1

    print(f"{STEPS} steps, {episodes} episodes ended.")
    env.close()
    physics.shutdown()


if __name__ == "__main__":
    main(launch="--no-window" not in sys.argv)
