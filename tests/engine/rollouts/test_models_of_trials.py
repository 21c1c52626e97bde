"""What a script writes into its model: trials have the model of the row that they begin at."""

from typing import Any

import mujoco
import numpy as np
import pytest
from noted_run import SENSED, Run, gain, pieces_of
from numpy.typing import NDArray

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import EditKind, WhatIf
from stroboscope.engine.history.budget import HistoryLimits

Values = dict[int, NDArray[np.float64]]


def test_a_what_if_stays_as_it_was_when_the_script_writes_later(run: Run) -> None:
    run.step(20)
    machine = run.scene.backend.time_machine()
    for _ in machine.resimulate(5, steps=10, edits=(), name="again"):
        pass
    number = machine.rollouts()[-1].rollout_id

    def read() -> Values:
        rows = machine.read_rows(number, ["actuator_force"], first=0, last=-1, max_rows=1000)
        return pieces_of(rows)

    before = read()
    gain(run.model, 5)
    run.model.opt.timestep *= 3.0
    run.step(2)
    after = read()
    assert {k: v.tobytes() for k, v in after.items()} == {k: v.tobytes() for k, v in before.items()}
    for step in range(10):
        assert before[step].tobytes() == run.seen[5 + step]["actuator_force"].tobytes()


def test_a_what_if_has_the_model_of_when_it_was_asked_for(run: Run) -> None:
    run.step(20)
    machine = run.scene.backend.time_machine()
    progress = machine.resimulate(5, steps=10, edits=(), name="again")
    next(progress)
    gain(run.model, 5)
    run.scene.step()
    for _ in progress:
        pass
    info = machine.rollouts()[-1]
    rows = machine.read_rows(info.rollout_id, ["actuator_force"], first=0, last=9, max_rows=1000)
    for step, force in pieces_of(rows).items():
        assert force.tobytes() == run.seen[5 + step]["actuator_force"].tobytes()


def test_a_trial_of_a_large_model_keeps_values_that_were_written_into_later_only() -> None:
    large = SENSED.replace(
        "<worldbody>",
        '<asset><hfield name="terrain" nrow="1100" ncol="1100" size="5 5 1 1"/></asset><worldbody>',
    )
    scene = physics.create_scene("large", large)
    scene.keep_history(True)
    run = Run(scene)
    run.step(10)
    machine = scene.backend.time_machine()
    read = []
    for gravity_of_trial in (-1.0, -2.0):
        values = (0.0, 0.0, gravity_of_trial)
        edit = WhatIf(kind=EditKind.OPTION, name="gravity", values=values)
        for _ in machine.resimulate(10, steps=10, edits=(edit,), name="trial"):
            pass
        read.append(trial_rows(machine))
    scene.reset()
    run.model.body_mass[1] *= 5.0
    run.step(10)
    run.look(15)  # with the mass in force
    assert [trial_rows(machine, which) for which in (0, 1)] == read


def trial_rows(machine: Any, which: int = -1) -> dict[int, bytes]:
    info = machine.rollouts()[which]
    rows = machine.read_rows(info.rollout_id, ["qacc"], first=0, last=9, max_rows=100)
    return {axis: values.tobytes() for axis, values in pieces_of(rows).items()}


def test_a_what_if_from_a_row_in_doubt_says_so(sensed: Run) -> None:
    sensed.step(5)
    sensed.look(2)
    sensed.model.site_pos[0, 0] = 3.0
    sensed.step(5)
    machine = sensed.scene.backend.time_machine()
    for _ in machine.resimulate(7, steps=2, edits=(), name="again"):
        pass
    assert machine.rollouts()[-1].reproducible.startswith("approximate: ")


def test_trials_of_a_model_with_large_arrays_take_no_copy_of_it_each() -> None:
    large = SENSED.replace(
        "<worldbody>",
        '<asset><hfield name="terrain" nrow="1100" ncol="1100" size="5 5 1 1"/></asset><worldbody>',
    )
    model = mujoco.MjModel.from_xml_string(large)
    scene = physics.create_scene("large", model)
    scene.keep_history(True)
    run = Run(scene)
    run.step(10)
    machine = scene.backend.time_machine()
    edit = WhatIf(kind=EditKind.OPTION, name="gravity", values=(0.0, 0.0, -1.0))
    for name in ("first", "second"):
        for _ in machine.resimulate(2, steps=5, edits=(edit,), name=name):
            pass
    assert scene.rollouts.nbytes < 1 << 20
    model.opt.gravity[2] = -3.0
    alone = mujoco.MjModel.from_xml_string(large)
    alone.opt.gravity[2] = -1.0
    data = mujoco.MjData(alone)
    for info in machine.rollouts():
        names = ["qfrc_bias", "qpos", "qvel"]
        rows = machine.read_rows(info.rollout_id, names, first=0, last=0, max_rows=9)
        ((force, position, velocity),) = pieces_of(rows).values()
        data.qpos[0], data.qvel[0] = position, velocity
        mujoco.mj_forward(alone, data)
        assert force == data.qfrc_bias[0] != 0.0


def test_a_trial_without_room_is_refused_and_takes_the_place_of_none(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.step(20)
    machine = run.scene.backend.time_machine()
    for _ in machine.resimulate(5, steps=3, edits=(), name="kept"):
        pass
    limits = HistoryLimits(process_bytes=2_000)
    monkeypatch.setattr(run.scene.rollouts._budget, "limits", limits)
    edit = WhatIf(kind=EditKind.OPTION, name="gravity", values=(0.0, 0.0, -1.0))
    with pytest.raises(CommandError, match="more than rollouts of a scene may take"):
        for _ in machine.resimulate(5, steps=15, edits=(edit,), name="large"):
            pass
    assert [each.name for each in machine.rollouts()] == ["kept"]
