"""Steps that go wrong: taken back with the state before them, named, and let through when asked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.time_messages import StopReason
from stroboscope.engine.stops.scene_stops import SceneStops

Case = Callable[..., Path]
StateOf = Callable[[physics.Scene], NDArray[np.float64]]

pytestmark = pytest.mark.filterwarnings("ignore")


def stopped(scene: physics.Scene, steps: int, act: Callable[[int], None] | None = None) -> int:
    """Step until a stop; return before which step it was."""
    scene.raise_on_stop = True
    for k in range(steps):
        if act is not None:
            act(k)
        before = scene.last_stop
        try:
            scene.step()
        except physics.SimulationStopped as stop:
            found, where = stop.event, k
            break
    else:
        raise AssertionError(f"no stop within {steps} steps")
    assert found is scene.last_stop is not before
    return where


def run(scene: physics.Scene, steps: int) -> None:
    for _ in range(steps):
        scene.step()


def wrist(case_model: Case, case: str = "C01") -> physics.Scene:
    scene = physics.create_scene(case, case_model(case))
    scene.ctrl[:] = 0.5
    return scene


def test_a_stiff_wrist_stops_before_its_first_step_and_stands_where_it_stood(
    case_model: Case, state_of: StateOf
) -> None:
    scene = wrist(case_model)
    before = state_of(scene)
    assert stopped(scene, 6) == 0
    event = scene.last_stop
    assert event is not None
    assert event.reason is StopReason.EXPLODING
    assert (event.dof, event.joint, event.body) == (1, "wrist", "hand")
    assert event.value == pytest.approx(20001.98, rel=0.01)
    assert np.array_equal(before, state_of(scene))
    assert (scene.step_count, scene.physics_step_count, scene.total_steps) == (0, 0, 0)
    with pytest.raises(physics.SimulationStopped):
        scene.step()  # the same state leads to the same step


def test_a_reset_by_mujoco_is_noticed_every_time_and_counted(case_model: Case) -> None:
    scene = wrist(case_model, "C02")
    seen: list[tuple[int, StopReason]] = []
    times = []

    def note(scene: physics.Scene) -> None:
        assert scene.last_stop is not None
        seen.append((scene.total_steps, scene.last_stop.reason))

    scene.on_stop(note)
    for _ in range(40):
        scene.ctrl[:] = 0.5
        scene.step()
        times.append(scene.data.time)
    resets = [step for step, reason in seen if reason is StopReason.AUTORESET]
    assert times[:6] == [0.002, 0.002, 0.004, 0.002, 0.004, 0.002]
    assert resets == list(range(2, 41, 2))  # these steps count, and are counted by then
    assert scene.stops.resets == 20
    assert scene.history.episode == 20
    assert scene.data.warning[int(mujoco.mjtWarning.mjWARN_BADQACC)].number == 1
    assert "time did not advance" in str(scene.last_stop) or "time went back" in str(
        scene.last_stop
    )


def test_a_nan_action_is_blamed_on_the_control(case_model: Case, state_of: StateOf) -> None:
    scene = physics.create_scene("C04", case_model("C04"))

    def act(k: int) -> None:
        scene.ctrl[:] = (np.nan if k == 5 else 0.3), 0.3

    assert stopped(scene, 20, act) == 5
    event = scene.last_stop
    assert event is not None
    assert (event.reason, event.actuator) == (StopReason.BAD_INPUT, "shoulder_servo")
    assert event.physics_step == 5
    state = state_of(scene)
    assert np.isfinite(state[: 1 + scene.model.nq + scene.model.nv]).all()
    assert np.isnan(scene.ctrl[0])
    assert scene.data.warning[int(mujoco.mjtWarning.mjWARN_BADCTRL)].number == 0
    scene.ctrl[0] = 0.3
    scene.step()
    assert scene.step_count == 6


@pytest.mark.parametrize("array", ["qfrc_applied", "xfrc_applied"])
def test_a_force_that_is_no_number_is_blamed_and_not_what_it_does(
    case_model: Case, array: str
) -> None:
    scene = physics.create_scene("C04", case_model("C04"))

    def act(k: int) -> None:
        getattr(scene.data, array).flat[-1] = np.inf if k == 3 else 0.0

    assert stopped(scene, 5, act) == 3
    assert scene.last_stop is not None
    assert scene.last_stop.reason is StopReason.BAD_INPUT
    assert array in scene.last_stop.message


def test_memory_that_runs_out_stops_at_the_truncation_and_at_the_error(case_model: Case) -> None:
    scene = physics.create_scene("C11", case_model("C11"))
    seen: list[tuple[int, StopReason]] = []
    scene.on_stop(lambda s: seen.append((s.last_stop.physics_step, s.last_stop.reason)))
    with pytest.raises(physics.StepFailedError):
        run(scene, 100)
    assert seen == [(42, StopReason.ARENA), (45, StopReason.FATAL)]
    scene.reset()
    scene.step()
    assert scene.data.time == 0.002


def test_a_huge_speed_from_the_beginning_is_no_explosion(case_model: Case) -> None:
    scene = physics.create_scene("R6", case_model("R6"))
    scene.reset(keyframe="kick")
    assert stopped(scene, 4) == 1
    event = scene.last_stop
    assert event is not None
    assert (event.reason, event.dof, event.joint) == (StopReason.AUTORESET, 0, "pivot")
    assert "mjWARN_BADQACC" in event.message
    assert (event.time, scene.data.time) == (0.5, 0.5)
    assert scene.data.qpos[0] == pytest.approx(5e8, rel=0.01)
    assert scene.data.qvel[0] == pytest.approx(1e9, rel=0.01)


def test_without_autoreset_the_warning_stops(case_model: Case) -> None:
    model = mujoco.MjModel.from_xml_path(str(case_model("R6")))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
    scene = physics.create_scene("R6", model)
    scene.reset(keyframe="kick")
    assert stopped(scene, 4) == 1
    assert scene.last_stop is not None
    assert scene.last_stop.reason is StopReason.WARNING


def test_a_reset_in_the_first_step_after_a_reset_is_noticed_although_nothing_looks_different(
    case_model: Case,
) -> None:
    # The time is one timestep, the count is 1, as after the reset before.
    scene = physics.create_scene("R6", case_model("R6"))
    seen: list[StopReason] = []
    scene.on_stop(lambda s: seen.append(s.last_stop.reason))
    for _ in range(2):
        scene.data.time = 0.0
        scene.data.qpos[0], scene.data.qvel[0] = 5e8, 1e9
        scene.step()
        assert scene.data.time == 0.5
        assert scene.data.warning[int(mujoco.mjtWarning.mjWARN_BADQACC)].number == 1
    assert seen.count(StopReason.AUTORESET) == 2


def test_an_error_of_a_callback_stops_and_reaches_the_script(case_model: Case) -> None:
    scene = physics.create_scene("C04", case_model("C04"))

    def control(model: Any, data: Any) -> None:
        if data.time > 0.005:
            raise ZeroDivisionError("the gain is 0")

    seen: list[StopReason] = []
    scene.on_stop(lambda s: seen.append(s.last_stop.reason))
    mujoco.set_mjcb_control(control)
    try:
        with pytest.raises(physics.StepFailedError, match="the gain is 0"):
            run(scene, 10)
    finally:
        mujoco.set_mjcb_control(None)
    assert seen == [StopReason.CALLBACK]
    assert scene.step_count == 3


def test_a_rule_that_is_off_lets_the_step_count(case_model: Case) -> None:
    scene = wrist(case_model)
    scene.raise_on_stop = True
    scene.stops.switch_off([StopReason.EXPLODING])
    scene.step()
    assert scene.last_stop is None
    with pytest.raises(physics.SimulationStopped):
        scene.step()


def test_slow_growth_stops_before_mujoco_warns() -> None:
    xml = (
        "<mujoco><option timestep='.01'/><worldbody><body><joint name='j' damping='-220'/>"
        "<geom type='capsule' size='.1 .5'/></body></worldbody></mujoco>"
    )
    scene = physics.create_scene("growing", mujoco.MjModel.from_xml_string(xml))
    scene.data.qvel[0] = 1.0
    before = stopped(scene, 200)
    assert scene.last_stop is not None
    assert scene.last_stop.reason is StopReason.EXPLODING
    assert before > 3
    assert abs(scene.data.qvel[0]) < 1e9


def test_growth_that_began_below_fast_speeds_stops_before_mujoco_resets() -> None:
    """A controller of the script's own that is too stiff: 17 times faster with each step."""
    xml = (
        "<mujoco><option timestep='.002' gravity='0 0 0'/><worldbody><body>"
        "<joint name='rail' type='slide'/><geom size='.1' mass='1'/></body></worldbody></mujoco>"
    )
    scene = physics.create_scene("stiff", mujoco.MjModel.from_xml_string(xml))
    scene.data.qvel[0] = 0.1
    scene.raise_on_stop = True
    scene.keep_history(True)
    speeds = []

    def control() -> None:
        speeds.append(abs(float(scene.data.qvel[0])))
        scene.data.qfrc_applied[0] = -9000.0 * scene.data.qvel[0]

    for _ in range(4):
        control()
        scene.step()
    control()
    assert stopped(scene, 1) == 0
    assert scene.last_stop is not None
    assert scene.last_stop.reason is StopReason.EXPLODING
    assert speeds == pytest.approx([0.1 * 17.0**k for k in range(5)])


@pytest.mark.parametrize("model", ["humanoid", "arm", "cartpole"])
def test_ordinary_robots_with_random_controls_and_resets_never_stop(
    model_path: Callable[[str], Path], model: str
) -> None:
    if not model_path(model).exists():
        pytest.skip("there is no such model")
    scene = physics.create_scene(model, model_path(model))
    scene.raise_on_stop = True
    random = np.random.default_rng(0)
    for k in range(1500):
        if k % 100 == 99:
            if k % 200 == 99:
                mujoco.mj_resetData(scene.model, scene.data)
            else:
                scene.reset()
        scene.ctrl[:] = random.uniform(-1, 1, scene.model.nu)
        scene.step(nstep=1 + k % 2)
    assert scene.last_stop is None
    assert scene.stops.resets == 0


def test_a_number_that_only_the_script_looks_at_may_be_anything() -> None:
    xml = (
        "<mujoco><size nuserdata='3'/><worldbody><body><joint/><geom size='.1'/></body>"
        "</worldbody></mujoco>"
    )
    scene = physics.create_scene("userdata", mujoco.MjModel.from_xml_string(xml))
    scene.raise_on_stop = True
    scene.data.userdata[:] = np.nan
    for _ in range(5):
        scene.step()
    assert scene.last_stop is None


def test_a_guarded_run_is_bit_identical_to_a_bare_one(
    make_scene: Callable[..., physics.Scene],
    drive: Callable[..., NDArray[np.float64]],
    host: Host,
) -> None:
    bare = drive(make_scene(), 300)
    guarded = make_scene()
    guarded.keep_history()
    assert np.array_equal(bare, drive(guarded, 300))
    host.attach(PlaybackMode.FAST_FORWARD)
    assert np.array_equal(bare, drive(make_scene(), 300))


def test_a_stop_that_is_only_marked_goes_on_as_if_nobody_had_looked(
    case_model: Case, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = wrist(case_model, "C02")
    times = []
    for _ in range(10):
        alone.ctrl[:] = 0.5
        alone.step()
        times.append(alone.data.time)
    host.attach(PlaybackMode.FAST_FORWARD)
    scene = wrist(case_model, "C02")
    held: list[bool] = []
    monkeypatch.setattr(SceneStops, "holds", _marks(held))
    for k in range(10):
        scene.ctrl[:] = 0.5
        scene.step()
        assert scene.data.time == times[k]
    assert len(held) == 10
    assert scene.stops.resets == 5


def _marks(held: list[bool]) -> Callable[..., bool]:
    def holds(stops: SceneStops, trouble: object) -> bool:
        held.append(False)
        return False

    return holds


MOCAP = """<mujoco><worldbody>
  <body name="target" mocap="true" pos="0 0 1"><geom size=".05" contype="0" conaffinity="0"/></body>
  <body name="ball" pos="0 0 .5"><freejoint/><geom size=".1"/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize("array", ["mocap_pos", "mocap_quat"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_mocap_body_whose_place_is_no_number_stops_before_the_very_step(
    array: str, value: float
) -> None:
    scene = physics.create_scene("mocap", MOCAP)
    scene.keep_history()

    def act(k: int) -> None:
        scene.data.mocap_pos[0, 0] = 0.01 * k  # moved before every step
        if k == 30:
            getattr(scene.data, array)[0, 1] = value

    assert stopped(scene, 60, act) == 30
    event = scene.last_stop
    assert event is not None
    assert event.reason is StopReason.BAD_INPUT
    assert f"{array}[1] of body 'target' is {value}" in event.message


def test_moving_a_mocap_body_does_not_make_recorded_steps_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = physics.create_scene("mocap", MOCAP)
    scene.keep_history()
    slow: list[int] = []
    really = scene.stepper._step_slowly

    def counted() -> None:
        slow.append(scene.total_steps)
        really()

    monkeypatch.setattr(scene.stepper, "_step_slowly", counted)
    for k in range(100):
        scene.data.mocap_pos[0, 0] = 0.01 * k
        scene.step()
    assert slow == [0]
    scene.data.mocap_pos[0, 0] = 1e7  # far, but a number
    scene.step()
    assert slow == [0, 100]
    assert scene.last_stop is None
