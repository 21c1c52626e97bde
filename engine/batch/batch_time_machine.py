"""What a batched scene offers to the debugger's time travel."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.backend import TopicFrames
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_machine import PastFrame
from stroboscope.debugger_protocol.time_messages import (
    GhostRef,
    GhostSource,
    Segment,
    SegmentKind,
    StatesCompared,
    WhatIf,
)
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.batch.batch_desk import BatchDesk
from stroboscope.engine.batch.batch_states import SCRIPT_REASON, SLEEP_REASON
from stroboscope.engine.checkpoint import CheckpointRecord
from stroboscope.engine.time_machine import MujocoTimeMachine

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene

__all__ = ["BatchTimeMachine"]

_MOST_NAMED = 3
_Piece = TypeVar("_Piece")


class BatchTimeMachine(MujocoTimeMachine):
    """The past of the selected environment; what moves the scene moves all; owner thread only."""

    def __init__(self, scene: "BatchScene") -> None:
        super().__init__(scene.selected)  # type: ignore[arg-type]
        self._batch = self._recorded = scene
        self._selected = scene.selected
        self._envs = scene.environments
        self._rows = scene.batch_history
        self._rollouts = BatchDesk(scene)

    # --- history

    def set_history(self, *, keep: bool, max_bytes: int | None) -> None:
        """Keep rows from now on, in at most so many bytes, or forget them all."""
        if max_bytes is not None:
            if max_bytes < 1:
                raise CommandError(f"max_bytes of a history must be 1 or more, not {max_bytes}")
            self._rows.max_bytes = max_bytes
        self._rows.switched_off = not keep
        if not keep:
            self._rows.forget()

    def look_at(self, axis: int, topics: frozenset[Topic]) -> PastFrame:
        """Return the topics of a row of the selected environment, recomputed on scratch data."""
        self._selected.refresh()
        past = super().look_at(axis, topics - {Topic.ENVIRONMENTS})
        note = past.note
        if self._envs.is_inexact:
            note = "; ".join(text for text in (note, SLEEP_REASON) if text)
        frames = past.frames
        matrix = self._rows.matrix(past.clock.axis)
        if Topic.ENVIRONMENTS in topics and matrix is not None:
            shown, axis = self._selected.shown, past.clock.axis
            poses = self._batch.backend.environment_poses(
                matrix[list(shown)], fields=lambda env: self._rows.fields_before(env, axis)
            )
            others = self._lost_of([env for env in shown if env != self._env], axis)
            note = "; ".join(filter(None, (note, others)))
            frames = TopicFrames({**frames.arrays, Topic.ENVIRONMENTS: poses}, frames.notes)
        return PastFrame(clock=past.clock, frames=frames, note=note)

    def state_at(self, axis: int) -> bytes:
        """Return a row as a checkpoint: of all environments, as far back as they are remembered."""
        self._past.check(axis)
        history = self._rows
        history.look()
        matrix = history.matrix(axis)
        steps, physics, _ = history.counts_at(axis)
        chosen = np.arange(self._envs.count)
        if matrix is None:
            chosen = np.array([self._selected.env])
            rows = self._past.row(axis)[np.newaxis]
        else:
            rows = matrix
        return self._batch.states.checkpoint_of(
            chosen, rows, steps=steps[chosen], physics=physics[chosen],
            timesteps=np.array([history.timestep_at(env, axis) for env in chosen.tolist()]),
            fields_then=lambda env: history.fields_before(env, axis),
            record=CheckpointRecord(
                f"row {axis}", self._batch.name, doubt=self._lost_of(chosen.tolist(), axis)
            ),
        ).to_bytes()  # fmt: skip

    def _lost_of(self, envs: Sequence[int], axis: int) -> str:
        """Say what of the model of some environments is not known of a row; or ""."""
        lost = [(env, text) for env in envs if (text := self._rows.lost_fields(env, axis))]
        return "; ".join(f"environment {env}: {text}" for env, text in lost[:_MOST_NAMED])

    # --- branches

    def continue_from(self, axis: int) -> Segment:
        """Put all environments into a row; a branch."""
        self._past.check(axis)
        history, envs = self._rows, self._envs
        matrix = history.matrix(axis)
        if matrix is None:
            raise CommandError(
                f"only environment {self._selected.env} is remembered at step {axis}, not all of "
                f"them, so the scene can't go on from there: they are from step {history.first} on"
            )
        before = history.counts()
        steps, physics, episodes = history.counts_at(axis)
        chosen = np.arange(envs.count)
        np.copyto(envs.state, matrix)
        envs.counters.put(chosen, steps, physics)
        self._batch.replaced(
            SegmentKind.BRANCH, chosen, before=before, parent_axis=axis, episodes=episodes,
            text="; ".join((SLEEP_REASON, SCRIPT_REASON) if envs.is_inexact else (SCRIPT_REASON,)),
        )  # fmt: skip
        last = self._selected.history.segments.last
        if last is None:
            raise CommandError("the history was switched off")
        return last.segment

    def replay_from(self, axis: int) -> Iterator[float]:
        """Refuse: inputs of many environments are re-simulated beside the scene, one by one."""
        raise CommandError(
            "a scene of several environments can't be replayed with its recorded inputs: continue "
            "with the script, or re-simulate the selected environment beside it"
        )

    def resimulate(
        self, axis: int, *, steps: int, edits: Sequence[WhatIf], name: str
    ) -> Iterator[float]:
        """Run the recorded inputs of the selected environment again, alone, beside the scene."""
        self._selected.refresh()
        progress = super().resimulate(axis, steps=steps, edits=edits, name=name)
        return self._while_selected(self._env, progress)

    def ghost_pose(self, ghost: GhostRef, *, time: float) -> Arrays:
        """Return where the bodies of a ghost are, with the model of its own environment."""
        is_environment = ghost.source is GhostSource.ENVIRONMENT
        if is_environment and 0 <= ghost.number < self._envs.count:
            with self._selected.standing_for(ghost.number):
                return super().ghost_pose(ghost, time=time)
        self._selected.refresh()
        return super().ghost_pose(ghost, time=time)

    def read_rows(
        self, rollout_id: int, channels: Sequence[str], *, first: int, last: int, max_rows: int
    ) -> Iterator[Arrays]:
        """Yield channels of the selected environment's history, or of a rollout."""
        pieces = super().read_rows(rollout_id, channels, first=first, last=last, max_rows=max_rows)
        return pieces if rollout_id else self._while_selected(self._env, pieces)

    def _while_selected(self, env: int, pieces: Iterator[_Piece]) -> Iterator[_Piece]:
        while True:
            if self._env != env:
                raise CommandError(
                    f"another environment was selected while rows of environment {env} were read; "
                    "select it and try again"
                )
            try:
                piece = next(pieces)
            except StopIteration:
                return
            yield piece

    @property
    def _env(self) -> int:
        return self._selected.env

    def compare(self, first: GhostRef, second: GhostRef, *, tolerance: float) -> StatesCompared:
        """Compare two states, environments or rollouts."""
        self._selected.refresh()
        return super().compare(first, second, tolerance=tolerance)

    # --- environments

    def environment_count(self) -> int:
        """Return how many environments there are."""
        return self._envs.count

    def selected_environments(self) -> tuple[int, tuple[int, ...]]:
        """Return the selected one, and those shown."""
        return self._selected.env, self._selected.shown

    def select_environments(self, selected: int, shown: Sequence[int]) -> None:
        """Make ``selected`` the one that topics are of, and ``shown`` those of ``environments``."""
        self._selected.select(selected)
        self._selected.shown = tuple(shown)

    def failed_environments(self) -> tuple[int, ...]:
        """Return those that stopped since their last reset."""
        return tuple(self._batch.stepper.watch.failed)

    def fork(self, source: int, targets: Sequence[int]) -> None:
        """Copy the state of one environment to others."""
        self._batch.states.fork(source, np.array(targets, dtype=np.intp))
