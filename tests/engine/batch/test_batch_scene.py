"""Batched scenes: each environment does, to the last bit, what a scene of its own does."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest

import stroboscope.engine as physics

pytest.importorskip("mujoco.batch")

FALLING = """
<mujoco>
  <option integrator="{integrator}"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="box" pos="0 0 .4"><freejoint/><geom type="box" size=".1 .15 .2"/>
      <body name="arm" pos=".1 0 0"><joint name="elbow" axis="0 1 0" damping=".2" stiffness="1"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></body>
    <body name="ball" pos="0 .05 .9"><freejoint/><geom size=".08"/></body>
  </worldbody>
  <actuator><position joint="elbow" kp="30" kv="1"/></actuator>
  <keyframe><key name="high" qpos="0 0 2 1 0 0 0 .5 0 0 3 1 0 0 0"/></keyframe>
</mujoco>
"""
SLEEPY = FALLING.replace(
    'integrator="{integrator}"/>', 'timestep=".002"><flag sleep="enable"/></option>'
)


def model_of(name: str, model_path: Callable[[str], Path]) -> mujoco.MjModel:
    if name in ("Euler", "RK4", "implicit", "implicitfast"):
        return mujoco.MjModel.from_xml_string(FALLING.format(integrator=name))
    return mujoco.MjModel.from_xml_path(str(model_path(name)))


def falling(n_envs: int = 4, **arguments: object) -> physics.BatchScene:
    return physics.create_scene(
        "fall", FALLING.format(integrator="Euler"), n_envs=n_envs, **arguments
    )


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", ["arm", "humanoid", "Euler", "RK4", "implicit", "implicitfast"])
def test_every_environment_is_bit_for_bit_a_scene_of_its_own(
    name: str, threads: int, model_path: Callable[[str], Path]
) -> None:
    physics.initialize(num_worker_threads=threads)
    model = model_of(name, model_path)
    n_envs, steps = 5, 150
    scene = physics.create_scene("many", model, n_envs=n_envs)
    singles = [physics.create_scene(f"one {i}", model) for i in range(n_envs)]
    random = np.random.default_rng(3)
    start = scene.qvel + random.normal(size=scene.qvel.shape)
    scene.qvel[:] = start
    for i, single in enumerate(singles):
        single.data.qvel[:] = start[i]
    for step in range(steps):
        control = random.uniform(-1, 1, (n_envs, model.nu))
        scene.ctrl[:] = control
        scene.step(nstep=1 + step % 3)
        for i, single in enumerate(singles):
            single.ctrl[:] = control[i]
            single.step(nstep=1 + step % 3)
    states = scene.get_state()
    for i, single in enumerate(singles):
        state = single.get_state()
        for field in state.fields:
            mine = getattr(states, field)[i]
            assert mine.tobytes() == getattr(state, field).tobytes(), (i, field)
        assert states.time[i] == state.time
        assert states.step_count[i] == state.step_count
        assert states.physics_step_count[i] == state.physics_step_count


def test_arrays_have_a_leading_dimension_even_for_one_environment() -> None:
    scene = falling(1)
    assert scene.qpos.shape == (1, 15)
    assert scene.qvel.shape == (1, 13)
    assert scene.ctrl.shape == (1, 1)
    assert scene.time.shape == scene.step_count.shape == (1,)
    assert scene.n_envs == 1
    scene.qpos[0, 2] = 1.5
    scene.step()
    assert scene.qpos[0, 2] < 1.5
    with pytest.raises(physics.EngineError, match="1 environments and no single MjData"):
        _ = scene.data


@pytest.mark.parametrize("wrong", [0, -3])
def test_a_number_of_environments_that_is_none_is_refused(wrong: int) -> None:
    with pytest.raises(ValueError, match="n_envs must be 1 or more"):
        falling(wrong)
    with pytest.raises(TypeError, match="n_envs must be a whole number, not True"):
        falling(True)
    with pytest.raises(TypeError, match=r"not 2\.0"):
        falling(2.0)  # type: ignore[arg-type]


def test_python_callbacks_are_refused_with_the_reason() -> None:
    scene = falling()
    model = mujoco.MjModel.from_xml_string(FALLING.format(integrator="Euler"))
    mujoco.set_mjcb_control(lambda model, data: None)
    try:
        with pytest.raises(physics.EngineError, match=r"mjcb_control.*can't call Python"):
            physics.create_scene("fall", model, n_envs=4)
        with pytest.raises(physics.EngineError, match="mjcb_control is a Python function"):
            scene.step()
    finally:
        mujoco.set_mjcb_control(None)
    scene.step()


def test_python_callbacks_are_refused_also_where_nothing_was_batched_before() -> None:
    script = f"""
import mujoco
import stroboscope.engine as physics

text = {FALLING.format(integrator="Euler")!r}
model = mujoco.MjModel.from_xml_string(text)
mujoco.set_mjcb_control(lambda model, data: None)
for each in (model, text):
    try:
        physics.create_scene("fall", each, n_envs=2)
    except physics.EngineError as error:
        assert "(mjcb_control)" in str(error), error
    else:
        raise SystemExit("it was made")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_mujoco_without_batch_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco.batch", None)
    with pytest.raises(
        physics.MujocoUnavailableError, match=r"batch, which MuJoCo .* does not have"
    ):
        falling()


def test_environments_may_have_model_fields_of_their_own() -> None:
    scene = falling(3)
    scene.expand("opt.gravity")[1] = 0.0
    scene.expand("actuator_gainprm")[2, 0, 0] = 0.0
    single = physics.create_scene("one", FALLING.format(integrator="Euler"))
    single.model.opt.gravity[:] = 0.0
    scene.ctrl[:] = 0.3
    single.ctrl[:] = 0.3
    for _ in range(40):
        scene.step()
        single.step()
    assert scene.qpos[1].tobytes() == single.data.qpos.tobytes()
    assert scene.qpos[0, 2] < 0.4 - 0.01
    assert scene.get_model(1).opt.gravity[2] == 0.0
    assert scene.get_model(0).opt.gravity[2] == -9.81
    assert not np.array_equal(scene.qpos[0], scene.qpos[2])


@pytest.mark.parametrize(
    "chosen", [1, [1, 3], slice(1, 4, 2), np.array([False, True, False, True])]
)
def test_a_partial_reset_leaves_the_others_bit_unchanged(chosen: object) -> None:
    scene = falling(4)
    for _ in range(20):
        scene.step()
    before = scene.environments.state.copy()
    scene.reset(envs_idx=chosen)
    numbers = np.atleast_1d(np.arange(4)[chosen])  # type: ignore[index]
    for env in range(4):
        if env in numbers:
            assert scene.time[env] == 0.0
            assert scene.step_count[env] == 0
            fresh = mujoco.MjData(scene.model)
            assert scene.qpos[env].tobytes() == fresh.qpos.tobytes()
        else:
            assert scene.environments.state[env].tobytes() == before[env].tobytes()
            assert scene.step_count[env] == 20


def test_reset_takes_states_keyframes_and_an_initial_state() -> None:
    scene = falling(3)
    scene.reset(keyframe="high", envs_idx=[2])
    assert scene.qpos[2, 2] == 2.0
    assert scene.qpos[0, 2] == 0.4
    for _ in range(5):
        scene.step()
    state = scene.get_state()
    for _ in range(5):
        scene.step()
    scene.reset(state, envs_idx=[0])
    assert scene.qpos[0].tobytes() == state.qpos[0].tobytes()
    assert (scene.step_count == [5, 10, 10]).all()
    scene.reset(state, zero_time=True)
    assert (scene.time == 0.0).all()
    assert (scene.step_count == 0).all()
    state.qpos[:, 0] = (7.0, 8.0, 9.0)
    scene.reset(state, as_initial=True)
    scene.step()
    scene.reset(envs_idx=1)
    assert scene.qpos[1, 0] == 8.0
    single = physics.create_scene("one", FALLING.format(integrator="Euler"))
    single.data.qpos[2] = 3.0
    scene.reset(single.get_state(), envs_idx=[0, 2])
    assert scene.qpos[:, 2].tolist() == [3.0, state.qpos[1, 2], 3.0]
    with pytest.raises(physics.StateMismatchError, match="of 3 environments, this scene is one"):
        single.reset(state)
    with pytest.raises(ValueError, match="keyframes and none called 'low'"):
        scene.reset(keyframe="low")
    with pytest.raises(IndexError, match="no environment 3"):
        scene.reset(envs_idx=[3])


def test_a_refused_reset_changes_nothing() -> None:
    scene = falling(3)
    scene.step()
    before = scene.environments.state.copy()
    state = scene.get_state()
    state.qpos[1, 0] = np.nan
    with pytest.raises(physics.StateCorruptError, match="environment 1"):
        scene.reset(state)
    other = physics.create_scene("other", "<mujoco/>", n_envs=3)
    with pytest.raises(physics.StateMismatchError, match="another model"):
        scene.reset(other.get_state())
    assert scene.environments.state.tobytes() == before.tobytes()
    assert (scene.step_count == 1).all()


def run_on(scene: physics.BatchScene, steps: int) -> bytes:
    random = np.random.default_rng(9)
    for _ in range(steps):
        scene.ctrl[:] = random.uniform(-1, 1, scene.ctrl.shape)
        scene.step()
    return scene.environments.state.tobytes()


def test_checkpoints_restore_bit_for_bit_here_elsewhere_and_from_bytes() -> None:
    scene = falling(4)
    run_on(scene, 30)
    checkpoint = scene.checkpoint("before")
    assert checkpoint.exactness.is_exact
    assert checkpoint.name == "before"
    after = run_on(scene, 50)
    assert scene.restore(checkpoint).is_exact
    assert (scene.step_count == 30).all()
    assert run_on(scene, 50) == after
    twin = falling(4)
    for form in (
        checkpoint.to_bytes(),
        pickle.loads(pickle.dumps(checkpoint)),  # noqa: S301 - made here
        copy.copy(checkpoint),
    ):
        assert twin.restore(form).is_exact
        assert run_on(twin, 50) == after


def test_one_environment_goes_to_others_and_into_a_scene_of_one_world() -> None:
    scene = falling(4)
    scene.qvel[:] = np.random.default_rng(1).normal(size=scene.qvel.shape)
    run_on(scene, 20)
    part = scene.checkpoint(envs_idx=[2, 3])
    before = scene.environments.state.copy()
    scene.restore(part, envs_idx=[0, 1])
    assert scene.environments.state[0].tobytes() == before[2].tobytes()
    assert scene.environments.state[1].tobytes() == before[3].tobytes()
    assert scene.environments.state[2:].tobytes() == before[2:].tobytes()
    single = physics.create_scene("one", FALLING.format(integrator="Euler"))
    single.restore(part.env(3))
    assert single.data.qpos.tobytes() == before[3, 1:16].tobytes()
    assert single.step_count == 20
    single.step()
    scene.restore(single.checkpoint(), envs_idx=1)
    assert scene.qpos[1].tobytes() == single.data.qpos.tobytes()
    assert scene.step_count.tolist() == [20, 21, 20, 20]
    with pytest.raises(KeyError, match="environment 0 is none"):
        part.env(0)
    with pytest.raises(physics.StateMismatchError, match="does not hold environment 0"):
        scene.restore(part, envs_idx=[0, 2, 3])
    damaged = bytearray(part.to_bytes())
    damaged[100] ^= 1
    with pytest.raises(physics.StateCorruptError, match="checksum"):
        scene.restore(bytes(damaged))
    with pytest.raises(physics.StateMismatchError, match="another model"):
        physics.create_scene("other", "<mujoco/>", n_envs=4).restore(part)


def test_model_fields_of_environments_travel_with_their_checkpoint() -> None:
    scene = falling(3)
    scene.expand("opt.gravity")[1] = (0, 0, -1)
    checkpoint = scene.checkpoint("moon")
    assert scene.restore(checkpoint).is_exact
    scene.expand("opt.gravity")[1] = (0, 0, -5)
    assert "opt.gravity has other values now" in str(scene.restore(checkpoint))
    assert scene.restore(checkpoint, with_model=True).is_exact
    assert scene.expand("opt.gravity")[1].tolist() == [0, 0, -1]


def test_a_fork_copies_state_counters_and_fields_and_continues_alike() -> None:
    scene = falling(4)
    scene.qvel[:] = np.random.default_rng(2).normal(size=scene.qvel.shape)
    scene.expand("opt.gravity")[3] = (0, 0, -2)
    run_on(scene, 10)
    untouched = scene.environments.state[0].copy()
    assert scene.fork(3, [1, 2]).is_exact
    assert scene.environments.state[0].tobytes() == untouched.tobytes()
    for _ in range(30):
        scene.step()
    assert scene.environments.state[1].tobytes() == scene.environments.state[3].tobytes()
    assert scene.environments.state[2].tobytes() == scene.environments.state[3].tobytes()


def test_sleeping_environments_step_exactly_and_fork_approximately() -> None:
    scene = physics.create_scene("sleepy", SLEEPY, n_envs=3)
    single = physics.create_scene("one", SLEEPY)
    for _ in range(400):
        scene.step()
        single.step()
    assert scene.qpos[2].tobytes() == single.data.qpos.tobytes()
    assert "what slept wakes up" in str(scene.fork(0, [1]))
    assert not scene.checkpoint().exactness.is_exact
    scene.step()


def test_what_sleeps_elsewhere_is_not_touched_by_a_fork_a_reset_or_a_restore() -> None:
    scene, free = (physics.create_scene(name, SLEEPY, n_envs=6) for name in ("seen", "free"))
    for each in (scene, free):
        each.qpos[:, 1] = 0.2 * np.arange(6)
        for _ in range(900):
            each.step()
    # The ball rolls on or lies still; at least one tree sleeps in some environment.
    asleep = [scene.get_data(env).nbody_awake for env in range(6)]
    assert min(asleep) < max(asleep) or min(asleep) < scene.model.nbody
    kept = scene.checkpoint("kept")
    assert "what slept wakes up" in str(kept.exactness)
    scene.select_environment(5)
    for act in (
        lambda: scene.fork(0, [1]),
        lambda: scene.reset(envs_idx=2),
        lambda: scene.restore(kept, envs_idx=[3]),
    ):
        act()
        for _ in range(50):
            scene.step()
            free.step()
        for env in (0, 4, 5):
            assert scene.qpos[env].tobytes() == free.qpos[env].tobytes()
            mine, theirs = scene.get_data(env), free.get_data(env)
            assert mine.nbody_awake == theirs.nbody_awake


def test_other_threads_and_destroyed_scenes_are_refused() -> None:
    import threading

    scene = falling()
    errors: list[BaseException] = []

    def use() -> None:
        try:
            scene.step()
        except physics.EngineError as error:
            errors.append(error)

    thread = threading.Thread(target=use, name="other")
    thread.start()
    thread.join()
    assert isinstance(errors[0], physics.OwnerThreadError)
    scene.destroy()
    with pytest.raises(physics.SceneDestroyedError):
        scene.step()


def test_a_forked_child_is_told_that_the_threads_are_gone_and_ends() -> None:
    script = f"""if True:
        import os, sys
        import stroboscope.engine as physics
        physics.initialize(num_worker_threads=2)
        scene = physics.create_scene("fall", {FALLING.format(integrator="Euler")!r}, n_envs=8)
        scene.step()
        child = os.fork()
        if not child:
            try:
                scene.step()
            except physics.SceneDestroyedError as error:
                assert "native threads did not survive a fork" in str(error)
                del scene
                sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        scene.step()
    """
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_choosing_no_environment_changes_nothing() -> None:
    scene = falling(3)
    scene.step()
    before = scene.environments.state.copy()
    scene.reset(envs_idx=[])
    scene.reset(envs_idx=np.zeros(3, dtype=bool))
    scene.reset(scene.get_state(), envs_idx=[])
    assert scene.fork(1, []).is_exact
    assert scene.fork(1, [1]).is_exact
    assert scene.environments.state.tobytes() == before.tobytes()
    with pytest.raises(ValueError, match="chooses no environment"):
        scene.checkpoint(envs_idx=[])


def test_an_environment_is_where_candidates_begin() -> None:
    scene = falling(3)
    run_on(scene, 20)
    checkpoint = scene.checkpoint()
    ctrl = np.random.default_rng(4).uniform(-1, 1, (5, 10, 1))
    rollouts = physics.rollout(checkpoint.env(2), ctrl)
    scene.restore(checkpoint)
    for step in range(10):
        scene.ctrl[2] = ctrl[3, step]
        scene.step()
    assert rollouts.qpos[3, -1].tobytes() == scene.qpos[2].tobytes()


def test_a_step_that_mujoco_fails_on_names_the_environments() -> None:
    model = mujoco.MjModel.from_xml_string("""
      <mujoco><size memory="28K"/><worldbody><geom type="plane" size="5 5 .1"/>
        <body pos="0 0 5"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
        <body pos="1 0 5"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
        <body pos="2 0 5"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
      </worldbody></mujoco>""")
    scene = physics.create_scene("small", model, n_envs=3)
    scene.step()
    scene.qpos[1, [2, 9, 16]] = 0.05
    before = scene.environments.state[1].copy()
    with pytest.raises(physics.StepFailedError, match=r"in 1 of its 3 environments \(1\)"):
        scene.step()
    assert scene.environments.state[1].tobytes() == before.tobytes()
    assert scene.time.tolist() == [0.004, 0.002, 0.004]
    assert scene.physics_step_count.tolist() == [2, 1, 2]
    scene.reset(envs_idx=1)
    scene.step()
