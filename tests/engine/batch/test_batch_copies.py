"""Batched scenes as values: script state in checkpoints, own model fields, pickled twins."""

import copy
import logging
import pickle
import subprocess
import sys
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics

pytest.importorskip("mujoco.batch")

MODEL = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body name="box" pos="0 0 .4"><freejoint/><geom type="box" size=".1 .15 .2"/>
      <body name="arm" pos=".1 0 0"><joint name="elbow" axis="0 1 0" damping=".2"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></body>
  </worldbody>
  <actuator><position joint="elbow" kp="30" kv="1" delay=".01" nsample="6"/></actuator>
</mujoco>
"""
SLEEPY = MODEL.replace('timestep="0.002"/>', 'timestep="0.002"><flag sleep="enable"/></option>')


def herd(n_envs: int = 4, model: str = MODEL) -> physics.BatchScene:
    scene = physics.create_scene("herd", model, n_envs=n_envs)
    scene.qvel[:] = np.random.default_rng(1).normal(size=scene.qvel.shape)
    return scene


class Controller:
    """An integrator per environment: what no row holds."""

    def __init__(self, scene: physics.BatchScene) -> None:
        self.scene = scene
        self.sum = np.zeros(scene.n_envs)
        self.end = scene.register_state("controller", self.get, self.set)

    def get(self) -> NDArray[np.float64]:
        return self.sum

    def set(self, value: NDArray[np.float64]) -> None:
        self.sum = np.array(value)

    def run(self, steps: int) -> bytes:
        for _ in range(steps):
            self.sum += self.scene.qpos[:, 7]
            self.scene.ctrl[:, 0] = -0.1 * self.sum
            self.scene.step()
        return bytes(self.scene.environments.state.tobytes())


# --- what the script keeps


def test_script_state_travels_with_checkpoints_of_all_environments() -> None:
    controller = Controller(herd())
    scene = controller.scene
    controller.run(20)
    kept, sums = scene.checkpoint("kept"), controller.sum.copy()
    after = controller.run(30)
    for form in (kept, kept.to_bytes(), pickle.loads(pickle.dumps(kept))):  # noqa: S301
        assert scene.restore(form).is_exact
        assert controller.sum.tobytes() == sums.tobytes()
        assert controller.run(30) == after
    twin = Controller(herd())
    assert twin.scene.restore(kept).is_exact
    assert twin.run(30) == after


def test_script_state_of_all_is_left_alone_where_some_go_back_and_that_is_said() -> None:
    controller = Controller(herd())
    scene = controller.scene
    controller.run(5)
    kept, part = scene.checkpoint("kept"), scene.checkpoint(envs_idx=[1])
    controller.run(5)
    sums = controller.sum.copy()
    for given, envs in ((kept, [0, 2]), (part, None), (kept.env(3), None), (kept.env(0), 1)):
        exactness = scene.restore(given, envs_idx=envs)
        assert "what the script itself keeps is of all environments" in str(exactness)
        assert controller.sum.tobytes() == sums.tobytes()
    single = physics.create_scene("one", MODEL)
    assert single.restore(kept.env(2)).is_exact  # holds no script state that it would miss
    controller.end()
    assert scene.restore(part).is_exact


def test_a_setter_that_raises_keeps_everything_as_it_was() -> None:
    controller = Controller(herd())
    scene = controller.scene
    controller.run(3)
    scene.expand("opt.gravity")[1] = 0.0
    kept = scene.checkpoint("kept")
    controller.run(3)
    scene.expand("opt.gravity")[1] = 5.0
    before = scene.environments.state.copy()
    controller.set = None  # type: ignore[assignment]

    def refuse(value: object) -> None:
        if not np.array_equal(value, controller.sum):
            raise RuntimeError("not today")

    controller.end()
    controller.end = scene.register_state("controller", controller.get, refuse)
    with pytest.raises(physics.StateError, match="not today"):
        scene.restore(kept, with_model=True)
    assert scene.environments.state.tobytes() == before.tobytes()
    assert scene.expand("opt.gravity")[1].tolist() == [5.0] * 3
    assert scene.step_count.tolist() == [6] * 4


def test_unregistered_and_later_registered_script_state_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    controller = Controller(herd())
    kept = controller.scene.checkpoint()
    plain = herd()
    with pytest.raises(physics.StateMismatchError, match=r"'controller'.*register_state first"):
        plain.restore(kept)
    without = plain.checkpoint()
    with caplog.at_level(logging.WARNING):
        controller.scene.restore(without)
    assert "says nothing about 'controller'" in caplog.text
    with pytest.raises(ValueError, match="has a script state 'controller' already"):
        Controller(controller.scene)


# --- what environments have of their own of the model


def test_fields_that_were_given_values_later_go_back_to_the_models_own() -> None:
    scene = herd()
    kept = scene.checkpoint("kept")
    scene.expand("opt.gravity")[2] = (0, 0, -1)
    assert "opt.gravity has other values now" in str(scene.restore(kept))
    assert "(in environment 2)" in str(scene.restore(kept))
    assert scene.restore(kept, envs_idx=[0, 1]).is_exact
    assert scene.restore(kept, with_model=True).is_exact
    assert scene.expand("opt.gravity").tolist() == [[0, 0, -9.81]] * 4
    assert scene.restore(kept).is_exact


def test_an_environments_own_fields_go_along_into_a_scene_of_one_world_and_back() -> None:
    scene = herd()
    scene.expand("body_mass")[1] *= 3.0
    scene.expand("opt.timestep")[1] = 0.001
    scene.expand("opt.iterations")[1] = 7
    scene.set_const(envs_idx=1)
    for _ in range(30):
        scene.step()
    kept = scene.checkpoint("kept")
    single = physics.create_scene("one", MODEL)
    with pytest.raises(physics.StateMismatchError, match=r"0.001.*with_model=True"):
        single.restore(kept.env(1))
    assert single.restore(kept.env(1), with_model=True).is_exact
    assert single.model.opt.iterations == 7
    single.step()
    scene.step()
    assert single.data.qpos.tobytes() == scene.qpos[1].tobytes()
    assert physics.create_scene("two", MODEL).restore(kept.env(0)).is_exact
    other = herd()
    assert other.restore(single.checkpoint("back"), envs_idx=3, with_model=True).is_exact
    other.step()
    single.step()
    assert single.data.qpos.tobytes() == other.qpos[3].tobytes()
    assert (
        other.expand("body_mass")[0].tobytes()
        == single.world.codec.fields.value("body_mass").tobytes()
    )
    with pytest.raises(physics.StateMismatchError, match=r"did not compare"):
        other.restore(single.checkpoint(), with_model=True)


def test_what_was_written_into_a_model_of_one_world_is_said() -> None:
    single = physics.create_scene("one", MODEL)
    single.model.body_mass[1] = 9.0
    kept = single.checkpoint("heavy")
    scene = herd()
    assert "body_mass has other values now" in str(scene.restore(kept, envs_idx=[1, 2]))
    assert scene.restore(kept, envs_idx=[1, 2], with_model=True).is_exact
    assert scene.expand("body_mass")[:, 1].tolist()[1:3] == [9.0, 9.0]
    single.model.stat.extent = 7.0
    before = scene.environments.state.copy()
    with pytest.raises(physics.StateMismatchError, match=r"stat\.extent.*without with_model"):
        scene.restore(single.checkpoint("more"), with_model=True)
    assert scene.environments.state.tobytes() == before.tobytes()


def damaged(kept: physics.BatchCheckpoint, **changes: Any) -> physics.BatchCheckpoint:
    made = copy.copy(kept)
    for name, value in changes.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    "changes",
    [
        {"rows": np.zeros((4, 5))},
        {"envs": np.array([0, 0, 1, 2])},
        {"envs": np.array([0, 1, 2, -1])},
        {"fields": {"opt.gravity": np.zeros((4, 7))}},
        {"fields": {"opt.gravity": np.zeros((3, 3))}},
        {"fields": {"nonsense": np.zeros((4, 3))}},
        {"step_counts": np.zeros(3, dtype=np.int64)},
        {"rows": np.full((4, 5), np.nan)},
    ],
)
def test_a_checkpoint_whose_parts_do_not_fit_changes_nothing(changes: dict[str, Any]) -> None:
    scene = herd()
    content = damaged(scene.checkpoint(), **changes).to_bytes()
    scene.step()
    before = scene.environments.state.copy()
    with pytest.raises(physics.StateError):
        scene.restore(content, with_model=True)
    assert scene.environments.state.tobytes() == before.tobytes()
    assert scene.step_count.tolist() == [1] * 4


def test_where_one_world_is_needed_a_checkpoint_of_several_is_named_as_such() -> None:
    scene, single = herd(), physics.create_scene("one", MODEL)
    kept = scene.checkpoint(envs_idx=[2, 3])
    before = single.data.qpos.copy()
    for given in (kept, kept.to_bytes()):
        with pytest.raises(physics.StateMismatchError, match=r"of 2 environments.*env\(2\)"):
            single.restore(given)
        with pytest.raises(physics.StateMismatchError, match="of 2 environments"):
            physics.rollout(given, np.zeros((2, 3, 1)))
    assert single.data.qpos.tobytes() == before.tobytes()


def test_more_environments_than_there_is_memory_for_are_refused_with_what_they_need() -> None:
    with pytest.raises(physics.EngineError, match=r"1,000,000,000 environments.* GiB at least"):
        herd(10**9)


def test_what_is_written_into_the_shared_model_has_no_effect_at_all() -> None:
    scene, free = herd(), herd()
    kept = free.checkpoint()
    scene.model.opt.timestep = 0.5
    scene.model.opt.gravity[:] = 0.0
    scene.keep_history()
    scene.raise_on_stop = True
    assert scene.checkpoint().first.timestep == 0.002
    assert scene.restore(kept).is_exact
    for _ in range(20):
        scene.step()
        free.step()
    assert scene.environments.state.tobytes() == free.environments.state.tobytes()
    assert scene.batch_history.timestep_at(1, 3) == 0.002
    twin = copy.deepcopy(scene)
    twin.step()
    free.step()
    assert twin.environments.state.tobytes() == free.environments.state.tobytes()


# --- twins


def marching_on(scene: physics.BatchScene) -> list[bytes]:
    """Step with controls that follow from the state; return all states."""
    states = []
    for step in range(60):
        scene.ctrl[:, 0] = np.sin(0.3 * step) - scene.qpos[:, 7]
        scene.step()
        if step == 40:
            scene.reset(envs_idx=[1])
        states.append(scene.environments.state.tobytes())
    return states


def varied() -> physics.BatchScene:
    scene = herd(5)
    scene.expand("opt.gravity")[1] = (0, 0, -2)
    scene.expand("body_mass")[3] *= 2.0
    scene.expand("opt.timestep")[4] = 0.001
    scene.set_const()
    for _ in range(25):
        scene.ctrl[:, 0] = 0.5
        scene.step()
    scene.reset(scene.get_state(), as_initial=True)
    scene.select_environment(3)
    return scene


IN_ANOTHER_PROCESS = """if True:
    import pickle, sys
    import numpy as np
    import stroboscope.engine as physics
    scene = pickle.load(sys.stdin.buffer)
    states = []
    for step in range(60):
        scene.ctrl[:, 0] = np.sin(0.3 * step) - scene.qpos[:, 7]
        scene.step()
        if step == 40:
            scene.reset(envs_idx=[1])
        states.append(scene.environments.state.tobytes())
    pickle.dump(states, sys.stdout.buffer)
    physics.shutdown()
"""


def test_a_pickled_scene_is_a_twin_to_the_last_bit_here_and_in_another_process() -> None:
    scene = varied()
    pickled = pickle.dumps(scene)
    copied = copy.deepcopy(scene)
    loaded = pickle.loads(pickled)  # noqa: S301
    counts = scene.step_count.tolist()
    for twin in (copied, loaded):
        assert twin.n_envs == 5
        assert twin.step_count.tolist() == counts
        assert twin.environments.state.tobytes() == scene.environments.state.tobytes()
        assert not np.shares_memory(twin.qpos, scene.qpos)
    expected = marching_on(scene)
    assert marching_on(copied) == expected
    assert marching_on(loaded) == expected
    other = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS], input=pickled, capture_output=True, check=True
    )
    assert pickle.loads(other.stdout) == expected  # noqa: S301


def test_script_state_waits_in_a_twin_until_it_is_registered() -> None:
    controller = Controller(herd())
    controller.run(10)
    twin = Controller(copy.deepcopy(controller.scene))
    assert twin.sum.tobytes() == controller.sum.tobytes()
    assert twin.run(30) == controller.run(30)


def test_a_built_scene_takes_the_copy_of_another_of_as_many_environments() -> None:
    scene = varied()
    state = scene.__getstate__()
    other = herd(5)
    other.expand("actuator_gainprm")[0] = 0.0
    other.__setstate__(state)
    assert marching_on(other) == marching_on(scene)
    with pytest.raises(physics.StateMismatchError, match=r"has 5 environments, .* has 4"):
        herd(4).__setstate__(state)
    with pytest.raises(physics.StateMismatchError):
        physics.create_scene("other", "<mujoco/>", n_envs=5).__setstate__(state)


def test_a_twin_of_sleeping_environments_says_that_they_wake_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = herd(2, SLEEPY)
    with caplog.at_level(logging.WARNING):
        twin = copy.deepcopy(scene)
    assert "continues only approximately: " in caplog.text
    assert "what slept wakes up" in caplog.text
    twin.step()


def test_a_destroyed_scene_and_another_thread_are_no_source_of_copies() -> None:
    scene = herd()
    scene.destroy()
    with pytest.raises(physics.SceneDestroyedError):
        copy.deepcopy(scene)


# --- history


def test_a_history_knows_the_timesteps_that_steps_were_taken_with() -> None:
    scene = herd(3)
    scene.keep_history()
    for _ in range(3):
        scene.step()
    scene.expand("opt.timestep")[1] = 0.001
    for _ in range(3):
        scene.step()
    scene.expand("opt.timestep")[1] = 0.004
    scene.step()
    history = scene.batch_history
    assert [history.timestep_at(1, axis) for axis in range(7)] == [0.002] * 3 + [0.001] * 3 + [
        0.004
    ]
    assert [history.timestep_at(2, axis) for axis in range(7)] == [0.002] * 7


def test_a_step_that_is_refused_leaves_the_history_as_it_was() -> None:
    scene = herd(3)
    scene.keep_history()
    rows = []
    for step in range(10):
        if step == 5:
            mujoco.set_mjcb_control(lambda model, data: None)
            try:
                with pytest.raises(physics.EngineError, match="mjcb_control"):
                    scene.step()
            finally:
                mujoco.set_mjcb_control(None)
        rows.append(scene.environments.state.copy())
        scene.step()
    history = scene.batch_history
    assert history.first == 0
    assert scene.total_steps == 10
    for axis in range(10):
        matrix = history.matrix(axis)
        assert matrix is not None
        assert matrix.tobytes() == rows[axis].tobytes()


@pytest.mark.parametrize(
    ("shown", "error"),
    [([9], IndexError), ([], ValueError), ([1, 1], ValueError), ([0.5], TypeError)],
)
def test_environments_to_be_shown_are_checked(shown: list[Any], error: type[Exception]) -> None:
    scene = herd(4)
    with pytest.raises(error):
        scene.select_environment(2, shown=shown)
    assert scene.selected_env == 0
    scene.select_environment(2, shown=np.array([True, False, True, False]))
    assert scene.selected.shown == (0, 2)
    with pytest.raises(ValueError, match="1 to 64 environments, not 70"):
        herd(70).select_environment(0, shown=range(70))


def test_the_debuggers_checkpoints_hold_what_the_script_keeps(flock: Any) -> None:
    client, batch = flock(MODEL, 4)
    sums = [0.0]

    def count(scene: physics.BatchScene) -> None:
        if scene.total_steps == 3:
            scene.register_state("sum", lambda: sums[0], lambda value: sums.__setitem__(0, value))
        sums[0] += 1.0

    batch.before = count
    client.step(batch.id, 10)
    kept = client.checkpoint(batch.id, "all of them")
    assert client.wait_until(lambda _: sums[0] == 10.0, 60)
    client.step(batch.id, 5)
    assert client.wait_until(lambda _: sums[0] == 15.0, 60)
    client.restore(batch.id, kept)
    assert sums[0] == 10.0
    client.goto(batch.id, axis=12)
    segment = client.continue_from_here(batch.id)
    assert "what the script itself keeps" in segment.text
    assert sums[0] == 10.0
    assert client.history(batch.id).script_state
