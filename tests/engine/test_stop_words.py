"""Stops name the one that a wrong number belongs to, whatever kind it is of."""

import math
from collections.abc import Callable

import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.time_messages import StopReason

MODEL = """
<mujoco><worldbody>
  <body name="ghost" mocap="true" pos="0 0 5"/>
  <body name="hand" mocap="true" pos="0 0 3"/>
  <body name="base" pos="0 0 2"><freejoint name="root"/><geom size=".1"/>
    <body name="upper"><joint name="shoulder" axis="0 1 0" damping=".1"/>
      <geom type="capsule" size=".04" fromto="0 0 0 .3 0 0"/></body></body>
  <body name="other" pos="2 0 1"><joint name="hinge" axis="0 1 0" damping=".1"/>
    <geom type="capsule" size=".04" fromto="0 0 0 .3 0 0"/></body>
</worldbody>
<actuator>
  <position name="servo" joint="shoulder" kp="10"/>
  <general name="muscle" joint="hinge" dyntype="integrator" actrange="-1 1"/>
</actuator></mujoco>
"""
Put = Callable[[physics.Scene], object]


def _put(array: str, index: int, value: float = math.nan) -> Put:
    return lambda scene: getattr(scene.data, array).reshape(-1).__setitem__(index, value)


def stopped(put: Put, *, model: str = MODEL) -> physics.StopEvent:
    scene = physics.create_scene("Words", model)
    scene.raise_on_stop = True
    for _ in range(10):
        scene.step()
    put(scene)
    with pytest.raises(physics.SimulationStopped) as caught:
        _run(scene)
    return caught.value.event


def _run(scene: physics.Scene) -> None:
    for _ in range(30):
        scene.step()


@pytest.mark.parametrize(
    ("array", "index", "body"),
    [
        ("xfrc_applied", 6 * 3 + 4, "base"),
        ("xfrc_applied", 6 * 5, "other"),
        ("mocap_pos", 1, "ghost"),
        ("mocap_pos", 3, "hand"),
        ("mocap_quat", 3, "ghost"),
        ("mocap_quat", 4, "hand"),
    ],
)
def test_an_input_that_is_no_number_names_its_body(array: str, index: int, body: str) -> None:
    stop = stopped(_put(array, index))
    assert stop.reason is StopReason.BAD_INPUT
    assert stop.physics_step == 10
    assert stop.body == body
    assert f"{array}[{index}] of body {body!r} is nan" in stop.message
    assert repr(body) in stop.culprit


def test_an_activation_that_is_no_number_names_its_actuator() -> None:
    stop = stopped(_put("act", 0))
    assert stop.reason is StopReason.NON_FINITE
    assert stop.actuator == "muscle"
    assert "act[0] of actuator 'muscle' is nan" in stop.message


def test_a_link_that_has_lost_its_mass_is_named(caplog: pytest.LogCaptureFixture) -> None:
    def lose(scene: physics.Scene) -> None:
        scene.model.body_mass[5] = 0.0
        scene.model.body_inertia[5] = 0.0

    stop = stopped(lose)
    assert (stop.joint, stop.dof) == ("hinge", 7)
    assert "a link without mass" in stop.culprit
    assert not caplog.records  # looking for the cause has not failed


def test_a_warning_about_an_inertia_names_the_joint_that_has_it() -> None:
    # Euler's method takes damping into the inertia: here that becomes negative.
    stop = stopped(lambda scene: scene.model.dof_damping.__setitem__(7, -1e3))
    assert stop.reason is StopReason.WARNING
    assert (stop.joint, stop.dof) == ("hinge", 7)
    assert "(mjWARN_INERTIA) about the inertia of joint 'hinge' (dof 7)" in stop.message


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda m: m.opt.gravity.__setitem__(2, math.nan), "opt.gravity[2] is nan"),
        (lambda m: m.body_mass.__setitem__(4, math.nan), "body_mass of body 'upper' is nan"),
        (
            lambda m: m.actuator_gainprm.__setitem__((0, 0), math.nan),
            "actuator_gainprm[0] of actuator 'servo' is nan",
        ),
        (lambda m: m.dof_damping.__setitem__(7, math.nan), "dof_damping of joint 'hinge' is nan"),
    ],
    ids=["gravity", "mass", "gain", "damping"],
)
def test_a_number_of_the_model_that_is_none_is_to_blame(
    write: Callable[[object], None], words: str
) -> None:
    stop = stopped(lambda scene: write(scene.model))
    assert stop.physics_step == 10
    assert f"the model itself, not the state: {words}" in stop.culprit
    assert "test_stop_words.py" in stop.culprit


def test_an_environment_that_fails_names_what_it_is_about() -> None:
    scene = physics.create_scene("Many", MODEL, n_envs=3)
    scene.raise_on_stop = True
    scene.step()
    scene.bind("mocap_pos")[1].reshape(-1)[3] = math.nan
    with pytest.raises(physics.SimulationStopped) as caught:
        scene.step()
    stop = caught.value.event
    assert (stop.env, stop.body) == (1, "hand")
    assert "of body 'hand' is nan" in stop.message
