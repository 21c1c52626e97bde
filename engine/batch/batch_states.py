"""States of environments: read, reset, kept, put back, copied from one to others."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.backend import Stayed
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.time_messages import SegmentKind
from stroboscope.engine.batch.batch_checkpoint import BatchCheckpoint, is_batch_checkpoint
from stroboscope.engine.batch.env_fields import EnvFields, Fields
from stroboscope.engine.checkpoint import Checkpoint, CheckpointRecord, Counters, Exactness
from stroboscope.engine.errors import StateCorruptError, StateMismatchError
from stroboscope.engine.history.segments import Options
from stroboscope.engine.model_option_fields import FIELD_OPTION, SAID_OF_ROWS
from stroboscope.engine.physics_options import write_option
from stroboscope.engine.sim_state import (
    SimState,
    begin_at_zero,
    checked_counts,
    checked_field,
    checked_time,
)

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene

__all__ = ["SLEEP_REASON", "BatchStates"]

SLEEP_REASON = (
    "MuJoCo's batch can't be told which islands sleep (or what ipc remembers): what slept wakes up"
)

SCRIPT_REASON = "what the script itself keeps is of all environments together and stays as it is"

_log = logging.getLogger(__name__)

Rows = NDArray[np.float64]
Indices = NDArray[np.intp]

_COMPUTED = frozenset({"qacc", "xpos", "xquat"})


class BatchStates:
    """Captures and restores of one batched scene; owner thread only."""

    def __init__(self, scene: "BatchScene") -> None:
        self._scene = scene
        self._envs = scene.environments
        self._selected = scene.selected
        self.script = scene.selected.states.script
        self._fields = EnvFields(scene.environments, self._selected.world.codec.fields)
        self.initial: SimState | None = None
        """What the script has made the initial state of all environments; None: the model's."""

    # --- plain arrays

    def read(self) -> SimState:
        """Return the state of all environments as plain arrays, (n_envs, …)."""
        envs, world = self._envs, self._selected.world
        layout = world.state_layout
        rows = envs.state.copy()
        state = SimState(
            layout, head=world.codec.head, row=rows.tobytes(), hidden=b"", n_envs=envs.count
        )
        for field in state.fields:
            if field not in _COMPUTED:
                part = rows[:, layout.parts.get(field, slice(0, 0))]
                values = part.reshape(state.shapes[field])
                state.__dict__[field] = values != 0.0 if field == "eq_active" else values.copy()
        state.qacc = envs.qacc.copy()
        state.xpos, state.xquat = self.poses(np.arange(envs.count), rows)
        state.__dict__.update(
            time=rows[:, 0].copy(),
            step_count=envs.counters.step_counts(),
            physics_step_count=envs.counters.physics_counts(),
        )
        return state

    def poses(
        self, chosen: Indices, rows: Rows, *, fields: Callable[[int], Options] | None = None
    ) -> tuple[Rows, Rows]:
        """Return ``xpos`` (n, nbody, 3) and ``xquat`` (n, nbody, 4) of environments in ``rows``.

        ``fields`` returns the values of model fields that one of them had then; None: as now.
        """
        envs, world = self._envs, self._selected.world
        adapter, model, scratch = envs.adapter, world.model, world.frames.scratch
        xpos = np.empty((len(chosen), int(model.nbody), 3))
        xquat = np.empty((len(chosen), int(model.nbody), 4))
        for place, env in enumerate(chosen.tolist()):
            envs.fill_model(env, model)
            for name, values in ({} if fields is None else fields(env)).items():
                write_option(model, name, values, known=values, adapter=adapter)
            adapter.mj_setState(model, scratch, rows[place], adapter.integration)
            adapter.module.mj_kinematics(model, scratch)
            xpos[place], xquat[place] = scratch.xpos, scratch.xquat
        envs.fill_model(self._selected.env, model)
        return xpos, xquat

    # --- reset

    def reset(
        self,
        state: SimState | None,
        chosen: Indices,
        *,
        keyframe: int | None,
        zero_time: bool,
    ) -> None:
        """Begin a new episode in ``chosen``: at a state, a keyframe, or the model's own."""
        envs = self._envs
        state = state if state is not None or keyframe is not None else self.initial
        if state is not None:
            rows, steps, physics = self._rows_of(state, chosen, zero_time=zero_time)
        before = self._scene.batch_history.counts()
        if state is None:
            self._reset_model(chosen, keyframe=-1 if keyframe is None else keyframe)
            envs.counters.put(chosen, 0, 0)
        else:
            self._reset_model(chosen, keyframe=-1)
            envs.state[chosen] = rows
            envs.counters.put(chosen, steps, physics)
        self._scene.replaced(SegmentKind.EPISODE, chosen, before=before, text="reset")

    def _reset_model(self, chosen: Indices, *, keyframe: int) -> None:
        stage = int(self._envs.adapter.module.mjtStage.mjSTAGE_NONE)
        self._envs.batch.reset(np.sort(chosen), keyframe, stage)

    def _rows_of(
        self, state: SimState, chosen: Indices, *, zero_time: bool
    ) -> tuple[Rows, Any, Any]:
        """Return the rows that a state says, (n, row), and its counters.

        A state of one world goes to every environment; one of all gives each its own; one of as
        many as are chosen, in that order.
        """
        world = self._selected.world
        if state.head != world.codec.head:
            raise StateMismatchError(
                f"the state does not fit this scene: {world.codec.difference(state.head)}; reset "
                "to a state of a scene of the same model, made with the same MuJoCo"
            )
        taken = self._taken(state, chosen)
        layout = world.state_layout
        parts = layout.parts
        base = state.rows()
        rows = np.repeat(base, len(chosen), axis=0) if taken is None else base[taken]
        for field in state.fields:
            values = checked_field(state, field, state.shapes[field])
            if field in _COMPUTED or field not in parts:
                continue
            flat = values.reshape(len(base), -1)
            rows[:, parts[field]] = flat if taken is None else flat[taken]
        times = np.broadcast_to(checked_time(state), (len(base),))
        steps, physics = checked_counts(state)
        rows[:, 0] = times[0] if taken is None else times[taken]
        if zero_time:
            for row in rows:
                begin_at_zero(world.model, row, parts)
        self._check(rows, chosen)
        if zero_time:
            return rows, 0, 0
        if taken is None:
            return rows, steps, physics
        return rows, steps[taken], physics[taken]

    def _taken(self, state: SimState, chosen: Indices) -> Indices | None:
        if state.n_envs is None:
            return None
        if state.n_envs == self._envs.count:
            return chosen
        if state.n_envs != len(chosen):
            raise StateMismatchError(
                f"the state is of {state.n_envs} environments, this scene has {self._envs.count} "
                f"and {len(chosen)} are to be reset: give a state of one, of these, or of all"
            )
        return np.arange(len(chosen))

    def _check(self, rows: Rows, chosen: Indices) -> None:
        """Raise StateCorruptError for a position, velocity, activation or time not finite.

        And for what MuJoCo would use as an index of nothing.
        """
        self._selected.world.codec.indices.check(rows)
        model = self._envs.model
        physics = 1 + int(model.nq) + int(model.nv) + int(model.na)
        wrong = np.flatnonzero(~np.isfinite(rows[:, :physics]).all(axis=1))
        if len(wrong):
            raise StateCorruptError(
                f"environment {chosen[wrong[0]]}: the state holds a position, velocity, activation "
                "or time that is not finite: it had diverged; use an earlier one"
            )

    # --- checkpoints

    def checkpoint(self, chosen: Indices, *, name: str, note: str) -> BatchCheckpoint:
        """Return the states of some environments; of all of them, with the script's own."""
        envs = self._envs
        is_all = len(chosen) == envs.count
        made = self.checkpoint_of(
            chosen,
            envs.state[chosen],
            steps=envs.counters.step_counts()[chosen],
            physics=envs.counters.physics_counts()[chosen],
            record=CheckpointRecord(name, self._scene.name, note),
            script=self.script.capture() if self.script.registered and is_all else b"",
        )
        made.is_of_all = is_all
        return made

    def checkpoint_of(
        self,
        chosen: Indices,
        rows: Rows,
        *,
        steps: NDArray[np.int64],
        physics: NDArray[np.int64],
        timesteps: NDArray[np.float64] | None = None,
        fields_then: Callable[[int], Options] | None = None,
        record: CheckpointRecord | None = None,
        script: bytes = b"",
    ) -> BatchCheckpoint:
        """Return a checkpoint of rows that may be of the past, (n, row).

        ``timesteps``: of then, (n,) [s]; None: of now. ``fields_then``: see :meth:`poses`.
        """
        selected, first = self._selected, int(chosen[0])
        with selected.standing_for(first):
            selected.put(rows[0])
            taken = selected.world.codec.take(
                Counters(int(steps[0]), int(physics[0])),
                timestep=self._envs.timestep(first) if timesteps is None else float(timesteps[0]),
                edits=0,
                script=script,
                record=record or CheckpointRecord(scene_name=self._scene.name),
            )
        fields = {name: values[chosen] for name, values in self._envs.expanded.items()}
        if timesteps is not None and SAID_OF_ROWS in fields:
            fields[SAID_OF_ROWS] = timesteps.reshape(fields[SAID_OF_ROWS].shape)
        for place, env in enumerate(chosen.tolist()):
            for option, values in () if fields_then is None else fields_then(env).items():
                field = fields[option.removeprefix(FIELD_OPTION)][place : place + 1]
                field[...] = np.reshape(values, field.shape)
        return BatchCheckpoint(
            self._labelled(taken),
            envs=chosen.copy(),
            rows=rows.copy(),
            step_counts=steps.copy(),
            physics_step_counts=physics.copy(),
            fields=fields,
        )

    def _labelled(self, taken: Checkpoint) -> Checkpoint:
        """Return a checkpoint that says that it is approximate, where a row is not everything."""
        if not self._envs.is_inexact:
            return taken
        reason = "; ".join(r for r in (taken.exactness.reason, SLEEP_REASON) if r)
        return Checkpoint(
            taken.head, taken.row, counters=taken.counters, timestep=taken.timestep,
            edits=taken.edits, hidden=taken.hidden, script=taken.script, record=taken.record,
            exactness=Exactness(reason),
        )  # fmt: skip

    def restore(
        self, given: object, chosen: Indices | None, *, with_model: bool = False
    ) -> Exactness:
        """Put states back into some environments, all of it or nothing; the others stay."""
        checkpoint = self._as_checkpoint(given)
        envs = self._envs
        if isinstance(checkpoint, BatchCheckpoint):
            targets, taken = self._targets(checkpoint, chosen)
            rows, first = checkpoint.rows[taken], checkpoint.first
            steps: Any = checkpoint.step_counts[taken]
            physics: Any = checkpoint.physics_step_counts[taken]
            fields: Fields = {name: each[taken] for name, each in checkpoint.fields.items()}
        else:
            targets = np.arange(envs.count) if chosen is None else chosen
            first, fields = (
                checkpoint,
                self._fields.of(checkpoint, len(targets), with_model=with_model),
            )
            rows = np.repeat(checkpoint.row[np.newaxis], len(targets), axis=0)
            steps, physics = checkpoint.step_count, checkpoint.physics_step_count
        self._selected.world.codec.check_object(first, timestep=first.timestep)
        if rows.shape[1] != envs.layout.size:
            raise StateCorruptError(
                f"the checkpoint holds rows of {rows.shape[1]} numbers, this model's have "
                f"{envs.layout.size}: take it from its source again"
            )
        if not with_model:
            self._check_timesteps(first, fields, targets)
        self._check(rows, targets)
        if with_model:
            self._fields.check(fields)
        is_all = isinstance(checkpoint, BatchCheckpoint) and chosen is None
        if is_all and len(targets) == envs.count:
            self.script.restore(first.script, report=self._warn)
            left_out = ""
        else:
            left_out = SCRIPT_REASON if first.script or self.script.registered else ""
        if with_model:
            self._fields.put(fields, targets)
        difference = self._fields.difference(fields, targets)
        before = self._scene.batch_history.counts()
        # What sleeps, and MuJoCo's counts of warnings, are no part of a row.
        self._reset_model(targets, keyframe=-1)
        envs.state[targets] = rows
        envs.counters.put(targets, steps, physics)
        self._scene.replaced(SegmentKind.RESTORE, targets, before=before, text="restored")
        reasons = [first.exactness.reason, difference, first.record.doubt, left_out]
        if envs.is_inexact and SLEEP_REASON not in first.exactness.reason:
            reasons.append(SLEEP_REASON)
        return Exactness("; ".join(reason for reason in reasons if reason))

    def model_difference(self, given: object, chosen: Indices | None) -> str:
        """Return which fields of models are others than at a checkpoint; empty when none is."""
        return self._fields.difference(*self._fields_then(given, chosen))

    def stayed(self, given: object, chosen: Indices | None) -> tuple[Stayed, ...]:
        """Return the same with the values of then and now."""
        return self._fields.stayed(*self._fields_then(given, chosen))

    def _fields_then(self, given: object, chosen: Indices | None) -> tuple[Fields, Indices]:
        """Return the fields of models that a checkpoint has, and the environments they go to."""
        checkpoint = self._as_checkpoint(given)
        if isinstance(checkpoint, BatchCheckpoint):
            targets, taken = self._targets(checkpoint, chosen)
            return {name: each[taken] for name, each in checkpoint.fields.items()}, targets
        targets = np.arange(self._envs.count) if chosen is None else chosen
        return self._fields.of(checkpoint, len(targets), with_model=False), targets

    def _warn(self, text: str) -> None:
        _log.warning("scene %r: %s", self._scene.name, text)
        self._scene.link.log_text(LogLevel.WARNING, text)

    @staticmethod
    def _as_checkpoint(given: object) -> "BatchCheckpoint | Checkpoint":
        if isinstance(given, BatchCheckpoint | Checkpoint):
            return given
        try:
            state = bytes(memoryview(given))  # type: ignore[arg-type]
        except TypeError:
            raise TypeError(
                "a checkpoint must be what checkpoint() returns, or the bytes of one, not "
                f"{type(given).__name__}"
            ) from None
        if is_batch_checkpoint(state):
            return BatchCheckpoint.from_bytes(state)
        return Checkpoint.from_bytes(state)

    def _targets(
        self, checkpoint: BatchCheckpoint, chosen: Indices | None
    ) -> tuple[Indices, Indices]:
        """Return which environments get a state, and which of the checkpoint's each one gets."""
        count = self._envs.count
        if chosen is None:
            if int(checkpoint.envs.max()) >= count:
                raise StateMismatchError(
                    f"the checkpoint holds environment {int(checkpoint.envs.max())}, this scene "
                    f"has {count}: say with envs_idx which are to get its states, as in "
                    "envs_idx=[0]"
                )
            return checkpoint.envs.copy(), np.arange(len(checkpoint))
        if len(checkpoint) == 1:
            return chosen, np.zeros(len(chosen), dtype=np.intp)
        if len(checkpoint) != len(chosen):
            places = {env: place for place, env in enumerate(checkpoint.envs.tolist())}
            missing = [env for env in chosen.tolist() if env not in places]
            if missing:
                raise StateMismatchError(
                    f"the checkpoint is of {len(checkpoint)} environments and does not hold "
                    f"environment {missing[0]}: choose among those it holds, or as many as it has"
                )
            return chosen, np.array([places[env] for env in chosen.tolist()], dtype=np.intp)
        return chosen, np.arange(len(chosen))

    def _check_timesteps(self, first: Checkpoint, fields: Fields, targets: Indices) -> None:
        wanted = fields.get("opt.timestep")
        for place, env in enumerate(targets.tolist()):
            captured = first.timestep if wanted is None else float(wanted[place])
            if captured != self._envs.timestep(env):
                raise StateMismatchError(
                    f"the checkpoint was taken with a timestep of {captured} s, environment {env} "
                    f"has {self._envs.timestep(env)} s: set scene.expand('opt.timestep') first, "
                    "or restore it with with_model=True"
                )

    # --- copying

    def fork(self, source: int, targets: Indices) -> Exactness:
        """Copy one environment's state, counters and model fields to others."""
        envs = self._envs
        targets = targets[targets != source]
        before = self._scene.batch_history.counts()
        counters = envs.counters
        steps, physics = counters.step_count(source), counters.physics_count(source)
        difference = ""
        if len(targets):
            for values in envs.expanded.values():
                values[targets] = values[source]
            difference = envs.flags.settle()
            self._reset_model(targets, keyframe=-1)
            envs.state[targets] = envs.state[source]
            counters.put(targets, steps, physics)
            self._scene.replaced(
                SegmentKind.RESTORE, targets, before=before, text=f"a copy of environment {source}"
            )
        reasons = (difference, SLEEP_REASON if envs.is_inexact else "")
        return Exactness("; ".join(filter(None, reasons)))
