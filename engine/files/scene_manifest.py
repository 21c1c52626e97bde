"""What a scene file (``.strobe``) says about itself: its manifest, and the names of its members."""

from pathlib import Path

import msgspec

from stroboscope.engine.files.bundle import Archive, ArchiveLimits
from stroboscope.engine.files.errors import FileDamagedError, FileFormatError, refuse_format

__all__ = [
    "DESCRIPTION",
    "EXACT_MODEL",
    "FORMAT",
    "MANIFEST",
    "PORTABLE_MODEL",
    "SCENE_LIMITS",
    "ChangedField",
    "SceneManifest",
    "read_manifest",
]

FORMAT = 1
"""The version of the format that is written, and the newest that is read."""

# The first member, so that the beginning of a file says what it is.
MANIFEST = "manifest.json"
EXACT_MODEL = "model.mjb"
PORTABLE_MODEL = "model.mjz"
DESCRIPTION = "description.json"

SCENE_LIMITS = ArchiveLimits(entries=1024)
_MOST_MANIFEST_BYTES = 64 << 20
_AGAIN = "get the file once more from whoever made it"


class ChangedField(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the model with other values than the model file has; ``text`` says which.

    ``environments``: one more dimension in front, one row per environment.
    """

    field: str
    dtype: str
    shape: tuple[int, ...]
    content: bytes
    text: str = ""
    environments: bool = False


class SceneManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a scene consists of.

    ``members``: sha256 of each, by name. ``model_digest``: of the compiled model without its
    version and without paths. ``fields``: sizes, and checksums of all other fields, to name in
    what another model differs. ``portable_note``: why there is no portable model. ``n_envs``: 0
    for one world without environments. ``channels``: what the script logged, with the names of
    each one's values. ``plugins``: MuJoCo's plugins by the number that the exact model knows them
    by. ``missing``: what changes the physics and could not come along.
    """

    format: int
    stroboscope: str
    engine: str
    engine_version: str
    name: str
    origin: str
    model_digest: str
    members: dict[str, str]
    fields: dict[str, int] = {}
    portable_note: str = ""
    n_envs: int = 0
    playback: str = "follow"
    options: dict[str, object] = {}
    changes: tuple[ChangedField, ...] = ()
    channels: dict[str, tuple[str, ...]] = {}
    script_states: tuple[str, ...] = ()
    plugins: dict[str, str] = {}
    missing: tuple[str, ...] = ()


class _Version(msgspec.Struct, frozen=True):
    format: int
    stroboscope: str = "?"


def read_manifest(archive: Archive) -> SceneManifest:
    """Return the manifest of a scene file.

    Raises FileFormatError for an archive that is no scene, FileVersionError for one of another
    format, FileDamagedError when the manifest makes no sense.
    """
    path: Path = archive.path
    if MANIFEST not in archive:
        raise FileFormatError(
            path, f"it is an archive without {MANIFEST}, so it is no scene", "name another file"
        )
    content = archive.read(MANIFEST, limit=_MOST_MANIFEST_BYTES)
    try:
        version = msgspec.json.decode(content, type=_Version)
        refuse_format(path, version.format, newest=FORMAT, writer=version.stroboscope)
        return msgspec.json.decode(content, type=SceneManifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise FileDamagedError(path, f"its {MANIFEST} can't be read ({error})", _AGAIN) from error
