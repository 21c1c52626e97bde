"""Many candidates from one state, on native threads, each bit for bit what a single scene does.

MuJoCo's batch does it where it is there and holds all of the state. It can't be told which islands
sleep and has no place for what plugins keep beside the state; there, threads of our own step a
complete copy of the data each, which goes as fast for all but the smallest models: a step runs
without Python's lock.
"""

import concurrent.futures
import dataclasses
import queue
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.signal_handlers import raised_by_handler
from stroboscope.engine.hidden_state import HiddenState, needs_hidden_state
from stroboscope.engine.live_data import HeldData
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.rollouts.events import CandidateEnd, EventWords, physics_of
from stroboscope.engine.row_layout import RowLayout

__all__ = ["CandidateRun", "Start", "run_candidates"]

# Rows that the batch writes before they are copied to where they belong.
_CHUNK_BYTES = 64 << 20


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CandidateRun:
    """``states`` (N, T + 1, row), of which ``ends[i].steps`` + 1 rows are of candidate i."""

    states: NDArray[np.float64]
    ends: tuple[CandidateEnd, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Start:
    """The state that all candidates begin with: its row, and what no row holds (else empty)."""

    row: NDArray[np.float64]
    hidden: bytes = b""


def run_candidates(
    model: Any,
    start: Start,
    ctrl: NDArray[np.float64],
    *,
    nstep: int,
    threads: int,
    layout: RowLayout,
    words: EventWords,
    adapter: MujocoAdapter,
) -> CandidateRun:
    """Run ``ctrl`` (N, T, nu) from ``start``, ``nstep`` physics steps for each of them.

    A candidate ends with its first event: a warning of MuJoCo, a step that fails, a number that is
    not finite. Its last row is the one before that step; what follows is NaN.
    """
    count, steps, _ = ctrl.shape
    states = np.full((count, steps + 1, layout.size), np.nan)
    run = _Run(model, start, ctrl, states, nstep, layout, words, adapter)
    if adapter.callbacks_of_steps(model):
        # Callbacks are the script's, and it expects them on the thread that steps.
        ends = run.by_own_threads(range(count), threads=1)
    elif run.batch_fits():
        ends = run.by_batch(threads)
    else:
        ends = run.by_own_threads(range(count), threads=threads)
    finished = tuple(run.finished(index, end) for index, end in enumerate(ends))
    return CandidateRun(states=states, ends=finished)


@dataclasses.dataclass(frozen=True, slots=True)
class _Run:
    """What all candidates of one call have in common."""

    model: Any
    start: Start
    ctrl: NDArray[np.float64]
    states: NDArray[np.float64]
    nstep: int
    layout: RowLayout
    words: EventWords
    adapter: MujocoAdapter

    # --- MuJoCo's batch

    def batch_fits(self) -> bool:
        """Return whether MuJoCo's own threads give the same bits."""
        adapter, model = self.adapter, self.model
        return (
            adapter.batch_module() is not None
            and not needs_hidden_state(model, adapter=adapter)
            and not int(model.nplugin)
        )

    def by_batch(self, threads: int) -> list[CandidateEnd]:
        """Run all candidates; those that fail are run once more, alone, to see where."""
        adapter, states = self.adapter, self.states
        batch_module: Any = adapter.batch_module()
        count, steps, nu = self.ctrl.shape
        batch = batch_module.Batch(self.model, count, min(threads, count))
        batch.state[:] = self.start.row
        states[:, 0] = self.start.row
        ends: dict[int, CandidateEnd] = {}
        per_step = self.nstep * count * 8 * self.layout.size
        chunk = max(1, _CHUNK_BYTES // per_step)
        running = np.arange(count)
        failed: list[int] = []
        for begin in range(0, steps, chunk):
            taken = min(chunk, steps - begin)
            rows = np.empty((len(running), taken * self.nstep, self.layout.size))
            control = None
            if nu:
                control = np.repeat(self.ctrl[running, begin : begin + taken], self.nstep, axis=1)
            try:
                batch.rollout(
                    taken * self.nstep,
                    control,
                    record=(adapter.integration,),
                    ids=running,
                    out={adapter.integration: rows},
                )
            except batch_module.SimulationError as error:
                failed += [int(index) for index in error.ids]
            # Here, and below, `begin` counts the candidates' steps and rows are of physics steps.
            states[running, begin + 1 : begin + taken + 1] = rows[:, self.nstep - 1 :: self.nstep]
            warned = np.asarray(batch.warning)[running, :, 1].any(axis=1)
            for place in np.flatnonzero(warned).tolist():
                index = int(running[place])
                at = begin + _last_new(rows[place, :, 0]) // self.nstep
                text = self.words.warning(np.asarray(batch.warning)[index])
                ends[index] = CandidateEnd(steps=at, event_step=at, text=text)
            running = running[~warned & ~np.isin(running, failed)]
            if not running.size:
                break
        ended = CandidateEnd(steps=steps)
        alone = dict(zip(failed, self.by_own_threads(failed, threads=threads), strict=True))
        return [alone.get(index) or ends.get(index, ended) for index in range(count)]

    # --- threads of our own

    def by_own_threads(self, indices: Sequence[int], *, threads: int) -> list[CandidateEnd]:
        """Step candidates one by one, each thread with data of its own."""
        threads = min(threads, len(indices))
        if not threads:
            return []
        if threads == 1:
            spare = _Spare(self.adapter, self.model, self.start)
            return [self._one(index, spare) for index in indices]
        spares: queue.SimpleQueue[_Spare] = queue.SimpleQueue()
        for _ in range(threads):
            spares.put(_Spare(self.adapter, self.model, self.start))

        def one(index: int) -> CandidateEnd:
            spare = spares.get()
            try:
                return self._one(index, spare)
            finally:
                spares.put(spare)

        with concurrent.futures.ThreadPoolExecutor(threads, "rollout") as pool:
            return list(pool.map(one, indices))

    def _one(self, index: int, spare: "_Spare") -> CandidateEnd:
        adapter, model, rows = self.adapter, self.model, self.states[index]
        step, get_state, mask = adapter.mj_step, adapter.mj_getState, adapter.integration
        data = spare.begin()
        warnings, before = data.warning.number, data.warning.number.tobytes()
        ctrl, nstep = data.ctrl, self.nstep
        get_state(model, data, rows[0], mask)
        for at, control in enumerate(self.ctrl[index]):
            ctrl[:] = control
            try:
                step(model, data, nstep)
            except Exception as error:
                if raised_by_handler(error):
                    raise
                # FatalError, or what a callback of the script raised: this candidate ends.
                spare.replace()
                return CandidateEnd(steps=at, event_step=at, text=str(error))
            if warnings.tobytes() != before:
                raised = np.array((data.warning.lastinfo, warnings)).T
                raised[:, 1] -= np.frombuffer(before, dtype=warnings.dtype)
                spare.replace()  # counters are no state: they would be there for the next one
                return CandidateEnd(steps=at, event_step=at, text=self.words.warning(raised))
            get_state(model, data, rows[at + 1], mask)
        return CandidateEnd(steps=len(self.ctrl[index]))

    # --- what they have in common

    def finished(self, index: int, end: CandidateEnd) -> CandidateEnd:
        """Write what each row's step was given, and leave nothing behind the candidate's end."""
        rows = self.states[index]
        finite = np.isfinite(rows[: end.steps + 1, physics_of(self.model)])
        bad = np.flatnonzero(~finite.all(axis=1))
        if bad.size:
            # A step leaves a number that is none, which MuJoCo notices in the step after it.
            at = int(bad[0]) - 1
            text = self.words.not_finite(int(np.flatnonzero(~finite[at + 1])[0]))
            end = CandidateEnd(steps=at, event_step=at, text=text)
        rows[end.steps + 1 :] = np.nan
        place = self.layout.parts.get("ctrl", slice(0, 0))
        given = self.ctrl[index, : end.steps + 1]
        rows[: len(given), place] = given
        return end


class _Spare:
    """Data that candidates are stepped in, one after the other."""

    def __init__(self, adapter: MujocoAdapter, model: Any, start: Start) -> None:
        self._adapter = adapter
        self._model = model
        self._start = start
        self.replace()

    def replace(self) -> None:
        """Take other data: a step that failed leaves some of its memory in use for ever."""
        self._data = self._adapter.module.MjData(self._model)
        self._hidden = HiddenState(HeldData(self._data)) if self._start.hidden else None

    def begin(self) -> Any:
        """Return the data in the state that all candidates begin with."""
        adapter = self._adapter
        adapter.mj_setState(self._model, self._data, self._start.row, adapter.integration)
        if self._hidden is not None:
            self._hidden.copy_from(memoryview(self._start.hidden))
        return self._data


def _last_new(times: NDArray[np.float64]) -> int:
    """Return the last record that is not a repetition: the batch repeats where it stopped."""
    repeated = np.flatnonzero(times[1:] == times[:-1])
    return int(repeated[0]) if repeated.size else len(times) - 1
