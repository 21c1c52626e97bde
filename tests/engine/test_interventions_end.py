"""Interventions end when they should, and whatever is asked for leaves the script its own."""

import contextlib
import random
import threading
from collections.abc import Callable
from typing import Any

import mujoco
import pytest
from driven_scene import (
    ARM,
    BOX,
    FLAP,
    Driven,
    everything_at_once,
    plain,
    pull,
    several,
)

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.control import OnDisconnect
from stroboscope.debugger_protocol.host.host import Host
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
from stroboscope.debugger_protocol.topics import Topic


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
        assert go_on.wait(60)
        perturb(wanted)

    monkeypatch.setattr(link.backend, "perturb", slowly)
    host.edit(pull(driven), client=1)
    assert begun.wait(60)
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
            assert client.wait_until(lambda c: bool(c.scenes()), 60)
            client.override_control(driven.id, 0, -0.5)
            client.perturb(driven.id, BOX, pos=(0, 0, 3))
        editor = driven.scene.link.changes.editor
        wait_until(lambda: editor.interventions.told.perturbed_body == -1)
        # Told first, held a moment later: the thread of the network does one after the other.
        wait_until(lambda: driven.scene.link.owner.parked_in is driven.scene.link)
        with DebuggerClient.connect(server.connection_file) as client:
            assert client.interventions(driven.id).overrides == ((0, -0.5),)
            client.step(driven.id)
            assert driven.used(mujoco.mjtState.mjSTATE_CTRL).tolist() == [-0.5, 0.7]
            client.release_control()
            assert client.wait_until(lambda c: not c.interventions(driven.id).overrides, 60)
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

    def install(callback: Any) -> None:
        # MuJoCo takes it for one that is there if it goes while a step is about to call it.
        host.attach(PlaybackMode.PAUSED)
        with contextlib.suppress(CommandError):
            driven.wait(lambda reply: host.pause(reply=reply))
        mujoco.set_mjcb_control(callback)

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
        lambda: install(rng.choice((None, control))),
    ]
    try:
        for _ in range(150):
            # What is refused, or given up because somebody left, changes nothing.
            with contextlib.suppress(CommandError):
                rng.choice(actions)()
    finally:
        install(None)
    failures = [text for _, text in host._reported if "failed" in text]
    assert not failures, f"seed {seed}: {failures}"
    assert len(set(driven.seen)) <= 1, f"seed {seed}"
