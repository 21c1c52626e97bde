"""From what a file carries of a scene to the scene."""

from typing import TYPE_CHECKING, Final

from stroboscope.engine.creation import create_scene
from stroboscope.engine.errors import ModelError
from stroboscope.engine.files.compression import Decompressor
from stroboscope.engine.files.frames import SceneRecord
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.outside.guard import GuardedModel, guarded_model

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["build_scene", "recorded_model"]

_COMPRESSED: Final = ".zst"
_LARGEST_MODEL: Final = 1 << 30


def recorded_model(reader: TrajectoryReader, record: SceneRecord) -> GuardedModel:
    """Return the model of a recorded scene, tried in another process first.

    Raises FileError and its kinds; ModelError when the recorded rows are not of that model.
    """
    content = reader.attachment(record.model)
    name = record.model
    if name.endswith(_COMPRESSED):
        content = Decompressor()(content, limit=_LARGEST_MODEL)
        name = name.removesuffix(_COMPRESSED)
    return guarded_model(f"{reader.path}:{name}", content=content)


def build_scene(reader: TrajectoryReader, record: SceneRecord) -> "Scene":
    """Return a scene of the recorded model, in its initial state."""
    model = recorded_model(reader, record)
    scene = create_scene(record.name, model.model)
    width = scene.history.packing.layout.size
    if width != record.width:
        scene.destroy()
        raise ModelError(
            f"{reader.path}: its rows have {record.width} numbers, states of its model here have "
            f"{width}: it was recorded with {reader.manifest.engine} "
            f"{reader.manifest.engine_version}, open it with that one"
        )
    return scene
