"""Candidates from one checkpoint: each, bit for bit, what a single scene does."""

import threading
from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.engine.mujoco_adapter import MujocoAdapter

Make = Callable[..., physics.Scene]
Drive = Callable[..., NDArray[np.float64]]
Array = NDArray[np.float64]

PILE = """
<mujoco><option timestep="0.004"/><worldbody><geom type="plane" size="3 3 .1"/>
  {bodies}
</worldbody><actuator>{motors}</actuator></mujoco>
"""


def pile(count: int = 8, option: str = "") -> str:
    """Return a heap of boxes that are pushed sideways."""
    bodies = "".join(
        f'<body pos="{0.05 * (i % 3)} 0 {0.15 + 0.22 * i}"><freejoint name="box{i}"/>'
        '<geom type="box" size=".1 .1 .1" mass="1"/>'
        f'<site name="site{i}"/></body>'
        for i in range(count)
    )
    motors = '<motor name="push" site="site0" gear="1 0 0 0 0 0"/>'
    text = PILE.format(bodies=bodies, motors=motors)
    return text.replace('timestep="0.004"', f'timestep="0.004" {option}')


DELAYED = """
<mujoco><worldbody><body><joint name="hinge" axis="0 1 0" damping=".1"/>
  <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></worldbody>
  <actuator><position name="servo" joint="hinge" kp="5" delay="0.02" nsample="12"/>
  <general joint="hinge" dyntype="filter" dynprm=".05" gainprm="2"/></actuator>
</mujoco>
"""
SLEEPERS = """
<mujoco><option timestep="0.005"><flag sleep="enable"/></option><worldbody>
  <geom type="plane" size="3 3 .1"/>
  <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  <body pos="1 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  <body pos="0 1 .3"><joint name="arm" axis="0 1 0"/><geom type="box" size=".1 .1 .1"/></body>
</worldbody><actuator><motor joint="arm"/></actuator></mujoco>
"""


def captured(scene: physics.Scene) -> bytes:
    buffer = physics.DynamicArrayUint8()
    scene.capture_state_to_bytes(buffer)
    return bytes(buffer)


def stepped(
    scene: physics.Scene,
    checkpoint: bytes,
    controls: Array,
    state_of: Callable[[physics.Scene], Array],
    *,
    nstep: int = 1,
) -> Array:
    """Return the rows of one scene that is stepped from the checkpoint."""
    scene.restore_state_from_bytes(checkpoint)
    rows = []
    for control in controls:
        scene.ctrl[:] = control
        rows.append(state_of(scene))
        scene.step(nstep=nstep)
    rows.append(state_of(scene))
    return np.array(rows)


def random_controls(scene: physics.Scene, candidates: int, steps: int, seed: int = 3) -> Array:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (candidates, steps, scene.model.nu))


MODELS = {
    "pile": pile(),
    "pile, implicit": pile(option='integrator="implicit"'),
    "pile, RK4": pile(option='integrator="RK4"'),
    "pile, noslip": pile(option='noslip_iterations="3"'),
    "delayed": DELAYED,
    "sleeping": SLEEPERS,
}


@pytest.fixture
def make_any(make_scene: Make) -> Make:
    def make(name: str) -> physics.Scene:
        if name not in MODELS:
            return make_scene(name)
        try:
            return physics.create_scene(name, MODELS[name])
        except physics.ModelError as error:
            pytest.skip(f"this MuJoCo has no such thing: {error}")

    return make


@pytest.mark.parametrize("name", ["arm", "humanoid", *MODELS])
@pytest.mark.parametrize("nstep", [1, 3])
def test_candidates_are_bit_for_bit_what_a_single_scene_does(
    make_any: Make,
    drive: Drive,
    state_of: Callable[[physics.Scene], Array],
    name: str,
    nstep: int,
) -> None:
    scene = make_any(name)
    drive(scene, 120)
    checkpoint = captured(scene)
    before = state_of(scene)
    controls = random_controls(scene, 5, 30)
    rollouts = physics.rollout(checkpoint, controls, nstep=nstep, threads=2)
    assert np.array_equal(state_of(scene), before)
    assert rollouts.states.shape == (5, 31, before.size)
    assert rollouts.inexact_reason == ""
    assert rollouts.completed.all()
    for candidate in range(5):
        rows = stepped(scene, checkpoint, controls[candidate], state_of, nstep=nstep)
        assert rollouts.states[candidate].tobytes() == rows.tobytes()


def test_part_of_a_model_asleep_goes_on_bit_for_bit(
    state_of: Callable[[physics.Scene], Array],
) -> None:
    if not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"):
        pytest.skip("this MuJoCo has no sleep")
    scene = physics.create_scene("sleepers", SLEEPERS)
    for _ in range(400):
        scene.ctrl[:] = 1.0
        scene.step()
    awake = np.asarray(scene.data.body_awake)
    assert (awake == 0).any()
    assert (awake == 1).any()
    checkpoint = captured(scene)
    controls = random_controls(scene, 3, 40)
    rollouts = physics.rollout(checkpoint, controls)
    for candidate in range(3):
        rows = stepped(scene, checkpoint, controls[candidate], state_of)
        assert rollouts.states[candidate].tobytes() == rows.tobytes()


def test_32_candidates_are_the_same_on_one_thread_and_on_two(
    make_scene: Make, drive: Drive
) -> None:
    scene = make_scene()
    drive(scene, 50)
    checkpoint = captured(scene)
    controls = random_controls(scene, 32, 25)
    one = physics.rollout(checkpoint, controls, threads=1)
    two = physics.rollout(checkpoint, controls, threads=2)
    assert one.states.tobytes() == two.states.tobytes()
    assert len(one) == 32
    assert np.allclose(one.time[:, 0], 0.25)
    assert np.allclose(one.time[:, -1], 0.25 + 25 * one.timestep)
    assert len({row.tobytes() for row in one.qpos[:, -1]}) == 32


@pytest.mark.parametrize("native", [True, False])
def test_our_own_threads_do_what_those_of_mujoco_do(
    make_scene: Make,
    drive: Drive,
    monkeypatch: pytest.MonkeyPatch,
    state_of: Callable[[physics.Scene], Array],
    native: bool,
) -> None:
    if not native:
        monkeypatch.setattr(MujocoAdapter, "batch_module", lambda self: None)
    scene = make_scene()
    drive(scene, 60)
    checkpoint = captured(scene)
    controls = random_controls(scene, 4, 20)
    rollouts = physics.rollout(checkpoint, controls, threads=2)
    rows = stepped(scene, checkpoint, controls[3], state_of)
    assert rollouts.states[3].tobytes() == rows.tobytes()


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("nstep", [1, 4])
def test_a_control_that_is_no_number_ends_its_candidate_and_is_named(
    make_scene: Make,
    drive: Drive,
    monkeypatch: pytest.MonkeyPatch,
    native: bool,
    nstep: int,
) -> None:
    if not native:
        monkeypatch.setattr(MujocoAdapter, "batch_module", lambda self: None)
    scene = make_scene()
    drive(scene, 20)
    controls = random_controls(scene, 4, 12)
    controls[2, 7, 1] = np.nan
    rollouts = physics.rollout(captured(scene), controls, nstep=nstep)
    assert rollouts.event_steps.tolist() == [-1, -1, 7, -1]
    assert rollouts.steps.tolist() == [12, 12, 7, 12]
    assert rollouts.completed.tolist() == [True, True, False, True]
    name = mujoco.mj_id2name(scene.model, int(mujoco.mjtObj.mjOBJ_ACTUATOR), 1)
    assert rollouts.outcomes[2] == f"NaN, Inf or a huge value in ctrl of {name!r}"
    assert np.isfinite(rollouts.qpos[2, :8]).all()
    assert np.isnan(rollouts.qpos[2, 8:]).all()
    assert np.isnan(rollouts.states[2, 7]).sum() == 1  # the control itself, as evidence
    assert repr(rollouts) == "Rollouts('rollout 1', 4 candidates of 12 steps, 1 with an event)"


@pytest.mark.parametrize("native", [True, False])
def test_a_candidate_that_blows_up_says_which_joint_and_when(
    monkeypatch: pytest.MonkeyPatch, native: bool, state_of: Callable[[physics.Scene], Array]
) -> None:
    if not native:
        monkeypatch.setattr(MujocoAdapter, "batch_module", lambda self: None)
    stiff = """<mujoco><option timestep="0.01"/><worldbody><body>
      <joint name="wrist" axis="0 1 0"/><geom type="box" size=".02 .02 .02" mass=".01"/></body>
      </worldbody><actuator><velocity name="servo" joint="wrist" kv=".001"/></actuator></mujoco>"""
    scene = physics.create_scene("stiff", stiff)
    checkpoint = captured(scene)
    controls = np.zeros((3, 200, 1))
    controls[1] = 0.5
    rollouts = physics.rollout(checkpoint, controls)
    assert rollouts.outcomes[0] == rollouts.outcomes[2] == "ended"
    assert "'wrist'" in rollouts.outcomes[1]
    event = int(rollouts.event_steps[1])
    assert 0 < event < 199
    # The last state is the one before the step in which MuJoCo would have reset the data.
    rows = stepped(scene, checkpoint, controls[1, :event], state_of)
    assert rollouts.qvel[1, : event + 1].ravel().tolist() == rows[:, 2].tolist()
    assert np.isnan(rollouts.states[1, event + 1 :]).all()


def test_controls_of_another_shape_are_refused(make_scene: Make) -> None:
    scene = make_scene("arm")
    checkpoint = captured(scene)
    nu = scene.model.nu
    for shape in ((4, nu), (2, 3, nu + 1), (0, 3, nu), (2, 0, nu)):
        with pytest.raises(ValueError, match=rf"\(candidates, steps, {nu}\)"):
            physics.rollout(checkpoint, np.zeros(shape))
    with pytest.raises(ValueError, match="nstep must be 1 or more, not 0"):
        physics.rollout(checkpoint, np.zeros((1, 1, nu)), nstep=0)
    with pytest.raises(ValueError, match=r"threads .*must be 1…"):
        physics.rollout(checkpoint, np.zeros((1, 1, nu)), threads=0)
    with pytest.raises(ValueError, match="names must be 1 texts"):
        physics.rollout(checkpoint, np.zeros((1, 1, nu)), names=["a", "b"])
    with pytest.raises(TypeError, match="begins with a checkpoint"):
        physics.rollout("here", np.zeros((1, 1, nu)))


def test_a_checkpoint_of_another_model_is_refused(make_scene: Make) -> None:
    arm = make_scene("arm")
    checkpoint = captured(arm)
    controls = np.zeros((1, 1, arm.model.nu))
    physics.destroy_scene(arm)
    with pytest.raises(physics.StateError, match="no scene of this thread"):
        physics.rollout(checkpoint, controls)
    make_scene("humanoid")
    with pytest.raises(physics.StateMismatchError, match="another model"):
        physics.rollout(checkpoint, controls)


def test_another_thread_can_not_use_the_scene(make_scene: Make) -> None:
    scene = make_scene("arm")
    checkpoint = captured(scene)
    seen: list[Exception] = []

    def elsewhere() -> None:
        try:
            physics.rollout(checkpoint, np.zeros((1, 1, scene.model.nu)), scene=scene)
        except physics.EngineError as error:
            seen.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert isinstance(seen[0], physics.OwnerThreadError)


def test_a_checkpoint_object_knows_its_scene(make_scene: Make, drive: Drive) -> None:
    first, second = make_scene("arm"), make_scene("arm")
    drive(second, 10)
    checkpoint = second.checkpoint("plan from here")
    rollouts = physics.rollout(checkpoint, random_controls(second, 2, 5), name="plan")
    assert rollouts.names == ("plan #0", "plan #1")
    assert rollouts.time[0, 0] == checkpoint.time
    assert first.get_total_simulation_time() == 0.0


def test_a_callback_of_the_script_runs_for_every_candidate_and_that_is_said(
    make_scene: Make, state_of: Callable[[physics.Scene], Array]
) -> None:
    scene = make_scene("arm")
    threads = set()

    def control(model: mujoco.MjModel, data: mujoco.MjData) -> None:
        threads.add(threading.get_ident())
        data.ctrl[0] = 0.1 * data.qvel[0]

    checkpoint = captured(scene)
    controls = random_controls(scene, 3, 10)
    mujoco.set_mjcb_control(control)
    try:
        rollouts = physics.rollout(checkpoint, controls, threads=2)
        rows = stepped(scene, checkpoint, controls[1], state_of)
    finally:
        mujoco.set_mjcb_control(None)
    assert "callbacks (control)" in rollouts.inexact_reason
    assert threads == {threading.get_ident()}
    assert np.array_equal(rollouts.qpos[1], rows[:, 1 : 1 + scene.model.nq])


def test_candidates_stay_in_the_table_while_somebody_is_attached(
    make_scene: Make, host: Host
) -> None:
    scene = make_scene("arm")
    checkpoint = captured(scene)
    controls = random_controls(scene, 3, 10)
    controls[1, 4] = np.nan
    physics.rollout(checkpoint, controls)
    assert scene.rollouts.infos() == ()
    host.attach(PlaybackMode.FAST_FORWARD)
    rollouts = physics.rollout(checkpoint, controls, name="swing")
    rollouts.note("cost", [3.0, np.inf, 1.5])
    infos = scene.rollouts.infos()
    assert infos is scene.rollouts.infos()
    assert [info.name for info in infos] == ["swing #0", "swing #1", "swing #2"]
    assert {info.group for info in infos} == {"swing"}
    assert [info.steps for info in infos] == [10, 4, 10]
    assert [info.event_step for info in infos] == [-1, 4, -1]
    assert [dict(info.numbers)["cost"] for info in infos] == [3.0, np.inf, 1.5]
    assert dict(infos[0].numbers)["max |qvel|"] == np.abs(rollouts.qvel[0]).max()
    assert infos[0].time == pytest.approx(10 * rollouts.timestep)
    with pytest.raises(ValueError, match=r"shape \(3,\), not \(2,\)"):
        rollouts.note("cost", [1.0, 2.0])


def test_results_are_read_only(make_scene: Make) -> None:
    scene = make_scene("arm")
    rollouts = physics.rollout(captured(scene), random_controls(scene, 2, 3))
    for array in (rollouts.states, rollouts.qpos, rollouts.ctrl):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1.0


def test_a_scene_goes_on_from_a_candidate_s_state(
    make_scene: Make, drive: Drive, state_of: Callable[[physics.Scene], Array]
) -> None:
    scene = make_scene()
    drive(scene, 40)
    controls = random_controls(scene, 3, 20)
    rollouts = physics.rollout(scene.checkpoint(), controls, nstep=2)
    scene.restore(rollouts.checkpoint(1, 12))
    assert (scene.step_count, scene.physics_step_count) == (52, 64)
    for control in controls[1, 12:]:
        scene.ctrl[:] = control
        scene.step(nstep=2)
    assert state_of(scene).tobytes() == rollouts.states[1, -1].tobytes()
    scene.restore(rollouts.checkpoint(1))
    assert state_of(scene).tobytes() == rollouts.states[1, -1].tobytes()
    for step in (-1, 21):
        with pytest.raises(IndexError, match="has completed 20 steps"):
            rollouts.checkpoint(1, step)


def test_inside_a_step_with_a_shorter_timestep_candidates_have_the_model_s_own(
    make_scene: Make,
) -> None:
    scene = make_scene("arm")
    checkpoint = scene.checkpoint()
    own = float(scene.model.opt.timestep)
    seen = []

    def plan(scene: physics.Scene) -> None:
        rollouts = physics.rollout(checkpoint, np.zeros((2, 4, scene.model.nu)))
        seen.append((rollouts.timestep, float(rollouts.time[0, -1])))

    scene.register_pre_step_callback(plan)
    scene.step(0.7 * own)
    assert seen == [(own, pytest.approx(4 * own))]
    assert scene.model.opt.timestep == own
