"""From what a file carries of a scene to the scene."""

import copy
import dataclasses
import functools
import hashlib
import weakref
from pathlib import Path
from typing import Any, Final

from stroboscope.engine.errors import ModelError
from stroboscope.engine.files.compression import CompressedError, Decompressor
from stroboscope.engine.files.errors import FileDamagedError, FileFormatError
from stroboscope.engine.files.frames import SceneRecord
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.scene_names import scene_names
from stroboscope.engine.model_fields import ModelFields
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.outside.guard import GuardedModel, guarded_model
from stroboscope.engine.row_layout import RowLayout
from stroboscope.engine.scene import Scene
from stroboscope.engine.scene_loading import scene_of

__all__ = ["build_scene", "compiled_model", "recorded_fields", "recorded_model"]

_COMPRESSED: Final = ".zst"
_LARGEST_MODEL: Final = 1 << 30
# What is more than this is at most so many times as much as the file has of it: a few bytes can ask
# for all memory. Models with much empty space shrink to a two hundredth.
_SMALL_MODEL, _RATIO = 256 << 20, 400
# Of larger ones there are not two, in case that the file is opened once more [bytes].
_LARGEST_KEPT: Final = 64 << 20


def build_scene(reader: TrajectoryReader, record: SceneRecord) -> Scene:
    """Return a scene of the recorded model, in its initial state.

    The model is tried in another process first, once for all that use it while a file with it is
    open. Raises
    FileError and its kinds; ModelError when the recorded rows are not of that model.
    """
    # Its own one, by which clients know what of the file is of this scene.
    called = scene_names(reader)[record.index]
    scene = scene_of(_tried_model(reader, record), name=called, n_envs=None, is_part=True)
    assert isinstance(scene, Scene)  # noqa: S101 - it was asked for none of many
    layout = scene.history.packing.layout
    if wrong := _other_rows(record, layout):
        scene.destroy()
        raise ModelError(
            f"{reader.path}: {wrong}: it was recorded with {reader.manifest.engine} "
            f"{reader.manifest.engine_version}, open it with that one, or take it from its source "
            "again"
        )
    return scene


def _other_rows(record: SceneRecord, layout: RowLayout) -> str:
    """Return what a file says of its rows that states of its model are not; empty when nothing."""
    if layout.size != record.width:
        return f"its rows have {record.width} numbers, states of its model here have {layout.size}"
    told = {each.name: (each.begin, each.begin + each.count) for each in record.columns}
    parts = {name: (part.start, part.stop) for name, part in layout.parts.items()}
    for name in {**parts, **told}:
        here, there = _place(parts.get(name)), _place(told.get(name))
        if here != there:
            return f"its rows have {name} in {there}, not in {here}"
    inputs = layout.inputs.start, layout.inputs.stop
    if tuple(record.inputs) != inputs:
        return f"its rows have inputs in {_place(record.inputs)}, not in {_place(inputs)}"
    return ""


def _place(columns: tuple[int, int] | None) -> str:
    return "no columns" if columns is None else f"the columns {columns[0]} to {columns[1]}"


def compiled_model(reader: TrajectoryReader, record: SceneRecord) -> Any:
    """Return the recorded model, a copy; raises FileError and its kinds."""
    return _tried_model(reader, record).model


def recorded_fields(reader: TrajectoryReader, record: SceneRecord) -> ModelFields:
    """Return the numbers of the recorded model, to say in what another one differs.

    Raises FileError and its kinds.
    """
    # Whatever digest the file says it has.
    return ModelFields(_tried_model(reader, record).model)


def _tried_model(reader: TrajectoryReader, record: SceneRecord) -> GuardedModel:
    """Return the recorded model, compiled and tried, which belongs to nobody else."""
    tried = reader.made.get(record.model)
    path = Path(f"{reader.path}:{record.model.removesuffix(_COMPRESSED)}")
    if not isinstance(tried, GuardedModel):
        _, content = recorded_model(reader, record)
        digest = hashlib.sha256(content).digest()
        tried = _tried_models().get(digest)
        if tried is None:
            tried = guarded_model(path, content=content)
            size = int(load_mujoco().module.mj_sizeModel(tried.model))
            users = sum(reader.scene(each).model == record.model for each in reader.scenes)
            if users == 1 and size > _LARGEST_KEPT:
                return tried
            _tried_models()[digest] = tried
        # A process of its own for each of thousands of environments would take minutes.
        reader.made[record.model] = tried
    return dataclasses.replace(tried, path=path, model=copy.copy(tried.model))


@functools.cache
def _tried_models() -> "weakref.WeakValueDictionary[bytes, GuardedModel]":
    """Return the models of files that are open, by the sha256 of what the files carry."""
    return weakref.WeakValueDictionary()


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
        limit = min(max(_SMALL_MODEL, _RATIO * len(content)), _LARGEST_MODEL)
        content = Decompressor()(content, limit=limit)
    except CompressedError as error:
        raise FileDamagedError(
            reader.path, f"has a model that is damaged: {error}", "take the file anew"
        ) from None
    return name.removesuffix(_COMPRESSED), content
