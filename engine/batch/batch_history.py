"""What a batched scene remembers: the rows of all environments, shallow, and of few, deeper.

A physics step's rows are one matrix. Matrices take turns in a ring as large as the budget allows:
the newest are there of every environment. When the oldest makes room, the rows of the environment
that is looked at and of those that the script has chosen stay, in a quarter of the budget.
"""

import bisect
import dataclasses
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.time_messages import Segment, SegmentKind
from stroboscope.engine.batch.deep_rows import DeepRows
from stroboscope.engine.batch.field_notes import FieldNotes
from stroboscope.engine.batch.state_edits import StateEdits
from stroboscope.engine.history.budget import HistoryBudget
from stroboscope.engine.history.segments import Options, SegmentList, Stretch

if TYPE_CHECKING:
    from stroboscope.engine.batch.environments import Environments
    from stroboscope.engine.model_fields import ModelFields
    from stroboscope.engine.recording.batch_tap import EnvTap

__all__ = ["EDITED_TEXT", "BatchHistory", "written_text"]

Rows = NDArray[np.float64]
Ints = NDArray[np.int64]

EDITED_TEXT = "the state was changed between two steps"
"""How a stretch begins with whose state the script has written into it by itself."""
_DEEP_SHARE = 0.25
_MOST_MATRICES = 100_000
_MOST_REPLACEMENTS = 10_000
_MOST_NAMED = 3


@dataclasses.dataclass(frozen=True, slots=True)
class _Replaced:
    """The states of some environments were replaced at an axis; counters before and after."""

    axis: int
    total_steps: int
    kind: SegmentKind
    text: str
    parent_axis: int
    envs: NDArray[np.intp]
    steps: tuple[Ints, Ints]
    physics: tuple[Ints, Ints]
    episodes: tuple[Ints, Ints]
    times: Rows

    def place(self, env: int) -> int:
        """Return where ``env`` stands in the arrays; -1 when it was not replaced."""
        at = int(np.searchsorted(self.envs, env))
        return at if at < len(self.envs) and self.envs[at] == env else -1


class BatchHistory:
    """Rows of all environments by axis, and what has replaced states in between.

    ``base`` returns the fields of the model as the batch was made with it. Owner thread only.
    """

    def __init__(
        self,
        environments: "Environments",
        budget: HistoryBudget,
        *,
        base: "Callable[[], ModelFields]",
    ) -> None:
        self._envs = environments
        self._fields = FieldNotes(environments, base=base)
        self._edits = StateEdits(environments)
        self.layout = environments.layout
        self._budget = budget
        self._matrix_bytes = int(environments.state.nbytes)
        self.max_bytes = budget.limits.scene_bytes
        self.wanted = False
        """Whether the script wants it kept, attached or not."""
        self.switched_off = False
        self.episodes = np.zeros(environments.count, dtype=np.int64)
        """Which episode each state belongs to, (n_envs,)."""
        self.first = 0
        """The axis of the oldest matrix."""
        self._rows: deque[Rows] = deque()
        self._steps: deque[tuple[int, float | Rows, float]] = deque()
        self._timesteps: Rows = np.empty(0)
        self._deep = DeepRows()
        self._last: Rows = np.empty(0)
        self._replaced: list[_Replaced] = []
        self.version = 0
        """Changes whenever the segments do."""
        self.taps: tuple[EnvTap, ...] = ()
        """Who records the scene."""
        self._calls: deque[Callable[[], None]] = deque()
        self.on_forget: Callable[[int], None] = _nobody
        """Called with the axis before which nothing is remembered any more."""

    # --- writing

    def capture(self, *, keeps: bool) -> Rows:
        """Copy the rows of the coming step, before it; return them.

        Raises what somebody has asked for with :meth:`call_soon`.
        """
        while self._calls:
            self._calls.popleft()()
        matrix = self._captured(keeps=keeps)
        if self.taps:
            wall, step = time.monotonic(), self._envs.counters.shared
            timesteps = self._timesteps_now()
            for tap in self.taps:
                tap.capture(
                    matrix, axis=step.axis, step=step.single, wall=wall, timesteps=timesteps
                )
        return matrix

    def counted(self) -> None:
        """Hear that the step whose rows were copied last is done and counted."""
        if self._rows:
            self._edits.left(self._envs.counters.shared.axis + 1)
        for tap in self.taps:
            tap.counted()

    def call_soon(self, call: Callable[[], None]) -> None:
        """Have the owner call ``call`` before its next step; any thread.

        What it raises is raised by that step, which has moved nothing.
        """
        self._calls.append(call)

    @property
    def is_called(self) -> bool:
        """Whether the owner has to call something."""
        return bool(self._calls)

    def _captured(self, *, keeps: bool) -> Rows:
        counters = self._envs.counters.shared
        if not keeps:
            if self._rows:
                self.forget()
            if self._last.shape != self._envs.state.shape:
                self._last = np.empty_like(self._envs.state)
            np.copyto(self._last, self._envs.state)
            return self._last
        if self._rows and self.first + len(self._rows) != counters.axis:
            self.forget()  # steps in between were not followed
        matrix = self._free_matrix()
        np.copyto(matrix, self._envs.state)
        if not self._rows:
            self.first = counters.axis
            self._fields.begin(counters.axis)
            self.version += 1
        else:
            self.look()
        self._rows.append(matrix)
        self._steps.append((counters.single, self._timesteps_now(), time.monotonic()))
        self._last = matrix
        return matrix

    def look(self) -> None:
        """Notice what the script has written into states, and fields, since the last step."""
        if self._rows:
            axis = self._envs.counters.shared.axis
            self.version += self._fields.look(axis) + self._edits.look(axis)

    def _timesteps_now(self) -> float | Rows:
        """Return the timestep of all, or of each: the same object while none has changed."""
        own = self._envs.timesteps()
        if not isinstance(own, float) and not np.array_equal(own, self._timesteps):
            self._timesteps = own.copy()
        return own if isinstance(own, float) else self._timesteps

    def forget_last(self) -> None:
        """Forget the rows that were captured last, if they are kept: nobody took that step."""
        if self._rows and self._last is self._rows[-1]:
            self._rows.pop()
            self._steps.pop()
        for tap in self.taps:
            tap.forgot()

    def _free_matrix(self) -> Rows:
        """Return a matrix to write into: a new one while there is room, else the oldest."""
        room = self._budget.share(id(self), self.max_bytes)
        deep_bytes = int(_DEEP_SHARE * room)
        most = max(1, min(_MOST_MATRICES, (room - deep_bytes) // self._matrix_bytes))
        if len(self._rows) < most:
            self._budget.uses(id(self), self.nbytes + self._matrix_bytes)
            return np.empty_like(self._envs.state)
        matrix = self._rows.popleft()
        while len(self._rows) >= most:
            self._retire(matrix, deep_bytes)
            matrix = self._rows.popleft()
        self._retire(matrix, deep_bytes)
        return matrix

    def _retire(self, matrix: Rows, deep_bytes: int) -> None:
        """Keep a few environments' rows of the oldest matrix, which makes room."""
        self.first += 1
        self._deep.add(matrix, deep_bytes)
        self._forget_steps()
        first = self._oldest
        self.on_forget(first)
        self._fields.forget_before(first)
        self._edits.forget_before(first)
        if self._replaced and self._replaced[0].axis < first:
            self._replaced = [each for each in self._replaced if each.axis >= first]
            self.version += 1

    def look_at(self, env: int) -> None:
        """Keep the rows of the environment that is looked at longer from now on."""
        self._deep.look_at(env)
        self._forget_steps()
        self.version += 1

    def choose_deep(self, envs: Sequence[int]) -> None:
        """Keep the rows of these environments longer, too, whichever is looked at."""
        self._deep.choose(envs)
        self._forget_steps()
        self.version += 1

    @property
    def _oldest(self) -> int:
        """The axis of the oldest row of any environment."""
        return self.first - self._deep.longest

    def _forget_steps(self) -> None:
        while self._steps and self.first + len(self._rows) - len(self._steps) < self._oldest:
            self._steps.popleft()

    def forget(self) -> None:
        """Forget everything."""
        self._rows.clear()
        self._steps.clear()
        self._deep.clear()
        self._replaced.clear()
        self._edits.clear()
        self._budget.forget(id(self))
        self.on_forget(self._envs.counters.shared.axis)
        self.version += 1

    def end(self) -> None:
        """Leave the process's bytes to other scenes; any thread."""
        self._budget.forget(id(self))

    def replaced(
        self,
        kind: SegmentKind,
        envs: NDArray[np.intp],
        *,
        before: tuple[Ints, Ints],
        text: str = "",
        parent_axis: int = -1,
        episodes: Ints | None = None,
    ) -> None:
        """Note that states were replaced; ``before``: all step and physics counts before that."""
        counters = self._envs.counters
        envs = np.sort(envs)
        was = self.episodes[envs].copy()
        if episodes is not None:
            self.episodes[envs] = episodes[envs]
        elif kind is SegmentKind.EPISODE:
            self.episodes[envs] += 1
        self.version += 1
        self._edits.replaced(envs)
        for tap in self.taps:
            tap.replaced(kind, envs, text, parent_axis)
        if not self._rows:
            return
        self._replaced.append(
            _Replaced(
                counters.shared.axis, counters.shared.single, kind, text, parent_axis, envs,
                (before[0][envs], counters.step_counts()[envs]),
                (before[1][envs], counters.physics_counts()[envs]),
                (was, self.episodes[envs].copy()),
                self._envs.time[envs].copy(),
            )
        )  # fmt: skip
        del self._replaced[:-_MOST_REPLACEMENTS]

    # --- reading

    @property
    def nbytes(self) -> int:
        """Bytes of all that is kept."""
        deep = self._deep.total * (self._matrix_bytes // self._envs.count)
        beside = self._fields.nbytes + self._edits.nbytes
        return len(self._rows) * self._matrix_bytes + deep + beside

    @property
    def is_empty(self) -> bool:
        """Whether nothing is remembered."""
        return not self._rows

    def end_axis(self) -> int:
        """Return the axis after the last one that is remembered."""
        return self.first + len(self._rows)

    def first_of(self, env: int) -> int:
        """Return the oldest axis that is remembered of an environment; -1 without any."""
        if not self._rows:
            return -1
        return self.first - self._deep.count(env)

    def matrix(self, axis: int) -> Rows | None:
        """Return the rows of all environments at an axis, (n_envs, row); None when not there."""
        place = axis - self.first
        return self._rows[place] if 0 <= place < len(self._rows) else None

    def row(self, env: int, axis: int) -> Rows | None:
        """Return the row of an environment; None when it is not there."""
        matrix = self.matrix(axis)
        if matrix is not None:
            row: Rows = matrix[env]
            return row
        return self._deep.row(env, self.first - axis)

    def step_at(self, axis: int) -> int:
        """Return how many application steps had ever been taken at a remembered axis."""
        return self._steps[axis - self._oldest][0]

    def timestep_at(self, env: int, axis: int) -> float:
        """Return how long the step of an environment took [s]."""
        stored = self._steps[axis - self._oldest][1]
        return stored if isinstance(stored, float) else float(stored[env])

    def wall_at(self, axis: int) -> float:
        """Return when the rows of a remembered axis were taken, monotonic [s]."""
        return self._steps[axis - self._oldest][2]

    # --- what every environment's counters were

    def counts(self) -> tuple[Ints, Ints]:
        """Return step and physics counts of all states as they stand, (n_envs,) each."""
        counters = self._envs.counters
        return counters.step_counts(), counters.physics_counts()

    def counts_at(self, axis: int) -> tuple[Ints, Ints, Ints]:
        """Return step counts, physics counts and episodes of all environments, (n_envs,) each."""
        counters = self._envs.counters
        single, live = counters.shared.single, counters.shared.axis
        steps = counters.step_counts() - (single - self.step_at(axis))
        physics = counters.physics_counts() - (live - axis)
        episodes = self.episodes.copy()
        for each in reversed(self._replaced):
            if each.axis <= axis:
                break
            steps[each.envs] = each.steps[0] - (each.total_steps - self.step_at(axis))
            physics[each.envs] = each.physics[0] - (each.axis - axis)
            episodes[each.envs] = each.episodes[0]
        return steps, physics, episodes

    def segments_of(self, env: int) -> SegmentList:
        """Return the stretches in which one environment's states follow from one another."""
        made = SegmentList()
        first = self.first_of(env)
        if first < 0:
            return made
        steps, physics, episodes = self.counts_at(first)
        row = self.row(env, first)
        begin = Segment(
            segment_id=0, kind=SegmentKind.BEGIN, begin=first, episode=int(episodes[env]),
            parent_axis=-1, physics_step=int(physics[env]), step_count=int(steps[env]),
            time=float(row[0]) if row is not None else 0.0, text="",
        )  # fmt: skip
        stretches = [Stretch(begin, self.step_at(first), {})]
        for each in self._replaced:
            at = each.place(env)
            if at < 0 or each.axis < first:
                continue
            segment = Segment(
                segment_id=0, kind=each.kind, begin=each.axis, episode=int(each.episodes[1][at]),
                parent_axis=each.parent_axis, physics_step=int(each.physics[1][at]),
                step_count=int(each.steps[1][at]), time=float(each.times[at]), text=each.text,
            )  # fmt: skip
            stretches.append(Stretch(segment, each.total_steps, {}))
        for stretch in self._with_fields(env, self._with_edits(env, stretches)):
            made.open(stretch)
        return made

    def _with_edits(self, env: int, stretches: list[Stretch]) -> list[Stretch]:
        """Return stretches, and one from each step on before which the state was written into."""
        made = {each.segment.begin: each for each in stretches}
        begins = sorted(made)
        for axis in self._edits.begins_of(env):
            if axis > begins[0] and axis not in made:
                before = made[begins[bisect.bisect_left(begins, axis) - 1]].segment
                segment = self._begun_at(env, axis, before, EDITED_TEXT)
                made[axis] = Stretch(segment, self._step_of(axis), {})
        return [made[axis] for axis in sorted(made)]

    def edited_axes(self, env: int) -> Iterator[int]:
        """Go through the steps before which the script has written into an environment's state."""
        return self._edits.of(env)

    def _with_fields(self, env: int, stretches: list[Stretch]) -> list[Stretch]:
        """Return stretches with the fields of the model that the environment had in them.

        Another one begins where nothing but these was changed.
        """
        told = self._fields.stretches_of(env)
        made: list[Stretch] = []
        ends = [each.segment.begin for each in stretches[1:]] + [self.end_axis() + 1]
        for stretch, end in zip(stretches, ends, strict=True):
            begin = stretch.segment.begin
            before = ([each for each in told if each.axis <= begin] or told[:1])[-1]
            lost = dict.fromkeys(before.lost, -1)
            made.append(dataclasses.replace(stretch, options=before.options, lost=lost))
            for each in told:
                if begin < each.axis < end:
                    text = written_text(each.written)
                    segment = self._begun_at(env, each.axis, stretch.segment, text)
                    lost = dict.fromkeys(each.lost, -1)
                    steps = self._step_of(each.axis)
                    made.append(Stretch(segment, steps, each.options, lost=lost))
        return made

    def _begun_at(self, env: int, axis: int, before: Segment, text: str) -> Segment:
        row = self.row(env, axis)
        return msgspec.structs.replace(
            before,
            kind=SegmentKind.EDIT,
            begin=axis,
            parent_axis=axis - 1,
            physics_step=before.physics_step + axis - before.begin,
            step_count=before.step_count + self._step_of(axis) - self._step_of(before.begin),
            time=float(self._envs.time[env] if row is None else row[0]),
            text=text,
        )

    def _step_of(self, axis: int) -> int:
        """Return how many application steps had ever been taken at an axis, the live one too."""
        return self._envs.counters.shared.single if axis >= self.end_axis() else self.step_at(axis)

    def fields_before(self, env: int, axis: int) -> Options:
        """Return what fields had in an environment's step that have other values by now."""
        return self._fields.before(env, axis)

    def lost_fields(self, env: int, axis: int) -> str:
        """Say of which fields of the model it is not known what they were then; or ""."""
        return self._fields.lost_of(env, axis)

    @property
    def fields_from(self) -> int:
        """Of steps before this axis it is not remembered what the models' fields were."""
        return self._fields.known_from

    def spans_of(self, env: int) -> Iterator[tuple[int, int]]:
        """Go through the stretches of axes that are remembered of an environment."""
        first = self.first_of(env)
        if first >= 0:
            yield first, self.end_axis()


def written_text(names: Sequence[str]) -> str:
    """Return the words for fields of a model that a script has written into."""
    named = ", ".join(names[:_MOST_NAMED]) + ", …" * (len(names) > _MOST_NAMED)
    return f"{named} of the model {'was' if len(names) == 1 else 'were'} changed"


def _nobody(_axis: int) -> None:
    """Tell nobody."""
