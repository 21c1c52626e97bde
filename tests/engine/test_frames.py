"""Frames belong to one instant, and asking for them never changes the run."""

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.backend import SceneBackend, TopicFrames
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.contacts import body_velocities, contact_forces

Scene = physics.Scene
Make = Callable[..., Scene]
Drive = Callable[..., NDArray[np.float64]]

KNOWN_BY_KINEMATICS = {Topic.POSE, Topic.STATE, Topic.TIMING, Topic.TENDONS, Topic.DEFORMABLE}
NEEDS_FORCES = {Topic.CONTACTS, Topic.SENSORS, Topic.CONSTRAINTS, Topic.ACCELERATION}
TOPICS = frozenset(Topic) - {Topic.SIGNALS, Topic.LOG}
# What every model has.
OURS = frozenset({
    Topic.POSE, Topic.STATE, Topic.BODIES, Topic.CONTACTS, Topic.SENSORS, Topic.CONSTRAINTS,
    Topic.ACCELERATION, Topic.ENERGY, Topic.SOLVER, Topic.TIMING,
})  # fmt: skip
# One step at 1 m/s is 8.333 mm: what a pose that is one step old is off by.
COASTING = """
<mujoco><option timestep="0.0083333333333333332" gravity="0 0 0" integrator="implicitfast"/>
  <worldbody><body name="puck"><freejoint/><geom type="cylinder" size=".1 .03" mass="1"/>
    <site name="tip" pos=".1 0 0"/></body></worldbody>
  <sensor><framepos objtype="site" objname="tip"/></sensor></mujoco>
"""
PRESSED = """
<mujoco><option timestep="0.002"/><worldbody><geom name="floor" type="plane" size="1 1 .1"/>
  <body pos="0 0 .1"><joint name="lift" type="slide" axis="0 0 1"/>
    <geom name="box" type="box" size=".1 .1 .1" mass="2"/></body></worldbody>
  <actuator><motor joint="lift"/></actuator></mujoco>
"""


def backend(scene: Scene) -> SceneBackend:
    return scene.link.backend


def executed(scene: Scene, topics: frozenset[Topic] = TOPICS) -> TopicFrames:
    """Take one step and return its executed frame."""
    backend(scene).begin_frame(topics)
    scene.step()
    return backend(scene).end_frame(topics)


def test_an_executed_frame_holds_one_instant_although_the_data_holds_two() -> None:
    scene = physics.create_scene("Coasting", COASTING)
    scene.data.qvel[0] = 1.0
    for _ in range(3):
        scene.step()
    frame = executed(scene)
    start = 3 / 120
    assert frame.arrays[Topic.STATE]["qpos"][0] == pytest.approx(start, abs=1e-9)
    assert frame.arrays[Topic.POSE]["xpos"][1, 0] == pytest.approx(start, abs=1e-9)
    assert frame.arrays[Topic.SENSORS]["sensordata"][0] == pytest.approx(start + 0.1, abs=1e-9)
    # The live data mixes instants: that is what the frame must not do.
    assert scene.data.qpos[0] - scene.data.xpos[1, 0] == pytest.approx(1 / 120, abs=1e-9)
    now = backend(scene).frame_now(TOPICS)
    assert now.arrays[Topic.STATE]["qpos"][0] == pytest.approx(4 / 120, abs=1e-9)
    assert now.arrays[Topic.POSE]["xpos"][1, 0] == pytest.approx(4 / 120, abs=1e-9)
    assert now.arrays[Topic.SENSORS]["sensordata"][0] == pytest.approx(4 / 120 + 0.1, abs=1e-9)
    assert scene.data.xpos[1, 0] == pytest.approx(start, abs=1e-9), "the live data was refreshed"


def test_contact_forces_are_those_of_the_executed_step() -> None:
    scene = physics.create_scene("Pressed", PRESSED)
    scene.ctrl[0] = -30.0
    for _ in range(1000):
        scene.step()
    frame = executed(scene)
    contacts = frame.arrays[Topic.CONTACTS]
    assert contacts["force"].shape == (4, 6)
    assert contacts["force"][:, 0].sum() == pytest.approx(49.62, rel=5e-3)
    # Paused with another control at hand, NOW predicts; the executed frame stays what it was.
    scene.ctrl[0] = 0.0
    now = backend(scene).frame_now(TOPICS)
    assert now.arrays[Topic.CONTACTS]["force"][:, 0].sum() == pytest.approx(20.4, rel=0.1)
    assert contacts["force"][:, 0].sum() == pytest.approx(49.62, rel=5e-3)


INTEGRATORS = [
    i for i in physics.Integrator if f"mjINT_{i.upper()}" in mujoco.mjtIntegrator.__members__
]


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("solver", list(physics.Solver))
def test_now_predicts_exactly_what_the_next_step_executes(
    make_scene: Make, drive: Drive, integrator: physics.Integrator, solver: physics.Solver
) -> None:
    if integrator == "discrete" and solver == "PGS":
        pytest.skip("MuJoCo does not combine these")
    scene = make_scene(options=physics.SceneOptions(integrator=integrator, solver=solver))
    drive(scene, 130)
    topics = TOPICS - {Topic.TIMING, Topic.SOLVER}
    now = backend(scene).frame_now(topics)
    then = executed(scene, topics)
    assert len(now.arrays[Topic.CONTACTS]["dist"]) > 0
    assert set(now.arrays) == set(then.arrays) >= OURS - {Topic.TIMING, Topic.SOLVER}
    for topic in then.arrays:
        assert set(now.arrays[topic]) == set(then.arrays[topic])
        for name, values in then.arrays[topic].items():
            np.testing.assert_array_equal(now.arrays[topic][name], values, f"{topic}.{name}")


def test_runge_kutta_frames_are_of_the_steps_start_and_not_of_its_last_stage() -> None:
    scene = physics.create_scene(
        "Coasting", COASTING, options=physics.SceneOptions(integrator=physics.Integrator.RK4)
    )
    scene.data.qvel[0] = 1.0
    scene.step()
    frame = executed(scene)
    assert frame.notes == ()
    assert frame.arrays[Topic.POSE]["xpos"][1, 0] == pytest.approx(1 / 120, abs=1e-9)
    assert scene.data.xpos[1, 0] != pytest.approx(1 / 120, abs=1e-3)


@pytest.mark.parametrize("steps", [60, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("model", ["humanoid", "arm"])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_asking_for_frames_at_every_step_and_while_paused_leaves_the_run_bit_identical(
    make_scene: Make, drive: Drive, model: str, integrator: physics.Integrator, steps: int
) -> None:
    options = physics.SceneOptions(integrator=integrator)
    undisturbed = drive(make_scene(model, options=options), steps)
    scene = make_scene(model, options=options)
    controls = np.random.default_rng(0).uniform(-1, 1, (steps, scene.model.nu))
    source = backend(scene).signal_source(sorted(scene.world.channels))
    row = np.empty(source.width)
    for k in range(steps):
        scene.ctrl[:] = controls[k]
        source.before(row)
        executed(scene)
        source.after(row)
        backend(scene).frame_now(TOPICS)
        if k == steps // 2:
            for _ in range(20):
                backend(scene).frame_now(TOPICS)
                physics.DynamicArrayUint8()
                scene.capture_state()
        assert np.array_equal(scene.data.qpos, undisturbed[k]), k


def test_now_reads_the_state_as_it_stands_without_writing_anything(
    make_scene: Make, drive: Drive
) -> None:
    scene = make_scene()
    drive(scene, 100)
    names = [n for n in dir(mujoco.MjData) if not n.startswith("_")]
    if scene.data.nisland == 0:  # MuJoCo leaves these arrays undefined then
        names = [n for n in names if "island" not in n]

    def everything() -> dict[str, NDArray[np.generic]]:
        values = {n: getattr(scene.data, n) for n in names}
        return {n: v.copy() for n, v in values.items() if isinstance(v, np.ndarray)}

    before = everything()
    backend(scene).frame_now(TOPICS)
    for name, values in everything().items():
        np.testing.assert_array_equal(values, before[name], name)


def count_calls(calls: list[str], name: str) -> Callable[..., object]:
    def callback(*_arguments: object) -> object:
        calls.append(name)
        return 0

    return callback


def test_python_callbacks_are_not_called_by_inspection_and_the_frame_says_what_is_missing(
    make_scene: Make,
) -> None:
    scene = make_scene()
    scene.step(nstep=80)
    calls: list[str] = []
    try:
        mujoco.set_mjcb_passive(count_calls(calls, "passive"))
        mujoco.set_mjcb_control(count_calls(calls, "control"))
        now = backend(scene).frame_now(TOPICS)
        assert calls == []
        assert "passive" in now.notes[0]
        assert set(now.arrays) >= KNOWN_BY_KINEMATICS
        assert not set(now.arrays) & NEEDS_FORCES
        state = now.arrays[Topic.STATE]
        assert np.array_equal(state["qpos"], scene.data.qpos)
        assert np.isnan(state["qacc"]).all()
        assert now.arrays[Topic.POSE]["xpos"].shape == (scene.model.nbody, 3)
        then = executed(scene)
        assert calls.count("control") == 1
        assert then.notes == ()
        assert np.isfinite(then.arrays[Topic.STATE]["qacc"]).all()
    finally:
        mujoco.set_mjcb_passive(None)
        mujoco.set_mjcb_control(None)


def test_a_control_callback_is_never_called_by_inspection_and_its_control_is_shown() -> None:
    scene = physics.create_scene("Pressed", PRESSED)

    def control(_model: object, data: mujoco.MjData) -> None:
        data.ctrl[0] = -7.0

    try:
        mujoco.set_mjcb_control(control)
        frame = executed(scene)
        assert frame.arrays[Topic.STATE]["ctrl"][0] == -7.0
        scene.ctrl[0] = 1.0
        assert backend(scene).frame_now(TOPICS).arrays[Topic.STATE]["ctrl"][0] == 1.0
    finally:
        mujoco.set_mjcb_control(None)


@pytest.mark.parametrize("cone", ["pyramidal", "elliptic"])
@pytest.mark.parametrize("condim", [1, 3, 4, 6])
def test_contact_forces_are_mujocos_own(cone: str, condim: int) -> None:
    scene = physics.create_scene(
        "Slide",
        f"""<mujoco><option cone="{cone}"/><worldbody>
        <geom type="plane" size="5 5 .1" condim="{condim}"/>
        <geom type="plane" size="5 5 .1" pos="0 0 -.001" condim="3"/>
        <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" condim="{condim}"
          friction="0.7 0.03 0.002"/></body></worldbody></mujoco>""",
    )
    scene.data.qvel[:] = (0.5, 0.2, 0.0, 0.1, 0.3, 1.0)
    seen = 0
    for _ in range(20):
        scene.step()
        expected = np.zeros((scene.data.ncon, 6))
        for i in range(scene.data.ncon):
            mujoco.mj_contactForce(scene.model, scene.data, i, expected[i])
        ours = contact_forces(scene.model, scene.data, adapter=scene.world.adapter)
        np.testing.assert_allclose(ours, expected, rtol=1e-13, atol=1e-12)
        seen += int(scene.data.ncon)
    assert seen >= 10


def test_body_velocities_are_mujocos_own(make_scene: Make, drive: Drive) -> None:
    scene = make_scene()
    drive(scene, 60)
    ours = body_velocities(scene.model, scene.data)
    for body in range(scene.model.nbody):
        expected = np.zeros(6)
        mujoco.mj_objectVelocity(
            scene.model, scene.data, int(mujoco.mjtObj.mjOBJ_XBODY), body, expected, 0
        )
        np.testing.assert_allclose(ours[body, :3], expected[3:], atol=1e-10)
        np.testing.assert_allclose(ours[body, 3:], expected[:3], atol=1e-10)


@pytest.mark.parametrize("flag", ["enable", "disable"])
def test_energy_belongs_to_the_executed_instant_with_and_without_the_flag(flag: str) -> None:
    scene = physics.create_scene(
        "Pendulum",
        f"""<mujoco><option timestep="0.002"><flag energy="{flag}"/></option><worldbody><body>
        <joint axis="0 1 0" stiffness="3"/>
        <geom type="capsule" fromto="0 0 0 .5 0 0" size=".02" mass="1"/>
        </body></worldbody></mujoco>""",
    )
    reference = mujoco.MjData(scene.model)
    for _ in range(50):
        reference.qpos[:], reference.qvel[:] = scene.data.qpos, scene.data.qvel
        mujoco.mj_forward(scene.model, reference)
        mujoco.mj_energyPos(scene.model, reference)
        mujoco.mj_energyVel(scene.model, reference)
        energy = executed(scene).arrays[Topic.ENERGY]
        assert energy["potential"][0] == pytest.approx(reference.energy[0], abs=1e-12)
        assert energy["kinetic"][0] == pytest.approx(reference.energy[1], abs=1e-12)


def test_timing_is_the_mean_since_the_last_frame_and_unknown_when_nothing_ran(
    make_scene: Make,
) -> None:
    scene = make_scene()
    scene.step(nstep=20)
    first = executed(scene).arrays[Topic.TIMING]["duration"]
    if not scene.data.timer.duration.any():
        pytest.skip("this MuJoCo does not measure its stages by itself")
    assert first[0] > 0.0
    assert len(first) == len(backend(scene).describe(1, "h").timer_stages)
    assert np.isnan(backend(scene).frame_now(TOPICS).arrays[Topic.TIMING]["duration"]).all()


def test_solver_and_constraints_tell_how_the_step_was_solved(make_scene: Make) -> None:
    scene = make_scene()
    scene.step(nstep=100)
    arrays = executed(scene).arrays
    solver, constraints = arrays[Topic.SOLVER], arrays[Topic.CONSTRAINTS]
    assert solver["niter"].min() >= 0
    assert solver["improvement"].shape == (len(solver["niter"]), solver["niter"].max())
    assert len(constraints["pos"]) == len(constraints["type"]) > 0
    names = backend(scene).describe(1, "h").constraint_types
    assert {names[t] for t in constraints["type"]} <= set(names)
    assert any(names[t].startswith("contact") for t in constraints["type"])
    free = physics.create_scene("Coasting", COASTING)
    assert executed(free).arrays[Topic.SOLVER]["niter"].shape == (0,)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_with_a_control_callback_now_is_still_exact_or_says_that_it_is_not_computed(
    make_scene: Make, drive: Drive, integrator: physics.Integrator
) -> None:
    scene = make_scene(options=physics.SceneOptions(integrator=integrator))
    drive(scene, 130)
    topics = frozenset({Topic.STATE, Topic.CONTACTS, Topic.SENSORS})
    calls: list[str] = []
    try:
        mujoco.set_mjcb_control(count_calls(calls, "control"))
        now = backend(scene).frame_now(topics)
        assert calls == []
        then = executed(scene, topics)
    finally:
        mujoco.set_mjcb_control(None)
    if integrator == "discrete":
        assert "control" in now.notes[0]
        assert np.isnan(now.arrays[Topic.STATE]["qacc"]).all()
        return
    for topic in topics:
        for name, values in then.arrays[topic].items():
            np.testing.assert_array_equal(now.arrays[topic][name], values, f"{topic}.{name}")


# Its boxes touch after 45 steps, and then need more memory than there is.
STACK = """
<mujoco><size memory="60K"/><worldbody><geom type="plane" size="1 1 1"/>
  <replicate count="12" offset="0 0 .105"><body pos="0 0 .06"><freejoint/>
  <geom type="box" size=".05 .05 .05" mass="1"/></body></replicate></worldbody></mujoco>
"""


def step_often(scene: Scene) -> None:
    for _ in range(200):
        scene.step()


@pytest.mark.filterwarnings("ignore")
def test_a_state_that_can_not_be_evaluated_is_said_so_and_the_next_one_is_shown() -> None:
    scene = physics.create_scene("Stack", STACK)
    with pytest.raises(physics.StepFailedError):
        step_often(scene)
    before = np.array(scene.data.qpos)
    frame = backend(scene).frame_now(TOPICS)
    assert set(frame.arrays) >= KNOWN_BY_KINEMATICS
    assert not set(frame.arrays) & NEEDS_FORCES
    assert np.array_equal(frame.arrays[Topic.STATE]["qpos"], before)
    assert np.isnan(frame.arrays[Topic.STATE]["qacc"]).all()
    assert np.isfinite(frame.arrays[Topic.POSE]["xpos"]).all()
    assert "MuJoCo fails on it" in frame.notes[0]
    scene.reset()
    assert set(backend(scene).frame_now(TOPICS).arrays) >= OURS
    assert set(executed(scene).arrays) >= OURS


def test_a_step_in_which_mujoco_resets_the_data_says_that_its_numbers_do_not_fit(
    case_model: Callable[..., Path],
) -> None:
    scene = physics.create_scene("Resetting", case_model("C02"))
    told = []
    for _ in range(8):
        before = float(scene.data.time)
        scene.ctrl[0] = 0.5
        frame = executed(scene)
        was_reset = scene.data.time <= before
        told.append(bool(frame.notes))
        assert told[-1] == was_reset
        assert (Topic.ACCELERATION in frame.arrays) != was_reset
    assert any(told)
    assert not all(told)


def test_a_reset_within_the_very_first_step_is_noticed_although_the_time_looks_right() -> None:
    scene = physics.create_scene("Coasting", COASTING)
    scene.data.qvel[0] = 1e11  # more than MuJoCo takes
    frame = executed(scene)
    assert scene.data.time == pytest.approx(1 / 120)
    assert "MuJoCo has reset the data" in frame.notes[0]
    assert executed(scene).notes == ()


def test_a_state_that_diverges_without_a_reset_is_shown_as_it_is() -> None:
    xml = COASTING.replace(
        '"implicitfast"/>', '"implicitfast"><flag autoreset="disable"/></option>'
    )
    scene = physics.create_scene("Coasting", xml)
    scene.data.qvel[0] = 1e11
    frame = executed(scene)
    assert frame.notes == ()
    assert frame.arrays[Topic.STATE]["qvel"][0] == 1e11
    assert Topic.BODIES in frame.arrays
