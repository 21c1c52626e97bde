"""Rollouts through the scene's time machine: what the debugger's clients ask for."""

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.time_machine import TimeMachine
from stroboscope.debugger_protocol.time_messages import (
    EditKind,
    GhostRef,
    GhostSource,
    RolloutInfo,
    WhatIf,
)

Make = Callable[..., physics.Scene]
Drive = Callable[..., NDArray[np.float64]]

SLEEPERS = """
<mujoco><option timestep="0.005"><flag sleep="enable"/></option><worldbody>
  <geom type="plane" size="3 3 .1"/>
  <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  <body pos="1 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>
  <body pos="0 1 .3"><joint name="arm" axis="0 1 0"/><geom type="box" size=".1 .1 .1"/></body>
</worldbody><actuator><motor name="push" joint="arm"/></actuator></mujoco>
"""


@pytest.fixture
def attached(host: Host) -> Host:
    """The host, with somebody attached who lets all run."""
    host.attach(PlaybackMode.FAST_FORWARD)
    return host


def machine_of(scene: physics.Scene) -> TimeMachine:
    machine = scene.link.backend.time_machine()
    assert machine is not None
    return machine


def again(
    scene: physics.Scene, axis: int, *edits: WhatIf, steps: int = 0, name: str = ""
) -> RolloutInfo:
    machine = machine_of(scene)
    for _ in machine.resimulate(axis, steps=steps, edits=edits, name=name):
        pass
    return machine.rollouts()[-1]


def rollout_ref(scene: physics.Scene, info: RolloutInfo) -> GhostRef:
    return GhostRef(source=GhostSource.ROLLOUT, number=info.rollout_id, scene_id=scene.scene_id)


@pytest.mark.parametrize("model", ["arm", "humanoid"])
def test_what_happened_comes_out_again_without_edits(
    attached: Host, make_scene: Make, drive: Drive, model: str
) -> None:
    scene = make_scene(model)
    drive(scene, 150)
    info = again(scene, 40, name="check")
    assert info.reproducible == ""
    assert (info.name, info.from_axis, info.steps) == ("check", 40, 110)
    machine = machine_of(scene)
    pieces = list(machine.read_rows(info.rollout_id, ("qpos",), first=0, last=109, max_rows=1000))
    mine = list(machine.read_rows(0, ("qpos",), first=40, last=149, max_rows=1000))
    assert (
        np.concatenate([piece["values"] for piece in pieces]).tobytes()
        == np.concatenate([piece["values"] for piece in mine]).tobytes()
    )
    assert mine[0]["axis"][0] == 40


def test_rows_that_were_thinned_out_are_run_from_too(
    attached: Host, make_scene: Make, drive: Drive
) -> None:
    scene = make_scene("humanoid")
    machine = machine_of(scene)
    machine.set_history(keep=True, max_bytes=2 << 20)
    drive(scene, 2500)
    history = machine.history()
    assert history.first < history.dense
    axis = history.first + 1 + (history.dense - history.first) // 2
    info = again(scene, axis, steps=300)
    assert info.reproducible == ""
    assert info.steps == 300


def test_a_partly_sleeping_past_comes_out_again(attached: Host) -> None:
    if not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"):
        pytest.skip("this MuJoCo has no sleep")
    scene = physics.create_scene("sleepers", SLEEPERS)
    for step in range(700):
        scene.ctrl[:] = np.sin(0.05 * step)
        scene.step()
    awake = np.asarray(scene.data.body_awake)
    assert (awake == 0).any()
    for axis in (0, 333, 650):
        assert again(scene, axis).reproducible == ""


def test_another_gain_is_tried_beside_the_scene_and_compared(
    attached: Host, make_scene: Make, drive: Drive, state_of: Callable[..., NDArray[np.float64]]
) -> None:
    scene = make_scene("arm")
    drive(scene, 120)
    before = state_of(scene)
    gain = float(scene.model.actuator_gainprm[0, 0])
    edit = WhatIf(kind=EditKind.MODEL, name="actuator_gainprm", values=(0.5 * gain,))
    base, tried = again(scene, 50), again(scene, 50, edit)
    assert np.array_equal(state_of(scene), before)
    assert tried.edits[0].startswith("actuator_gainprm[0] of ")
    machine = machine_of(scene)
    compared = machine.compare(rollout_ref(scene, base), rollout_ref(scene, tried), tolerance=1e-6)
    assert 1 <= compared.first_bit <= compared.first_beyond
    assert compared.differences[0].at_step > 0
    time = float(before[0])
    poses = [
        machine.ghost_pose(rollout_ref(scene, info), time=time)["xpos"] for info in (base, tried)
    ]
    assert not np.array_equal(*poses)
    row = GhostRef(source=GhostSource.ROW, number=50, scene_id=scene.scene_id)
    alike = machine.compare(row, row, tolerance=0.0)
    assert alike.differences == ()


def test_an_option_edited_since_is_as_it_was(
    attached: Host, make_scene: Make, drive: Drive
) -> None:
    scene = make_scene("arm")
    drive(scene, 60)
    backend = scene.link.backend
    backend.edit_option("gravity", (0.0, 0.0, -1.0))
    drive(scene, 60)
    assert again(scene, 20, steps=40).reproducible == ""
    assert again(scene, 70).reproducible == ""
    assert scene.model.opt.gravity[2] == -1.0


def test_a_push_from_outside_ends_what_is_run_again(
    attached: Host, make_scene: Make, drive: Drive
) -> None:
    scene = make_scene("arm")
    drive(scene, 50)
    scene.data.qvel[0] += 0.1
    drive(scene, 50)
    info = again(scene, 10)
    assert (info.steps, info.reproducible) == (40, "")
    with pytest.raises(CommandError, match="not remembered"):
        again(scene, 101)


def test_candidates_and_re_simulations_stand_in_one_table(
    attached: Host, make_scene: Make, drive: Drive
) -> None:
    scene = make_scene("arm")
    drive(scene, 30)
    physics.rollout(scene.checkpoint(), np.zeros((2, 5, scene.model.nu)), name="plan")
    again(scene, 10, name="again")
    machine = machine_of(scene)
    assert [info.name for info in machine.rollouts()] == ["plan #0", "plan #1", "again"]
    machine.drop_rollout(machine.rollouts()[0].rollout_id)
    assert [info.name for info in machine.rollouts()] == ["plan #1", "again"]


def test_rollouts_of_a_model_that_was_written_into_since_are_refused(
    attached: Host, make_scene: Make, drive: Drive
) -> None:
    scene = make_scene("arm")
    drive(scene, 30)
    info = again(scene, 10)
    scene.model.body_mass[1] *= 2.0
    scene.model_changed()
    machine = machine_of(scene)
    assert machine.rollouts()[-1].rollout_id == info.rollout_id
    with pytest.raises(CommandError, match="of another model"):
        machine.read_rows(info.rollout_id, ("energy.total",), first=0, last=5, max_rows=10)
    with pytest.raises(CommandError, match="of another model"):
        machine.ghost_pose(rollout_ref(scene, info), time=0.0)


@pytest.mark.parametrize("sleepy", [False, True])
def test_from_the_state_as_it_stands_the_inputs_are_held(
    attached: Host,
    make_scene: Make,
    drive: Drive,
    state_of: Callable[..., NDArray[np.float64]],
    sleepy: bool,
) -> None:
    if sleepy and not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"):
        pytest.skip("this MuJoCo has no sleep")
    scene = physics.create_scene("sleepers", SLEEPERS) if sleepy else make_scene("humanoid")
    drive(scene, 500 if sleepy else 40)
    before = state_of(scene)
    info = again(scene, scene.counters.axis, steps=50)
    assert info.edits == ("the last inputs are held for 49 steps",)
    assert np.array_equal(state_of(scene), before)
    pieces = list(
        machine_of(scene).read_rows(info.rollout_id, ("qpos",), first=0, last=50, max_rows=99)
    )
    for row in np.concatenate([piece["values"] for piece in pieces]):
        assert np.array_equal(row, scene.data.qpos)
        scene.step()
