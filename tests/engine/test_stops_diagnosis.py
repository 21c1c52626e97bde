"""What is said of a stop: who likely caused it, and that what is offered helps."""

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.time_messages import StopInfo, StopReason, WhatIf
from stroboscope.engine.rollouts.what_if import apply_what_if
from stroboscope.engine.stops.memory import with_memory

JOINT = """
<mujoco>
  <option timestep="{dt}" integrator="{integrator}" gravity="0 0 {gravity}"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1" pos="0 0 -1"/>
    <body name="link"><joint name="hinge" axis="0 1 0" {joint}/>
      <inertial pos="0 0 0" mass="{mass}" diaginertia="{inertia} {inertia} {inertia}"/>
      {more}
    </body>
    {world}
  </worldbody>
  <actuator>{actuator}</actuator>
</mujoco>
"""


def model_of(**parts: Any) -> str:
    """Return one hinge with whatever is asked for."""
    usual = {
        "dt": 0.002, "integrator": "Euler", "gravity": 0, "joint": "", "mass": 1, "inertia": 0.01,
        "more": "", "world": "", "actuator": "",
    }  # fmt: skip
    return JOINT.format(**{**usual, **parts})


@pytest.fixture
def stopped() -> Callable[..., StopInfo]:
    """``stopped(model, steps, drive)``: step a scene until it stops; return what is told."""

    def run(
        model: Any,
        steps: int = 200,
        drive: Callable[[physics.Scene, int], object] = lambda _scene, _k: None,
    ) -> StopInfo:
        scene = physics.create_scene("Scene", model)
        scene.raise_on_stop = True
        told: list[StopInfo] = []
        diagnose = scene.stops.diagnose

        def keep(of: physics.Scene, trouble: Any) -> StopInfo:
            told.append(diagnose(of, trouble))
            return told[-1]

        scene.stops.diagnose = keep

        def go_on() -> None:
            for k in range(steps):
                drive(scene, k)
                scene.step()

        with pytest.raises(physics.SimulationStopped):
            go_on()
        return told[-1]

    return run


def goes_well(model: str, edits: tuple[WhatIf, ...], drive: Callable[[Any, int], object]) -> bool:
    """Run the model with edits on bare MuJoCo for as long; return whether it stays sound."""
    from stroboscope.engine.mujoco_adapter import load_mujoco

    compiled = mujoco.MjModel.from_xml_string(model)
    applied = apply_what_if(compiled, edits, adapter=load_mujoco())
    if applied.timestep is not None:
        compiled.opt.timestep = applied.timestep
    data = mujoco.MjData(compiled)
    for k in range(2000):
        drive(data, k)
        mujoco.mj_step(compiled, data)
        if np.abs(data.qvel).max() > 1e4 or data.time < k * compiled.opt.timestep:
            return False
    return True


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicit", "implicitfast"])
@pytest.mark.parametrize(("kp", "kv"), [(2000.0, 100.0), (20000.0, 1.0), (10.0, 40.0)])
def test_what_is_offered_for_a_stiff_servo_makes_it_stable(
    stopped: Callable[..., StopInfo], integrator: str, kp: float, kv: float
) -> None:
    model = model_of(
        integrator=integrator,
        inertia=1e-4,
        actuator=f'<position name="servo" joint="hinge" kp="{kp}" kv="{kv}"/>',
    )

    def drive(to: Any, _k: int) -> None:
        to.ctrl[0] = 0.5

    if goes_well(model, (), drive):
        return  # this integrator takes it
    stop = stopped(model, drive=drive)
    assert stop.actuator == "servo"
    assert stop.culprit.startswith("likely the servo 'servo'")
    ratio = kv * 0.002 / 1e-4
    assert f"kv·dt/I = {ratio:.4g}" in stop.culprit
    assert len(stop.what_if) >= 3
    for label, edits in stop.what_if:
        if label == "half the timestep" and stop.what_if[0][0] != label:
            continue  # it is last: not enough by the calculation, there to be tried
        assert goes_well(model, edits, drive), label


def test_a_huge_control_blames_the_input_and_where_it_was_written(
    stopped: Callable[..., StopInfo],
) -> None:
    def drive(scene: physics.Scene, k: int) -> None:
        scene.ctrl[0] = 1e9 if k == 7 else 0.0

    stop = stopped(model_of(actuator='<motor name="push" joint="hinge"/>'), drive=drive)
    assert stop.physics_step == 7
    assert "likely the control input: actuator 'push' got 1e+09" in stop.culprit
    assert "written before test_stops_diagnosis.py:" in stop.culprit
    assert stop.actuator == "push"


@pytest.mark.parametrize("field", ["qfrc_applied", "xfrc_applied"])
def test_a_huge_applied_force_is_blamed(stopped: Callable[..., StopInfo], field: str) -> None:
    def drive(scene: physics.Scene, _k: int) -> None:
        if field == "qfrc_applied":
            scene.data.qfrc_applied[0] = 1e8
        else:
            scene.data.xfrc_applied[1, :3] = (0, 0, 1e9)
            scene.data.xfrc_applied[1, 3:] = (0, 1e8, 0)

    stop = stopped(model_of(), drive=drive)
    assert stop.reason in (StopReason.EXPLODING, StopReason.AUTORESET)
    assert "likely the force applied to" in stop.culprit
    assert ("joint 'hinge'" if field == "qfrc_applied" else "body 'link'") in stop.culprit


@pytest.mark.parametrize(
    ("array", "write", "names"),
    [
        ("ctrl", lambda d: d.ctrl.__setitem__(0, np.nan), ("actuator 'push'",)),
        ("qfrc_applied", lambda d: d.qfrc_applied.__setitem__(0, np.inf), ("joint 'hinge'",)),
        ("xfrc_applied", lambda d: d.xfrc_applied.__setitem__((1, 2), np.nan), ("body 'link'",)),
    ],
)
def test_an_input_that_is_no_number_is_blamed_and_the_state_called_clean(
    stopped: Callable[..., StopInfo], array: str, write: Callable[[Any], None], names: tuple[str]
) -> None:
    stop = stopped(
        model_of(actuator='<motor name="push" joint="hinge"/>'),
        drive=lambda scene, k: write(scene.data) if k == 3 else None,
    )
    assert (stop.reason, stop.physics_step) == (StopReason.BAD_INPUT, 3)
    assert array in stop.message
    assert all(name in stop.culprit for name in names)
    assert "state itself is clean" in stop.advice
    assert "likely" not in stop.culprit


def test_a_state_that_was_written_wrong_is_not_blamed_on_the_physics(
    stopped: Callable[..., StopInfo],
) -> None:
    def drive(scene: physics.Scene, k: int) -> None:
        if k == 4:
            scene.data.qvel[0] = np.nan

    stop = stopped(model_of(), drive=drive)
    assert (stop.reason, stop.physics_step) == (StopReason.NON_FINITE, 4)
    assert "written into qvel between two steps" in stop.culprit
    assert (stop.joint, stop.dof) == ("hinge", 0)


@pytest.mark.parametrize("array", ["qpos", "qvel"])
@pytest.mark.parametrize("step", [0, 4])
def test_a_state_that_was_written_far_too_large_is_not_blamed_on_the_physics(
    stopped: Callable[..., StopInfo], array: str, step: int
) -> None:
    def drive(scene: physics.Scene, k: int) -> None:
        if k == step:
            getattr(scene.data, array)[0] = 3e10

    stop = stopped(model_of(joint='damping="1"'), drive=drive)
    assert (stop.reason, stop.physics_step) == (StopReason.AUTORESET, step)
    assert f"written into {array} between two steps" in stop.culprit
    assert "it is 3e+10, which the step before can't have left" in stop.culprit
    assert (stop.joint, stop.dof) == ("hinge", 0)


def test_a_stiff_spring_is_blamed_with_its_ratio_and_a_softer_one_helps(
    stopped: Callable[..., StopInfo],
) -> None:
    model = model_of(joint='stiffness="1e5"', inertia=1e-4)
    compiled = mujoco.MjModel.from_xml_string(model)
    compiled.qpos_spring[0] = 0.3
    stop = stopped(compiled)
    assert "likely the spring of joint 'hinge', too stiff for the timestep" in stop.culprit
    assert "stiffness·dt²/I = 4000" in stop.culprit
    label, edits = stop.what_if[0]
    assert label.startswith("stiffness")
    assert goes_well(model, edits, lambda _data, _k: None)


def test_a_link_without_mass_is_blamed(stopped: Callable[..., StopInfo]) -> None:
    def drive(scene: physics.Scene, _k: int) -> None:
        scene.ctrl[0] = 1.0

    model = model_of(
        mass=1e-9, inertia=1e-12, actuator='<motor name="push" joint="hinge" gear="0.1"/>'
    )
    stop = stopped(model, drive=drive)
    assert "likely a link without mass: hinge moves an inertia of only 1e-12" in stop.culprit
    assert stop.what_if[0][0].startswith("armature")


def test_an_overlap_at_the_start_is_blamed_on_the_start(stopped: Callable[..., StopInfo]) -> None:
    balls = "".join(
        f'<body name="b{i}" pos="0 0 {0.001 * i}"><freejoint/>'
        f'<geom name="b{i}" size=".1" mass="1e-3" solref="-1e9 -1"/></body>'
        for i in range(2)
    )
    stop = stopped(model_of(world=balls))
    assert stop.physics_step < 20
    assert "likely an overlap at the start: b0 and b1 overlap" in stop.culprit
    assert {"b0", "b1"} <= {each.name for each in stop.elements}


def test_a_stop_of_which_nothing_is_found_says_so_and_lets_the_timestep_be_tried(
    stopped: Callable[..., StopInfo],
) -> None:
    def drive(scene: physics.Scene, k: int) -> None:
        if k == 2:
            scene.data.qvel[0] = 1e12

    # Of a Runge-Kutta step nobody can tell afterwards that it has not made that speed.
    stop = stopped(model_of(integrator="RK4"), drive=drive)
    assert stop.what_if[-1][0] == "half the timestep"
    assert "half the timestep" in stop.advice or stop.culprit.startswith("likely")


def test_an_explanation_that_fails_does_not_lose_the_stop(
    stopped: Callable[..., StopInfo], caplog: pytest.LogCaptureFixture
) -> None:
    def passive(_model: Any, _data: Any) -> None:
        return

    def drive(scene: physics.Scene, k: int) -> None:
        scene.ctrl[0] = 1e9
        if k == 0:
            # Nothing may be computed again with a callback of the script in the way.
            mujoco.set_mjcb_passive(passive)

    try:
        stop = stopped(model_of(actuator='<motor name="push" joint="hinge"/>'), drive=drive)
    finally:
        mujoco.set_mjcb_passive(None)
    assert stop.joint == "hinge"
    assert stop.message
    assert not caplog.records


def test_more_memory_is_the_same_model_with_more_room(case_model: Callable[[str], Any]) -> None:
    from stroboscope.engine.mujoco_adapter import load_mujoco

    adapter = load_mujoco()
    model = mujoco.MjModel.from_xml_path(str(case_model("C11")))
    larger = with_memory(model, 1 << 20, adapter=adapter)
    assert larger.narena == 1 << 20
    assert model.narena == 60 << 10
    one, two = mujoco.MjData(model), mujoco.MjData(larger)
    for _ in range(40):
        mujoco.mj_step(model, one)
        mujoco.mj_step(larger, two)
    np.testing.assert_array_equal(one.qpos, two.qpos)
    with pytest.raises(Exception, match="memory must be 60K…1G, not 10K"):
        with_memory(model, 10 << 10, adapter=adapter)


# --- how scripts hear of it


def test_a_stop_calls_the_script_once_and_can_be_read(case_model: Callable[[str], Any]) -> None:
    scene = physics.create_scene("Servo", case_model("C01"))
    heard: list[Any] = []
    end = scene.on_stop(lambda of: heard.append(of.last_stop))
    assert scene.last_stop is None
    scene.ctrl[0] = 0.5
    scene.step()  # nothing holds it, and nothing is to be raised: it goes on
    assert [stop.actuator for stop in heard] == ["wrist_servo"]
    assert scene.last_stop is heard[0]
    assert abs(scene.data.qvel[1]) > 1e4
    end()
    scene.reset()
    scene.ctrl[0] = 0.5
    scene.step()
    assert len(heard) == 1


def test_a_stop_that_is_raised_leaves_the_state_of_before_and_can_be_passed(
    case_model: Callable[[str], Any],
) -> None:
    scene = physics.create_scene("Servo", case_model("C01"))
    scene.raise_on_stop = True
    scene.ctrl[0] = 0.5
    before = scene.get_state()
    for _ in range(2):  # it is the same step, each time
        with pytest.raises(physics.SimulationStopped, match="before episode 0, physics step 0"):
            scene.step()
        np.testing.assert_array_equal(scene.get_state().qpos, before.qpos)
        assert scene.total_steps == 0
    scene.raise_on_stop = False
    scene.step()
    assert scene.total_steps == 1


def test_an_episode_is_counted_and_never_a_stop(case_model: Callable[[str], Any]) -> None:
    scene = physics.create_scene("Servo", case_model("C01"))
    scene.raise_on_stop = True
    for _ in range(3):
        for _ in range(10):
            scene.step()  # at rest
        scene.reset()
    scene.ctrl[0] = 0.5
    with pytest.raises(physics.SimulationStopped) as caught:
        scene.step()
    assert caught.value.event.episode == 3
    assert (caught.value.event.step, caught.value.event.physics_step) == (0, 0)
    assert scene.total_steps == 30
