"""The oscillator with a memory: a small real engine for tests of time travel.

It keeps a row per physics step, looks at rows, branches, re-simulates, compares, and stops before
steps that blow up or make a condition true. All in plain Python, all exact.
"""

import dataclasses
import math
import re
import struct
import threading
from collections.abc import Callable, Iterator, Sequence

import msgspec
import numpy as np
from oscillator import TIMESTEP, Oscillator

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.backend import Clock, TopicFrames
from stroboscope.debugger_protocol.exceptions import CommandError, SceneClosedError
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.time_machine import (
    FinishedRun,
    HistoryState,
    PastFrame,
    TimeMachine,
)
from stroboscope.debugger_protocol.time_messages import (
    ConditionInfo,
    EditKind,
    GhostRef,
    GhostSource,
    RolloutInfo,
    Segment,
    SegmentKind,
    StateDifference,
    StatesCompared,
    StopInfo,
    StopReason,
    WhatIf,
)
from stroboscope.debugger_protocol.topics import Topic

_STATE = struct.Struct("<dddqqd")
_CONDITION = re.compile(r"(qpos|qvel) *([<>]) *(-?[0-9.]+)")


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """State and inputs just before a physics step."""

    q: float
    v: float
    time: float
    step_count: int
    physics_step_count: int
    ctrl: float
    total_steps: int
    segment: int


def advanced(row: Row, *, ctrl: float | None = None) -> Row:
    """Return what one physics step makes of a row, as :meth:`Oscillator.physics` does."""
    force = row.ctrl if ctrl is None else ctrl
    v = row.v + TIMESTEP * (force - 40.0 * row.q - 0.1 * row.v)
    q = row.q + TIMESTEP * v
    return dataclasses.replace(
        row, q=q, v=v, time=row.time + TIMESTEP, physics_step_count=row.physics_step_count + 1
    )


class Remembering(Oscillator):
    """An oscillator whose past is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = Memory(self)

    def time_machine(self) -> TimeMachine:
        return self.memory

    def row(self, segment: int = 0) -> Row:
        return Row(
            self.q,
            self.v,
            self.time,
            self.step_count,
            self.physics_step_count,
            self.ctrl,
            self.total_steps,
            segment,
        )

    def put(self, row: Row) -> None:
        self.q, self.v, self.time, self.ctrl = row.q, row.v, row.time, row.ctrl
        self.step_count, self.physics_step_count = row.step_count, row.physics_step_count

    def capture_initial(self) -> bytes:
        return packed(self.row())

    def restore_initial(self, state: bytes) -> None:
        self.put(unpacked(state))
        self.memory.begin_segment(SegmentKind.RESTORE)

    def edit_state(self, field: object, index: int, values: Sequence[float]) -> None:
        super().edit_state(field, index, values)  # type: ignore[arg-type]
        self.memory.begin_segment(SegmentKind.EDIT)


def packed(row: Row) -> bytes:
    return _STATE.pack(row.q, row.v, row.time, row.step_count, row.physics_step_count, row.ctrl)


def unpacked(state: bytes) -> Row:
    if len(state) != _STATE.size:
        raise CommandError(f"a state has {_STATE.size} bytes, this one {len(state)}")
    return Row(*_STATE.unpack(state), total_steps=0, segment=0)


@dataclasses.dataclass(slots=True)
class Run(FinishedRun):
    """A rollout: its rows, and what is told of it."""

    info: RolloutInfo
    rows: list[Row]
    nbytes: int = 0

    def read_rows(
        self, channels: Sequence[str], *, first: int, last: int, max_rows: int
    ) -> Iterator[Arrays]:
        yield from read(dict(enumerate(self.rows)), channels, first, last, max_rows)


def read(
    rows: dict[int, Row], channels: Sequence[str], first: int, last: int, max_rows: int
) -> Iterator[Arrays]:
    fields = {"qpos": "q", "qvel": "v", "ctrl": "ctrl"}
    unknown = [name for name in channels if name not in fields]
    if unknown:
        raise CommandError(f"{unknown[0]!r} does not follow from rows")
    axes = [axis for axis in rows if first <= axis <= last]
    axes = axes[:: max(1, math.ceil(len(axes) / max_rows))]
    for begin in range(0, len(axes), 50):
        part = axes[begin : begin + 50]
        yield {
            "axis": np.array(part, dtype=np.int64),
            "time": np.array([rows[axis].time for axis in part]),
            "values": np.array(
                [[getattr(rows[axis], fields[name]) for name in channels] for axis in part]
            ),
            "widths": np.ones(len(channels), dtype=np.int32),
        }


class Memory(TimeMachine):
    """What an oscillator remembers."""

    def __init__(self, scene: Remembering) -> None:
        self.scene = scene
        self.rows: dict[int, Row] = {}
        self.keeps = True
        self.segments = [Segment(segment_id=1, kind=SegmentKind.BEGIN, begin=0, episode=1)]
        self.runs: dict[int, Run] = {}
        self.told: tuple[RolloutInfo, ...] = ()
        self.watched: tuple[ConditionInfo, ...] = ()
        self.off: frozenset[StopReason] = frozenset()
        self.looks = 0
        # Whether it is held after the step that a stop is about, instead of before.
        self.takes_nothing_back = False
        self.on_slice: Callable[[], None] = lambda: None
        self._next_id = 1

    # --- what the engine does

    def remember(self) -> None:
        if self.keeps:
            self.rows[self.scene.axis] = self.scene.row(self.segments[-1].segment_id)

    def begin_segment(self, kind: SegmentKind, parent: int = -1, *, episode: int = 0) -> Segment:
        scene = self.scene
        segment = Segment(
            segment_id=self.segments[-1].segment_id + 1,
            kind=kind,
            begin=scene.axis,
            episode=self.segments[-1].episode + episode,
            parent_axis=parent,
            physics_step=scene.physics_step_count,
            step_count=scene.step_count,
            time=scene.time,
        )
        self.segments = [*self.segments, segment]
        return segment

    def trouble(self) -> StopInfo | None:
        """Return why the step that has just been made must not have happened."""
        scene, row = self.scene, self.rows[self.scene.axis - 1]
        about = dict(
            stop_id=0,
            axis=scene.axis - 1,
            episode=self.segments[-1].episode,
            step=row.step_count,
            physics_step=row.physics_step_count,
            time=row.time,
        )
        if not math.isfinite(scene.v) and StopReason.NON_FINITE not in self.off:
            return StopInfo(
                reason=StopReason.NON_FINITE,
                message=f"qvel of spring is {scene.v}",
                culprit="ctrl",
                **about,
            )
        for condition in self.watched:
            if condition.enabled and self._is_true(condition, row, scene.row()):
                return self._hit(condition, about)
        return None

    def _is_true(self, condition: ConditionInfo, before: Row, after: Row) -> bool:
        name, relation, value = _CONDITION.fullmatch(condition.expression).groups()  # type: ignore[union-attr]
        field = "q" if name == "qpos" else "v"
        sign = 1.0 if relation == ">" else -1.0
        was, becomes = (sign * (getattr(row, field) - float(value)) > 0 for row in (before, after))
        return becomes and not was

    def _hit(self, condition: ConditionInfo, about: dict[str, object]) -> StopInfo | None:
        hit = msgspec.structs.replace(condition, hit_count=condition.hit_count + 1)
        self.watched = tuple(hit if each is condition else each for each in self.watched)
        if hit.hit_count < hit.hits:
            return None
        if hit.once:
            self.watched = tuple(each for each in self.watched if each is not hit)
        return StopInfo(
            reason=StopReason.CONDITION,
            message=hit.expression,
            condition_id=hit.condition_id,
            held=not hit.log_only,
            **about,  # type: ignore[arg-type]
        )

    # --- history

    def history(self) -> HistoryState:
        return HistoryState(
            keeps=self.keeps,
            live=self.scene.axis,
            first=next(iter(self.rows), 0),
            dense=0,
            rows=len(self.rows),
            used_bytes=80 * len(self.rows),
            max_bytes=1 << 20,
            segments=tuple(self.segments),
        )

    def set_history(self, *, keep: bool, max_bytes: int | None) -> None:
        self.keeps = keep
        if not keep:
            self.rows.clear()

    def find(
        self,
        *,
        step: int | None = None,
        time: float | None = None,
        episode: int | None = None,
        near: int,
    ) -> int:
        if step is not None and episode is None:
            return step
        if episode is None:
            shown = self.rows.get(near)
            number = self.segments[-1].segment_id if shown is None else shown.segment
            episode = self._episode(number)
        rows = {a: r for a, r in self.rows.items() if self._episode(r.segment) == episode}
        if not rows:
            raise CommandError(f"nothing of episode {episode} is remembered")
        if step is not None:
            found = [axis for axis, row in rows.items() if row.physics_step_count == step]
            if episode == self.segments[-1].episode and step == self.scene.physics_step_count:
                found.append(self.scene.axis)
        elif time is not None:
            found = [axis for axis, row in rows.items() if row.time <= time + 1e-12]
        else:
            found = [min(rows)]
        if not found:
            raise CommandError(f"there is no such row in episode {episode}")
        return found[-1]

    def _episode(self, segment_id: int) -> int:
        return next(s.episode for s in self.segments if s.segment_id == segment_id)

    def steps_away(self, axis: int, count: int, *, physics: bool) -> int:
        first, live = self.history().first, self.scene.axis
        if physics:
            return min(max(axis + count, first), live)
        total = self._total(axis) + count
        if total >= self.scene.total_steps:
            return live
        begins = [a for a, row in self.rows.items() if row.total_steps == total]
        return begins[0] if begins else first

    def _total(self, axis: int) -> int:
        return self.rows[axis].total_steps if axis in self.rows else self.scene.total_steps

    def steps_between(self, axis: int, live: int) -> int:
        return self._total(live) - self._total(axis)

    def look_at(self, axis: int, topics: frozenset[Topic]) -> PastFrame:
        self.looks += 1
        row = self.rows[axis]
        clock = Clock(row.time, row.step_count, row.physics_step_count, row.total_steps, axis)
        shown = Oscillator()
        shown.q, shown.v = row.q, row.v
        return PastFrame(clock=clock, frames=TopicFrames(shown.frame_now(topics).arrays))

    def state_at(self, axis: int) -> bytes:
        return packed(self.rows[axis])

    # --- branches

    def continue_from(self, axis: int) -> Segment:
        self.scene.put(self.rows[axis])
        return self.begin_segment(SegmentKind.BRANCH, axis)

    def replay_from(self, axis: int) -> Iterator[float]:
        before, row, end = self.scene.row(), self.rows[axis], self.scene.axis
        try:
            for at in range(axis, end):
                row = advanced(dataclasses.replace(row, ctrl=self.rows[at].ctrl))
                self.scene.put(row)
                self.on_slice()
                yield (at - axis + 1) / (end - axis)
        except GeneratorExit:
            self.scene.put(before)
            raise
        self.scene.step_count = before.step_count
        self.begin_segment(SegmentKind.BRANCH, axis)

    def resimulate(
        self, axis: int, *, steps: int, edits: Sequence[WhatIf], name: str
    ) -> Iterator[float]:
        controls = [edit.values[0] for edit in edits if edit.kind is EditKind.CONTROL]
        if len(controls) != len(edits):
            raise CommandError("only ctrl can be tried here")
        end = axis + steps if steps else self.scene.axis
        return self._resimulate(axis, end, controls[0] if controls else None, name)

    def _resimulate(self, axis: int, end: int, ctrl: float | None, name: str) -> Iterator[float]:
        rows = [self.rows[axis]]
        for at in range(axis, end):
            recorded = self.rows[at].ctrl if at in self.rows else 0.0
            rows.append(advanced(dataclasses.replace(rows[-1], ctrl=recorded), ctrl=ctrl))
            self.on_slice()
            yield (at - axis + 1) / (end - axis)
        info = RolloutInfo(
            rollout_id=self._next_id,
            name=name or f"from row {axis}",
            steps=len(rows) - 1,
            timestep=TIMESTEP,
            time=rows[-1].time,
            from_axis=axis,
        )
        self.runs[self._next_id] = Run(info, rows)
        self._next_id += 1
        self._tell()

    def _tell(self) -> None:
        self.told = tuple(run.info for run in self.runs.values())

    # --- rollouts

    def rollouts(self) -> tuple[RolloutInfo, ...]:
        return self.told

    def _run(self, ghost: GhostRef) -> Run:
        if ghost.scene_id == 0:
            assert self.keeper is not None
            finished = self.keeper.finished(ghost.number)
            assert isinstance(finished, Run)
            return finished
        if ghost.number not in self.runs:
            raise CommandError(f"there is no rollout {ghost.number}")
        return self.runs[ghost.number]

    def drop_rollout(self, rollout_id: int) -> None:
        if self.runs.pop(rollout_id, None) is None:
            raise CommandError(f"there is no rollout {rollout_id}")
        self._tell()

    def _state(self, ghost: GhostRef, *, time: float) -> Row:
        match ghost.source:
            case GhostSource.CHECKPOINT:
                assert self.keeper is not None
                return unpacked(self.keeper.checkpoint(ghost))
            case GhostSource.ROW:
                if ghost.number not in self.rows:
                    raise CommandError(f"row {ghost.number} is not remembered")
                return self.rows[ghost.number]
            case GhostSource.ROLLOUT:
                rows = self._run(ghost).rows
                if math.isinf(time):
                    return rows[-1]
                index = round((time - rows[0].time) / TIMESTEP)
                return rows[min(max(index, 0), len(rows) - 1)]
            case _:
                raise CommandError("an oscillator has no environments")

    def ghost_pose(self, ghost: GhostRef, *, time: float) -> Arrays:
        row = self._state(ghost, time=time)
        return {
            "xpos": np.array([[0.0, 0.0, 0.0], [0.0, 0.0, row.q]]),
            "xquat": np.array([[1.0, 0, 0, 0]] * 2),
            "time": np.array([row.time]),
        }

    def compare(self, first: GhostRef, second: GhostRef, *, tolerance: float) -> StatesCompared:
        a, b = (self._state(ghost, time=math.inf) for ghost in (first, second))
        differences = [
            StateDifference(name=name, unit="m", first=x, second=y)
            for name, x, y in (("qpos", a.q, b.q), ("qvel", a.v, b.v))
            if abs(x - y) > tolerance
        ]
        differences.sort(key=lambda each: -abs(each.first - each.second))
        return StatesCompared(
            id=0, scene_id=0, differences=tuple(differences), text=f"{len(differences)} differ"
        )

    def read_rows(
        self, rollout_id: int, channels: Sequence[str], *, first: int, last: int, max_rows: int
    ) -> Iterator[Arrays]:
        if rollout_id:
            return self.runs[rollout_id].read_rows(
                channels, first=first, last=last, max_rows=max_rows
            )
        return read(self.rows, channels, first, last, max_rows)

    def finish(self) -> Sequence[FinishedRun]:
        if not self.rows:
            return ()
        rows = list(self.rows.values())
        info = RolloutInfo(
            rollout_id=0,
            name="the oscillator",
            steps=len(rows),
            timestep=TIMESTEP,
            time=rows[-1].time,
        )
        return (Run(info, rows, nbytes=80 * len(rows)),)

    # --- stops

    def set_stop_rules(self, off: Sequence[StopReason]) -> None:
        self.off = frozenset(off)

    def conditions(self) -> tuple[ConditionInfo, ...]:
        return self.watched

    def put_condition(self, condition: ConditionInfo) -> ConditionInfo:
        if not _CONDITION.fullmatch(condition.expression):
            raise CommandError(f"{condition.expression!r} is no condition on qpos or qvel")
        if condition.condition_id:
            self.watched = tuple(
                condition if each.condition_id == condition.condition_id else each
                for each in self.watched
            )
            return condition
        condition = msgspec.structs.replace(condition, condition_id=self._next_id)
        self._next_id += 1
        self.watched = (*self.watched, condition)
        return condition

    def remove_condition(self, condition_id: int) -> None:
        self.watched = tuple(each for each in self.watched if each.condition_id != condition_id)


class GuardedScene:
    """What an engine with a memory makes of a link: every step is remembered and guarded."""

    def __init__(
        self, host: Host, name: str = "Oscillator", *, nstep: int = 1, follow: bool = True
    ) -> None:
        self.backend = Remembering()
        self.nstep = nstep
        self.link = host.open_scene(name, self.backend, follow=follow)

    @property
    def memory(self) -> Memory:
        return self.backend.memory

    def step(self) -> None:
        link, backend = self.link, self.backend
        if not link.active:
            for _ in range(self.nstep):
                backend.memory.remember()
                backend.physics()
            backend.step_count += 1
            backend.total_steps += 1
            return
        link.begin_step()
        for _ in range(self.nstep):
            if not self._guarded():
                return
        backend.step_count += 1
        backend.total_steps += 1
        link.end_step()

    def _guarded(self) -> bool:
        link, backend, memory = self.link, self.backend, self.backend.memory
        while True:
            if not link.gate():
                return False
            unguarded = link.take_unguarded()
            memory.remember()
            row = backend.row()
            backend.physics()
            stop = None if unguarded or not memory.keeps else memory.trouble()
            if stop is None or not link.stop(stop) or memory.takes_nothing_back:
                link.after_physics()
                return True
            backend.put(row)
            backend.axis -= 1
            memory.rows.pop(backend.axis, None)


class GuardedStepper:
    """An owner thread that makes guarded scenes and steps them in turn until they are closed."""

    def __init__(self, host: Host, *names: str, nstep: int = 1, follow: bool = True) -> None:
        self.scenes: list[GuardedScene] = []
        self._host, self._names, self._nstep, self._follow = host, names or ("A",), nstep, follow
        self._ready = threading.Event()
        self.stop_stepping = threading.Event()
        self.closes_its_scenes = False
        self.thread = threading.Thread(target=self._run, name=f"owner of {names}")
        self.thread.start()
        assert self._ready.wait(60)

    @property
    def scene(self) -> GuardedScene:
        return self.scenes[0]

    @property
    def id(self) -> int:
        return self.scene.link.scene_id

    @property
    def memory(self) -> Memory:
        return self.scene.backend.memory

    def _run(self) -> None:
        try:
            for name in self._names:
                scene = GuardedScene(self._host, name, nstep=self._nstep, follow=self._follow)
                self.scenes.append(scene)
            self._ready.set()
            while not self.stop_stepping.is_set():
                for scene in self.scenes:
                    scene.step()
            if self.closes_its_scenes:
                for scene in self.scenes:
                    scene.link.close()
        except SceneClosedError:
            pass
        finally:
            self._ready.set()

    def join(self) -> None:
        self.stop_stepping.set()
        self.thread.join(60)
        assert not self.thread.is_alive(), "the owner thread hangs"
