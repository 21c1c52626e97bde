"""Whole scripts that don't know us, driven by a client through ``stroboscope run``.

Each ends in the state that it reaches bare, to the last bit.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from samples import few

CASES = Path(__file__).resolve().parent.parent / "cases"
RUN = [str(Path(sys.executable).with_name("stroboscope")), "run"]
WAIT = [*RUN, "--wait", "60"]
DEADLINE_S = 90.0

# A plain PD-free loop, as people write it (case R7).
CART = """
import sys
import mujoco
import numpy as np

model = mujoco.MjModel.from_xml_path(sys.argv[1])
data = mujoco.MjData(model)
for k in range(500):
    data.ctrl[0] = 2.0 * np.sin(2 * np.pi * 0.5 * k * model.opt.timestep)
    mujoco.mj_step(model, data)
print(data.time, *data.qpos)
"""

# Two models in two threads (case R10).
TWO = """
import sys
import threading
import mujoco
import numpy as np

def run(path, steps, control, out):
    model = mujoco.MjModel.from_xml_path(path)
    data = mujoco.MjData(model)
    for k in range(steps):
        data.ctrl[:] = control(k * model.opt.timestep)
        mujoco.mj_step(model, data)
    out[path] = (data.time, *data.qpos.tolist())

out = {}
work = (
    (sys.argv[1], 1000, lambda t: [0.8 * np.sin(2 * np.pi * t)]),
    (sys.argv[2], 500, lambda t: [1.5 * np.sin(2 * np.pi * 0.7 * t), -1.0]),
)
threads = [threading.Thread(target=run, args=(*each, out)) for each in work]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for path in sys.argv[1:]:
    print(*out[path])
"""

HUMANOID = """
import gymnasium
import numpy as np

env = gymnasium.make("Humanoid-v5")
env.reset(seed=3)
random = np.random.default_rng(3)
for k in range(60):
    action = random.uniform(-0.4, 0.4, env.action_space.shape)
    _, _, terminated, _, _ = env.step(action)
    if terminated:
        env.reset()
print(env.unwrapped.data.time, env.unwrapped.data.qpos.tobytes().hex())
env.close()
"""

WATCHED = """
import sys
import gymnasium
import numpy as np
import stroboscope.engine as physics

env = gymnasium.make("HalfCheetah-v5")
env.reset(seed=1)
scene = physics.debugger.watch(env, name="cheetah")
if "attach" in sys.argv and not physics.debugger.attach(60.0, launch=False):
    sys.exit("nobody came")
for k in range(40):
    _, reward, *_ = env.step(np.full(6, np.sin(0.3 * k)))
    scene.log("reward", float(reward))
    if k == 20:
        env.reset()
data = env.unwrapped.data
print(data.time, data.qpos.tobytes().hex(), scene.total_steps, scene.step_count)
env.close()
"""

VECTOR = """
import gymnasium
import numpy as np

def make():
    import gymnasium
    return gymnasium.make("InvertedPendulum-v5")

if __name__ == "__main__":
    one = make()
    one.reset(seed=0)
    one.step(np.array([0.1]))       # the parent steps first: that is what attaches
    env = gymnasium.vector.AsyncVectorEnv([make] * 2, context=CONTEXT)
    env.reset(seed=1)
    for k in range(50):
        observation, *_ = env.step(np.full((2, 1), 0.1 * np.sin(k)))
    print(observation.tobytes().hex())
    env.close()
    one.close()
"""

DM_CONTROL = """
import numpy as np
from dm_control import suite

env = suite.load("walker", "walk", task_kwargs={"random": 0})
env.reset()
random = np.random.default_rng(0)
for k in range(100):
    env.step(random.uniform(-1, 1, env.action_spec().shape))
print(env.physics.data.time, env.physics.data.qpos.tobytes().hex())
"""


def bare(source: str, *args: str, python: str = sys.executable) -> str:
    done = subprocess.run(
        [python, "-c", source, *args],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers(line: str) -> list[float]:
    return [float(word) for word in line.split()]


def test_a_plain_loop_is_paused_stepped_and_resumed(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    path = str(CASES / "R7" / "model.xml")
    script = start_warm(CART, path, command=WAIT)
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        assert scene.name == "cart_and_pole"
        client.run_until(scene.scene_id, step_count=100)
        assert client.scenes()[0].time == pytest.approx(0.2, abs=1e-9)
        client.step(scene.scene_id)
        assert client.scenes()[0].time == pytest.approx(0.202, abs=1e-9)
        client.fast_forward()
        code, out, err = script.end()
    assert code == 0, err
    assert out == bare(CART, path)
    assert numbers(out) == pytest.approx([1.0, 0.4706118542, 0.05141633629], abs=1e-6)


def test_a_joint_that_is_edited_while_paused_stays_where_it_was_put(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(CART, str(CASES / "R7" / "model.xml"), command=WAIT)
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        client.run_until(scene.scene_id, step_count=100)
        client.edit_state(scene.scene_id, "qpos", 1, [0.7])
        client.play()
        code, out, err = script.end()
    assert code == 0, err
    assert numbers(out) == pytest.approx([1.0, 0.4487655137, -0.09162057443], abs=1e-6)


def test_a_plain_loop_goes_back_to_its_initial_state(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(CART, str(CASES / "R7" / "model.xml"), command=WAIT)
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        client.step(scene.scene_id, 50)
        client.restore_initial(scene.scene_id)
        (restored,) = client.scenes()
        assert (restored.time, restored.step_count, restored.total_steps) == (0.0, 0, 50)
        client.fast_forward()
        code, out, err = script.end()
    assert code == 0, err
    assert numbers(out)[0] == pytest.approx(0.9, abs=1e-9)  # the script still counts to 500


def test_two_models_in_two_threads_are_two_scenes(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    paths = [str(CASES / "R10" / name) for name in ("model.xml", "model_b.xml")]
    script = start_warm(TWO, *paths, command=WAIT)
    with script.connect() as client:
        assert wait_parked(client, 2)
        by_name = {scene.name: scene.scene_id for scene in client.scenes()}
        assert set(by_name) == {"pendulum_scene", "slider_scene"}
        client.step(by_name["slider_scene"], 3)
        times = {scene.name: scene.time for scene in client.scenes()}
        assert times["pendulum_scene"] == 0.0
        assert times["slider_scene"] == pytest.approx(0.012)
        client.fast_forward()
        code, out, err = script.end()
    assert code == 0, err
    assert out == bare(TWO, *paths)
    first, second = out.splitlines()
    assert numbers(first) == pytest.approx([2.0, -0.4655731869], abs=1e-6)
    assert numbers(second) == pytest.approx([2.0, 0.09131476928, -0.02737863003], abs=1e-6)


def test_gymnasium_humanoid_is_stepped_env_step_by_env_step(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    pytest.importorskip("gymnasium")
    script = start_warm(HUMANOID, command=WAIT)
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        client.step(scene.scene_id, 2)
        (after,) = client.scenes()
        assert (after.step_count, after.physics_step_count) == (2, 10)
        assert after.time == pytest.approx(0.03)
        client.physics_step(scene.scene_id, 3)
        assert client.scenes()[0].physics_step_count == 13
        client.fast_forward()
        code, out, err = script.end()
    assert code == 0, err
    assert out == bare(HUMANOID)


def test_one_environment_is_watched_and_logged_to(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    pytest.importorskip("gymnasium")
    script = start_warm(WATCHED, "attach")
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        assert scene.name == "cheetah"
        client.subscribe(scene.scene_id, ["signals"], ["reward"])
        client.step(scene.scene_id, 3)
        frame = client.next_frame(60)
        assert frame is not None
        assert frame.arrays["reward"].shape[1] == 1
        client.fast_forward()
        code, out, err = script.end()
    assert code == 0, err
    assert out.split()[:2] == bare(WATCHED).split()[:2]
    assert out.split()[2:] == ["40", "19"]


@pytest.mark.parametrize("context", few(["fork", "spawn"], 1))
def test_gymnasium_s_worker_processes_run_undisturbed(
    context: str, start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    pytest.importorskip("gymnasium")
    source = VECTOR.replace("CONTEXT", repr(context))
    script = start_warm(source, command=WAIT)
    with script.connect() as client:
        assert wait_parked(client)
        client.step(client.scenes()[0].scene_id)
        code, out, err = script.end()  # paused, and the workers step on
    assert code == 0, err
    plain = start_warm(source)
    assert plain.end()[:2] == (0, out)


def test_dm_control_is_stepped_with_its_own_mujoco(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    python = os.environ.get("STROBOSCOPE_TEST_DM_CONTROL_PYTHON")
    if not python:
        pytest.skip(
            "dm_control needs MuJoCo 3 in an environment of its own: let "
            "STROBOSCOPE_TEST_DM_CONTROL_PYTHON name a Python with dm_control and stroboscope"
        )
    command = [python, "-m", "stroboscope.engine", "run", "--wait", "60"]
    script = start_warm(DM_CONTROL, command=command)
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        assert scene.time == 0.0
        client.physics_step(scene.scene_id, 10)
        assert client.scenes()[0].time == pytest.approx(0.025)
        assert client.scenes()[0].step_count == 1
        client.step(scene.scene_id)
        assert client.scenes()[0].time == pytest.approx(0.05)
        client.fast_forward()
        code, out, err = script.end()
    assert code == 0, err
    assert out == bare(DM_CONTROL, python=python)
