"""No false stops: robots under random controls, hard resets, and training loops."""

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics

Make = Callable[..., physics.Scene]

ROBOTS = ("g1", "go1", "yam", "shadow_hand", "aloha")
_RESETTING = ("mjWARN_BADQPOS", "mjWARN_BADQVEL", "mjWARN_BADQACC")


def random_controls(model: Any, steps: int, *, seed: int = 0) -> NDArray[np.float64]:
    """Return controls (steps, nu) drawn anew every 20 steps, within their range if any."""
    rng = np.random.default_rng(seed)
    limited = np.asarray(model.actuator_ctrllimited) != 0
    low = np.where(limited, model.actuator_ctrlrange[:, 0], -1.0)
    high = np.where(limited, model.actuator_ctrlrange[:, 1], 1.0)
    drawn = rng.uniform(low, high, (steps // 20 + 1, model.nu))
    return np.repeat(drawn, 20, axis=0)[:steps]


def random_run(scene: physics.Scene, steps: int, *, seed: int = 0) -> None:
    for control in random_controls(scene.model, steps, seed=seed):
        scene.ctrl[:] = control
        scene.step()


def first_warning(model: Any, controls: NDArray[np.float64]) -> int | None:
    """Return the step at which MuJoCo itself finds the state diverged; None when it never does."""
    data = mujoco.MjData(model)
    kinds = [int(getattr(mujoco.mjtWarning, name)) for name in _RESETTING]
    for k, control in enumerate(controls):
        data.ctrl[:] = control
        mujoco.mj_step(model, data)
        if any(data.warning[kind].number for kind in kinds):
            return k
    return None


@pytest.mark.parametrize(
    "steps", [2_000, pytest.param(10_000, marks=pytest.mark.slow)], ids=["short", "long"]
)
@pytest.mark.parametrize("robot", ROBOTS)
def test_a_robot_under_random_controls_is_only_stopped_where_mujoco_gives_up(
    robot: str, steps: int, robot_model: Callable[[str], Path]
) -> None:
    scene = physics.create_scene(robot, robot_model(robot))
    bad = first_warning(scene.model, random_controls(scene.model, steps))
    scene.raise_on_stop = True
    if bad is None:
        random_run(scene, steps)
        assert scene.last_stop is None
        assert scene.total_steps == steps
        return
    with pytest.raises(physics.SimulationStopped) as caught:
        random_run(scene, steps)
    assert bad - 20 <= caught.value.event.physics_step <= bad


@pytest.mark.parametrize("model", ["humanoid", "arm", "cart_with_double_pendulum"])
def test_our_own_models_under_random_controls_and_hard_resets_are_never_stopped(
    make_scene: Make, model: str
) -> None:
    scene = make_scene(model)
    scene.raise_on_stop = True
    rng = np.random.default_rng(1)
    kept = [scene.get_state()]
    for k in range(60):
        random_run(scene, int(rng.integers(1, 40)), seed=k)
        match rng.integers(0, 6):
            case 0:
                scene.reset()
            case 1:
                mujoco.mj_resetData(scene.model, scene.data)
            case 2:
                scene.reset(kept[int(rng.integers(len(kept)))])
            case 3:
                kept.append(scene.get_state())
            case 4:
                checkpoint = scene.checkpoint()
                random_run(scene, 5, seed=k)
                scene.restore(checkpoint)
            case 5:
                # What a teleport does to speeds is no explosion.
                scene.data.qvel[:] = rng.uniform(-5.0, 5.0, scene.model.nv)
    assert scene.last_stop is None


TRAINING = """
import hashlib, sys
import gymnasium
import numpy as np

env = gymnasium.make("InvertedDoublePendulum-v5")
rng = np.random.default_rng(0)
returns = []
for episode in range(50):
    observation, _ = env.reset(seed=episode)
    total, over = 0.0, False
    while not over:
        action = rng.uniform(-1, 1, env.action_space.shape).astype(np.float32)
        observation, reward, ended, truncated, _ = env.step(action)
        total += float(reward)
        over = ended or truncated
    returns.append(total)
import stroboscope.engine.debugger
stroboscope.engine.debugger.breakpoint("all episodes are over")
env.close()
print(len(returns), hashlib.sha256(np.array(returns).tobytes()).hexdigest())
"""


def test_a_training_loop_of_fifty_episodes_has_fifty_episodes_and_no_stop(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    pytest.importorskip("gymnasium")
    plain = subprocess.run(
        [sys.executable, "-c", TRAINING], capture_output=True, text=True, timeout=120, check=True
    )
    runner = [str(Path(sys.executable).with_name("stroboscope")), "run", "--wait", "60"]
    script = start_warm(textwrap.dedent(TRAINING), command=runner)
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        client.fast_forward()
        over = "all episodes are over"
        assert client.wait_until(lambda c: c.scenes()[0].hold_reason == over, 120.0), script.process

        def episodes_told() -> set[int]:
            history = client.history(scene.scene_id)
            return {segment.episode for segment in history.segments} if history else set()

        # News of the past comes ten times a second.
        assert client.wait_until(lambda _: max(episodes_told(), default=0) == 49, 60)
        episodes, history = episodes_told(), client.history(scene.scene_id)
        assert history is not None
        assert len(episodes) + history.older_segments == 50
        assert client.stop_rules(scene.scene_id).count == 0
        client.play()
        code, out, err = script.end()
    assert code == 0, err
    assert out == plain.stdout
    assert out.startswith("50 ")
