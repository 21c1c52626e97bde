"""A whole scene as a value: what ``pickle`` and ``copy.deepcopy`` of a scene carry."""

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.arguments import shown
from stroboscope.engine.checkpoint import Checkpoint
from stroboscope.engine.errors import ModelError, StateError, StateMismatchError
from stroboscope.engine.live_data import HeldData
from stroboscope.engine.model_fields import write_field
from stroboscope.engine.model_source import ModelSource
from stroboscope.engine.mujoco_adapter import MujocoAdapter

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["SceneCopy", "built_world", "check_copy", "copy_of", "fill", "model_of"]

_FILE = "scene.mjb"


@dataclasses.dataclass(frozen=True, slots=True)
class SceneCopy:
    """What :meth:`Scene.__getstate__` returns: the compiled model and a checkpoint, exactly.

    ``model``: its MJB as it stands; ``first``: what had been written into it, before that.
    """

    name: str
    model: bytes
    mujoco_version: str
    origin: str
    playback: str
    first: dict[str, NDArray[Any]]
    checkpoint: Checkpoint


def check_copy(copy: object, kind: type) -> None:
    """Raise TypeError for what is no copy of a scene, before anything is made of it."""
    if not isinstance(copy, kind):
        raise TypeError(
            f"__setstate__ takes a {kind.__name__}, what __getstate__ of such a scene has "
            f"returned, not {shown(copy)}"
        )


def copy_of(scene: "Scene") -> SceneCopy:
    """Return the scene as it stands; StateError when that can't be carried."""
    world = scene.world
    adapter, model = world.adapter, world.model
    first = {}
    for change in world.codec.fields.changes(model):
        before = world.codec.fields.value(change.field)
        if before is None:
            raise StateError(
                f"scene {scene.name!r} can't be copied: {change.field} was written into; call "
                "scene.model_changed() first, so that it counts as the scene's own"
            )
        first[change.field] = before
    content = np.empty(adapter.module.mj_sizeModel(model), dtype=np.uint8)
    adapter.module.mj_saveModel(model, None, content)
    return SceneCopy(
        name=scene.name,
        model=content.tobytes(),
        mujoco_version=adapter.version,
        origin=world.source.origin,
        playback=str(scene.playback),
        first=first,
        checkpoint=scene.states.checkpoint(scene.name),
    )


def built_world(copy: SceneCopy, *, adapter: MujocoAdapter) -> tuple[ModelSource, HeldData]:
    """Return model and data for a twin, the model as it was when the first scene was made.

    Raises StateMismatchError for a copy made with another MuJoCo, ModelError for a damaged model.
    """
    model = model_of(copy.model, made_with=copy.mujoco_version, adapter=adapter)
    for field, values in copy.first.items():
        write_field(model, field, values)
    source = ModelSource(model, None, copy.origin, "it is the copy of another scene")
    return source, HeldData(adapter.module.MjData(model))


def model_of(content: bytes, *, made_with: str, adapter: MujocoAdapter) -> Any:
    """Return the model in an MJB that was written by a MuJoCo of the version ``made_with``.

    Raises StateMismatchError for another version, ModelError for a damaged model.
    """
    if made_with != adapter.version:
        raise StateMismatchError(
            f"the scene was copied with MuJoCo {made_with}, this is {adapter.version}: "
            "a compiled model only fits the version that wrote it"
        )
    module = adapter.module
    try:
        return module.MjModel.from_binary_path(_FILE, {_FILE: content})
    except (ValueError, RuntimeError, module.FatalError) as error:
        raise ModelError(f"can't load the model of the copied scene: {error}") from error


def fill(scene: "Scene", copy: SceneCopy, *, is_new: bool) -> None:
    """Put the checkpoint of a copy into a scene that was built for it, or of the same model.

    A new scene has registered no script state yet: the values wait until it has.
    """
    checkpoint = copy.checkpoint
    if is_new and checkpoint.script:
        script = scene.states.script
        script.pending = script.unpacked(checkpoint.script)
        checkpoint = checkpoint.without_script()
    scene.states.restore_checkpoint(checkpoint, with_model=True)
