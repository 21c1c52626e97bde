"""The model that candidates are run with, and whether it is the one of their checkpoint."""

import copy
from typing import TYPE_CHECKING, Any, NamedTuple

from stroboscope.engine.batch.env_fields import model_as_made
from stroboscope.engine.checkpoint import Checkpoint, CheckpointRecord, SavedField
from stroboscope.engine.errors import StateCorruptError, StateMismatchError
from stroboscope.engine.model_changes import ModelChanges
from stroboscope.engine.model_fields import read_field, write_field

if TYPE_CHECKING:
    from stroboscope.engine.batch.environments import Environments
    from stroboscope.engine.scene import Scene

__all__ = ["RolloutModel", "rollout_model"]


class RolloutModel(NamedTuple):
    """``model`` is not to be written into: it may be the scene's own.

    ``record``: what checkpoints of candidates are to say of it; ``difference``: how it differs from
    the one of the checkpoint that they begin with, empty where it doesn't.
    """

    model: Any
    record: CheckpointRecord
    difference: str
    is_own: bool
    """Whether it was made for this, so that nobody else writes into it either."""


def rollout_model(scene: "Scene", begin: Checkpoint) -> RolloutModel:
    """Return the model for candidates from a checkpoint; a scene of one world has one only.

    Those of an environment get the batch's with what this environment had of its own. Raises
    StateMismatchError and StateCorruptError for a checkpoint that does not fit.
    """
    model = scene.model  # guarded: only its owner may use the scene
    codec = scene.world.codec
    environments = getattr(scene, "environments", None)
    if environments is not None:
        # The timestep may be the environment's own, which is looked at below.
        codec.check_object(begin, timestep=begin.timestep)
        return _of_environment(scene, environments, begin)
    codec.check_object(begin, timestep=scene.timestep_of_state)
    if scene.nominal_timestep is not None:  # inside a step that has a shorter one
        model = copy.copy(model)
        model.opt.timestep = scene.nominal_timestep
    changes, record = ModelChanges(scene.world), CheckpointRecord()
    difference = changes.difference(begin)
    if begin.record.compared:
        record = CheckpointRecord(compared=True, changes=changes.saved(), doubt=begin.record.doubt)
    return RolloutModel(model, record, difference, is_own=False)


def _of_environment(
    scene: "Scene", environments: "Environments", begin: Checkpoint
) -> RolloutModel:
    """Return the model as the batch was made with it, with the changes that a checkpoint says."""
    record = begin.record
    model, lost = model_as_made(environments, scene.world.codec.fields)
    for saved in record.changes:
        _write(model, saved)
    if float(model.opt.timestep) != begin.timestep:
        raise StateMismatchError(
            f"the checkpoint was taken with a timestep of {begin.timestep} s, the model of scene "
            f"{scene.name!r} has {float(model.opt.timestep)} s, and the checkpoint does not say "
            "what else had been written into its model: take it with a name "
            "(scene.checkpoint(name)), or give scene= a scene that has this timestep"
        )
    kept = CheckpointRecord(compared=record.compared, changes=record.changes, doubt=record.doubt)
    said = f"{', '.join(lost)} of scene.model was written into, unlike the batch's" if lost else ""
    difference = "; ".join(filter(None, (record.doubt, said)))
    return RolloutModel(model, kept, difference, is_own=True)


def _write(model: Any, saved: SavedField) -> None:
    """Write what a checkpoint says of a field; of bodies' bounding volumes, which come first."""
    try:
        now = read_field(model, saved.field)
    except AttributeError:
        raise StateCorruptError(
            f"the checkpoint holds {saved.field}, which the model does not have"
        ) from None
    if not now.ndim:
        write_field(model, saved.field, saved.values(now))
        return
    part = now[: saved.shape[0] if saved.shape else 0]  # a view
    part[...] = saved.values(part)
