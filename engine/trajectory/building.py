"""From what a file carries of a scene to the scene."""

import copy
import dataclasses
from typing import Final

from stroboscope.engine.errors import ModelError
from stroboscope.engine.files.compression import CompressedError, Decompressor
from stroboscope.engine.files.errors import FileDamagedError, FileFormatError
from stroboscope.engine.files.frames import SceneRecord
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.scene_names import scene_names
from stroboscope.engine.model_fields import ModelFields
from stroboscope.engine.outside.guard import GuardedModel, guarded_model
from stroboscope.engine.scene import Scene
from stroboscope.engine.scene_loading import scene_of

__all__ = ["build_scene", "recorded_fields", "recorded_model"]

_COMPRESSED: Final = ".zst"
_LARGEST_MODEL: Final = 1 << 30


def build_scene(reader: TrajectoryReader, record: SceneRecord) -> Scene:
    """Return a scene of the recorded model, in its initial state.

    The model is tried in another process first, once for all environments of a scene. Raises
    FileError and its kinds; ModelError when the recorded rows are not of that model.
    """
    # Its own one, by which clients know what of the file is of this scene.
    called = scene_names(reader)[record.index]
    scene = scene_of(_tried_model(reader, record), name=called, n_envs=None, is_part=True)
    assert isinstance(scene, Scene)  # noqa: S101 - it was asked for none of many
    width = scene.history.packing.layout.size
    if width != record.width:
        scene.destroy()
        raise ModelError(
            f"{reader.path}: its rows have {record.width} numbers, states of its model here have "
            f"{width}: it was recorded with {reader.manifest.engine} "
            f"{reader.manifest.engine_version}, open it with that one"
        )
    return scene


def recorded_fields(reader: TrajectoryReader, record: SceneRecord) -> ModelFields:
    """Return the numbers of the recorded model, to say in what another one differs.

    Raises FileError and its kinds.
    """
    # Whatever digest the file says it has.
    return ModelFields(_tried_model(reader, record).model)


def _tried_model(reader: TrajectoryReader, record: SceneRecord) -> GuardedModel:
    """Return the recorded model, compiled and tried, which belongs to nobody else."""
    tried = reader.made.get(record.model)
    if not isinstance(tried, GuardedModel):
        name, content = recorded_model(reader, record)
        tried = guarded_model(f"{reader.path}:{name}", content=content)
        if sum(reader.scene(each).model == record.model for each in reader.scenes) == 1:
            return tried
        # A process of its own for each of thousands of environments would take minutes.
        reader.made[record.model] = tried
    return dataclasses.replace(tried, model=copy.copy(tried.model))


def recorded_model(reader: TrajectoryReader, record: SceneRecord) -> tuple[str, bytes]:
    """Return the model that a file carries for a scene: what it is called, and its bytes."""
    name = record.model
    if not name:
        raise FileFormatError(
            reader.path,
            f"it holds states of {record.name!r} without the scene itself",
            "make the scene, and call scene.load_checkpoint(path)",
        )
    content = reader.attachment(name)
    if not name.endswith(_COMPRESSED):
        return name, content
    try:
        content = Decompressor()(content, limit=_LARGEST_MODEL)
    except CompressedError as error:
        raise FileDamagedError(
            reader.path, f"has a model that is damaged: {error}", "take the file anew"
        ) from None
    return name.removesuffix(_COMPRESSED), content
