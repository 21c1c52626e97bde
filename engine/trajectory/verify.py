"""Taking every recorded step again, on all cores: does the file say what the physics does?

Every row is stepped from as it was recorded, and what comes out is compared with the next row to
the last bit. So whoever changed the state in between is found as well as another processor.
"""

import dataclasses
import enum
import math
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from stroboscope.engine.checkpoint_codec import CheckpointCodec
from stroboscope.engine.files.block_head import BlockError
from stroboscope.engine.files.errors import FileDamagedError
from stroboscope.engine.files.frames import BlockKind, RowBlock, RowFlag
from stroboscope.engine.files.row_digest import digest_of_row
from stroboscope.engine.history.segments import Options, Stretch
from stroboscope.engine.live_data import HeldData
from stroboscope.engine.physics_options import write_option
from stroboscope.engine.row_layout import RowLayout
from stroboscope.engine.trajectory.output import plain_line
from stroboscope.engine.trajectory.recorded_rows import RecordedRows, Row

__all__ = ["Difference", "Outcome", "Verification", "verify_rows"]


_SHOWN = 5
_NOTE_SEEN = (
    "{:,} frames are what sync() saw after steps that the script took itself: those can't be taken "
    "again; let the script call scene.step() to be able to verify"
)
_NOTE_HIDDEN = (
    "a step needs more than a row says (which bodies sleep), and nothing in the file says that: "
    "record the run, or the environments, instead of saving what was remembered of them"
)


class Outcome(enum.StrEnum):
    """What came of taking all steps again."""

    SAME = "reproduces bit for bit"
    CHANGED = "the state was changed from outside"
    DIFFERS = "differs"
    DAMAGED = "is damaged"
    UNKNOWN = "can't be verified"


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """The first number of a row that is not what the step before it leads to."""

    frame: int
    axis: int
    array: str
    index: int
    recorded: float
    computed: float

    def __str__(self) -> str:
        """Say where, and how far off."""
        if not self.array:
            return (
                f"physics step {self.axis:,} (frame {self.frame:,}): another state than the one "
                "whose digest was recorded"
            )
        return (
            f"physics step {self.axis:,} (frame {self.frame:,}): {self.array}[{self.index}] is "
            f"{self.recorded!r} in the file, and {self.computed!r} when the step before is taken "
            f"again (difference {self.recorded - self.computed:.3g})"
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Verification:
    """What was found: ``checked`` of ``frames`` were reached by a step and compared.

    ``changes``: physics steps before which the state was replaced or edited, as the file says
    itself, or its rows do. ``seen``: frames that no known step
    leads to, as the script took them by itself and told by sync(). ``models``: what the script has
    written into the model, and before which step. ``differing``: how many frames are not what leads
    to them. ``lost``: what can't be read, or is not there. ``note``: why a difference may be there,
    or nothing could be verified.
    """

    outcome: Outcome
    frames: int
    checked: int
    first: Difference | None = None
    differing: int = 0
    changes: tuple[int, ...] = ()
    lost: tuple[str, ...] = ()
    note: str = ""
    seen: int = 0
    models: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0: reproduces; 1: differs; 2: damaged; 3: can't be verified."""
        return {Outcome.DIFFERS: 1, Outcome.DAMAGED: 2, Outcome.UNKNOWN: 3}.get(self.outcome, 0)

    def __str__(self) -> str:
        """Say it in words."""
        lines = [self._headline()]
        if self.changes:
            runs = _runs(self.changes)
            shown = ", ".join(runs[:_SHOWN])
            more = len(runs) - _SHOWN
            shown += f" and {more:,} more" if more > 0 else ""
            lines.append(f"the state was changed from outside before step {shown}")
        lines += [
            f"the model was changed from outside before step {each}"
            for each in self.models[:_SHOWN]
        ]
        if len(self.models) > _SHOWN:
            lines.append(f"and {len(self.models) - _SHOWN:,} times more")
        if self.first is not None:
            lines.append(f"{self.differing:,} frames differ; the first: {self.first}")
        lines += [*self.lost, *([self.note] if self.note else [])]
        return "\n".join(map(plain_line, lines))

    def _headline(self) -> str:
        compared = f"{self.checked:,} of {self.frames:,} frames compared"
        if self.outcome is Outcome.SAME and self.frames == 1:
            return "is one state, which no recorded step leads to: there is nothing to compare"
        match self.outcome:
            case Outcome.SAME | Outcome.CHANGED:
                return f"reproduces bit for bit ({compared})"
            case Outcome.DIFFERS if self.first is not None:
                return f"differs from step {self.first.axis:,} on ({compared})"
            case _:
                return f"{self.outcome.value} ({compared})"


def _runs(steps: Sequence[int]) -> list[str]:
    """Return steps in words, those in a row together."""
    ends = np.flatnonzero(np.diff(steps) != 1)
    firsts, lasts = np.r_[0, ends + 1], np.r_[ends, len(steps) - 1]
    found = []
    for first, last in zip(firsts, lasts, strict=True):
        one = f"{steps[first]:,}"
        found.append(one if first == last else f"{one} and each one up to {steps[last]:,}")
    return found


@dataclasses.dataclass(slots=True)
class _Part:
    """What one block came to."""

    checked: int = 0
    differing: int = 0
    seen: int = 0
    first: Difference | None = None
    lost: str = ""
    models: dict[int, int] = dataclasses.field(default_factory=dict)
    """By stretch, the first step that was found to be one of the model that it begins with, before
    its begin."""
    changed: list[int] = dataclasses.field(default_factory=list)
    """Steps before which the state must have been changed, as rows say and no event does."""
    following: int = 0
    """How many of its frames are what a step from the one before leads to, as the file says."""
    gaps: list[str] = dataclasses.field(default_factory=list)
    """Which steps are missing, and no event says why."""


class _Steps:
    """Data of our own for one thread, which steps as the recorded run did."""

    def __init__(
        self,
        model: Any,
        stretches: Sequence[Stretch],
        *,
        digest: bytes,
        adapter: Any,
        options: Options,
    ) -> None:
        self._model = model
        self._adapter = adapter
        self._data = adapter.module.MjData(model)
        self._codec = CheckpointCodec(model, HeldData(self._data), digest=digest, adapter=adapter)
        self._layout = RowLayout(model, adapter=adapter)
        self._row = np.empty(self._layout.size)
        self.keeps_sleep = self._codec.keeps_sleep
        """Whether a row does not say all that a step needs."""
        self._begins = np.array([each.segment.begin for each in stretches])
        self._since = [each.model_since for each in stretches]
        self._options: list[Options] = [{**options, **each.options} for each in stretches]
        self._stretch = -1

    def put(self, row: Row, hidden: bytes) -> None:
        """Begin at a row. Raises StateCorruptError for what is hidden state of no model."""
        self._codec.check_hidden(hidden)
        self._codec.put_row(row, hidden)

    def put_inputs(self, row: Row) -> None:
        """Have the inputs of a row."""
        inputs = row[self._layout.inputs]
        self._adapter.mj_setState(self._model, self._data, inputs, self._layout.inputs_mask)

    def stretch_of(self, axis: int) -> int:
        """Return which stretch a step lies in."""
        return int(np.searchsorted(self._begins, axis, side="right")) - 1

    def coming_model(self, axis: int) -> int:
        """Return the stretch whose model may have been there for a step already; -1 for none."""
        coming = self.stretch_of(axis) + 1
        if coming == len(self._since) or not 0 <= self._since[coming] <= axis:
            return -1
        return coming

    def step(self, axis: int, timestep: float, *, stretch: int | None = None) -> Row:
        """Take the step that begins at ``axis``; return where it leads, with its own inputs.

        ``stretch``: have the options of another one than that which the step lies in.
        """
        if stretch is None:
            stretch = self.stretch_of(axis)
        if stretch != self._stretch:
            self._stretch = stretch
            for name, values in self._options[max(stretch, 0)].items():
                write_option(self._model, name, values, known=values, adapter=self._adapter)
        self._model.opt.timestep = timestep
        self._adapter.mj_step(self._model, self._data)
        self._adapter.mj_getState(self._model, self._data, self._row, self._adapter.integration)
        return self._row


def verify_rows(
    rows_of: Callable[[], RecordedRows],
    stretches: Sequence[Stretch],
    model_of: Callable[[], Any],
    *,
    digest: bytes,
    adapter: Any,
    options: Options,
    jobs: int | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Verification:
    """Take all steps again. ``rows_of`` and ``model_of`` are called by each of ``jobs`` threads,
    which need a reader and a model of their own; None: one per core. ``options``: the model's own
    values of what was edited.
    """
    rows = rows_of()
    every = rows.record.every
    if every != 1:
        return Verification(
            Outcome.UNKNOWN,
            rows.count,
            0,
            note=f"only every {every}. physics step was recorded: the inputs of those in between "
            "are not known; record with every=1 to be able to verify",
        )
    count = max(1, min(jobs or os.cpu_count() or 1, len(rows.index)))
    local = threading.local()
    done = 0
    lock = threading.Lock()
    told = frozenset(each.segment.begin for each in stretches)

    def check(block: int) -> _Part:
        nonlocal done
        if not hasattr(local, "checker"):
            steps = _Steps(model_of(), stretches, digest=digest, adapter=adapter, options=options)
            local.checker = _Checker(rows_of(), steps, told=told)
        part: _Part = local.checker.check(block)
        with lock:
            done += 1
            progress(done / len(rows.index))
        return part

    with ThreadPoolExecutor(count, thread_name_prefix="stroboscope-verify") as pool:
        parts = list(pool.map(check, range(len(rows.index))))
    return _summary(rows, stretches, parts)


def _summary(
    rows: RecordedRows, stretches: Sequence[Stretch], parts: Sequence[_Part]
) -> Verification:
    first = next((part.first for part in parts if part.first is not None), None)
    lost = tuple(part.lost for part in parts if part.lost)
    gaps = [gap for part in parts for gap in part.gaps]
    lost += tuple(gaps[:_SHOWN]) + (f"and {len(gaps) - _SHOWN:,} times more",) * (
        len(gaps) > _SHOWN
    )
    begin = rows.axis(0)
    seen = sum(part.seen for part in parts)
    told = {
        each.segment.begin
        for each in stretches
        if each.segment.kind.value == "edit"
        and each.segment.begin > begin
        and (each.model_since < 0 or not _follows_at(rows, each.segment.begin))
    }
    untold = {axis for part in parts for axis in part.changed}
    changes = tuple(sorted(told | untold))
    models = _models(rows, stretches, parts)
    checked = sum(part.checked for part in parts)
    note = _NOTE_SEEN.format(seen) if seen else _of_last_timestep(rows)
    if first is not None:
        outcome = Outcome.DIFFERS
    elif lost:
        outcome = Outcome.DAMAGED
    elif seen:
        outcome = Outcome.UNKNOWN
    elif checked < (following := sum(part.following for part in parts)):
        outcome, note = Outcome.UNKNOWN, _NOTE_HIDDEN
        if checked:
            note = f"{following - checked:,} frames could not be compared: {note}"
    else:
        outcome = Outcome.CHANGED if changes or models else Outcome.SAME
    return Verification(
        outcome,
        rows.count,
        checked,
        first=first,
        differing=sum(part.differing for part in parts),
        changes=changes,
        lost=lost,
        note=note,
        seen=seen,
        models=models,
    )


def _of_last_timestep(rows: RecordedRows) -> str:
    """Return what no step tells of the last state; empty where its timestep is the usual one."""
    if rows.count < 2:
        return ""
    try:
        last, before = rows.timestep(rows.count - 1), rows.timestep(rows.count - 2)
    except FileDamagedError:
        return ""
    if last == before:
        return ""
    return (
        f"the last state has a timestep of {last:g} s, the step before it took {before:g} s: "
        "nothing in the file follows from it"
    )


def _follows_at(rows: RecordedRows, axis: int) -> bool:
    """Return whether the row of an axis follows; one that is lost may."""
    try:
        return rows.follows_at(axis)
    except FileDamagedError:
        return True


def _models(
    rows: RecordedRows, stretches: Sequence[Stretch], parts: Sequence[_Part]
) -> tuple[str, ...]:
    """Return what was written into the model, as exactly as is known when."""
    found: dict[int, int] = {}
    for part in parts:
        for stretch, axis in part.models.items():
            found[stretch] = min(found.get(stretch, axis), axis)
    last = rows.axis(rows.count - 1)
    told = []
    for number, each in enumerate(stretches):
        begin = each.segment.begin
        if each.model_since >= 0 and (number in found or begin < last):
            told.append(f"{found.get(number, begin):,}: {each.model_text}")
    return tuple(told)


class _Checker:
    """Checks blocks, on one thread."""

    def __init__(self, rows: RecordedRows, steps: _Steps, *, told: frozenset[int]) -> None:
        self._rows = rows
        self._steps = steps
        self._told = told
        """The steps at which events say that rows do not follow."""
        self._inputs = slice(*rows.record.inputs)

    def check(self, number: int) -> _Part:
        """Take the steps of a block, with the one that leads to the next block.

        Where no row says all, only a block that holds the rest can be begun with; those that follow
        it are gone through with it.
        """
        part = _Part()
        block = self._block(number, part)
        if block is not None:
            part.seen = int(np.count_nonzero(block.flags & RowFlag.SEEN))
            self._find_breaks(block, number, part)
        if block is None or (self._steps.keeps_sleep and not block.hidden):
            return part
        self._steps.put(block.rows[0], block.hidden)
        while self._check_block(block, number, part) and self._steps.keeps_sleep:
            number += 1
            following = self._block(number, _Part())
            if following is None or following.hidden:
                break
            block = following
        return part

    def _find_breaks(self, block: RowBlock, number: int, part: _Part) -> None:
        """Find where rows do not follow, and no event says why: nothing is compared there."""
        axes = block.axes.astype(np.int64)
        last = self._rows.index.last_axis[number - 1] if number else axes[0] - 1
        before = np.concatenate(([last], axes[:-1]))
        is_jump = axes != before + 1
        part.following = int(np.count_nonzero(~is_jump & (block.flags == 0)))
        part.following -= not number and not is_jump[0] and not block.flags[0]
        for at in np.flatnonzero(is_jump | (block.flags != 0)).tolist():
            axis, previous = int(axes[at]), int(before[at])
            if axis in self._told or (not number and not at):
                continue
            if not is_jump[at]:
                if not block.flags[at] & RowFlag.SEEN:
                    part.changed.append(axis)
            elif axis > previous:
                part.gaps.append(f"steps {previous + 1:,} to {axis - 1:,} are not in the file")
            else:
                part.gaps.append(f"step {axis:,} stands behind step {previous:,}")

    def _block(self, number: int, part: _Part) -> RowBlock | None:
        try:
            return self._rows.block(number)
        except FileDamagedError as error:
            # Who goes through all frames has nowhere else to go.
            bits = isinstance(error.__cause__, BlockError)
            part.lost = error.wrong if bits else f"{error.wrong}: {error.todo}"
            return None

    def _check_block(self, block: RowBlock, number: int, part: _Part) -> bool:
        """Return whether the steps stand at the first row of the next block now."""
        for at, frame in enumerate(self._rows.frames_of(number)):
            if frame + 1 == self._rows.count:
                return False
            is_inside = at + 1 < block.count or self._steps.keeps_sleep
            try:
                if not self._go(part, block, at, frame + 1, is_inside=is_inside):
                    return False
            except FileDamagedError:
                return False  # said where that block is checked
        return True

    def _go(self, part: _Part, block: RowBlock, at: int, frame: int, *, is_inside: bool) -> bool:
        """Take the step that leads to ``frame`` and compare; False where none leads there."""
        rows, steps = self._rows, self._steps
        axis = rows.axis(frame)
        if axis != int(block.axes[at]) + 1:
            return False
        recorded = rows.stored(frame)
        if not rows.follows(frame):
            if recorded is None:
                return False
            steps.put(recorded, b"")
            return True
        timestep = float(block.timesteps[at])
        computed = steps.step(axis - 1, timestep)
        computed[self._inputs] = rows.inputs(frame)
        part.checked += 1
        is_same = self._is_same(computed, recorded, frame)
        if is_same and recorded is None and self._has_other_time(computed, frame):
            self._note(part, frame, axis, computed, self._with_time(computed, frame))
        coming = -1 if is_same or steps.keeps_sleep else steps.coming_model(axis - 1)
        if coming >= 0 and block.kind is not BlockKind.MINIMAL:
            other = computed.copy()
            steps.put(block.rows[at], b"")
            computed = steps.step(axis - 1, timestep, stretch=coming)
            computed[self._inputs] = rows.inputs(frame)
            is_same = self._is_same(computed, recorded, frame)
            if is_same:
                part.models[coming] = min(part.models.get(coming, axis - 1), axis - 1)
            else:
                computed = other
        if is_same:
            steps.put_inputs(computed)
            return True
        self._note(part, frame, axis, computed, recorded)
        if recorded is None:
            return False  # all that follows in this block was to be simulated from here
        if is_inside:
            steps.put(recorded, b"")
        return True

    def _is_same(self, computed: Row, recorded: Row | None, frame: int) -> bool:
        if recorded is None:
            return self._rows.digest(frame) == digest_of_row()(computed.tobytes())
        return computed.tobytes() == recorded.tobytes()

    def _has_other_time(self, computed: Row, frame: int) -> bool:
        """Return whether a row that is simulated again says another time than that leads to."""
        return np.float64(self._rows.time(frame)).tobytes() != computed[:1].tobytes()

    def _with_time(self, computed: Row, frame: int) -> Row:
        row = computed.copy()
        row[0] = self._rows.time(frame)
        return row

    def _note(
        self, part: _Part, frame: int, axis: int, computed: Row, recorded: Row | None
    ) -> None:
        part.differing += 1
        if part.first is None:
            part.first = self._difference(frame, axis, computed, recorded)

    def _difference(self, frame: int, axis: int, computed: Row, recorded: Row | None) -> Difference:
        if recorded is None:
            return Difference(frame, axis, "", 0, math.nan, math.nan)
        place = int(np.flatnonzero(computed.view(np.uint64) != recorded.view(np.uint64))[0])
        for column in self._rows.record.columns:
            if column.begin <= place < column.begin + column.count:
                return Difference(
                    frame,
                    axis,
                    column.name,
                    place - column.begin,
                    float(recorded[place]),
                    float(computed[place]),
                )
        return Difference(frame, axis, "row", place, float(recorded[place]), float(computed[place]))
