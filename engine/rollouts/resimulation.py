"""Recorded inputs run again, beside the scene: to check that they explain what was, or with edits.

In slices, so that the thread that owns the scene goes on serving meanwhile.
"""

import copy
import dataclasses
import time as clock
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import WhatIf
from stroboscope.debugger_protocol.trials import trial_name
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.physics_options import write_option
from stroboscope.engine.rollouts.events import CandidateEnd, EventWords, physics_of
from stroboscope.engine.rollouts.row_source import RowSource
from stroboscope.engine.rollouts.stored import StoredRollout
from stroboscope.engine.rollouts.what_if import AppliedEdits, apply_what_if
from stroboscope.engine.row_layout import RowLayout
from stroboscope.engine.stops.memory import bytes_text, split_memory, with_memory

__all__ = ["Resimulation", "edited_model", "resimulate"]

_SLICE_S = 0.005
# How often the clock is looked at, in steps.
_LOOK_EVERY = 8
# Steps of one re-simulation, and what its rows take at most.
_MOST_STEPS = 100_000
_MOST_BYTES = 48 << 20


@dataclasses.dataclass(slots=True)
class Resimulation:
    """What comes of it: set when the progress has come to its end."""

    rollout: StoredRollout | None = None


def resimulate(
    source: RowSource,
    result: Resimulation,
    *,
    model: Any,
    axis: int,
    steps: int,
    edits: Sequence[WhatIf],
    name: str,
    digest: bytes,
    adapter: MujocoAdapter,
) -> Iterator[float]:
    """Run what ``source`` has recorded from ``axis`` on again, and put a rollout into ``result``.

    ``steps`` physics steps, 0: to the end of the source; beyond it the last inputs are held. With
    another timestep the same simulation time is run, every step with the inputs of its time.
    ``model`` stays as it is. Yields progress, 0 to 1. Raises CommandError for what can't be run or
    edited.
    """
    if not source.begin <= axis < source.end:
        raise CommandError(
            f"there is nothing recorded to run from step {axis} on: this stretch has the steps "
            f"{source.begin} … {source.end - 1}"
        )
    if steps < 0:
        raise CommandError(f"steps must be 0 (to the end) or more, not {steps}")
    _refuse_callbacks(model, adapter)
    edited, applied = edited_model(
        model, source.options, edits, timestep=source.timestep(axis), adapter=adapter
    )
    run = _Run(source, edited, applied, axis, axis + steps if steps else source.end, adapter)
    if not adapter.sleeps(model) and adapter.sleeps(edited):
        adapter.prepare_sleep(edited, run.data)
    yield from run.steps()
    # What is computed of its rows later needs the options and numbers that it ran with.
    is_other = applied.edits_model or bool(source.options) or edited.narena != model.narena
    result.rollout = StoredRollout(
        name=name or trial_name(applied.titles) or f"again from step {axis}",
        rows=run.rows_taken(),
        timestep=run.timestep,
        make_model=lambda: edited,
        digest=digest,
        from_axis=axis,
        outcome=run.outcome,
        event_step=run.end.event_step,
        edits=(*applied.texts, *run.held_inputs),
        numbers={"max penetration [m]": run.deepest},
        reproducible="" if applied.texts else run.difference,
        timesteps=run.timesteps_taken(),
        extra_bytes=int(adapter.module.mj_sizeModel(edited)) if is_other else 0,
    )


def edited_model(
    model: Any,
    options: Mapping[str, tuple[float, ...]],
    edits: Sequence[WhatIf],
    *,
    timestep: float,
    adapter: MujocoAdapter,
) -> tuple[Any, AppliedEdits]:
    """Return a copy of a model with what was in force then, and with edits; and those.

    ``options``, fields among them, and the ``timestep`` [s].
    """
    memory, others = split_memory(edits)
    edited = copy.copy(model) if memory is None else with_memory(model, memory, adapter=adapter)
    edited.opt.timestep = timestep
    for option, values in options.items():
        write_option(edited, option, values, known=values, adapter=adapter)
    applied = apply_what_if(edited, others, adapter=adapter)
    if memory is not None:
        text = f"memory: {bytes_text(int(model.narena))} → {bytes_text(memory)}"
        applied = dataclasses.replace(
            applied, texts=(text, *applied.texts), titles=(text, *applied.titles)
        )
    return edited, applied


def _refuse_callbacks(model: Any, adapter: MujocoAdapter) -> None:
    """Looking must not run the script's code, which may remember that it ran."""
    called = adapter.callbacks_of_steps(model)
    if called:
        raise CommandError(
            f"not reproducible: script callback ({', '.join(called)}). It would be called again, "
            "and what it does inside a step is not recorded"
        )


class _Run:
    """One re-simulation under way."""

    def __init__(
        self,
        source: RowSource,
        model: Any,
        applied: AppliedEdits,
        first: int,
        last: int,
        adapter: MujocoAdapter,
    ) -> None:
        self.end = CandidateEnd(steps=0)
        self.deepest = 0.0
        self.difference = ""
        """Why the recorded states did not come out; empty while they do."""
        self._source = source
        self._model = model
        self._applied = applied
        self._adapter = adapter
        self._layout = RowLayout(model, adapter=adapter)
        self.data = adapter.module.MjData(model)
        source.put(first, self.data)
        most = min(_MOST_STEPS, _MOST_BYTES // (8 * self._layout.size))
        taken = np.arange(first, min(last, first + most))
        axes = self._plan(np.minimum(taken, source.end - 1))
        self._axes = axes[:most]
        self._is_cut = first + most < last or len(axes) > most
        self._recorded = source.end - first
        held = len(taken) - self._recorded
        self.held_inputs = (f"the last inputs are held for {held} steps",) if held > 0 else ()
        """Said of a run that goes on where nothing was recorded."""
        self.timestep = applied.timestep or source.timestep(first)
        self._rows = np.full((len(self._axes) + 1, self._layout.size), np.nan)

    def _plan(self, recorded: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return for every step to be taken the recorded step whose inputs it gets."""
        timestep = self._applied.timestep
        if timestep is None:
            return recorded
        durations = np.array([self._source.timestep(axis) for axis in recorded.tolist()])
        begins = np.concatenate(((0.0,), np.cumsum(durations)))
        count = max(1, round(min(float(begins[-1]) / timestep, 2.0 * _MOST_STEPS)))
        # A step that begins with a recorded one, but for rounding, gets that one's inputs.
        times = np.arange(count) * timestep + 1e-6 * timestep
        places = np.searchsorted(begins, times, side="right") - 1
        planned: NDArray[np.int64] = recorded[np.clip(places, 0, len(recorded) - 1)]
        return planned

    @property
    def outcome(self) -> str:
        """How it ended, in words."""
        if self.end.event_step < 0 and self._is_cut:
            return f"ended after {self.end.steps} steps: more would take too much memory"
        return self.end.text

    def rows_taken(self) -> NDArray[np.float64]:
        """Return the rows, read-only: one more than there were steps without an event."""
        rows = self._rows[: self.end.steps + 1].copy()
        rows.flags.writeable = False
        return rows

    def timesteps_taken(self) -> NDArray[np.float64]:
        """Return how long the step of each row took, or would take [s]."""
        axes = self._axes[: self.end.steps + 1]
        if self._applied.timestep is None:
            return np.array([self._source.timestep(axis) for axis in axes.tolist()])
        return np.full(max(1, len(axes)), self._applied.timestep)

    def steps(self) -> Iterator[float]:
        """Take all steps, until the first event; yields progress."""
        yield 0.0
        adapter, model, data = self._adapter, self._model, self.data
        words = EventWords(model, adapter=adapter)
        checks = not self._applied.texts
        total = len(self._axes)
        due = clock.monotonic() + _SLICE_S
        for at, axis in enumerate(self._axes.tolist()):
            self._put_inputs(axis)
            row = self._rows[at]
            adapter.mj_getState(model, data, row, adapter.integration)
            if checks and at < self._recorded:
                self._compare(row, axis)
            event = self._step(at, axis, words)
            if event:
                self.end = CandidateEnd(steps=at, event_step=at, text=event)
                return
            if at % _LOOK_EVERY == 0 and clock.monotonic() >= due:
                yield (at + 1) / total
                due = clock.monotonic() + _SLICE_S
        self.end = CandidateEnd(steps=total)
        last = self._rows[total]
        adapter.mj_getState(model, data, last, adapter.integration)
        finite = np.isfinite(last[physics_of(model)])
        if not finite.all():
            text = words.not_finite(int(np.flatnonzero(~finite)[0]))
            self.end = CandidateEnd(steps=total - 1, event_step=total - 1, text=text)
        elif checks and self._axes[-1] + 1 < self._source.end:
            # At the end stands what came next, which may have come from elsewhere.
            self._compare(last, int(self._axes[-1]) + 1, state_only=True)
        yield 1.0

    def _step(self, at: int, axis: int, words: EventWords) -> str:
        """Take a step; return what its event was, empty without one."""
        data, model = self.data, self._model
        if self._applied.timestep is None:
            model.opt.timestep = self._source.timestep(axis)
        warnings = data.warning.number
        before = warnings.tobytes()
        try:
            self._adapter.mj_step(model, data)
        except self._adapter.module.FatalError as error:
            return str(error)
        if warnings.tobytes() != before:
            raised = np.array((data.warning.lastinfo, warnings)).T
            raised[:, 1] -= np.frombuffer(before, dtype=warnings.dtype)
            return words.warning(raised)
        if data.ncon:
            self.deepest = max(self.deepest, -float(data.contact.dist.min()))
        return ""

    def _put_inputs(self, axis: int) -> None:
        data = self.data
        self._adapter.mj_setState(
            self._model, data, self._source.inputs(axis), self._layout.inputs_mask
        )
        for index, values in self._applied.controls:
            data.ctrl[index : index + len(values)] = values
        for index, values in self._applied.forces:
            data.qfrc_applied[index : index + len(values)] += values

    def _compare(self, row: NDArray[np.float64], axis: int, *, state_only: bool = False) -> None:
        """Notice where the recorded states do not come out; the first place tells."""
        if self.difference:
            return
        if state_only:
            # What a script has put in since belongs to a step that was not taken here.
            row = row.copy()
            row[self._layout.inputs] = self._source.inputs(axis)
        if not self._source.is_recorded(row, axis):
            self.difference = (
                f"not reproducible: the recorded state before step {axis} does not follow from the "
                "inputs: the script, or somebody, has changed it outside of a step, or the model "
                "since"
            )
