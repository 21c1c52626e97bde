"""All that a scene's time machine does with rollouts, put together."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_machine import Keeper
from stroboscope.debugger_protocol.time_messages import (
    GhostRef,
    GhostSource,
    Reduction,
    StatesCompared,
    WhatIf,
)
from stroboscope.engine.checkpoint import Checkpoint
from stroboscope.engine.errors import SceneDestroyedError, StateError
from stroboscope.engine.history.options_in_force import OptionsInForce
from stroboscope.engine.history.rows_of_past import RowsOfPast
from stroboscope.engine.model_fields import known_models
from stroboscope.engine.model_option_fields import FIELD_OPTION
from stroboscope.engine.rollouts.compare import (
    BothContacts,
    compare_rollouts,
    compare_states,
)
from stroboscope.engine.rollouts.derived import derived_numbers_of
from stroboscope.engine.rollouts.finished import FinishedScene, read_stored
from stroboscope.engine.rollouts.model_again import ModelAgain
from stroboscope.engine.rollouts.numbers import derived_numbers, logged_numbers
from stroboscope.engine.rollouts.placing import (
    PLACING,
    Placer,
    Placing,
    is_placed_alike,
    placing_of,
)
from stroboscope.engine.rollouts.resimulation import Resimulation, edited_model, resimulate
from stroboscope.engine.rollouts.row_channels import RowChannels
from stroboscope.engine.rollouts.row_names import RowNames
from stroboscope.engine.rollouts.row_probe import RowProbe
from stroboscope.engine.rollouts.row_source import RowSource
from stroboscope.engine.rollouts.store import RolloutStore
from stroboscope.engine.rollouts.stored import StoredRollout
from stroboscope.engine.rollouts.stored_rows import StoredRows
from stroboscope.engine.row_layout import RowLayout
from stroboscope.engine.stops.memory import bytes_text

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["RolloutDesk"]

Row = NDArray[np.float64]
RowAt = Callable[[int], Row]

# Of those larger than this [bytes] no rollout has a copy of its own: robots with many meshes.
_LARGE_MODEL = 4 << 20


class RolloutDesk:
    """Rollouts of one scene in one world: made, read, shown, compared; owner thread only.

    ``store`` outlives it: a scene that gets another model keeps the rollouts of before.
    """

    def __init__(self, scene: "Scene", store: RolloutStore) -> None:
        world = scene.world
        self.store = store
        self._scene = scene
        self._world = world
        self._adapter = world.adapter
        self._layout = RowLayout(world.model, adapter=world.adapter)
        self._probe = RowProbe(
            world.model, adapter=world.adapter, scratch=lambda: world.frames.scratch
        )
        self._placer = Placer(self._probe, adapter=world.adapter)
        self._names: RowNames | None = None

    # --- made

    def resimulate(
        self,
        source: RowSource,
        axis: int,
        *,
        steps: int,
        edits: Sequence[WhatIf],
        name: str,
        doubt: str = "",
    ) -> Iterator[float]:
        """Return what runs recorded inputs again; the newest rollout is the result.

        It yields progress. Closed early, there is no rollout. The model is taken now: the script
        may write into its own while this runs. ``doubt``: why it may be another one than then.
        """
        history = self._scene.history
        model = history.models.kept()
        make = self._maker_of(model, source, edits, axis=axis)
        result = Resimulation()
        progress = resimulate(
            source,
            result,
            model=model,
            axis=axis,
            steps=steps,
            edits=edits,
            name=name,
            digest=self._world.codec.digest,
            adapter=self._adapter,
        )
        return self._resimulated(
            progress, result, model=model, make=make, doubt=doubt, env=self._env()
        )

    def _env(self) -> int:
        """Return which environment the scene is now, where it is one of many; else -1."""
        return int(getattr(self._scene, "env", -1))

    def _resimulated(
        self,
        progress: Iterator[float],
        result: Resimulation,
        *,
        model: Any,
        make: ModelAgain | None,
        doubt: str,
        env: int,
    ) -> Iterator[float]:
        yield from progress
        made = result.rollout
        if made is None:
            return
        made.env = env
        made.numbers.update(derived_numbers(made, self._adapter))
        made.reproducible = made.reproducible or doubt
        if not made.extra_bytes:  # as the scene's was: one copy is enough for all of them
            made.make_model = lambda: model
        elif make is not None:
            made.make_model, made.extra_bytes = make, 0
        if not self.store.add(made):
            raise CommandError(
                f"{made.name!r} takes {bytes_text(made.nbytes)}, more than rollouts of a scene may "
                "take together: simulate fewer steps"
            )

    def _maker_of(
        self, model: Any, source: RowSource, edits: Sequence[WhatIf], *, axis: int
    ) -> ModelAgain | None:
        """Return what makes a large model with edits again; None for one that is kept as it is."""
        history, adapter = self._scene.history, self._adapter
        models = history.models
        if adapter.module.mj_sizeModel(model) <= _LARGE_MODEL or not models.has_copy:
            return None
        base, options = models.of_past(), dict(source.options or history.options_in_force())
        then, in_force = source.timestep(axis), OptionsInForce(history, self._world)

        def make() -> Any:
            # In the copy may be in force by then what nobody had written into yet.
            whole = in_force.completed(options)
            return edited_model(base, whole, edits, timestep=then, adapter=adapter)[0]

        return ModelAgain(make)

    def standing_row(self) -> Row | None:
        """Return the state that the scene stands at; None when its data is gone."""
        try:
            data = self._world.live()
        except SceneDestroyedError:
            return None
        row = np.empty(self._layout.size)
        self._adapter.mj_getState(self._world.model, data, row, self._adapter.integration)
        return row

    def finished(
        self,
        rows: Row,
        *,
        model: Any,
        timesteps: NDArray[np.float64],
        steps_of_script: int,
        unsure: frozenset[int],
        name: str,
        outcome: str,
        event_step: int = -1,
    ) -> FinishedScene:
        """Return what stays of this scene, whose last rows these are, (steps + 1, row).

        ``model``: the one that they were simulated with. The others: see StoredRollout.
        """
        world = self._world
        is_own = model is not world.model
        rollout = StoredRollout(
            name=name,
            rows=rows,
            timestep=float(timesteps[0]),
            timesteps=timesteps,
            make_model=lambda: model,
            digest=world.codec.digest,
            outcome=outcome,
            event_step=event_step,
            env=self._env(),
            steps_of_script=steps_of_script,
            unsure=unsure,
            is_model_as_it_was=None if is_own else self._scene.history.models.is_as_it_is(),
            # The model is a part of what is kept: nobody else has it any more.
            extra_bytes=int(self._adapter.module.mj_sizeModel(model)),
        )
        probe = None if is_own else self._probe
        rollout.numbers.update(derived_numbers(rollout, self._adapter, probe))
        rollout.numbers.update(logged_numbers(self._scene.link.user_channels.values()))
        return FinishedScene(rollout, adapter=self._adapter)

    def derive(
        self, rollout_ids: Sequence[int], text: str, *, reduction: Reduction, name: str
    ) -> Iterator[object]:
        """Return what computes a number of some rollouts (none: of all), on another thread."""
        store = self.store
        chosen = rollout_ids or [info.rollout_id for info in store.infos()]
        if not chosen:
            raise CommandError(f"{self._scene.name!r} has no rollouts yet to compute numbers of")
        rollouts = [store.get(number) for number in chosen]
        if not rollout_ids:  # all that are of this model
            digest = self._world.codec.digest
            rollouts = [each for each in rollouts if each.digest == digest]
        for each in rollouts:
            self._check_model(each)
        return derived_numbers_of(
            rollouts,
            text,
            reduction=reduction,
            name=name,
            note=lambda rollout, title, value: store.note(rollout.rollout_id, title, value),
            adapter=self._adapter,
        )

    # --- read

    def read_rows(
        self, rollout_id: int, channels: Sequence[str], *, first: int, last: int, max_rows: int
    ) -> Iterator[Arrays]:
        """Yield channels of a rollout's steps, evenly thinned, in pieces of a MiB at most.

        Raises CommandError when the model that it ran with has been written into since.
        """
        rollout = self.store.get(rollout_id)
        self._check_model(rollout)
        return read_stored(
            rollout,
            channels,
            first=first,
            last=last,
            max_rows=max_rows,
            adapter=self._adapter,
        )

    def read_history(self, rows: RowsOfPast, channels: Sequence[str]) -> Iterator[Arrays]:
        """Yield channels of rows of the history.

        What rows do not hold is computed of those only whose model is known; the others are left
        out. Raises CommandError where the first one is among these.
        """
        reader = RowChannels(rows, channels, table=self._world.channels, adapter=self._adapter)
        if reader.evaluated and len(rows.axes) and (why := rows.doubt(int(rows.axes[0]))):
            raise CommandError(
                f"{reader.evaluated} can't be read from the past: {why}; what rows hold "
                "(positions, velocities, controls) can be, and what came after that"
            )
        return reader.pieces(rows.axes)

    # --- shown and compared

    def ghost_pose(
        self, ghost: GhostRef, *, time: float, keeper: Keeper | None, row_at: RowAt
    ) -> Arrays:
        """Return ``xpos`` (nbody, 3), ``xquat`` (nbody, 4), ``time`` (1,) of a ghost.

        A rollout stands at ``time`` [s]: at its row of that time, or the one just before.
        ``row_at`` returns a row of this scene's own history.
        """
        if ghost.source is GhostSource.ROLLOUT:
            rollout = self._rollout(ghost, keeper)
            step = rollout.step_at(time)
            self._check_known(rollout, step)
            return self._placer.pose(rollout.rows[step], rollout.placing)
        state = self._state(ghost, keeper)
        if state is None:
            return self._probe.pose(self._row(ghost, keeper, row_at))
        checkpoint = self._checkpoint(state)
        return self._placer.pose(checkpoint.row, self._placing_at(checkpoint))

    def _check_known(self, rollout: StoredRollout, step: int) -> None:
        """Raise CommandError for a step whose model is not known; without making a trial's."""
        is_trial = not rollout.steps_of_script and rollout.is_model_as_it_was is None
        if is_trial and not rollout.unsure:
            return
        rows = StoredRows(rollout, adapter=self._adapter)
        rows.check_model()
        if not rows.is_known(step):
            raise CommandError(
                f"step {step} of {rollout.name!r} can't be placed: the script had written into "
                "its model then, and what is not known"
            )

    def pose_with(self, model: Any, row: Row) -> Arrays:
        """Return where the bodies of a row of this scene stand with a model of then."""
        return self._placer.pose(row, placing_of(model))

    def _placing_at(self, checkpoint: Checkpoint) -> Placing:
        """Return what decides where the bodies of a checkpoint stand; CommandError where unknown.

        One without a name does not say what the model was.
        """
        first, record = self._world.codec.fields, checkpoint.record
        if record.doubt:
            raise CommandError(f"{record.name!r} can't be placed: {record.doubt}")
        begun = {name: value for name in PLACING if (value := first.value(name)) is not None}
        if record.compared:
            saved = {each.field: each for each in record.changes}
            return {
                name: saved[name].values(value) if name in saved else value
                for name, value in begun.items()
            }
        history = self._scene.history
        history.look_at_model()
        written = [name for name in PLACING if f"{FIELD_OPTION}{name}" in history.first_fields]
        if written or not is_placed_alike(self._world.model, begun):
            raise CommandError(
                "the checkpoint can't be placed: it has no name, so it does not say what of the "
                "model decides where bodies stand, which the script has written into "
                f"({', '.join(written) or 'body_pos'}); name it: scene.checkpoint(name)"
            )
        return begun

    def compare(
        self,
        first: GhostRef,
        second: GhostRef,
        *,
        tolerance: float,
        keeper: Keeper | None,
        row_at: RowAt,
    ) -> StatesCompared:
        """Compare two states, or two rollouts step by step; ``id`` and ``scene_id`` are 0.

        A state and a rollout are compared with each other at the state's time.
        """
        refs = (first, second)
        if all(ref.source is GhostSource.ROLLOUT for ref in refs):
            rollouts = [self._rollout(ref, keeper) for ref in refs]
            return compare_rollouts(
                rollouts[0].rows,
                rollouts[1].rows,
                names=self.names,
                contacts=self._contacts_of([rollout.model for rollout in rollouts]),
                tolerance=tolerance,
            )
        states = [
            None if ref.source is GhostSource.ROLLOUT else self._row(ref, keeper, row_at)
            for ref in refs
        ]
        time = next(float(row[0]) for row in states if row is not None)
        rows = [
            self._row_of_rollout(ref, keeper, time) if row is None else row
            for ref, row in zip(refs, states, strict=True)
        ]
        return compare_states(
            rows[0],
            rows[1],
            names=self.names,
            contacts=self._contacts_of([self._model_of(ref, keeper) for ref in refs]),
            tolerance=tolerance,
        )

    def _row_of_rollout(self, ref: GhostRef, keeper: Keeper | None, time: float) -> Row:
        rollout = self._rollout(ref, keeper)
        row: Row = rollout.rows[rollout.step_at(time)]
        return row

    def _row(self, ref: GhostRef, keeper: Keeper | None, row_at: RowAt) -> Row:
        """Return the state that a reference means."""
        if ref.source is GhostSource.ROW and ref.scene_id == self._scene.scene_id:
            return row_at(ref.number)
        state = self._state(ref, keeper)
        if state is None:
            raise CommandError(f"this scene has no {ref.source.value} {ref.number}")
        return self._checkpoint(state).row

    def _state(self, ref: GhostRef, keeper: Keeper | None) -> bytes | None:
        """Return the state that somebody else keeps; None where the reference means no such one."""
        is_own = ref.scene_id == self._scene.scene_id
        if ref.source is GhostSource.ROW and is_own:
            return None
        if ref.source not in (GhostSource.CHECKPOINT, GhostSource.ROW):
            return None
        if keeper is None:
            raise CommandError("states of other scenes and checkpoints are kept by the debugger")
        is_row = ref.source is GhostSource.ROW
        return keeper.row(ref) if is_row else keeper.checkpoint(ref)

    def _rollout(self, ref: GhostRef, keeper: Keeper | None) -> StoredRollout:
        """Return the rollout that a reference means; CommandError for one of another model."""
        if ref.scene_id == self._scene.scene_id:
            rollout = self.store.get(ref.number)
        elif ref.scene_id == 0 and keeper is not None:
            run = keeper.finished(ref.number)
            if not isinstance(run, FinishedScene):
                raise CommandError("what is left of that scene has no states to compare with")
            rollout = run.rollout
        else:
            raise CommandError(
                f"rollout {ref.number} is another scene's: only those of one scene, and of scenes "
                "that have ended, can be compared here"
            )
        self._check_model(rollout)
        return rollout

    def _check_model(self, rollout: StoredRollout) -> None:
        codec = self._world.codec
        if rollout.digest == codec.digest:
            return
        other = known_models().find(rollout.digest)
        how = codec.fields.differences(other) if other is not None else ""
        raise CommandError(
            f"{rollout.name!r} is of another model than {self._scene.name!r}"
            f"{f': {how}' if how else ''}; only rollouts of one model can be shown and compared"
        )

    def _checkpoint(self, state: bytes) -> Checkpoint:
        """Return the checkpoint in bytes; CommandError when it is of another model."""
        codec = self._world.codec
        try:
            checkpoint = Checkpoint.from_bytes(state)
            codec.check_object(checkpoint, timestep=checkpoint.timestep)
        except StateError as error:
            raise CommandError(str(error)) from error
        return checkpoint

    @property
    def names(self) -> RowNames:
        """What the values of a row are called, made on first use."""
        if self._names is None:
            world = self._world
            self._names = RowNames(
                world.model, layout=self._layout, channels=world.channels, adapter=world.adapter
            )
        return self._names

    def _model_of(self, ref: GhostRef, keeper: Keeper | None) -> Any:
        """Return the model that a rollout was made with; None of a state, which keeps none.

        Where states keep some, text says why one is not known.
        """
        is_rollout = ref.source is GhostSource.ROLLOUT
        return self._rollout(ref, keeper).model if is_rollout else None

    def _contacts_of(self, models: Sequence[Any]) -> BothContacts:
        """Return what finds contacts in states of two models, or why nothing does.

        None: of the scene's, which has to be what it was.
        """
        adapter = self._adapter
        if adapter.callbacks_in_the_way(self._world.model):
            return "that would call the script's contact filter"
        if None in models and self._scene.history.first_fields:
            return "the script has written into its model"
        for unknown in models:
            if isinstance(unknown, str):
                return unknown
        one, other = (
            self._probe if model is None else RowProbe(model, adapter=adapter) for model in models
        )
        return one.contacts, other.contacts
