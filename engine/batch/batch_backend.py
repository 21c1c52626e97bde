"""A batched scene as the debugger's host sees it: the environment that is looked at."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.backend import Clock, Stayed, TopicFrames
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.messages import EditField, Finding, LogLevel
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.batch.batch_checkpoint import BatchCheckpoint, is_batch_checkpoint
from stroboscope.engine.batch.batch_states import SLEEP_REASON
from stroboscope.engine.batch.batch_time_machine import BatchTimeMachine
from stroboscope.engine.errors import StateError
from stroboscope.engine.history.segments import Options
from stroboscope.engine.mujoco_backend import MujocoBackend

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene

__all__ = ["BatchBackend"]

_NEEDS_PERSISTENT = frozenset({"enable.sleep", "enable.ipc"})


class BatchBackend(MujocoBackend):
    """Answers the host for one batched scene.

    Everything is about the selected environment, except captures and restores, which are about
    all, and ``Topic.ENVIRONMENTS``, which has the poses of those shown.
    """

    steps_on_all_cores = True

    def __init__(self, scene: "BatchScene") -> None:
        super().__init__(scene.selected)  # type: ignore[arg-type]
        self._batch = scene
        self._selected = scene.selected
        self._envs = scene.environments
        self._shown_rows: NDArray[np.float64] | None = None
        self._batch_machine: BatchTimeMachine | None = None

    def clock(self) -> Clock:
        """Return where the selected environment stands."""
        return self._selected.counters.clock(float(self._envs.time[self._selected.env]))

    # --- frames

    def begin_frame(self, topics: frozenset[Topic]) -> None:
        """Copy the inputs of the coming physics step."""
        self._shown_rows = None
        if Topic.ENVIRONMENTS in topics:
            self._shown_rows = self._envs.state[list(self._selected.shown)]
        alone = topics - {Topic.ENVIRONMENTS}
        if alone:
            self._batch.stepper.frame_begun = True
            super().begin_frame(alone)

    def end_frame(self, topics: frozenset[Topic]) -> TopicFrames:
        """Return the executed frame."""
        alone = topics - {Topic.ENVIRONMENTS}
        frames = super().end_frame(alone) if alone else TopicFrames({})
        return self._with_environments(frames, topics, self._shown_rows)

    def frame_last_executed(self, topics: frozenset[Topic]) -> tuple[Clock, TopicFrames] | None:
        """Return the executed frame of the last physics step, recomputed from its row.

        With what fields of the model had in it: somebody may have written into them since.
        """
        history, axis = self._batch.batch_history, self._batch.counters.axis - 1
        history.look()
        shown = self._selected.shown if Topic.ENVIRONMENTS in topics else ()
        if any(history.lost_fields(env, axis) for env in {self._selected.env, *shown}):
            return None
        with self._selected.having_fields_of(axis):
            made = super().frame_last_executed(topics - {Topic.ENVIRONMENTS})
        if made is None:
            return made
        clock, frames = made
        matrix = history.matrix(clock.axis)
        rows = None if matrix is None else matrix[list(self._selected.shown)]
        return clock, self._with_environments(
            frames, topics, rows, fields=lambda env: history.fields_before(env, clock.axis)
        )

    def frame_now(self, topics: frozenset[Topic]) -> TopicFrames:
        """Return the state as it stands, recomputed on scratch data."""
        self._selected.refresh()
        alone = topics - {Topic.ENVIRONMENTS}
        frames = super().frame_now(alone) if alone else TopicFrames({})
        rows = self._envs.state[list(self._selected.shown)]
        return self._with_environments(frames, topics, rows)

    def _with_environments(
        self,
        frames: TopicFrames,
        topics: frozenset[Topic],
        rows: NDArray[np.float64] | None,
        *,
        fields: Callable[[int], Options] | None = None,
    ) -> TopicFrames:
        if Topic.ENVIRONMENTS not in topics or rows is None:
            return frames
        poses = self.environment_poses(rows, fields=fields)
        return TopicFrames({**frames.arrays, Topic.ENVIRONMENTS: poses}, frames.notes)

    def environment_poses(
        self, rows: NDArray[np.float64], *, fields: Callable[[int], Options] | None = None
    ) -> Arrays:
        """Return the poses of the environments shown, whose rows these are, (k, row).

        ``fields``: see :meth:`BatchStates.poses`.
        """
        shown = np.array(self._selected.shown)
        xpos, xquat = self._batch.states.poses(shown, rows, fields=fields)
        return {
            "xpos": xpos,
            "xquat": xquat,
            "time": rows[:, 0].copy(),
            "env": shown.astype(np.int32),
        }

    # --- states of all environments

    def capture_initial(self) -> bytes:
        """Return a checkpoint of all environments."""
        chosen = np.arange(self._envs.count)
        return self._batch.states.checkpoint(chosen, name="", note="").to_bytes()

    def capture_checkpoint(self, name: str) -> bytes:
        """Return a checkpoint of all environments by a name."""
        chosen = np.arange(self._envs.count)
        return self._batch.states.checkpoint(chosen, name=name, note="").to_bytes()

    def checkpoint_kept(self, name: str, note: str) -> None:
        """Record it like one of the script's."""
        self._batch.recorders.kept(name, note)

    def restore_initial(self, state: bytes) -> None:
        """Put a checkpoint back: of all environments, or, of one world, into the selected one."""
        chosen = self._chosen(state)
        try:
            given: object = state
            if chosen is None:
                given = BatchCheckpoint.from_bytes(state)
            told = self._batch.states.restore(given, chosen)
        except StateError as error:
            raise CommandError(str(error)) from error
        # What the model alone is to blame for, whoever restores says: see `stayed`.
        is_all_said = told.reason == self._batch.states.model_difference(given, chosen)
        if isinstance(given, BatchCheckpoint) and given.name and not is_all_said:
            text = f"checkpoint {given.name!r} goes on only approximately: {told.reason}"
            self._batch.link.log_text(LogLevel.WARNING, text)

    def _chosen(self, state: bytes) -> NDArray[np.intp] | None:
        """Return the environments that a checkpoint is put into; None: those that it is of."""
        return None if is_batch_checkpoint(state) else np.array([self._selected.env])

    def stayed(self, state: bytes) -> tuple[Stayed, ...]:
        """Return what of environments' models is not as it was at a checkpoint."""
        return self._batch.states.stayed(state, self._chosen(state))

    def exactness(self) -> str:
        """Return why a captured state may not continue bit for bit; empty when it does."""
        return SLEEP_REASON if self._envs.is_inexact else super().exactness()

    # --- edits of the selected environment

    def edit_state(self, field: EditField, index: int, values: Sequence[float]) -> None:
        """Write values into a state array, all of them or none."""
        with self._selected.changes():
            super().edit_state(field, index, values)

    def state_values(self, field: EditField, index: int, count: int) -> tuple[float, ...]:
        """Return part of a state array."""
        self._selected.refresh()
        return super().state_values(field, index, count)

    def load_keyframe(self, index: int) -> None:
        """Reset the selected environment to a keyframe of its model."""
        count = int(self._envs.model.nkey)
        if not 0 <= index < count:
            raise CommandError(f"there is no keyframe {index}: this model has {count}, from 0 on")
        chosen = np.array([self._selected.env])
        self._batch.states.reset(None, chosen, keyframe=index, zero_time=False)

    def option(self, name: str) -> tuple[float, ...]:
        """Return the values of a physics option of the selected environment."""
        self._envs.fill_model(self._selected.env, self._selected.world.model)
        return super().option(name)

    def edit_option(self, name: str, values: Sequence[float]) -> None:
        """Set a physics option of the selected environment; the others keep theirs."""
        if name in _NEEDS_PERSISTENT and not self._envs.persistent:
            raise CommandError(
                f"{name} can't be switched on in a running batch: set it in the model, and create "
                "the scene with it"
            )
        selected, envs = self._selected, self._envs
        selected.refresh()
        super().edit_option(name, values)
        option = selected.world.model.opt
        theirs = envs.model_of(selected.env).opt
        for field in envs.option_fields():
            attribute = field.partition(".")[2]
            value = getattr(option, attribute)
            if not np.array_equal(value, getattr(theirs, attribute)):
                envs.expand(field)[selected.env] = value

    # --- what clients do beside the script

    def intervene(self) -> None:
        """Put it in place for the physics step that follows at once."""
        self._batch.stepper.put_in_inputs()

    def findings(self) -> tuple[Finding, ...]:
        """Return what usually is a mistake in the model and the state as it stands."""
        self._selected.refresh()
        return super().findings()

    def on_mode(self, event: str) -> None:
        """Run the script's callbacks for ``play``, ``pause`` or ``restore``."""
        super().on_mode(event)
        self._selected.refresh()

    def time_machine(self) -> BatchTimeMachine:
        """Return what remembers the past."""
        if self._batch_machine is None:
            self._batch_machine = BatchTimeMachine(self._batch)
        return self._batch_machine
