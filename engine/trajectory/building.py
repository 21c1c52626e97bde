"""From what a file carries of a scene to the scene."""

from typing import Final

from stroboscope.engine.errors import ModelError
from stroboscope.engine.files.compression import CompressedError, Decompressor
from stroboscope.engine.files.errors import FileDamagedError, FileFormatError
from stroboscope.engine.files.frames import SceneRecord
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.model_fields import ModelFields
from stroboscope.engine.outside.guard import guarded_model
from stroboscope.engine.scene import Scene
from stroboscope.engine.scene_loading import load_scene

__all__ = ["build_scene", "recorded_fields", "recorded_model"]

_COMPRESSED: Final = ".zst"
_LARGEST_MODEL: Final = 1 << 30


def build_scene(reader: TrajectoryReader, record: SceneRecord) -> Scene:
    """Return a scene of the recorded model, in its initial state.

    The model is tried in another process first. Raises FileError and its kinds; ModelError when
    the recorded rows are not of that model.
    """
    name, content = recorded_model(reader, record)
    called = record.name if record.env < 0 else f"{record.name}[{record.env}]"
    scene = load_scene(f"{reader.path}:{name}", name=called, n_envs=None, content=content)
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
    name, content = recorded_model(reader, record)
    guarded = guarded_model(f"{reader.path}:{name}", content=content)
    return ModelFields(guarded.model)  # whatever digest the file says it has


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
