"""All that a scene's time machine does with rollouts, put together."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import StatesCompared, WhatIf
from stroboscope.engine.checkpoint import Checkpoint
from stroboscope.engine.errors import StateError
from stroboscope.engine.rollouts.compare import compare_rollouts, compare_states
from stroboscope.engine.rollouts.finished import FinishedScene, read_stored
from stroboscope.engine.rollouts.numbers import derived_numbers
from stroboscope.engine.rollouts.resimulation import Resimulation, resimulate
from stroboscope.engine.rollouts.row_channels import RowChannels, thinned
from stroboscope.engine.rollouts.row_names import RowNames
from stroboscope.engine.rollouts.row_probe import RowProbe
from stroboscope.engine.rollouts.row_source import RowSource
from stroboscope.engine.rollouts.store import RolloutStore
from stroboscope.engine.rollouts.stored import StoredRollout
from stroboscope.engine.row_layout import RowLayout

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["RolloutDesk"]

Row = NDArray[np.float64]


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
        self._names: RowNames | None = None

    # --- made

    def resimulate(
        self, source: RowSource, axis: int, *, steps: int, edits: Sequence[WhatIf], name: str
    ) -> Iterator[float]:
        """Run recorded inputs again; the newest rollout is the result. Yields progress.

        Closed early, there is no rollout.
        """
        result = Resimulation()
        world = self._world
        yield from resimulate(
            source,
            result,
            model=world.model,
            axis=axis,
            steps=steps,
            edits=edits,
            name=name,
            digest=world.codec.digest,
            adapter=self._adapter,
        )
        made = result.rollout
        if made is not None:
            made.numbers.update(derived_numbers(made, self._adapter))
            self.store.add(made)

    def finished(self, rows: Row, *, timestep: float, name: str, outcome: str) -> FinishedScene:
        """Return what stays of this scene, whose last rows these are, (steps + 1, row)."""
        world = self._world
        rollout = StoredRollout(
            name=name,
            rows=rows,
            timestep=timestep,
            model=world.model,
            digest=world.codec.digest,
            outcome=outcome,
            # The model is a part of what is kept: nobody else has it any more.
            extra_bytes=int(self._adapter.module.mj_sizeModel(world.model)),
        )
        rollout.numbers.update(derived_numbers(rollout, self._adapter))
        return FinishedScene(rollout, adapter=self._adapter)

    # --- read

    def read_rows(
        self, rollout_id: int, channels: Sequence[str], *, first: int, last: int, max_rows: int
    ) -> Iterator[Arrays]:
        """Yield channels of a rollout's steps, evenly thinned, in pieces of about a MiB."""
        return read_stored(
            self.store.get(rollout_id),
            channels,
            first=first,
            last=last,
            max_rows=max_rows,
            adapter=self._adapter,
        )

    def read_history(
        self,
        axes: NDArray[np.int64],
        row: Callable[[int], Row],
        channels: Sequence[str],
        *,
        max_rows: int,
    ) -> Iterator[Arrays]:
        """Yield channels of the history's rows at ``axes``, evenly thinned.

        ``row`` returns the row of one of them.
        """
        reader = RowChannels(
            self._world.model, channels, table=self._world.channels, adapter=self._adapter
        )
        return reader.pieces(axes[thinned(len(axes), max_rows)], row)

    # --- shown

    def pose_of_row(self, row: Row) -> Arrays:
        """Return ``xpos`` (nbody, 3), ``xquat`` (nbody, 4), ``time`` (1,) of a row."""
        return self._probe.pose(row)

    def pose_of_checkpoint(self, state: bytes) -> Arrays:
        """Return the same of a checkpoint's bytes; CommandError when it is of another model."""
        return self._probe.pose(self.row_of_checkpoint(state))

    def pose_of_rollout(self, rollout: StoredRollout, *, time: float) -> Arrays:
        """Return the same of a rollout, at the row that stands at ``time`` [s] or just before."""
        self._check_model(rollout)
        row = rollout.rows[rollout.step_at(time)]
        if rollout.model is self._world.model:
            return self._probe.pose(row)
        return RowProbe(rollout.model, adapter=self._adapter).pose(row)

    # --- compared

    def compare_rows(self, first: Row, second: Row, *, tolerance: float) -> StatesCompared:
        """Compare two states of this scene's model."""
        return compare_states(
            first,
            second,
            names=self.names,
            contacts=self._contacts(),
            tolerance=tolerance,
        )

    def compare_rollouts(
        self, first: StoredRollout, second: StoredRollout, *, tolerance: float
    ) -> StatesCompared:
        """Compare two rollouts step by step; CommandError when one is of another model."""
        self._check_model(first)
        self._check_model(second)
        return compare_rollouts(
            first.rows,
            second.rows,
            names=self.names,
            contacts=self._contacts(),
            tolerance=tolerance,
        )

    def row_of_checkpoint(self, state: bytes) -> Row:
        """Return the row in a checkpoint's bytes; CommandError when it is of another model."""
        codec = self._world.codec
        try:
            checkpoint = Checkpoint.from_bytes(state)
            codec.check_object(checkpoint, timestep=checkpoint.timestep)
        except StateError as error:
            raise CommandError(str(error)) from error
        return checkpoint.row

    @property
    def names(self) -> RowNames:
        """What the values of a row are called, made on first use."""
        if self._names is None:
            world = self._world
            self._names = RowNames(
                world.model, layout=self._layout, channels=world.channels, adapter=world.adapter
            )
        return self._names

    def _contacts(self) -> Any:
        """Return what finds contacts; None where that would call the script's code."""
        return (
            None
            if self._adapter.callbacks_in_the_way(self._world.model)
            else (self._probe.contacts)
        )

    def _check_model(self, rollout: StoredRollout) -> None:
        codec = self._world.codec
        if rollout.digest != codec.digest:
            raise CommandError(
                f"{rollout.name!r} is of another model (digest {rollout.digest.hex()[:12]}…) than "
                f"{self._scene.name!r} ({codec.digest.hex()[:12]}…): only rollouts of one model "
                "can be shown and compared"
            )
