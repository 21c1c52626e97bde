"""A whole batched scene as a value: what ``pickle`` and ``copy.deepcopy`` of one carry."""

import dataclasses
import logging
from typing import TYPE_CHECKING

import numpy as np

from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.engine.batch.batch_checkpoint import BatchCheckpoint
from stroboscope.engine.batch.env_fields import model_as_made
from stroboscope.engine.errors import StateError, StateMismatchError
from stroboscope.engine.model_source import ModelSource
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.scene_copy import model_of
from stroboscope.engine.sim_state import SimState

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene

__all__ = ["BatchCopy", "copy_of_batch", "fill_batch", "source_of"]

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class BatchCopy:
    """What :meth:`BatchScene.__getstate__` returns: the compiled model and a checkpoint of all.

    ``model``: the MJB of the model as the batch was made with it; what environments have of their
    own is in the checkpoint. ``initial``: what the script has made the initial state, if it has.
    """

    name: str
    model: bytes
    mujoco_version: str
    origin: str
    playback: str
    checkpoint: BatchCheckpoint
    initial: SimState | None


def copy_of_batch(scene: "BatchScene") -> BatchCopy:
    """Return the scene as it stands; StateError when that can't be carried."""
    world, adapter = scene.world, scene.environments.adapter
    model, lost = model_as_made(scene.environments, world.codec.fields)
    if lost:
        raise StateError(
            f"scene {scene.name!r} can't be copied: {', '.join(lost)} of scene.model was written "
            "into, which has no effect in a batch, and only a checksum of it is kept: make the "
            "scene with a model that has these values"
        )
    content = np.empty(adapter.module.mj_sizeModel(model), dtype=np.uint8)
    adapter.module.mj_saveModel(model, None, content)
    return BatchCopy(
        name=scene.name,
        model=content.tobytes(),
        mujoco_version=adapter.version,
        origin=world.source.origin,
        playback=str(scene.playback),
        checkpoint=scene.states.checkpoint(np.arange(scene.n_envs), name=scene.name, note=""),
        initial=scene.states.initial,
    )


def source_of(copy: BatchCopy, *, adapter: MujocoAdapter) -> ModelSource:
    """Return the model for a twin.

    Raises StateMismatchError for a copy made with another MuJoCo, ModelError for a damaged model.
    """
    model = model_of(copy.model, made_with=copy.mujoco_version, adapter=adapter)
    return ModelSource(model, None, copy.origin, "it is the copy of another scene")


def fill_batch(scene: "BatchScene", copy: BatchCopy, *, is_new: bool) -> None:
    """Put a copy into a scene that was built for it, or one of the same model and as many.

    A new scene has registered no script state yet: the values wait until it has.
    """
    checkpoint, script = copy.checkpoint, scene.states.script
    if len(checkpoint) != scene.n_envs:
        raise StateMismatchError(
            f"the copy has {len(checkpoint)} environments, scene {scene.name!r} has "
            f"{scene.n_envs}: they must be as many"
        )
    if is_new and checkpoint.first.script:
        script.pending = script.unpacked(checkpoint.first.script)
        checkpoint = checkpoint.without_script()
    exactness = scene.states.restore(checkpoint, None, with_model=True)
    scene.states.initial = copy.initial
    if not exactness.is_exact:
        text = f"the copy of a scene continues only approximately: {exactness.reason}"
        _log.warning("scene %r: %s", scene.name, text)
        scene.link.log_text(LogLevel.WARNING, text)
