"""Scenes as files (``.strobe``): everything needed to rebuild one where none of its assets are."""

import copy
import hashlib
import importlib.metadata
import logging
import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.engine.arguments import checked_path, shown
from stroboscope.engine.callbacks import Event
from stroboscope.engine.errors import EngineError, StateError
from stroboscope.engine.files.atomic import write_file
from stroboscope.engine.files.bundle import pack_archive
from stroboscope.engine.files.compression import needed
from stroboscope.engine.files.scene_manifest import (
    DESCRIPTION,
    EXACT_MODEL,
    FORMAT,
    MANIFEST,
    PORTABLE_MODEL,
    ChangedField,
    SceneManifest,
)
from stroboscope.engine.files.suffixes import SCENE, with_suffix
from stroboscope.engine.mjb import mjb_of
from stroboscope.engine.model_fields import write_field
from stroboscope.engine.options import SceneOptions
from stroboscope.engine.portable_model import portable_model

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.scene import Scene
    from stroboscope.engine.world import World

__all__ = ["export_scene", "scene_bundle"]

_log = logging.getLogger(__name__)

# Callbacks of MuJoCo that measure and change nothing.
_OBSERVING_CALLBACKS = ("mjcb_time",)
# Plugins that come with MuJoCo itself.
_OWN_PLUGINS = "mujoco."


def export_scene(
    scene: "Scene | BatchScene",
    path: str | os.PathLike[str],
    *,
    allow_missing: Collection[str] = (),
) -> Path:
    """Write a scene file; see :meth:`Scene.export`."""
    target = with_suffix(Path(checked_path(path, "path")), SCENE)
    content = scene_bundle(scene, allow_missing=allow_missing)
    file = write_file(target, content)
    for text in _left_out(scene):
        _log.warning("scene %r: %s", scene.name, text)
        scene.link.log_text(LogLevel.WARNING, text)
    return file


def scene_bundle(scene: "Scene | BatchScene", *, allow_missing: Collection[str] = ()) -> bytes:
    """Return a scene as the bytes of a scene file, without its state; owner thread only.

    The same scene has the same bytes. Raises EngineError, naming it, for what changes the physics,
    can't travel and is not in ``allow_missing``; StateError where an asset was written into;
    FilesUnavailableError.
    """
    needed("defusedxml")
    world = scene.world
    missing = _missing(world, allow_missing, scene_name=scene.name)
    model, changes = _as_made(scene)
    if world.portable is None:
        world.portable = portable_model(world.source, adapter=world.adapter)
    members: dict[str, bytes] = {
        EXACT_MODEL: bytes(mjb_of(model, adapter=world.adapter)),
        DESCRIPTION: _description(scene),
    }
    if world.portable.content:
        members[PORTABLE_MODEL] = world.portable.content
    manifest = SceneManifest(
        format=FORMAT,
        stroboscope=_version(),
        engine="mujoco",
        engine_version=world.adapter.version,
        name=scene.name,
        origin=_neutral_origin(world.source.origin),
        model_digest=world.codec.digest.hex(),
        members={name: hashlib.sha256(content).hexdigest() for name, content in members.items()},
        fields=world.codec.fields.table.checks,
        portable_note=world.portable.missing,
        n_envs=int(getattr(scene, "n_envs", 0)),
        playback=str(scene.playback),
        options=_plain_options(world.options),
        changes=changes,
        channels=_channels(scene),
        script_states=tuple(sorted(scene.states.script.registered)),
        plugins=_plugins(world),
        missing=missing,
    )
    return pack_archive({MANIFEST: msgspec.json.encode(manifest), **members})


def _version() -> str:
    try:
        return importlib.metadata.version("stroboscope")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _neutral_origin(origin: str) -> str:
    """Return where a model came from, without the folder."""
    return origin.replace("\\", "/").rstrip("/").rpartition("/")[2]


def _description(scene: "Scene | BatchScene") -> bytes:
    """Return the scene in the protocol's words, for who has no MuJoCo."""
    description = scene.backend.describe(0, scene.name)
    neutral = msgspec.structs.replace(
        description, revision=0, source=_neutral_origin(description.source)
    )
    return msgspec.json.encode(neutral)


def _plain_options(options: SceneOptions) -> dict[str, object]:
    names = SceneOptions.__dataclass_fields__
    values = {name: getattr(options, name) for name in names}
    return {
        name: sorted(value) if isinstance(value, frozenset) else value
        for name, value in values.items()
        if value is not None
    }


def _channels(scene: "Scene | BatchScene") -> dict[str, tuple[str, ...]]:
    """Return what the script has logged so far, with the names of its numbers."""
    return dict(sorted(scene.logged_names.items()))


# --- what can't travel


def _missing(world: "World", allowed: Collection[str], *, scene_name: str) -> tuple[str, ...]:
    """Return what changes the physics and stays behind, all of it allowed."""
    if isinstance(allowed, str) or not isinstance(allowed, Iterable):
        raise TypeError(f"allow_missing must be a list of names, not {shown(allowed)}")
    found = [
        name for name in world.adapter.installed_callbacks() if name not in _OBSERVING_CALLBACKS
    ]
    found += [
        f"plugin {name}"
        for name in sorted(set(_plugins(world).values()))
        if not name.startswith(_OWN_PLUGINS)
    ]
    refused = [name for name in found if name not in allowed]
    if refused:
        raise EngineError(
            f"scene {scene_name!r} can't be exported as it is: {', '.join(refused)} "
            f"{'changes' if len(refused) == 1 else 'change'} the physics and can't travel in a "
            "file (it holds no code); without it the scene goes on differently. If that is what "
            f"you want: allow_missing={refused!r}"
        )
    return tuple(found)


def _plugins(world: "World") -> dict[str, str]:
    """Return the plugins that the model uses, by the number that the compiled model has."""
    model = world.model
    if not int(getattr(model, "nplugin", 0)):
        return {}
    names = world.adapter.plugin_names()
    numbers = sorted({int(number) for number in np.asarray(model.plugin)})
    return {
        str(number): names[number] if number < len(names) else f"number {number}"
        for number in numbers
    }


def _left_out(scene: "Scene | BatchScene") -> list[str]:
    """Return what does not come along without changing the physics, in sentences."""
    left = [f"{event.value} callbacks" for event in Event if scene.callbacks.has(event)]
    left += [
        name for name in scene.world.adapter.installed_callbacks() if name in _OBSERVING_CALLBACKS
    ]
    if scene.drawing is not None:
        left.append("what debug_draw has drawn")
    left += [f"the script state {name!r}" for name in sorted(scene.states.script.registered)]
    texts = []
    if left:
        texts.append(f"not in the exported file, as it is the script's own: {', '.join(left)}")
    portable = scene.world.portable
    if portable is not None and portable.missing:
        texts.append(
            f"only MuJoCo {scene.world.adapter.version} can open the exported file, which holds no "
            f"portable model: {portable.missing}"
        )
    return texts


# --- what was written into the model


def _as_made(scene: "Scene | BatchScene") -> tuple[Any, tuple[ChangedField, ...]]:
    """Return the model as the scene was made with it, and what was written into it since."""
    world = scene.world
    fields = world.codec.fields
    model, saved = world.model, []
    found = fields.changes(model)
    if found:
        model = copy.copy(model)
    for change in found:
        before = fields.value(change.field)
        if before is None:
            raise StateError(
                f"scene {scene.name!r} can't be exported: {change.field} was written into; call "
                "scene.model_changed() first, so that it counts as the scene's own"
            )
        write_field(model, change.field, before)
        saved.append(_changed(change.field, change.now, text=change.text))
    if any(int(getattr(model, name)) != known for name, known in fields.sizes.items()):
        # mj_setConst counts some (ngravcomp); what else it writes is put back again.
        module = world.adapter.module
        module.mj_setConst(model, module.MjData(model))
        for change in fields.changes(model):
            write_field(model, change.field, change.before)
    environments = getattr(scene, "environments", None)
    if environments is not None:
        # The model of a batch shows the environment that is looked at.
        saved = [
            _changed(name, np.asarray(values), environments=True)
            for name, values in sorted(environments.expanded.items())
        ]
    return model, tuple(saved)


def _changed(
    field: str, values: "np.ndarray[Any, Any]", *, text: str = "", environments: bool = False
) -> ChangedField:
    return ChangedField(
        field=field,
        dtype=values.dtype.str,
        shape=values.shape,
        content=values.tobytes(),
        text=text,
        environments=environments,
    )
