"""Scenes from files: ``physics.load_scene`` and what opens files by themselves."""

import logging
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.engine import creation
from stroboscope.engine.files.errors import FileDamagedError
from stroboscope.engine.files.scene_manifest import ChangedField, SceneManifest
from stroboscope.engine.live_data import HeldData
from stroboscope.engine.model_fields import write_field
from stroboscope.engine.model_source import ModelSource
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.options import Playback, SceneOptions
from stroboscope.engine.outside.guard import GuardedModel, guarded_model
from stroboscope.engine.portable_model import PortableModel

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.scene import Scene

__all__ = ["load_scene", "scene_of"]

_log = logging.getLogger(__name__)

AS_IN_FILE = -1
"""As many environments as the file says."""


def load_scene(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    n_envs: int | None = AS_IN_FILE,
    options: SceneOptions | None = None,
    playback: str | None = None,
    content: bytes | None = None,
) -> "Scene | BatchScene":
    """Build the scene in a file, which may come from anybody; the calling thread is its owner.

    ``path``: a scene file (``.strobe``), MJCF, URDF, MJZ or MJB. The scene stands at its initial
    state. Made with the same MuJoCo it is the exported one to the last bit; with another version
    its portable model is compiled anew: what it is then is logged, and a warning says in what it
    differs. Nothing in the file is executed, see :func:`guarded_model`. ``name``, ``n_envs``
    (None: no environments), ``options`` and ``playback`` replace what the file says, ``content``
    is the file's bytes if it is part of another file.

    Raises FileFormatError, FileDamagedError or FileVersionError, which name the file and what is
    wrong with it.
    """
    guarded = guarded_model(path, content=content)
    return scene_of(guarded, name=name, n_envs=n_envs, options=options, playback=playback)


def scene_of(
    guarded: GuardedModel,
    *,
    name: str | None = None,
    n_envs: int | None = AS_IN_FILE,
    options: SceneOptions | None = None,
    playback: str | None = None,
) -> "Scene | BatchScene":
    """Build the scene of a model that was compiled already; see :func:`load_scene`."""
    manifest = guarded.manifest
    adapter = load_mujoco()
    _check_changes(guarded, manifest)
    if n_envs == AS_IN_FILE:
        n_envs = (manifest.n_envs or None) if manifest is not None else None
    if options is not None:
        options.apply(guarded.model.opt, adapter=adapter)
    chosen = playback or (options and options.playback) or _playback_of(manifest)
    origin = guarded.path.name if manifest is None else f"{guarded.path.name}: {manifest.origin}"
    source = ModelSource(guarded.model, None, origin, "it was loaded from a file")
    scene: Scene | BatchScene
    if n_envs is None:
        live = HeldData(adapter.module.MjData(source.model))
        scene = creation.open_scene(
            name or guarded.name, source, live, adopted=False, playback=Playback(chosen)
        )
    else:
        count = creation.checked_n_envs(n_envs)
        scene = creation.open_batch(name or guarded.name, source, count, playback=Playback(chosen))
    if guarded.portable and options is None:
        scene.world.portable = PortableModel(guarded.portable)
    notes = list(guarded.notes)
    if manifest is not None:
        notes += _put_changes(scene, manifest)
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


def _check_changes(guarded: GuardedModel, manifest: SceneManifest | None) -> None:
    """Raise FileDamagedError for what can't be written into the model."""
    for change in () if manifest is None else manifest.changes:
        try:
            values = _values(change)
            if not change.environments:
                like = _field(guarded.model, change.field)
                if (like.shape, like.dtype) != (values.shape, values.dtype):
                    raise ValueError(f"the model has {like.dtype} {like.shape}")
        except (AttributeError, ValueError, TypeError, OverflowError) as error:
            raise FileDamagedError(
                guarded.path,
                f"it says that {change.field!r} was {change.dtype} {change.shape} ({error})",
                "get the file once more from whoever made it",
            ) from error


def _values(change: ChangedField) -> NDArray[Any]:
    dtype = np.dtype(change.dtype)
    if dtype.kind not in "biuf" or min(change.shape, default=0) < 0:
        raise ValueError("no field of a model is like that")
    return np.frombuffer(change.content, dtype=dtype).reshape(change.shape)


def _field(model: Any, name: str) -> NDArray[Any]:
    """Return a field of a model by its name; AttributeError for anything else of Python's."""
    owner, path = model, name.split(".")
    for part in path:
        if part.startswith("_"):
            raise AttributeError("there is no such field")
        owner = getattr(owner, part)
    if callable(owner):
        raise AttributeError("there is no such field")
    return np.asarray(owner)


def _put_changes(scene: "Scene | BatchScene", manifest: SceneManifest) -> list[str]:
    """Write into the model what had been written when it was exported; return what could not."""
    notes = []
    environments = getattr(scene, "environments", None)
    for change in manifest.changes:
        values = _values(change)
        if not change.environments and environments is None:
            write_field(scene.world.model, change.field, values)
        elif environments is None or len(values) != environments.count:
            notes.append(
                f"{change.field} of each environment is not taken over: the file has "
                f"{manifest.n_envs} environments, this scene {getattr(environments, 'count', 1)}"
            )
        else:
            try:
                environments.expand(change.field)[...] = values
            except ValueError as error:
                notes.append(f"{change.field} of each environment is not taken over: {error}")
    if manifest.changes and environments is None:
        scene.world.refresh_codec()
    return notes
