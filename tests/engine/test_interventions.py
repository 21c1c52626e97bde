"""What clients do to a scene beside its script acts on its physics and is hidden from it."""

from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest
from driven_scene import (
    ARM,
    BOX,
    FLAP,
    FULL,
    STONE,
    WALL,
    Driven,
    everything_at_once,
    nothing_any_more,
    plain,
    pull,
    several,
)
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.scene_playback import Interest
from stroboscope.debugger_protocol.messages import (
    Command,
    EditField,
    EditState,
    OverrideControl,
    Perturb,
    PerturbKind,
    ReleasePerturb,
    SetControlNoise,
)
from stroboscope.debugger_protocol.time_messages import StopReason
from stroboscope.debugger_protocol.topics import AccelerationSource, Instant, Topic


def viewers_force(
    model: Any, row: NDArray[np.float64], wanted: Perturb
) -> tuple[NDArray[np.float64], Any]:
    """Return what MuJoCo's own viewer would write into ``xfrc_applied`` of the body."""
    data, spring = mujoco.MjData(model), mujoco.MjvPerturb()
    mujoco.mj_setState(model, data, row, FULL)
    mujoco.mj_forward(model, data)
    scene = mujoco.MjvScene(model, maxgeom=100)
    everything = int(mujoco.mjtCatBit.mjCAT_ALL)
    option, camera = mujoco.MjvOption(), mujoco.MjvCamera()
    mujoco.mjv_updateScene(model, data, option, spring, camera, everything, scene)
    spring.select = wanted.body
    spring.localpos[:] = wanted.point
    mujoco.mjv_initPerturb(model, data, scene, spring)
    bits = mujoco.mjtPertBit
    is_force = wanted.kind is PerturbKind.FORCE
    spring.active = int(bits.mjPERT_TRANSLATE if is_force else bits.mjPERT_ROTATE)
    spring.refselpos[:] = wanted.pos
    spring.refquat[:] = wanted.quat
    data.xfrc_applied[:] = 0.0
    mujoco.mjv_applyPerturbForce(model, data, spring)
    return data.xfrc_applied[wanted.body].copy(), spring


@pytest.mark.parametrize("body", [BOX, FLAP, ARM])
def test_a_pull_is_the_spring_of_mujocos_viewer(
    drive_box: Callable[..., Driven], body: int
) -> None:
    driven = drive_box()
    driven.step(20)
    wanted = pull(driven, body, point=(0.05, -0.02, 0.1))
    expected, _ = viewers_force(driven.model, driven.state(), wanted)
    driven.give(wanted)
    driven.step()
    used = driven.used(mujoco.mjtState.mjSTATE_XFRC_APPLIED).reshape(-1, 6)
    script = driven.scene.world.live().xfrc_applied
    assert np.abs(expected).max() > 1.0
    np.testing.assert_allclose(used[body], script[body] + expected, rtol=1e-9, atol=1e-12)
    others = [b for b in range(driven.model.nbody) if b != body]
    assert np.array_equal(used[others], script[others])


def test_a_twist_is_the_spring_of_mujocos_viewer(drive_box: Callable[..., Driven]) -> None:
    driven = drive_box()
    driven.step(20)
    quat = tuple(np.array((0.9, 0.1, 0.2, 0.3)) / np.linalg.norm((0.9, 0.1, 0.2, 0.3)))
    wanted = pull(driven, kind=PerturbKind.TORQUE, quat=quat)
    expected, _ = viewers_force(driven.model, driven.state(), wanted)
    # A quaternion of any length is a direction.
    driven.give(pull(driven, kind=PerturbKind.TORQUE, quat=tuple(2.0 * np.array(quat))))
    driven.step()
    used = driven.used(mujoco.mjtState.mjSTATE_XFRC_APPLIED).reshape(-1, 6)
    script = driven.scene.world.live().xfrc_applied[BOX]
    assert not expected[:3].any()
    assert expected[3:].any()
    np.testing.assert_allclose(used[BOX], script + expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("option", ["", 'integrator="RK4"', 'integrator="implicitfast"'])
@pytest.mark.parametrize("loop", [plain, several])
def test_the_script_finds_its_inputs_to_the_last_bit_and_the_run_is_its_own_afterwards(
    drive_box: Callable[..., Driven], option: str, loop: Callable[[Driven], None]
) -> None:
    driven = drive_box(option, loop)
    driven.step(3)
    untouched = driven.state()
    everything_at_once(driven)
    driven.step(50)
    assert len(set(driven.seen)) == 1
    nothing_any_more(driven)
    begin = driven.state()
    driven.step(30)
    assert len(set(driven.seen)) == 1
    assert not np.array_equal(begin[:10], untouched[:10])
    # From where it was let go, the run is what it would be had nobody ever been there.
    data = mujoco.MjData(driven.model)
    mujoco.mj_setState(driven.model, data, begin, FULL)
    for _ in range(30 * (5 if loop is several else 1)):
        mujoco.mj_step(driven.model, data)
    end = np.empty_like(begin)
    mujoco.mj_getState(driven.model, data, end, FULL)
    assert np.array_equal(end, driven.state())


def test_an_intervention_that_does_nothing_leaves_the_run_bit_identical(
    drive_box: Callable[..., Driven],
) -> None:
    driven = drive_box()
    begin = driven.state()
    # The value that the script itself has written.
    driven.give(OverrideControl(id=0, scene_id=driven.id, index=1, value=0.7))
    driven.step(100)
    data = mujoco.MjData(driven.model)
    mujoco.mj_setState(driven.model, data, begin, FULL)
    for _ in range(100):
        mujoco.mj_step(driven.model, data)
    end = np.empty_like(begin)
    mujoco.mj_getState(driven.model, data, end, FULL)
    assert np.array_equal(end, driven.state())


def test_an_override_drives_the_actuator_while_the_script_reads_its_own_value(
    drive_box: Callable[..., Driven],
) -> None:
    driven = drive_box()
    interest = Interest(intervals={Topic.STATE: 0.0}, channels=("ctrl", "actuator_force"))
    driven.host.set_interest(driven.scene.link, interest)
    driven.give(OverrideControl(id=0, scene_id=driven.id, index=0, value=-0.5))
    driven.step()
    data = driven.scene.world.live()
    assert data.ctrl[0] == 0.1
    assert data.actuator_force[0] == -0.5
    executed = driven.scene.link.publisher.slots[Topic.STATE, Instant.EXECUTED].arrays
    assert executed["ctrl"].tolist() == [-0.5, 0.7]
    assert executed["actuator_force"][0] == -0.5
    ring = driven.scene.link.ring
    assert ring.values[0][ring.columns["ctrl"]].tolist() == [-0.5, 0.7]
    assert driven.used(mujoco.mjtState.mjSTATE_CTRL).tolist() == [-0.5, 0.7]


def test_now_predicts_what_the_next_step_will_be_given(
    drive_box: Callable[..., Driven], wait_until: Callable[..., None]
) -> None:
    driven = drive_box()
    driven.step(10)
    driven.host.set_interest(driven.scene.link, Interest(intervals={Topic.STATE: 0.0}))
    everything_at_once(driven)
    slots = driven.scene.link.publisher.slots

    def shown() -> bool:
        now = slots.get((Topic.STATE, Instant.NOW))
        return now is not None and now.arrays["ctrl"][1] != 0.7

    wait_until(shown)
    predicted = slots[Topic.STATE, Instant.NOW].arrays
    driven.step()
    executed = slots[Topic.STATE, Instant.EXECUTED].arrays
    for name in ("ctrl", "qacc", "actuator_force", "qpos"):
        assert np.array_equal(predicted[name], executed[name]), name


def test_a_pull_is_shown_as_a_force_on_its_body_and_as_a_source_of_acceleration(
    drive_box: Callable[..., Driven], wait_until: Callable[..., None]
) -> None:
    driven = drive_box()
    driven.step(10)
    topics = dict.fromkeys((Topic.BODIES, Topic.ACCELERATION), 0.0)
    driven.host.set_interest(driven.scene.link, Interest(intervals=topics))
    driven.give(pull(driven, FLAP))
    slots = driven.scene.link.publisher.slots
    key = (Topic.BODIES, Instant.NOW)
    wait_until(lambda: key in slots and slots[key].arrays["xfrc_applied"][FLAP].any())
    predicted = {topic: slots[topic, Instant.NOW].arrays for topic in topics}
    driven.step()
    used = driven.used(mujoco.mjtState.mjSTATE_XFRC_APPLIED).reshape(-1, 6)
    executed = {topic: slots[topic, Instant.EXECUTED].arrays for topic in topics}
    np.testing.assert_array_equal(executed[Topic.BODIES]["xfrc_applied"], used)
    for topic, arrays in executed.items():
        for name, values in arrays.items():
            np.testing.assert_array_equal(predicted[topic][name], values, f"{topic}.{name}")
    shares = executed[Topic.ACCELERATION]
    kinds = [list(AccelerationSource)[kind] for kind in shares["kind"]]
    bodies = [
        int(index)
        for kind, index in zip(kinds, shares["index"], strict=True)
        if kind is AccelerationSource.BODY_FORCE
    ]
    assert bodies == [BOX, FLAP], "the script's own force, and the pull"
    assert AccelerationSource.REST not in kinds


def test_while_nothing_is_done_to_a_scene_its_quick_path_stays_and_comes_back(
    drive_box: Callable[..., Driven], wait_until: Callable[..., None]
) -> None:
    driven = drive_box()
    link = driven.scene.link
    driven.wait(lambda reply: driven.host.fast_forward(reply=reply))
    wait_until(lambda: link.quiet_until > 0.0)
    driven.give(pull(driven))
    assert link.quiet_until < 0.0
    ticks = link.physics_ticks
    wait_until(lambda: link.physics_ticks > ticks + 100)
    assert link.quiet_until < 0.0
    driven.give(ReleasePerturb(id=0, scene_id=driven.id))
    wait_until(lambda: link.quiet_until > 0.0)
    driven.wait(lambda reply: driven.host.pause(reply=reply))
    assert len(set(driven.seen)) == 1


@pytest.mark.parametrize("option", ["", 'integrator="RK4"'])
def test_an_override_wins_over_the_scripts_control_callback_which_sees_only_its_own(
    drive_box: Callable[..., Driven], option: str
) -> None:
    read: list[float] = []

    def control(model: Any, data: Any) -> None:
        read.append(float(data.ctrl[0]))
        data.ctrl[0] = 0.25
        data.xfrc_applied[ARM, 0] = 7.0

    driven = drive_box(option)
    mujoco.set_mjcb_control(control)
    try:
        driven.give(OverrideControl(id=0, scene_id=driven.id, index=0, value=-0.5))
        driven.give(pull(driven, ARM))
        driven.step(3)
        assert mujoco.get_mjcb_control() is control
    finally:
        mujoco.set_mjcb_control(None)
    data = driven.scene.world.live()
    assert set(read) == {0.1, 0.25}
    assert data.ctrl[0] == 0.25
    assert data.xfrc_applied[ARM].tolist() == [7.0, 0, 0, 0, 0, 0]
    assert data.actuator_force[0] == -0.5


@pytest.mark.parametrize("has_callback", [False, True])
def test_a_reset_by_mujoco_within_the_step_takes_the_scripts_inputs_with_it(
    drive_box: Callable[..., Driven], has_callback: bool
) -> None:
    read: list[list[float]] = []

    def control(model: Any, data: Any) -> None:
        read.append(data.ctrl.tolist())

    def loop(driven: Driven) -> None:
        driven.scene.stops.switch_off([StopReason.AUTORESET])
        while not driven.over:
            driven.scene.step()
            if driven.scene.step_count == 2:
                driven.scene.data.qvel[0] = 1e11
            driven.look()

    driven = drive_box(loop=loop)
    driven.step(2)
    begin = driven.state()
    if has_callback:
        mujoco.set_mjcb_control(control)
    try:
        # The values that are there anyway: nothing may be different.
        driven.give(OverrideControl(id=0, scene_id=driven.id, index=1, value=0.7))
        driven.give(SetControlNoise(id=0, scene_id=driven.id, std=0.0))
        driven.step(1)
    finally:
        mujoco.set_mjcb_control(None)
    data = mujoco.MjData(driven.model)
    mujoco.mj_setState(driven.model, data, begin, FULL)
    mujoco.mj_step(driven.model, data)
    assert data.time == driven.model.opt.timestep
    live = driven.scene.world.live()
    assert data.ctrl.tolist() == live.ctrl.tolist() == [0.0, 0.0]
    assert data.xfrc_applied.tolist() == live.xfrc_applied.tolist()
    assert all(values in ([0.1, 0.7], [0.0, 0.0]) for values in read)


def test_a_step_that_fails_gives_the_script_its_inputs_back(
    drive_box: Callable[..., Driven], monkeypatch: pytest.MonkeyPatch
) -> None:
    errors: list[BaseException] = []

    def loop(driven: Driven) -> None:
        while not driven.over:
            try:
                driven.scene.step()
            except physics.StepFailedError as error:
                errors.append(error)
            driven.look()

    driven = drive_box(loop=loop)
    driven.step(2)
    everything_at_once(driven)
    own = driven.state()

    def fail(model: Any, data: Any) -> None:
        raise mujoco.FatalError("no more memory")

    monkeypatch.setattr(driven.scene.stepper, "_mj_step", fail)
    with pytest.raises(CommandError, match="no more memory"):
        driven.step()  # the scene has stopped before the step
    assert not errors
    assert np.array_equal(own, driven.state())
    driven.scene.stops.switch_off([StopReason.FATAL])
    with pytest.raises(CommandError, match="did not complete"):
        driven.step()
    assert errors
    assert len(set(driven.seen)) == 1
    assert np.array_equal(own, driven.state())


@pytest.mark.skipif(
    not hasattr(mujoco.mjtTrn, "mjTRN_SO3"), reason="this MuJoCo has one control per actuator"
)
def test_noise_keeps_to_the_range_of_each_control_of_actuators_that_have_several() -> None:
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><joint name='b' type='ball'/><geom size='.1' pos='.2 0 0'/>"
        "<body><joint name='j'/><geom size='.1' pos='.3 0 0'/></body></body></worldbody>"
        "<actuator><orientation joint='b' kp='10'/><motor joint='j' ctrlrange='-5 5'/></actuator>"
        "</mujoco>"
    )
    scene = physics.create_scene("several", model)
    backend = scene.link.backend
    backend.set_control_noise(10.0, 0.0)
    drawn = []
    for _ in range(200):
        backend.intervene()
        drawn.append(scene.data.ctrl.copy())
        scene.world.interventions.take_back()
    lowest, highest = np.min(drawn, axis=0), np.max(drawn, axis=0)
    assert (lowest[3], highest[3]) == (-5.0, 5.0)
    assert (lowest[:3] < -10.0).all()
    assert (highest[:3] > 10.0).all()


def test_noise_is_as_wide_as_asked_for_correlated_and_within_the_range(
    drive_box: Callable[..., Driven],
) -> None:
    driven = drive_box()
    driven.give(
        EditState(id=0, scene_id=driven.id, field=EditField.CTRL, index=0, values=(0.0, 0.0))
    )
    driven.give(SetControlNoise(id=0, scene_id=driven.id, std=0.2, rate=0.02))
    driven.host.set_interest(driven.scene.link, Interest(channels=("ctrl",)))
    driven.step(2000)
    ring = driven.scene.link.ring
    rows = ring.read(0, limit=ring.capacity).values
    assert rows.shape == (2000, 2)
    assert np.abs(rows[:, 0]).max() <= 1.0
    # Half a range is 1 and 2; neighbours 0.002 s apart are correlated by exp(-0.1).
    np.testing.assert_allclose(rows.std(axis=0), (0.2, 0.4), rtol=0.2)
    correlation = np.corrcoef(rows[:-1, 0], rows[1:, 0])[0, 1]
    assert correlation == pytest.approx(np.exp(-0.1), abs=0.04)
    assert driven.scene.world.live().ctrl.tolist() == [0.0, 0.0]


@pytest.mark.skipif(
    not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"), reason="this MuJoCo knows no sleep"
)
def test_a_sleeping_body_wakes_up_when_it_is_pulled(drive_box: Callable[..., Driven]) -> None:
    driven = drive_box('> <flag sleep="enable"/></option><option')
    driven.step(1000)
    data = driven.scene.world.live()
    assert data.body_awake[STONE] == 0
    driven.give(pull(driven, STONE, pos=(-2, 0, 2)))
    driven.step(100)
    assert data.body_awake[STONE] == 1
    assert data.xipos[STONE, 2] > 0.3


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (lambda d: pull(d, 17), "there is no body 17: this model has 7"),
        (lambda d: pull(d, WALL), "wall can't be pulled: nothing lets it move"),
        (lambda d: pull(d, kind=PerturbKind.TORQUE, quat=(0, 0, 0, 0)), "length 0"),
        (lambda d: pull(d, pos=(0, 0, np.inf)), "finite"),
        (lambda d: pull(d, point=(0, 1e300, 0)), r"at most 1e\+10"),
        (lambda d: OverrideControl(id=0, scene_id=d.id, index=0, value=1e300), r"at most 1e\+10"),
        (
            lambda d: OverrideControl(id=0, scene_id=d.id, index=2, value=1.0),
            "there is no control 2: this model has 2",
        ),
        (lambda d: OverrideControl(id=0, scene_id=d.id, index=0, value=np.nan), "finite"),
        (lambda d: SetControlNoise(id=0, scene_id=d.id, std=-1.0), "std of the control noise"),
        (lambda d: SetControlNoise(id=0, scene_id=d.id, std=0.1, rate=-1.0), "rate of the"),
    ],
)
def test_what_can_not_be_done_is_refused_and_changes_nothing(
    drive_box: Callable[..., Driven], command: Callable[[Driven], Command], why: str
) -> None:
    driven = drive_box()
    begin = driven.state()
    with pytest.raises(CommandError, match=why):
        driven.give(command(driven))
    assert not driven.scene.link.intervening
    assert np.array_equal(begin, driven.state())


def test_a_scene_that_only_reports_by_sync_says_why_it_can_not_be_pulled(
    drive_box: Callable[..., Driven],
) -> None:
    def loop(driven: Driven) -> None:
        scene = driven.scene
        model, data = scene.model, scene.data
        while not driven.over:
            mujoco.mj_step(model, data)
            scene.sync()

    driven = drive_box(loop=loop)
    driven.step(2)
    with pytest.raises(CommandError, match=r"stroboscope run"):
        driven.give(pull(driven))
