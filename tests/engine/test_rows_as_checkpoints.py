"""A row of the past as a checkpoint: it says the timestep and the model of then, not of now."""

import numpy as np
import pytest
from histories import machine
from noted_run import Run, gain, gravity

import stroboscope.engine as physics
from stroboscope.debugger_protocol.time_messages import EditKind, WhatIf
from stroboscope.engine.checkpoint import Checkpoint


def state_at(run: Run, axis: int) -> Checkpoint:
    return Checkpoint.from_bytes(machine(run.scene).state_at(axis))


def test_a_row_as_a_checkpoint_says_the_timestep_of_then(run: Run) -> None:
    own = run.model.opt.timestep
    run.step(10)
    run.model.opt.timestep = 2 * own
    run.step(10)
    assert (state_at(run, 5).timestep, state_at(run, 15).timestep) == (own, 2 * own)
    with pytest.raises(physics.StateMismatchError, match="taken with a timestep of"):
        run.scene.restore(state_at(run, 5))
    assert run.scene.restore(state_at(run, 15)).is_exact
    run.model.opt.timestep = own
    assert run.scene.restore(state_at(run, 5)).is_exact


def test_a_row_of_a_shorter_step_says_the_models_own_timestep(run: Run) -> None:
    own = run.model.opt.timestep
    run.step(3)
    run.scene.step(1.5 * own)
    run.step(3)
    ring = run.scene.history.ring
    assert ring.timestep(4) == 0.75 * own
    assert state_at(run, 4).timestep == own
    run.model.opt.timestep = own / 2
    run.step(3)
    assert state_at(run, 4).timestep == own


def test_a_timestep_edited_in_the_debugger_is_not_held_against_a_row(run: Run) -> None:
    own = run.model.opt.timestep
    backend = run.scene.link.backend
    run.step(3)
    for factor in (0.5, 0.25):
        backend.edit_option("timestep", (factor * own,))
        run.step(3)
        run.scene.step(0.375 * own)
    backend.edit_option("timestep", (own,))
    run.step(3)
    rows = range(run.scene.counters.axis)
    assert {state_at(run, axis).timestep for axis in rows} == {own}
    assert len({run.scene.history.ring.timestep(axis) for axis in rows}) == 5
    said = run.scene.restore(state_at(run, 5)).reason
    assert said.startswith("the model differs: opt.timestep: 0.0025 at the checkpoint, 0.005 now")


def test_a_row_as_a_checkpoint_has_the_model_of_then(run: Run) -> None:
    backend = run.scene.link.backend
    run.step(5)
    gain(run.model, 3)
    run.step(5)
    backend.edit_option("gravity", (0.0, 0.0, -1.0))
    backend.edit_option("disable.contact", (1.0,))
    run.step(5)
    run.model.geom_rgba[0] = 0.5  # which no row has: as it is now
    rows = [state_at(run, axis) for axis in (2, 7, 12)]
    fields = [{change.field for change in row.record.changes} for row in rows]
    edited = {"opt.gravity", "opt.disableflags"}
    assert [each - {"geom_rgba"} for each in fields] == [
        set(), {"actuator_gainprm"}, {"actuator_gainprm", *edited},
    ]  # fmt: skip
    assert run.scene.restore(rows[2]).is_exact
    said = run.scene.restore(rows[0]).reason
    assert all(name in said for name in ("opt.gravity", "opt.disableflags", "actuator_gainprm"))
    assert run.scene.restore(rows[1], with_model=True).is_exact
    assert run.model.opt.gravity.tolist() == [0.0, 0.0, -9.81]
    assert run.model.actuator_gainprm[0, 0] == 0.5 + 0.1 * 3


def test_a_row_whose_model_nobody_knows_says_so_as_a_checkpoint(run: Run) -> None:
    run.step(5)
    machine(run.scene).state_at(2)  # whoever looks has the model looked at
    run.model.geom_condim[:] = 1
    run.step(5)
    said = run.scene.restore(state_at(run, 2)).reason
    assert "approximate: what was in geom_condim then is not remembered" in said
    copied = Checkpoint.from_bytes(state_at(run, 2).to_bytes())
    assert "geom_condim" in run.scene.restore(copied).reason
    run.step(5)
    assert run.scene.restore(state_at(run, 12)).is_exact


def test_a_trial_says_which_timestep_of_then_it_changes(run: Run) -> None:
    own = run.model.opt.timestep
    run.step(10)
    run.model.opt.timestep = 2 * own
    gravity(run.model, 0)
    run.step(10)
    edit = WhatIf(kind=EditKind.OPTION, name="timestep", values=(own / 5,))
    for _ in machine(run.scene).resimulate(2, steps=5, edits=(edit,), name=""):
        pass
    info = machine(run.scene).rollouts()[-1]
    assert info.edits[0] == "timestep: 0.005 → 0.001 s"
    assert np.isclose(info.timestep, own / 5)
