"""The manifest as bytes, and what is checked before anything in a file is believed."""

from pathlib import Path

import msgspec

from stroboscope.engine.files.errors import FileDamagedError, FileFormatError, refuse_format
from stroboscope.engine.files.frames import Manifest, SceneRecord
from stroboscope.engine.files.json_values import encode_json
from stroboscope.engine.files.limits import LARGEST_MANIFEST, MOST_COLUMNS, MOST_SCENES

__all__ = ["FORMAT", "INDEX_NAME", "MANIFEST_NAME", "pack_manifest", "unpack_manifest"]

FORMAT = 1
"""The version of the format that is written; :attr:`Manifest.format`."""
MANIFEST_NAME = "stroboscope/manifest.json"
SCRIPT_NAME = "stroboscope/script.msgpack"
"""The attachment of checkpoint files with what the script has registered."""
FIELDS_NAME = "stroboscope/model_fields"
"""That of checkpoint files without their scene with checksums of the model's fields."""
INDEX_NAME = "stroboscope/index"
"""Names of the attachments that every file has."""


class _Version(msgspec.Struct):
    format: int
    stroboscope: str = "?"


def pack_manifest(manifest: Manifest) -> bytes:
    """Return a manifest as JSON; raises ValueError when no reader would accept it."""
    wrong = _impossible(manifest)
    if wrong:
        raise ValueError(f"no file can have this manifest: {wrong}")
    data = encode_json(manifest)
    if len(data) > LARGEST_MANIFEST:
        raise ValueError(f"the manifest has {len(data):,} bytes, allowed are {LARGEST_MANIFEST:,}")
    return data


def unpack_manifest(path: Path, data: bytes) -> Manifest:
    """Return the manifest; raises FileVersionError, FileDamagedError or FileFormatError."""
    try:
        version = msgspec.json.decode(data, type=_Version)
        refuse_format(path, version.format, newest=FORMAT, writer=version.stroboscope)
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise FileFormatError(
            path, f"has a manifest that is none ({error})", "take it from its source again"
        ) from error
    wrong = _impossible(manifest)
    if wrong:
        raise FileDamagedError(
            path, f"has an impossible manifest: {wrong}", "take it from its source again"
        )
    return manifest


def _impossible(manifest: Manifest) -> str:
    """Return what can't be about a manifest; empty when nothing."""
    if manifest.format < 1:
        return f"format version {manifest.format}"
    if len(manifest.scenes) > MOST_SCENES:
        return f"{len(manifest.scenes):,} scenes, allowed are {MOST_SCENES:,}"
    if len({scene.index for scene in manifest.scenes}) != len(manifest.scenes):
        return "two scenes have the same index"
    for scene in manifest.scenes:
        wrong = _impossible_scene(scene)
        if wrong:
            return f"scene {scene.index} ({scene.name!r}) has {wrong}"
    if not 0 <= manifest.created < 1 << 33:
        return f"it was created at {manifest.created} s"
    return ""


def _impossible_scene(scene: SceneRecord) -> str:
    if not 0 <= scene.index < MOST_SCENES:
        return f"an index that is not within 0 to {MOST_SCENES - 1:,}"
    if not 0 < scene.width <= MOST_COLUMNS:
        return f"{scene.width:,} columns, allowed are 1 to {MOST_COLUMNS:,}"
    begin, end = scene.inputs
    if not 0 <= begin <= end <= scene.width:
        return f"inputs in the columns {begin} to {end}"
    for column in scene.columns:
        if column.begin < 0 or column.count < 0 or column.begin + column.count > scene.width:
            return f"{column.name!r} in the columns {column.begin} to {column.begin + column.count}"
    return ""
