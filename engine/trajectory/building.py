"""From what a file carries of a scene to the scene."""

from typing import Final

from stroboscope.engine.errors import ModelError
from stroboscope.engine.files.compression import CompressedError, Decompressor
from stroboscope.engine.files.errors import FileDamagedError
from stroboscope.engine.files.frames import SceneRecord
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.scene import Scene
from stroboscope.engine.scene_loading import load_scene

__all__ = ["build_scene"]

_COMPRESSED: Final = ".zst"
_LARGEST_MODEL: Final = 1 << 30


def build_scene(reader: TrajectoryReader, record: SceneRecord) -> Scene:
    """Return a scene of the recorded model, in its initial state.

    The model is tried in another process first. Raises FileError and its kinds; ModelError when
    the recorded rows are not of that model.
    """
    content = reader.attachment(record.model)
    name = record.model
    if name.endswith(_COMPRESSED):
        try:
            content = Decompressor()(content, limit=_LARGEST_MODEL)
        except CompressedError as error:
            raise FileDamagedError(
                reader.path, f"has a model that is damaged: {error}", "take the file anew"
            ) from None
        name = name.removesuffix(_COMPRESSED)
    scene = load_scene(f"{reader.path}:{name}", name=record.name, n_envs=None, content=content)
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
