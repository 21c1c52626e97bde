"""Conditions of batched scenes: looked at in every environment, and the stop says in which."""

import math

import mujoco
import numpy as np
import pytest
from samples import few

import stroboscope.engine as physics
from stroboscope.debugger_protocol.time_messages import StopReason

pytest.importorskip("mujoco.batch")

MODEL = """
<mujoco>
  <option timestep="0.002" integrator="{integrator}"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1"/>
    <body name="box" pos="0 0 .4"><freejoint name="float"/>
      <geom name="cube" type="box" size=".1 .15 .2"/>
      <body name="flap" pos=".1 0 0">
        <joint name="elbow" axis="0 1 0" damping=".2" range="-1 1" limited="true"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></body>
  </worldbody>
  <actuator><motor name="elbow" joint="elbow" ctrlrange="-1 1"/></actuator>
  <sensor><jointvel name="spin" joint="elbow"/></sensor>
</mujoco>
"""
COUNT, NQ, STEPS = 7, 8, 150
EXPRESSIONS = (
    "time > 0.1", "qpos['elbow'] < -0.05", "abs(qvel['elbow']) > 2", "sensor['spin'] > 1",
    "xpos['box'][2] < 0.35", "norm(qacc) > 30", "joint.margin < 0.5", "ctrl[0] > 0.9",
    "change(qpos['elbow']) > 0.001", "first(qpos['float'])[2] - qpos['float'][2] > 0.02",
    "previous(qvel['elbow']) > 1 and qvel['elbow'] < 1", "qfrc_constraint[2] > 5",
)  # fmt: skip
COMPUTED = (
    "contact.count > 0", "contact['cube','floor'].normal > 40", "energy.kinetic > 3",
    "norm(momentum) > 2", "max(contact.penetration) > 0.0005",
)  # fmt: skip


def herd(n_envs: int = COUNT, integrator: str = "Euler") -> physics.BatchScene:
    scene = physics.create_scene("herd", MODEL.format(integrator=integrator), n_envs=n_envs)
    scene.qvel[:, 6] = np.linspace(-6, 6, n_envs)
    scene.qpos[:, 2] += np.linspace(-0.15, 0.5, n_envs)
    return scene


def steps_until(scene: physics.BatchScene, *, most: int = 500) -> int:
    """Step until something is raised, `most` times at most; return how often."""
    return next(step for step in range(1, most) if scene.step() is not None)


def drive(scene: physics.Scene | physics.BatchScene, step: int, env: np.ndarray | int) -> None:
    scene.ctrl[..., 0] = np.sin(0.05 * step + env)


def stops_of_single_scenes(expression: str, integrator: str) -> dict[int, list[tuple[int, str]]]:
    """In which physics steps a condition becomes true in scenes of one world, and what is said."""
    found: dict[int, list[tuple[int, str]]] = {}
    start = herd(integrator=integrator)
    for env in range(COUNT):
        scene = physics.create_scene("one", MODEL.format(integrator=integrator))
        scene.restore(start.checkpoint().env(env))
        scene.on_stop(
            lambda s, env=env: found.setdefault(env, []).append(
                (s.last_stop.physics_step, s.last_stop.message)
            )
        )
        scene.break_when(expression)
        for step in range(STEPS):
            drive(scene, step, env)
            scene.step()
        scene.destroy()
    start.destroy()
    return found


@pytest.mark.parametrize("integrator", few(["Euler", "RK4"], 1))
@pytest.mark.parametrize("expression", [*EXPRESSIONS, *COMPUTED])
def test_it_comes_true_where_and_when_it_would_in_a_scene_of_its_own(
    expression: str, integrator: str
) -> None:
    expected = stops_of_single_scenes(expression, integrator)
    assert expected, "a condition that never comes true tests nothing"
    scene = herd(integrator=integrator)
    found: dict[int, list[tuple[int, str]]] = {}
    for env in range(COUNT):
        # One each, so that those of the same step are told one by one.
        scene.break_when(expression, envs_idx=env)

    def note(stopped: physics.BatchScene) -> None:
        stop = stopped.last_stop
        assert stop.reason is StopReason.CONDITION
        message = stop.message.removeprefix(f"environment {stop.env}: ")
        found.setdefault(stop.env, []).append((stop.physics_step, message))

    scene.on_stop(note)
    for step in range(STEPS):
        drive(scene, step, np.arange(COUNT))
        scene.step()
    assert {env: [at for at, _ in each] for env, each in found.items()} == {
        env: [at for at, _ in each] for env, each in expected.items()
    }
    assert found == expected


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_without_naming_any_it_is_looked_at_in_every_environment(expression: str) -> None:
    expected = stops_of_single_scenes(expression, "Euler")
    scene = herd()
    condition = scene.break_when(expression, log_only=True)
    assert condition.info.where == "in every environment"
    scene.keep_history()
    for step in range(STEPS):
        drive(scene, step, np.arange(COUNT))
        scene.step()
    assert condition.hit_count == sum(map(len, expected.values()))


def test_what_needs_the_data_of_a_step_is_looked_at_in_the_selected_environment() -> None:
    scene = herd()
    scene.raise_on_stop = True
    condition = scene.break_when("contact.count > 0")
    assert condition.info.where == "in the environment that is looked at"
    scene.select_environment(1)
    with pytest.raises(physics.SimulationStopped, match="environment 1: ") as stopped:
        steps_until(scene)
    assert stopped.value.event.env == 1
    assert condition.hit_count == 1
    scene.select_environment(2)  # lands later
    with pytest.raises(physics.SimulationStopped, match="environment 2: "):
        steps_until(scene)


def test_a_stop_takes_nothing_back_and_names_the_others_of_the_same_step() -> None:
    scene, free = herd(20), herd(20)
    scene.raise_on_stop = True
    scene.break_when("qpos['elbow'] > 0.05", once=True, name="bent")
    with pytest.raises(physics.SimulationStopped, match="the step is complete") as stopped:
        steps_until(scene)
    steps = scene.total_steps
    for _ in range(steps):
        free.step()
    assert scene.environments.state.tobytes() == free.environments.state.tobytes()
    assert scene.physics_step_count.tolist() == [steps] * 20
    event = stopped.value.event
    assert event.env == np.flatnonzero(scene.qpos[:, 7] > 0.04)[0] or event.env > 0
    assert scene.failed_environments == ()  # it is what somebody asked for
    assert scene.conditions == ()
    scene.step()

    same = herd(20)
    same.qvel[:], same.qpos[:] = same.qvel[3], same.qpos[3]
    same.raise_on_stop = True
    same.break_when("time > 0.009", envs_idx=range(2, 20))
    with pytest.raises(physics.SimulationStopped) as stopped:
        steps_until(same)
    message = stopped.value.event.message
    assert message.startswith("environment 2: ")
    assert message.endswith("so it did in environments 3, 4, 5, 6, 7, 8, 9, 10 and 9 more")


def test_hits_count_in_all_environments_together_and_once_removes_it() -> None:
    scene = herd(4)
    scene.raise_on_stop = True
    condition = scene.break_when("time > 0.005", hits=3, once=True)
    scene.expand("opt.timestep")[:] = np.array([0.001, 0.002, 0.003, 0.004]).reshape(
        scene.expand("opt.timestep").shape
    )
    # It becomes true in steps 7, 4, 3 and 3 of them: the third time is in environment 1.
    scene.step()
    scene.step()
    assert condition.hit_count == 0
    scene.step()
    assert condition.hit_count == 2
    with pytest.raises(physics.SimulationStopped, match=r"environment 1: .* for the 3rd time"):
        scene.step()
    assert scene.conditions == ()
    for _ in range(5):
        scene.step()


def test_a_reset_of_some_begins_anew_in_them_alone() -> None:
    scene = herd(6)
    scene.keep_history()
    condition = scene.break_when("qpos['float'][2] > 0", log_only=True)
    fallen = scene.break_when("first(qpos['float'])[2] - qpos['float'][2] > 0.001", log_only=True)
    scene.step()
    assert condition.hit_count == 6
    for _ in range(30):
        scene.step()
    assert condition.hit_count == 6
    before = fallen.hit_count
    assert before == 6
    scene.reset(envs_idx=[1, 4])
    scene.step()
    assert condition.hit_count == 8
    assert fallen.hit_count == before
    scene.fork(0, [5])
    scene.step()
    assert condition.hit_count == 9
    for _ in range(30):
        scene.step()
    assert fallen.hit_count == before + 3


def test_an_environment_whose_step_is_taken_back_is_not_looked_at() -> None:
    scene = herd(3)
    scene.raise_on_stop = True
    condition = scene.break_when("time > -1", log_only=True)
    scene.qvel[1, 6] = math.nan
    with pytest.raises(physics.SimulationStopped, match="environment 1"):
        scene.step()
    assert condition.hit_count == 0  # the script is told of the failure first
    scene.reset(envs_idx=1)
    scene.step()
    assert condition.hit_count == 3


def test_what_is_no_number_is_not_true_in_that_environment() -> None:
    scene = herd(5)
    scene.keep_history()
    condition = scene.break_when("1 / ctrl[0] > 0", log_only=True)
    scene.ctrl[:, 0] = (0.0, 0.5, -0.5, 0.0, 1.0)
    scene.step()
    assert condition.hit_count == 2


def test_it_can_be_switched_off_changed_and_removed() -> None:
    scene = herd(3)
    scene.keep_history()
    condition = scene.break_when("time > -1", log_only=True)
    condition.enabled = False
    scene.step()
    assert condition.hit_count == 0
    condition.enabled = True
    scene.step()
    assert condition.hit_count == 3
    assert [each.expression for each in scene.conditions] == ["time > -1"]
    condition.remove()
    assert scene.conditions == ()
    scene.step()


def test_wrong_conditions_are_refused_with_their_place_and_change_nothing() -> None:
    scene = herd(100)
    with pytest.raises(physics.ConditionError, match="did you mean 'elbow'"):
        scene.break_when("qpos['elbw'] > 1")
    with pytest.raises(physics.ConditionError, match="one number"):
        scene.break_when("qvel")
    with pytest.raises(ValueError, match="hits must be"):
        scene.break_when("time > 1", hits=0)
    with pytest.raises(IndexError, match="no environment 100"):
        scene.break_when("time > 1", envs_idx=[3, 100])
    with pytest.raises(ValueError, match="chooses no environment"):
        scene.break_when("time > 1", envs_idx=[])
    with pytest.raises(physics.ConditionError, match="name 64 at most, not 100"):
        scene.break_when("contact.count > 1", envs_idx=range(100))
    assert scene.conditions == ()
    assert scene.break_when("time > 1", envs_idx=range(100)).info.where.endswith("and 92 more")


@pytest.mark.parametrize("selected", [0, 1])
def test_limits_are_those_that_each_environment_has_of_its_own(selected: int) -> None:
    """Whichever is selected, and though the model's joint has no limit in another one."""
    scene = herd(3)
    scene.select_environment(selected)
    scene.keep_history()
    scene.qpos[:, 7] = scene.qvel[:, 6] = 0.0
    limited, ranges = scene.expand("jnt_limited"), scene.expand("jnt_range")
    limited[:, 1] = (0, 1, 1)
    ranges[:, 1] = (-0.01, 0.01)
    ranges[2, 1] = (-1.0, 1.0)
    scene.step()
    any_limit = scene.break_when("min(joint.margin) < 0", log_only=True)
    named = scene.break_when("joint.margin['elbow'] < -0.001", envs_idx=[0, 1], log_only=True)
    scene.qpos[:, 7] = 0.02
    scene.step()
    assert (any_limit.hit_count, named.hit_count) == (1, 1)


def test_conditions_change_no_bit_of_any_environment() -> None:
    scene = herd()
    scene.keep_history()
    for each in EXPRESSIONS:
        scene.break_when(each, log_only=True)
    for each in COMPUTED:
        scene.break_when(each, log_only=True, envs_idx=[0, 3, 5])
    model = mujoco.MjModel.from_xml_string(MODEL.format(integrator="Euler"))
    full = mujoco.mjtState.mjSTATE_INTEGRATION
    datas = [mujoco.MjData(model) for _ in range(COUNT)]
    for env, data in enumerate(datas):
        mujoco.mj_setState(model, data, scene.environments.state[env], full)
    for step in range(60):
        drive(scene, step, np.arange(COUNT))
        scene.step(nstep=1 + step % 2)
        for env, data in enumerate(datas):
            data.ctrl[0] = np.sin(0.05 * step + env)
            mujoco.mj_step(model, data, 1 + step % 2)
    row = np.empty(mujoco.mj_stateSize(model, full))
    for env, data in enumerate(datas):
        mujoco.mj_getState(model, data, row, full)
        assert scene.environments.state[env].tobytes() == row.tobytes()
