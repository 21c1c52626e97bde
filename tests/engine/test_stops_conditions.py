"""Conditions from code: when they are true, what they cost the run, and what is refused."""

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.expressions import READY_MADE, ParameterKind, ready_made
from stroboscope.debugger_protocol.time_messages import StopReason

Make = Callable[..., physics.Scene]

# A ball that bounces, a pendulum with a limit, a motor and a weld: something of everything.
WORLD = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="ball" pos="0 0 .3"><freejoint name="ball"/>
      <geom name="ball" type="sphere" size=".05" mass=".2" solref="-5000 -5"/></body>
    <body name="pole" pos="1 0 1">
      <joint name="hinge" axis="0 1 0" range="-40 40" limited="true"/>
      <geom name="pole" type="capsule" fromto="0 0 0 0 0 -.4" size=".02" contype="0"
            conaffinity="0"/>
    </body>
    <body name="hook" mocap="true" pos="-1 0 1"/>
    <body name="weight" pos="-1 0 1"><freejoint/><geom size=".05" contype="0" conaffinity="0"/>
    </body>
  </worldbody>
  <equality><weld name="rope" body1="hook" body2="weight"/></equality>
  <actuator><motor name="motor" joint="hinge" ctrlrange="-2 2"/></actuator>
  <sensor><jointvel name="rate" joint="hinge"/></sensor>
</mujoco>
"""


@pytest.fixture
def scene() -> physics.Scene:
    made = physics.create_scene("World", WORLD)
    made.raise_on_stop = True
    return made


def run(scene: physics.Scene, steps: int) -> "physics.StopEvent | None":
    """Step until something stops the scene."""
    try:
        for _ in range(steps):
            scene.step()
    except physics.SimulationStopped as stopped:
        return stopped.event
    return None


def test_a_condition_is_looked_at_on_the_values_of_the_step_and_takes_nothing_back(
    scene: physics.Scene,
) -> None:
    scene.break_when("time >= 0.1 and qpos['ball.z'] < 1")
    stop = run(scene, 200)
    assert stop is not None
    assert (stop.reason, stop.physics_step) == (StopReason.CONDITION, 50)
    assert stop.time == pytest.approx(0.1)
    assert scene.physics_step_count == 51
    twin = physics.create_scene("Twin", WORLD)
    for _ in range(51):
        twin.step()
    np.testing.assert_array_equal(scene.data.qpos, twin.data.qpos)


def test_a_condition_counts_when_it_becomes_true_and_not_while_it_is(
    scene: physics.Scene,
) -> None:
    condition = scene.break_when("contact['ball','floor'].count > 0", log_only=True)
    made = []
    for _ in range(1000):
        touching = condition.hit_count
        scene.step()
        made.append(condition.hit_count - touching)
    assert sum(made) == condition.hit_count > 2  # it bounces
    assert max(made) == 1
    assert scene.last_stop is None


def test_hits_count_and_once_removes_it(scene: physics.Scene) -> None:
    third = scene.break_when("contact['ball','floor'].count > 0", hits=3, once=True)
    stop = run(scene, 2000)
    assert stop is not None
    assert "for the 3rd time" in stop.message
    assert "(('ball' and 'floor')" not in stop.message
    assert "'floor' and 'ball'" in stop.message or "'ball' and 'floor'" in stop.message
    assert scene.conditions == ()
    third.remove()  # twice is harmless
    assert run(scene, 1000) is None


def test_a_condition_can_be_switched_off_and_on_and_removed(scene: physics.Scene) -> None:
    condition = scene.break_when("time > 0.05")
    condition.enabled = False
    assert scene.stops.conditions is None  # nothing is looked at
    assert run(scene, 60) is None
    condition.enabled = True
    assert run(scene, 5) is not None
    condition.remove()
    assert run(scene, 60) is None


def test_what_is_true_in_the_first_step_of_an_episode_became_true_there(
    scene: physics.Scene,
) -> None:
    scene.break_when("qpos['ball.z'] > 0.2")
    for _ in range(2):
        stop = run(scene, 10)
        assert stop is not None
        assert stop.physics_step == 0
        assert run(scene, 20) is None
        scene.reset()


def test_no_number_is_not_true(scene: physics.Scene) -> None:
    scene.break_when("sqrt(-1 - time) > 0 or sqrt(-1 - time) < 1")
    scene.break_when("log(0 - time)")
    assert run(scene, 20) is None


def test_earlier_steps_can_be_spoken_of(scene: physics.Scene) -> None:
    heights: list[float] = []
    expressions = {
        "change(qpos['ball.z']) > 0": lambda k: k > 0 and heights[k] - heights[k - 1] > 0,
        "qpos['ball.z'] < first(qpos['ball.z']) - 0.1": lambda k: heights[k] < heights[0] - 0.1,
        "previous(qpos['ball.z']) > qpos['ball.z'] + 0.003": lambda k: (
            k > 0 and heights[k - 1] > heights[k] + 0.003
        ),
    }
    conditions = {text: scene.break_when(text, log_only=True, name="what") for text in expressions}
    expected = dict.fromkeys(expressions, 0)
    was = dict.fromkeys(expressions, False)
    for k in range(400):
        heights.append(float(scene.data.qpos[2]))
        scene.step()
        for text, holds in expressions.items():
            now = bool(holds(k))
            expected[text] += now and not was[text]
            was[text] = now
    assert {text: each.hit_count for text, each in conditions.items()} == expected
    assert min(expected.values()) > 0


def test_first_begins_anew_with_each_episode(scene: physics.Scene) -> None:
    moved = scene.break_when("abs(first(time) - 0.5) < 1e-9", log_only=True)
    run(scene, 5)
    state = scene.get_state()
    assert moved.hit_count == 0
    scene.data.time = 0.5
    run(scene, 1)
    assert moved.hit_count == 1
    scene.reset(state)
    run(scene, 1)
    assert moved.hit_count == 1


@pytest.mark.parametrize("integrator", ["EULER", "RK4", "IMPLICITFAST"])
def test_energies_and_contacts_are_those_of_the_instant_whatever_the_integrator(
    integrator: str,
) -> None:
    model = mujoco.MjModel.from_xml_string(WORLD)
    model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    scene = physics.create_scene("World", model)
    scene.keep_history()
    reference = mujoco.MjData(model)
    levels = (0.5, 0.495, 0.45)
    watched = [scene.break_when(f"energy.total < {e}", log_only=True) for e in levels]
    depth = scene.break_when("contact.penetration > 0.001", log_only=True)
    expected, deep = [0] * len(levels), 0
    was, was_deep = [False] * len(levels), False
    scene.data.ctrl[0] = 0.3
    for _ in range(300):
        row = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
        mujoco.mj_getState(model, scene.data, row, mujoco.mjtState.mjSTATE_INTEGRATION)
        mujoco.mj_setState(model, reference, row, mujoco.mjtState.mjSTATE_INTEGRATION)
        mujoco.mj_forward(model, reference)
        energy = float(reference.energy.sum())
        for at, level in enumerate(levels):
            expected[at] += energy < level and not was[at]
            was[at] = energy < level
        is_deep = reference.ncon > 0 and bool(reference.contact.dist.min() < -0.001)
        deep, was_deep = deep + (is_deep and not was_deep), is_deep
        scene.step()
    assert [each.hit_count for each in watched] == expected
    assert depth.hit_count == deep > 0


def test_a_joint_past_its_limit_is_named_with_the_side(scene: physics.Scene) -> None:
    scene.ctrl[0] = -2.0
    scene.break_when(ready_made("one_joint_limit", joint="hinge"))
    stop = run(scene, 2000)
    assert stop is not None
    assert (stop.joint, stop.body, stop.dof) == ("hinge", "pole", 6)
    assert "past its lower limit of -40°" in stop.message
    assert np.degrees(scene.data.qpos[7]) < -40


def test_a_saturated_actuator_and_a_torn_weld_are_named(scene: physics.Scene) -> None:
    saturated = scene.break_when(ready_made("actuator_saturation"))
    scene.ctrl[0] = 1.0
    assert run(scene, 5) is None
    scene.ctrl[0] = 2.0
    stop = run(scene, 5)
    assert stop is not None
    assert stop.actuator == "motor"
    saturated.remove()
    scene.break_when(ready_made("equality_residual", residual=0.05))
    assert run(scene, 20) is None
    scene.data.mocap_pos[0, 2] += 0.3
    stop = run(scene, 20)
    assert stop is not None
    assert "rope" in stop.message
    assert stop.value > 0.05


def test_every_ready_made_condition_is_an_expression_that_can_be_watched(
    scene: physics.Scene,
) -> None:
    names: dict[ParameterKind, list[Any]] = {
        ParameterKind.COLLIDER: ["ball", "floor"],
        ParameterKind.JOINT: ["hinge"],
    }
    for condition in READY_MADE.values():
        values: dict[str, Any] = {}
        of_kind = {kind: iter(each) for kind, each in names.items()}
        for parameter in condition.parameters:
            if parameter.kind is not ParameterKind.NUMBER:
                values[parameter.name] = next(of_kind[parameter.kind])
        watched = scene.break_when(condition.expression(values), log_only=True)
        assert watched.info.failure == "", condition.name
    run(scene, 50)
    with pytest.raises(ValueError, match="there is no ready-made condition 'penetrate'; there are"):
        ready_made("penetrate")
    with pytest.raises(ValueError, match="penetration has no parameter deep; it has depth"):
        ready_made("penetration", deep=1)
    with pytest.raises(ValueError, match="contact_made needs second"):
        ready_made("contact_made", first="ball")
    with pytest.raises(ValueError, match="depth is a finite number, not nan"):
        ready_made("penetration", depth=float("nan"))
    with pytest.raises(ValueError, match="name of an element"):
        ready_made("contact_made", first="ba'll\\", second="floor")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("qpos['bal']> 1", "qpos has no 'bal'"),
        ("qpos > 1", "a condition is one number, this has 15"),
        ("max(contact.penetration > 1", "was never closed"),
        ("first(1, 2)", "first takes 1 argument, not 2"),
        ("contact['ball'].passed", "name both"),
        ("frist(time) > 1", "did you mean 'first'"),
        ("", "an expression is needed"),
    ],
)
def test_a_wrong_condition_is_refused_with_the_place(
    scene: physics.Scene, text: str, told: str
) -> None:
    with pytest.raises(physics.ConditionError) as caught:
        scene.break_when(text)
    assert told in str(caught.value)
    assert "^" in str(caught.value)
    assert scene.conditions == ()


def test_earlier_steps_can_t_be_spoken_of_where_not_every_step_is_seen(
    scene: physics.Scene,
) -> None:
    with pytest.raises(Exception, match="first speaks of earlier steps: only conditions"):
        scene.link.backend.signal_source(["= first(time)"])


def test_conditions_follow_another_model_or_say_why_not(scene: physics.Scene) -> None:
    kept = scene.break_when("time > 1000")
    lost = scene.break_when("qpos['hinge'] > 1000")
    run(scene, 2)
    other = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>"
    )
    made = physics.create_scene("Adopted", other, data=mujoco.MjData(other))
    made.raise_on_stop = True
    watched = made.break_when("time > 1000")
    model = mujoco.MjModel.from_xml_string(WORLD)
    made.rebind(model, mujoco.MjData(model))
    run(made, 2)
    assert watched.info.failure == ""
    assert (kept.info.failure, lost.info.failure) == ("", "")
    gone = made.break_when("qpos['hinge'] > 1000")
    made.rebind(other, mujoco.MjData(other))
    run(made, 2)
    assert "hinge" in gone.info.failure or "qpos" in gone.info.failure
    assert watched.info.failure == ""


def test_nobody_pays_for_conditions_while_nothing_asks_for_them(
    make_scene: Make, state_of: Callable[[physics.Scene], NDArray[np.float64]]
) -> None:
    scene = make_scene()
    condition = scene.break_when("time > 0.01")
    for _ in range(20):
        scene.step()
    assert condition.hit_count == 0
    assert scene._bare
    scene.keep_history()
    scene.step()
    assert condition.hit_count == 1
