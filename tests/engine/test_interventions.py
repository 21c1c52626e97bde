"""What clients do to a scene beside its script acts on its physics and is hidden from it."""

import contextlib
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.control import OnDisconnect
from stroboscope.debugger_protocol.host.host import Host, HostListener
from stroboscope.debugger_protocol.host.playback import Ticket
from stroboscope.debugger_protocol.host.scene_playback import Interest
from stroboscope.debugger_protocol.host.server import DebugServer
from stroboscope.debugger_protocol.messages import (
    Command,
    EditField,
    EditOption,
    EditState,
    Lint,
    LogEntry,
    OverrideControl,
    Perturb,
    PerturbKind,
    PlaybackMode,
    ReleasePerturb,
    RestoreCheckpoint,
    RevertEdit,
    SaveCheckpoint,
    SetControlNoise,
)
from stroboscope.debugger_protocol.topics import AccelerationSource, Instant, Topic
from stroboscope.engine.runtime import current_runtime

FULL = mujoco.mjtState.mjSTATE_INTEGRATION
BOX_AND_ARM = """
<mujoco><option timestep="0.002" {option}/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1"/>
    <body name="box" pos="0 0 1"><freejoint/>
      <geom type="box" size=".1 .2 .3" pos=".02 0 .1"/>
      <body name="flap" pos=".3 0 0"><joint name="flap" axis="0 1 0" damping=".1"/>
        <geom type="capsule" size=".03" fromto="0 0 0 .2 0 0"/></body>
    </body>
    <body name="arm" pos="2 0 1"><joint name="arm" axis="0 1 0" damping="1"/>
      <geom type="capsule" size=".05" fromto="0 0 0 .4 0 0"/></body>
    <body name="wall" pos="0 3 1"><geom type="box" size=".1 .1 .1"/></body>
    <body name="stone" pos="-2 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
    <body name="hand" mocap="true" pos="0 0 3"/>
  </worldbody>
  <equality><connect name="leash" active="false" body1="stone" anchor="0 0 0"/></equality>
  <actuator>
    <motor name="arm" joint="arm" gear="5" ctrlrange="-1 1"/>
    <motor name="flap" joint="flap" ctrlrange="-2 2"/>
  </actuator>
</mujoco>
"""
BOX, FLAP, ARM, WALL, STONE = 1, 2, 3, 4, 5


class Driven:
    """A scene that a thread of its own steps with ``loop(scene)``; what the script saw."""

    def __init__(self, host: Host, option: str, loop: Callable[["Driven"], None]) -> None:
        self.host = host
        self.seen: list[bytes] = []
        self.scene: Any = None
        self.error: BaseException | None = None
        self._loop = loop
        self._option = option
        self._made = threading.Event()
        self.over = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert self._made.wait(10)

    def _run(self) -> None:
        try:
            model = mujoco.MjModel.from_xml_string(BOX_AND_ARM.format(option=self._option))
            self.scene = physics.create_scene("box", model)
            data = self.scene.data
            data.xfrc_applied[BOX, :3] = (0.1, 0.2, 0.3)
            data.ctrl[:] = (0.1, 0.7)
            self._made.set()
            self._loop(self)
        except physics.SceneDestroyedError:
            return
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            self.error = error
        finally:
            self._made.set()

    def look(self) -> None:
        """Keep what the script sees of its own inputs."""
        data = self.scene.data
        self.seen.append(data.ctrl.tobytes() + data.xfrc_applied.tobytes())

    def give(self, command: Command) -> None:
        """Give a command and wait until it is done."""
        self.wait(lambda reply: self.host.edit(command, client=1, reply=reply))

    def step(self, count: int = 1) -> None:
        """Complete application steps."""
        self.wait(lambda reply: self.host.step(self.id, count, reply=reply))

    def wait(self, command: Callable[..., Ticket]) -> None:
        """Give a command with a reply and wait for that."""
        answered, errors = threading.Event(), []

        def reply(error: CommandError | None) -> None:
            errors.append(error)
            answered.set()

        command(reply)
        assert answered.wait(10)
        if errors[0] is not None:
            raise errors[0]

    @property
    def id(self) -> int:
        return int(self.scene.link.scene_id)

    @property
    def model(self) -> Any:
        return self.scene.world.model

    def state(self) -> NDArray[np.float64]:
        """Return the state as it stands; while the scene is parked."""
        row = np.empty(mujoco.mj_stateSize(self.model, FULL))
        mujoco.mj_getState(self.model, self.scene.world.live(), row, FULL)
        return row

    def used(self, part: mujoco.mjtState) -> NDArray[np.float64]:
        """Return that part of the row that the last physics step was given."""
        data = mujoco.MjData(self.model)
        mujoco.mj_setState(self.model, data, self.scene.stepper._row, FULL)
        values = np.empty(mujoco.mj_stateSize(self.model, part))
        mujoco.mj_getState(self.model, data, values, part)
        return values

    def end(self) -> None:
        self.host.detach("the test is over")
        self.over = True
        self._thread.join(10)
        assert self.error is None, self.error


def plain(driven: Driven) -> None:
    """A script that writes no inputs after its beginning."""
    while not driven.over:
        driven.scene.step()
        driven.look()


@pytest.fixture
def host() -> Iterator[Host]:
    physics.initialize()
    host = current_runtime().host
    host.listener = HostListener()
    yield host
    host.detach("the test is over")


@pytest.fixture
def drive_box(host: Host) -> Iterator[Callable[..., Driven]]:
    """``drive_box(option="", loop=plain)``: a paused scene with a loop of its own."""
    made: list[Driven] = []

    def make(option: str = "", loop: Callable[[Driven], None] = plain) -> Driven:
        host.attach(PlaybackMode.PAUSED)
        made.append(Driven(host, option, loop))
        assert made[-1].error is None, made[-1].error
        return made[-1]

    yield make
    for driven in made:
        driven.end()


def pull(driven: Driven, body: int = BOX, **fields: Any) -> Perturb:
    values: dict[str, Any] = {"kind": PerturbKind.FORCE, "pos": (0.5, 0.5, 2.0), **fields}
    return Perturb(id=0, scene_id=driven.id, body=body, **values)


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


def everything_at_once(driven: Driven) -> None:
    driven.give(pull(driven, FLAP, point=(0.1, 0, 0)))
    driven.give(OverrideControl(id=0, scene_id=driven.id, index=0, value=-0.9))
    driven.give(SetControlNoise(id=0, scene_id=driven.id, std=0.2, rate=0.1))


def nothing_any_more(driven: Driven) -> None:
    driven.give(ReleasePerturb(id=0, scene_id=driven.id))
    driven.give(OverrideControl(id=0, scene_id=driven.id, index=0, value=None))
    driven.give(SetControlNoise(id=0, scene_id=driven.id, std=0.0))


def several(driven: Driven) -> None:
    while not driven.over:
        driven.scene.step(nstep=5)
        driven.look()


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
    assert ring.rows[0][ring.columns["ctrl"]].tolist() == [-0.5, 0.7]
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
    with pytest.raises(CommandError):
        driven.step()
    assert errors
    assert len(set(driven.seen)) == 1
    assert np.array_equal(own, driven.state())


def test_noise_is_as_wide_as_asked_for_correlated_and_within_the_range(
    drive_box: Callable[..., Driven],
) -> None:
    driven = drive_box()
    driven.give(
        EditState(id=0, scene_id=driven.id, field=EditField.CTRL, index=0, values=(0.0, 0.0))
    )
    driven.give(SetControlNoise(id=0, scene_id=driven.id, std=0.2, rate=0.02))
    driven.host.set_interest(driven.scene.link, Interest(channels=("ctrl",)))
    driven.step(4000)
    ring = driven.scene.link.ring
    rows = ring.read(0, limit=ring.capacity).values
    assert rows.shape == (4000, 2)
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


def test_detaching_ends_everything_also_in_the_middle_of_a_step(
    drive_box: Callable[..., Driven], wait_until: Callable[..., None]
) -> None:
    driven = drive_box(loop=several)
    everything_at_once(driven)
    driven.wait(lambda reply: driven.host.physics_step(driven.id, 2, reply=reply))
    driven.host.detach("the client was killed")
    wait_until(lambda: driven.scene.counters.axis > 50)
    driven.host.attach(PlaybackMode.PAUSED)
    driven.step()
    assert driven.scene.link.changes.editor.interventions.told.overrides == ()
    assert not driven.scene.link.intervening
    used = driven.used(mujoco.mjtState.mjSTATE_CTRL)
    assert used.tolist() == [0.1, 0.7]
    assert len(set(driven.seen)) == 1


def test_a_model_that_is_replaced_ends_everything_and_says_so(
    drive_box: Callable[..., Driven],
) -> None:
    def loop(driven: Driven) -> None:
        driven.scene.step()
        driven.scene.model_changed()
        plain(driven)

    driven = drive_box(loop=loop)
    everything_at_once(driven)
    driven.give(SaveCheckpoint(id=0, scene_id=driven.id, name="of the old model"))
    driven.step(3)
    editor = driven.scene.link.changes.editor
    assert editor.interventions.told.overrides == ()
    assert editor.checkpoints.told == ()
    assert not driven.scene.link.intervening
    assert len(set(driven.seen)) == 1
    texts = [event.text for event in driven.host.take_events() if isinstance(event, LogEntry)]
    said = "the perturbation and 1 control override and the control noise ended: the model was"
    assert any(said in text for text in texts), texts
    with pytest.raises(CommandError, match="can't be undone"):
        driven.give(RevertEdit(id=0, scene_id=driven.id, edit_id=editor.edits[0].edit_id))


def test_a_timestep_edited_inside_a_step_of_shorter_ones_counts_afterwards(
    drive_box: Callable[..., Driven],
) -> None:
    def loop(driven: Driven) -> None:
        while not driven.over:
            driven.scene.step(0.003)  # two physics steps of 1.5 ms

    driven = drive_box(loop=loop)
    option = driven.model.opt
    driven.wait(lambda reply: driven.host.physics_step(driven.id, 1, reply=reply))
    assert option.timestep == 0.0015
    driven.give(EditOption(id=0, scene_id=driven.id, option="timestep", values=(0.001,)))
    assert option.timestep == 0.0015
    assert driven.scene.link.changes.editor.edits[-1].text == "timestep: 0.002 → 0.001 s"
    driven.step()
    driven.step()
    time = driven.scene.world.live().time
    assert time == pytest.approx(0.006)
    driven.give(RevertEdit(id=0, scene_id=driven.id, edit_id=1))
    driven.step()
    driven.step()
    assert option.timestep in (0.002, 0.0015)
    assert driven.scene.world.timestep_edit is None


def test_mocap_poses_and_equalities_are_edited_while_a_scene_runs(
    drive_box: Callable[..., Driven],
) -> None:
    driven = drive_box()
    data = driven.scene.world.live()

    def write(field: EditField, index: int, *values: float) -> None:
        driven.give(EditState(id=0, scene_id=driven.id, field=field, index=index, values=values))

    driven.wait(lambda reply: driven.host.fast_forward(reply=reply))
    write(EditField.MOCAP_POS, 0, 0.1, 0.2, 2.0)
    write(EditField.MOCAP_QUAT, 0, 0.0, 0.0, 3.0, 4.0)
    write(EditField.EQ_ACTIVE, 0, 1.0)
    driven.wait(lambda reply: driven.host.pause(reply=reply))
    assert data.mocap_pos[0].tolist() == [0.1, 0.2, 2.0]
    assert data.mocap_quat[0].tolist() == [0.0, 0.0, 0.6, 0.8]
    assert data.eq_active[0]
    with pytest.raises(CommandError, match="length 0"):
        write(EditField.MOCAP_QUAT, 0, 0.0, 0.0, 0.0, 0.0)
    with pytest.raises(CommandError, match="eq_active is 0"):
        write(EditField.EQ_ACTIVE, 0, 0.5)
    assert data.mocap_quat[0].tolist() == [0.0, 0.0, 0.6, 0.8]
    edits = driven.scene.link.changes.editor.edits
    assert [edit.text for edit in edits] == [
        "mocap_pos of hand.x … hand.z: (0, 0, 3) → (0.1, 0.2, 2) m",
        "mocap_quat of hand.w … hand.z: (1, 0, 0, 0) → (0, 0, 0.6, 0.8)",
        "equality leash: off → on",
    ]
    for edit in edits:
        driven.give(RevertEdit(id=0, scene_id=driven.id, edit_id=edit.edit_id))
    assert data.mocap_pos[0].tolist() == [0.0, 0.0, 3.0]
    assert data.mocap_quat[0].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert not data.eq_active[0]


def test_a_pull_that_is_under_way_while_its_client_leaves_ends_with_it(
    drive_box: Callable[..., Driven],
    host: Host,
    monkeypatch: pytest.MonkeyPatch,
    wait_until: Callable[..., None],
) -> None:
    driven = drive_box()
    link = driven.scene.link
    begun, go_on = threading.Event(), threading.Event()
    perturb = link.backend.perturb

    def slowly(wanted: Perturb | None) -> None:
        begun.set()
        assert go_on.wait(10)
        perturb(wanted)

    monkeypatch.setattr(link.backend, "perturb", slowly)
    host.edit(pull(driven), client=1)
    assert begun.wait(10)
    host.let_go(PlaybackMode.FAST_FORWARD, "the controlling client has gone")
    go_on.set()
    wait_until(lambda: link.physics_ticks > 20 and link.quiet_until > 0.0)
    assert not link.intervening
    assert link.changes.editor.interventions.told.perturbed_body == -1
    driven.wait(lambda reply: host.pause(reply=reply))
    assert len(set(driven.seen)) == 1


def test_scenes_that_are_held_for_a_client_that_is_gone_keep_its_overrides_and_let_the_body_go(
    drive_box: Callable[..., Driven], host: Host, wait_until: Callable[..., None]
) -> None:
    server = DebugServer(host, script="train.py")
    server.start(on_disconnect=OnDisconnect.HOLD)
    try:
        with DebuggerClient.connect(server.connection_file) as client:
            driven = drive_box()
            assert client.wait_until(lambda c: bool(c.scenes()), 10)
            client.override_control(driven.id, 0, -0.5)
            client.perturb(driven.id, BOX, pos=(0, 0, 3))
        editor = driven.scene.link.changes.editor
        wait_until(lambda: editor.interventions.told.perturbed_body == -1)
        assert driven.scene.link.owner.parked_in is driven.scene.link
        with DebuggerClient.connect(server.connection_file) as client:
            assert client.interventions(driven.id).overrides == ((0, -0.5),)
            client.step(driven.id)
            assert driven.used(mujoco.mjtState.mjSTATE_CTRL).tolist() == [-0.5, 0.7]
            client.release_control()
            assert client.wait_until(lambda c: not c.interventions(driven.id).overrides, 10)
    finally:
        server.stop()


@pytest.mark.parametrize("loop", [plain, several])
@pytest.mark.parametrize("option", ["", 'integrator="RK4"'])
def test_whatever_is_asked_for_in_whatever_order_the_script_finds_its_own(
    drive_box: Callable[..., Driven], option: str, loop: Callable[[Driven], None]
) -> None:
    seed = random.randrange(2**32)
    rng = random.Random(seed)
    driven = drive_box(option, loop)
    host, scene_id = driven.host, driven.id

    def control(model: Any, data: Any) -> None:
        data.ctrl[1] = 0.7

    def reattach() -> None:
        host.detach("somebody left")
        host.attach(rng.choice(list(PlaybackMode)))

    def watch() -> None:
        topics = rng.sample([t for t in Topic if t not in (Topic.SIGNALS, Topic.LOG)], 3)
        interest = Interest(
            intervals=dict.fromkeys(topics, rng.choice((0.0, 0.01))),
            channels=("ctrl", "qpos") if rng.random() < 0.5 else (),
        )
        host.set_interest(driven.scene.link, interest)

    def target() -> tuple[float, ...]:
        return tuple(rng.uniform(-2, 2) for _ in range(3))

    def edit(kind: type[Command], **fields: Any) -> Callable[[], None]:
        return lambda: driven.give(kind(id=0, scene_id=scene_id, **fields))

    def some_checkpoint() -> None:
        told = driven.scene.link.changes.editor.checkpoints.told
        if told:
            edit(RestoreCheckpoint, checkpoint_id=rng.choice(told).checkpoint_id)()

    def some_undo() -> None:
        edits = driven.scene.link.changes.editor.edits
        if edits:
            edit(RevertEdit, edit_id=rng.choice(edits).edit_id)()

    actions: list[Callable[[], object]] = [
        lambda: driven.give(pull(driven, rng.choice((BOX, FLAP, ARM)), pos=target())),
        lambda: driven.give(pull(driven, kind=PerturbKind.TORQUE, quat=(*target(), 1.0))),
        edit(ReleasePerturb),
        lambda: edit(OverrideControl, index=rng.randrange(2), value=rng.uniform(-1, 1))(),
        lambda: edit(OverrideControl, index=rng.randrange(2), value=None)(),
        lambda: edit(SetControlNoise, std=rng.choice((0.0, 0.3)), rate=0.01)(),
        lambda: edit(EditOption, option="timestep", values=(rng.choice((0.002, 0.001)),))(),
        lambda: edit(EditOption, option="disable.contact", values=(rng.choice((0.0, 1.0)),))(),
        edit(SaveCheckpoint, name="here"),
        some_checkpoint,
        some_undo,
        edit(Lint),
        lambda: driven.wait(lambda reply: host.step(scene_id, rng.randint(1, 5), reply=reply)),
        lambda: driven.wait(lambda reply: host.physics_step(scene_id, 2, reply=reply)),
        lambda: driven.wait(lambda reply: host.play(reply=reply)),
        lambda: driven.wait(lambda reply: host.fast_forward(reply=reply)),
        lambda: driven.wait(lambda reply: host.pause(reply=reply)),
        reattach,
        watch,
        lambda: mujoco.set_mjcb_control(rng.choice((None, control))),
    ]
    try:
        for _ in range(150):
            # What is refused, or given up because somebody left, changes nothing.
            with contextlib.suppress(CommandError):
                rng.choice(actions)()
    finally:
        mujoco.set_mjcb_control(None)
    failures = [text for _, text in host._reported if "failed" in text]
    assert not failures, f"seed {seed}: {failures}"
    assert len(set(driven.seen)) <= 1, f"seed {seed}"
