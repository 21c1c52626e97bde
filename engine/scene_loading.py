"""Scenes from files: ``physics.load_scene`` and what opens files by themselves."""

import enum
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.engine import creation
from stroboscope.engine.arguments import checked_path, flag, plain_text, shown
from stroboscope.engine.changed_fields import changed_values, write_changes
from stroboscope.engine.errors import StateError
from stroboscope.engine.files.errors import FileDamagedError, FileFormatError
from stroboscope.engine.files.scene_manifest import ChangedField, SceneManifest
from stroboscope.engine.files.suffixes import RECORDED, SCENE, found_file
from stroboscope.engine.live_data import HeldData
from stroboscope.engine.model_fields import ModelFields
from stroboscope.engine.model_source import ModelSource
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.options import Playback, SceneOptions
from stroboscope.engine.outside.guard import GuardedModel, guarded_model
from stroboscope.engine.portable_model import PortableModel

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.batch.environments import Environments
    from stroboscope.engine.scene import Scene

__all__ = ["load_scene", "scene_of", "show_scene"]

_log = logging.getLogger(__name__)


class FromFile(enum.Enum):
    """How many environments there are, where no number says it."""

    AS_IN_FILE = enum.auto()


AS_IN_FILE: Final = FromFile.AS_IN_FILE
"""As many environments as the file says."""

_LONGEST_NAME = Limits().name_bytes
_MOST_STATE_BYTES = 1 << 30


def load_scene(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    n_envs: int | FromFile | None = AS_IN_FILE,
    options: SceneOptions | None = None,
    playback: str | None = None,
    content: bytes | None = None,
    show: bool = False,
) -> "Scene | BatchScene":
    """Build the scene in a file, which may come from anybody; the calling thread is its owner.

    ``path``: a scene file (``.strobe``, which may be left out), MJCF, URDF, MJZ or MJB. The scene
    stands at its initial state. Made with the same MuJoCo it is the exported one to the last bit;
    with another version its portable model is compiled anew: what it is then is logged, and a
    warning says in what it differs. Nothing in the file is executed, see :func:`guarded_model`.
    ``name``, ``n_envs`` (None: no environments), ``options`` and ``playback`` replace what the file
    says, ``content`` is the file's bytes if it is part of another file. ``show``: open it in the
    debugger's window.

    Raises FileFormatError, FileDamagedError or FileVersionError, which name the file and what is
    wrong with it; StateError where it is to be shown and there is no window; TypeError and
    ValueError for arguments that do not fit.
    """
    is_shown = flag(show, "show")
    file = checked_path(path, "path")
    if content is None:
        file = os.fspath(found_file(Path(file), SCENE, RECORDED))
    elif not isinstance(content, bytes | bytearray | memoryview):
        raise TypeError(f"content must be the bytes of a file, not {shown(content)}")
    if name is not None:
        name = creation.checked_scene_name(name)
    if n_envs is not None and n_envs is not AS_IN_FILE:
        n_envs = creation.checked_n_envs(n_envs)
    options = creation.checked_options(options)
    chosen = creation.checked_playback(playback, options)
    scene = scene_of(
        guarded_model(file, content=None if content is None else bytes(content)),
        name=name,
        n_envs=n_envs,
        options=options,
        playback=chosen,
        is_part=content is not None,
    )
    if is_shown:
        show_scene(scene)
    return scene


def show_scene(scene: "Scene | BatchScene") -> None:
    """Open a scene in the window; where there is none it is destroyed, and StateError raised."""
    from stroboscope.engine import debugger

    is_there = False
    try:
        is_there = debugger.attach()
    finally:
        if not is_there:
            scene.destroy()
    if not is_there:
        raise StateError(f"{scene.name!r} can't be shown: no window could be reached")


def scene_of(
    guarded: GuardedModel,
    *,
    name: str | None = None,
    n_envs: int | FromFile | None = AS_IN_FILE,
    options: SceneOptions | None = None,
    playback: Playback | None = None,
    is_part: bool = False,
) -> "Scene | BatchScene":
    """Build the scene of a model that was compiled already; see :func:`load_scene`.

    ``is_part``: of a recorded run, which says itself what an environment had of its own.
    """
    manifest = guarded.manifest
    adapter = load_mujoco()
    if n_envs is AS_IN_FILE:
        n_envs = None if manifest is None else _environments_in(guarded, manifest)
    if options is not None:
        options.apply(guarded.model.opt, adapter=adapter)
    chosen = playback or _playback_of(manifest)
    # Names of files may be anything, what clients are told only what UTF-8 can hold.
    origin = plain_text(guarded.path.name, "the name of a file")
    if manifest is not None:
        origin = f"{origin}: {manifest.origin}"
    source = ModelSource(guarded.model, None, origin, "it was loaded from a file")
    scene = _opened(guarded, name or _name_of(guarded), source, n_envs, Playback(chosen))
    if guarded.portable and options is None:
        scene.world.portable = PortableModel(guarded.portable)
    notes = list(guarded.notes)
    if manifest is not None:
        left_out = _put_changes(scene, manifest)
        notes += [] if is_part and n_envs is None else left_out
        notes += _said_of(guarded, manifest)
    for note in notes:
        _log.warning("scene %r: %s", scene.name, note)
        scene.link.log_text(LogLevel.WARNING, note)
    if manifest is not None and not guarded.exact and not guarded.difference:
        text = (
            f"same model, other build: it was exported with MuJoCo {manifest.engine_version} and "
            f"compiled anew with {adapter.version}"
        )
        _log.info("scene %r: %s", scene.name, text)
        scene.link.log_text(LogLevel.INFO, text)
    return scene


def _environments_in(guarded: GuardedModel, manifest: SceneManifest) -> int | None:
    """Return how many environments the file says, when that is not out of all proportion."""
    adapter = load_mujoco()
    numbers = int(adapter.module.mj_stateSize(guarded.model, adapter.integration))
    needed = 8 * numbers * manifest.n_envs
    if not 0 <= needed <= _MOST_STATE_BYTES:
        raise FileFormatError(
            guarded.path,
            f"it says {manifest.n_envs:,} environments, whose states alone take {needed:,} bytes",
            "say how many you want: load_scene(path, n_envs=…)",
        )
    return manifest.n_envs or None


def _name_of(guarded: GuardedModel) -> str:
    name = guarded.name.strip()
    fits = name.isprintable() and 0 < len(name.encode("utf-8", "replace")) <= _LONGEST_NAME
    return name if fits else plain_text(guarded.path.stem, "the name of a file")


def _opened(
    guarded: GuardedModel, name: str, source: ModelSource, n_envs: int | None, playback: Playback
) -> "Scene | BatchScene":
    adapter = load_mujoco()
    count = None if n_envs is None else creation.checked_n_envs(n_envs)
    try:
        if count is not None:
            return creation.open_batch(name, source, count, playback=playback)
        live = HeldData(adapter.module.MjData(source.model))
        return creation.open_scene(name, source, live, adopted=False, playback=playback)
    except (
        ArithmeticError, LookupError, TypeError, ValueError, RuntimeError, adapter.module.FatalError
    ) as error:  # fmt: skip
        # Of a compiled model MuJoCo itself checks the most, but not names and sizes.
        raise FileDamagedError(
            guarded.path,
            f"no scene can be made of its model ({type(error).__name__}: {error})",
            "get the file once more from whoever made it",
        ) from error


def _playback_of(manifest: SceneManifest | None) -> str:
    if manifest is None or manifest.playback not in list(Playback):
        return Playback.FOLLOW
    return manifest.playback


def _said_of(guarded: GuardedModel, manifest: SceneManifest) -> list[str]:
    """Return what whoever goes on with the scene has to know."""
    notes = []
    if guarded.difference:
        notes.append(
            f"the physics may differ: the scene was exported with MuJoCo {manifest.engine_version}"
            f", and its model compiled anew with {load_mujoco().version} is another one "
            f"({guarded.difference})"
        )
    if manifest.missing:
        notes.append(
            f"the scene was exported without {', '.join(manifest.missing)}: it goes on "
            "differently from the one that had it"
        )
    return notes


# --- what had been written into the model


def _put_changes(scene: "Scene | BatchScene", manifest: SceneManifest) -> list[str]:
    """Write into the model what had been written when it was exported; return what could not."""
    environments = getattr(scene, "environments", None)
    if environments is None:
        write_changes(scene.world.model, manifest.changes)
        scene.world.refresh_codec()
        if manifest.changes:
            scene.world.fields_at_first = ModelFields(scene.world.model)
    left_out: dict[str, list[str]] = {}
    for change in manifest.changes:
        if environments is None:
            reason = "this scene has none" if change.environments else ""
        else:
            reason = _put_environments(environments, change)
        if reason:
            left_out.setdefault(reason, []).append(change.field)
    return [
        f"{', '.join(fields)} of each environment {'is' if len(fields) == 1 else 'are'} not taken "
        f"over: {reason}"
        for reason, fields in left_out.items()
    ]


def _put_environments(environments: "Environments", change: ChangedField) -> str:
    """Give environments what they had of their own; return why not."""
    values = changed_values(environments.model, change)
    if change.environments and len(values) != environments.count:
        return f"the file has {len(values)} environments, this scene {environments.count}"
    try:
        environments.own(change.field)[...] = values
        environments.flags.settle()
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return str(error)
    return ""
