"""What a MuJoCo scene offers to the debugger's time travel, put together from its parts."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.recording_messages import RecordingInfo
from stroboscope.debugger_protocol.time_machine import (
    FinishedRun,
    HistoryState,
    PastFrame,
    TimeMachine,
)
from stroboscope.debugger_protocol.time_messages import (
    ConditionInfo,
    GhostRef,
    GhostSource,
    Reduction,
    RolloutInfo,
    Segment,
    StatesCompared,
    StopReason,
    WhatIf,
)
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.history.branches import Branches
from stroboscope.engine.history.navigation import Navigation
from stroboscope.engine.history.past import Past
from stroboscope.engine.history.recorded_stretch import RecordedStretch
from stroboscope.engine.history.rows_of_past import RowsOfPast
from stroboscope.engine.recording.for_clients import (
    recordings_of,
    save_history_for_client,
    start_for_client,
    stop_for_client,
)
from stroboscope.engine.rollouts.desk import RolloutDesk
from stroboscope.engine.rollouts.row_channels import thinned
from stroboscope.engine.rollouts.row_source import RowSource, StandingState

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.scene import Scene

__all__ = ["MujocoTimeMachine"]

# What stays of a scene that has ended.
_FINISHED_ROWS, _FINISHED_BYTES, _FINISHED_SEGMENTS = 5_000, 4 << 20, 8
_AHEAD_STEPS = 500
"""How many steps are tried where nothing is recorded, unless somebody says."""


class MujocoTimeMachine(TimeMachine):
    """The past of one scene in one world; owner thread only."""

    def __init__(self, scene: "Scene") -> None:
        self._scene = scene
        self._recorded: Scene | BatchScene = scene
        """What is recorded: one of many environments is not by itself."""
        self._history = scene.history
        self._past = Past(scene)
        self._navigation = Navigation(scene)
        self._branches = Branches(scene, self._past)
        self._rollouts = RolloutDesk(scene, scene.rollouts)

    # --- history

    def history(self) -> HistoryState:
        """Return what there is."""
        history, live = self._history, self._scene.counters.axis
        ring = history.ring
        first = ring.first
        return HistoryState(
            keeps=history.keeps,
            live=live,
            first=live if first < 0 else first,
            dense=live if first < 0 else max(ring.dense, first),
            rows=ring.reachable,
            used_bytes=history.nbytes if ring.advance else 0,
            max_bytes=history.max_bytes,
            segments=history.segments.told(),
            script_state=bool(self._scene.states.script.registered),
            recording=history.recording,
            recording_end=history.recording_end,
        )

    def set_history(self, *, keep: bool, max_bytes: int | None) -> None:
        """Keep rows from now on, in at most so many bytes, or forget them all."""
        if max_bytes is not None:
            if max_bytes < 1:
                raise CommandError(f"max_bytes of a history must be 1 or more, not {max_bytes}")
            self._history.max_bytes = max_bytes
        self._history.switch(off=not keep)

    def find(
        self,
        *,
        step: int | None = None,
        time: float | None = None,
        episode: int | None = None,
        near: int,
    ) -> int:
        """Return the axis that a Goto means; ``near`` is the one in view, or the live one."""
        return self._navigation.find(step=step, time=time, episode=episode, near=near)

    def recorded_at(self, axis: int) -> int:
        """Return ``axis``, or the row before it where that one was not recorded."""
        return self._navigation.recorded_at(axis)

    def steps_away(self, axis: int, count: int, *, physics: bool) -> int:
        """Return the axis ``count`` steps after ``axis``, within what there is."""
        return self._navigation.steps_away(axis, count, physics=physics)

    def steps_between(self, axis: int, live: int) -> int:
        """Return how many application steps lie between two axes."""
        return self._navigation.steps_between(axis, live)

    def look_at(self, axis: int, topics: frozenset[Topic]) -> PastFrame:
        """Return the topics of a row, recomputed on scratch data."""
        self._history.look_at_model()
        reached, frames, note = self._past.frames(axis, topics)
        return PastFrame(clock=self._past.clock(reached), frames=frames, note=note)

    def state_at(self, axis: int) -> bytes:
        """Return the complete state of a row as a checkpoint's bytes."""
        self._history.look_at_model()
        return self._past.checkpoint(axis)

    def hidden_state(self) -> bytes:
        """Return what no row holds of the state in which the next step would begin.

        For a step that was taken back; CommandError when the history doesn't reach that far.
        """
        return self._past.after(self._scene.counters.axis - 1)[1]

    # --- branches

    def continue_from(self, axis: int) -> Segment:
        """Put the scene into a row; a branch."""
        self._history.look_at_model()
        return self._branches.continue_from(axis)

    def replay_from(self, axis: int) -> Iterator[float]:
        """Put the scene into a row and run the recorded inputs up to where it stood."""
        self._history.look_at_model()
        return self._branches.replay_from(axis)

    def resimulate(
        self, axis: int, *, steps: int, edits: Sequence[WhatIf], name: str
    ) -> Iterator[float]:
        """Run recorded inputs again with edits, beside the scene."""
        self._history.look_at_model()
        source: RowSource
        doubt = ""
        if axis == self._scene.counters.axis:
            source, steps = StandingState(self._scene), steps or _AHEAD_STEPS
        else:
            source = recorded = RecordedStretch(self._past, self._scene, axis)
            end = min(recorded.end, axis + steps) if steps else recorded.end
            doubt = self._past.doubt_of_trial(axis, max(end, axis + 1), last=recorded.end - 1)
        return self._rollouts.resimulate(
            source, axis, steps=steps, edits=edits, name=name, doubt=doubt
        )

    # --- rollouts

    def rollouts(self) -> tuple[RolloutInfo, ...]:
        """Return all of them, oldest first."""
        return self._rollouts.store.infos()

    def drop_rollout(self, rollout_id: int) -> None:
        """Forget a rollout."""
        self._rollouts.store.drop(rollout_id)

    def derive(
        self, rollout_ids: Sequence[int], expression: str, *, reduction: Reduction, name: str
    ) -> Iterator[object]:
        """Return what computes a number of rollouts (none: of all), on another thread."""
        return self._rollouts.derive(rollout_ids, expression, reduction=reduction, name=name)

    def ghost_pose(self, ghost: GhostRef, *, time: float) -> Arrays:
        """Return where a ghost's bodies are."""
        is_own = ghost.source is GhostSource.ROW and ghost.scene_id == self._scene.scene_id
        if not is_own:
            return self._rollouts.ghost_pose(
                ghost, time=time, keeper=self.keeper, row_at=self._past.row
            )
        self._history.look_at_model()
        row = self._past.row(ghost.number)
        with self._past.with_model_of(ghost.number) as model:
            return self._rollouts.pose_with(model, row)

    def compare(self, first: GhostRef, second: GhostRef, *, tolerance: float) -> StatesCompared:
        """Compare two states or rollouts."""
        self._history.look_at_model()
        return self._rollouts.compare(
            first, second, tolerance=tolerance, keeper=self.keeper, row_at=self._past.row
        )

    def read_rows(
        self, rollout_id: int, channels: Sequence[str], *, first: int, last: int, max_rows: int
    ) -> Iterator[Arrays]:
        """Yield channels of the history or of a rollout."""
        if rollout_id:
            return self._rollouts.read_rows(
                rollout_id, channels, first=first, last=last, max_rows=max_rows
            )
        logged = self._history.recorded_signals
        if len(channels) == 1 and channels[0] in logged:
            return iter((logged.piece(channels[0], first, last, max_rows=max_rows),))
        self._history.look_at_model()
        axes = self._navigation.axes(first, last)
        chosen, adapter = axes[thinned(len(axes), max_rows)], self._scene.world.adapter
        rows = RowsOfPast(self._past, self._history, chosen, adapter=adapter)
        return self._rollouts.read_history(rows, channels)

    def finish(self) -> Sequence[FinishedRun]:
        """Return what is left of the newest segments, as far as their rows are not too many."""
        history, live = self._history, self._scene.counters.axis
        ring = history.ring
        history.look_at_model()
        self._past.settle_newest(_FINISHED_SEGMENTS)
        left = min(_FINISHED_ROWS, _FINISHED_BYTES // ring.width)
        runs: list[FinishedRun] = []
        end = live
        for stretch in tuple(history.segments.newest_first()):
            # What was thinned out would have to be stepped to: the script may be waiting.
            first = max(stretch.segment.begin, ring.first, ring.dense)
            begin = max(first, end - left)
            if 0 <= begin < end:
                run = self._finished(stretch.segment, begin, end, is_newest=end == live)
                if run is None:
                    break
                runs.append(run)
                left -= end - begin
            end = stretch.segment.begin
            if left <= 0 or len(runs) == _FINISHED_SEGMENTS or end <= max(ring.dense, ring.first):
                break
        return tuple(reversed(runs))

    def _finished(
        self, segment: Segment, begin: int, end: int, *, is_newest: bool
    ) -> FinishedRun | None:
        """Return what is left of a segment's steps ``begin`` to ``end`` - 1."""
        scene, ring = self._scene, self._history.ring
        rows = [ring.row(axis) for axis in range(begin, end)]
        stored = [row for row in rows if row is not None]
        model = self._past.model_at(begin, most_bytes=_FINISHED_BYTES)
        if len(stored) != len(rows) or model is None:
            return None
        after = self._rollouts.standing_row() if is_newest and scene.counters.axis == end else None
        if after is not None:
            stored.append(after)
        does_tell = after is not None and self._past.follows_at(end)
        unsure = {at for at, axis in enumerate(range(begin, end)) if self._past.told_doubt(axis)}
        if not does_tell and self._past.doubt(end - 1):  # none of its rows says where that has led
            unsure.add(end - 1 - begin)
        timesteps = [ring.timestep(axis) for axis in range(begin, end)]
        name = scene.name
        if not is_newest or segment.episode:
            name += f", episode {segment.episode}"
        if begin > segment.begin:
            name += f", the last {end - begin:,} steps"
        stop = scene.link.past.stops.newest
        is_here = stop is not None and stop.reason is not StopReason.CONDITION
        bad = stop if is_here and stop is not None and begin <= stop.axis <= end else None
        return self._rollouts.finished(
            np.array(stored),
            model=model,
            timesteps=np.array(timesteps),
            steps_of_script=end - begin - (not does_tell),
            unsure=frozenset(unsure),
            name=name,
            outcome=bad.message if bad is not None else "ended",
            event_step=bad.axis - begin if bad is not None else -1,
        )

    # --- recording

    def start_recording(self, name: str, *, mode: str) -> str:
        """Record the scene into a file in the script's folder."""
        return start_for_client(self._recorded, name, mode=mode)

    def stop_recording(self, name: str = "") -> str:
        """End the newest recording, or the one into ``name``."""
        return stop_for_client(self._recorded, name)

    def save_history(self, name: str) -> str:
        """Write what is remembered into a file in the script's folder."""
        return save_history_for_client(self._recorded, name)

    def recordings(self) -> tuple[RecordingInfo, ...]:
        """Return what records the scene."""
        return recordings_of(self._recorded)

    # --- stops

    def set_stop_rules(self, off: Sequence[StopReason]) -> None:
        """Switch rules off, all others on."""
        self._scene.stops.switch_off(off)

    def conditions(self) -> tuple[ConditionInfo, ...]:
        """Return all conditions, oldest first."""
        return self._scene.stops.condition_infos()

    def put_condition(self, condition: ConditionInfo) -> ConditionInfo:
        """Add a condition (id 0) or replace the one with its id."""
        return self._scene.stops.put_condition(condition)

    def condition_note(self, condition_id: int) -> str:
        """Return what whoever has set a condition should know: that it is true already; or ""."""
        return self._scene.stops.condition_note(condition_id)

    def remove_condition(self, condition_id: int) -> None:
        """Forget a condition."""
        self._scene.stops.remove_condition(condition_id)
