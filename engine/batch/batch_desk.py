"""Rollouts of a batch's environments, and what is compared with them."""

from typing import TYPE_CHECKING, Any

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_machine import Keeper
from stroboscope.debugger_protocol.time_messages import GhostRef, GhostSource
from stroboscope.engine.batch.batch_checkpoint import (
    BatchCheckpoint,
    either_text,
    is_batch_checkpoint,
)
from stroboscope.engine.checkpoint import Checkpoint
from stroboscope.engine.errors import StateError
from stroboscope.engine.rollouts.desk import RolloutDesk, Row, RowAt
from stroboscope.engine.rollouts.rollout_model import rollout_model

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene

__all__ = ["BatchDesk"]


class BatchDesk(RolloutDesk):
    """Rollouts of the selected environment; references may be to other environments."""

    def __init__(self, scene: "BatchScene") -> None:
        super().__init__(scene.selected, scene.rollouts)  # type: ignore[arg-type]
        self._batch = scene

    def _row(self, ref: GhostRef, keeper: Keeper | None, row_at: RowAt) -> Row:
        envs = self._batch.environments
        if ref.source is not GhostSource.ENVIRONMENT:
            return super()._row(ref, keeper, row_at)
        if ref.scene_id != self._batch.scene_id or not 0 <= ref.number < envs.count:
            raise CommandError(
                f"this scene has no environment {ref.number}: it has 0 to {envs.count - 1}"
            )
        row: Row = envs.state[ref.number].copy()
        return row

    def _checkpoint(self, state: bytes) -> Checkpoint:
        """Return the selected environment's checkpoint in one of several."""
        if not is_batch_checkpoint(state):
            return super()._checkpoint(state)
        env = self._batch.selected.env
        try:
            made = BatchCheckpoint.from_bytes(state)
            if env not in made.envs:
                raise CommandError(
                    f"the checkpoint does not hold environment {env}, which is selected: select "
                    f"one that it holds: {either_text(made.envs.tolist())}"
                )
            return super()._checkpoint(made.env(env).to_bytes())
        except StateError as error:
            raise CommandError(str(error)) from error

    def _model_of(self, ref: GhostRef, keeper: Keeper | None) -> Any:
        """Return the model that an environment had in a state, or why it is not known."""
        if ref.source is GhostSource.ROLLOUT:
            return super()._model_of(ref, keeper)
        if ref.source is GhostSource.ENVIRONMENT:
            return self._batch.environments.model_of(ref.number)
        state = self._state(ref, keeper)
        if state is None:
            history, env = self._batch.batch_history, self._batch.selected.env
            history.look()
            lost = history.lost_fields(env, ref.number)
            return lost or self._batch.selected.model_then(ref.number)
        try:
            used = rollout_model(self._batch, self._checkpoint(state))  # type: ignore[arg-type]
        except StateError as error:
            return str(error)
        return used.difference or used.model
