"""Making scenes: of a model of our own, or around the script's own model and data."""

import os
from typing import Any, overload

from stroboscope.debugger_protocol.exceptions import SceneClosedError
from stroboscope.engine.arguments import checked_path, plain_text, shown, whole_number
from stroboscope.engine.batch.batch_scene import BatchScene
from stroboscope.engine.batch.environments import refuse_callbacks
from stroboscope.engine.errors import EngineError
from stroboscope.engine.live_data import HeldData, LiveData, WatchedData, check_pair
from stroboscope.engine.model_source import ModelSource, load_model_source
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.options import Playback, SceneOptions
from stroboscope.engine.runtime import current_runtime
from stroboscope.engine.scene import Scene
from stroboscope.engine.scene_life import SceneLife

__all__ = ["adopt_scene", "create_scene", "destroy_scene"]

MOST_ENVS = 2**31 - 1
"""Environments of one scene at most: MuJoCo counts them in 32 bits."""


@overload
def create_scene(
    name: str,
    model: object = None,
    *,
    data: Any = None,
    n_envs: None = None,
    options: SceneOptions | None = None,
    playback: str | None = None,
    source: str | os.PathLike[str] | None = None,
) -> Scene: ...
@overload
def create_scene(
    name: str,
    model: object = None,
    *,
    n_envs: int,
    options: SceneOptions | None = None,
    playback: str | None = None,
    source: str | os.PathLike[str] | None = None,
) -> BatchScene: ...
def create_scene(
    name: str,
    model: object = None,
    *,
    data: Any = None,
    n_envs: int | None = None,
    options: SceneOptions | None = None,
    playback: str | None = None,
    source: str | os.PathLike[str] | None = None,
) -> Scene | BatchScene:
    """Create a scene; the calling thread is its owner.

    ``model``: path to MJCF or URDF, a string of MJCF, ``mujoco.MjSpec``, ``mujoco.MjModel``, or
    None for an empty world with a floor. It is copied, except with ``data``: then the scene adopts
    the script's own ``MjModel`` and ``MjData``. ``options`` change what the model says; those of
    another scene (``other.options``) make this one as that one was made. ``playback="free"`` makes
    a scene that the debugger neither parks nor paces ("follow" when ``options`` say nothing of it).
    ``source`` names the file that an adopted model came from. A name that is taken gets a number.
    ``n_envs`` makes a :class:`BatchScene` of so many environments, whose arrays have a leading
    dimension, also for one.

    Raises ModelError when the model can't be loaded, MujocoUnavailableError without MuJoCo,
    EngineError for ``n_envs`` while Python callbacks are installed in MuJoCo, TypeError and
    ValueError for arguments that do not fit.
    """
    name = checked_scene_name(name)
    options = checked_options(options)
    chosen = checked_playback(playback, options) or Playback.FOLLOW
    if source is not None:
        source = plain_text(checked_path(source, "source"), "source")
    if n_envs is not None and data is not None:
        raise ValueError(
            "give n_envs or data, not both: environments have their states in the batch"
        )
    if data is not None:
        return adopt_scene(name, model, data, source=source, options=options, playback=chosen)
    adapter = load_mujoco()
    if n_envs is not None:
        n_envs = checked_n_envs(n_envs)
        refuse_callbacks(adapter)  # with them no model can be compiled either
    loaded = load_model_source(model, options=options or SceneOptions(), adapter=adapter)
    if source is not None:
        loaded = ModelSource(loaded.model, loaded.spec, os.fspath(source), loaded.spec_missing)
    if n_envs is not None:
        return open_batch(name, loaded, n_envs, playback=chosen)
    live = HeldData(adapter.module.MjData(loaded.model))
    return open_scene(name, loaded, live, adopted=False, playback=chosen)


def adopt_scene(
    name: str,
    model: Any,
    data: Any,
    *,
    source: str | os.PathLike[str] | None = None,
    options: SceneOptions | None = None,
    playback: Playback = Playback.FOLLOW,
    keep_alive: bool = True,
) -> Scene:
    """Create a scene around the script's own model and data, without copying them.

    With ``keep_alive=False`` the data dies when the script drops it (the scene is then of no use
    and must be ended by whoever watches that). The model is not changed: ``options`` must be
    unset. Raises TypeError or ValueError when model and data are no pair.
    """
    adapter = load_mujoco()
    check_pair(model, data, adapter=adapter)
    if options is not None and not options.is_default():
        raise ValueError(
            "an adopted scene's options are the script's own: set them in its model instead"
        )
    origin = os.fspath(source) if source is not None else "the script's own MjModel"
    loaded = ModelSource(model, None, origin, "it adopted the script's own model")
    live = HeldData(data) if keep_alive else WatchedData(data)
    return open_scene(name, loaded, live, adopted=True, playback=playback)


def open_scene(
    name: str, source: ModelSource, live: LiveData, *, adopted: bool, playback: Playback
) -> Scene:
    """Make a scene of a model that is loaded, and its data; for the engine."""
    runtime = current_runtime()
    try:
        scene = Scene(
            name,
            source,
            live,
            runtime=runtime,
            adopted=adopted,
            playback=playback,
            adapter=load_mujoco(),
        )
    except SceneClosedError as error:
        raise EngineError(
            f"scene {name!r} can't be made: {error}; call initialize() again"
        ) from None
    runtime.add(scene)
    return scene


def open_batch(name: str, source: ModelSource, n_envs: int, *, playback: Playback) -> BatchScene:
    """Make a scene of many environments of a model that is loaded; for the engine."""
    runtime = current_runtime()
    try:
        scene = BatchScene(
            name, source, n_envs, runtime=runtime, playback=playback, adapter=load_mujoco()
        )
    except SceneClosedError as error:
        raise EngineError(
            f"scene {name!r} can't be made: {error}; call initialize() again"
        ) from None
    runtime.add(scene)
    return scene


def checked_scene_name(name: object) -> str:
    """Return a scene's name; TypeError or ValueError when it is none."""
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"a scene needs a name, not {shown(name)}")
    return plain_text(name, "a scene's name")


def checked_options(options: object) -> SceneOptions | None:
    """Return the options of a scene; TypeError when they are none."""
    if options is None or isinstance(options, SceneOptions):
        return options
    raise TypeError(
        f"options must be SceneOptions(...) or another scene's options, not {shown(options)}"
    )


def checked_playback(playback: object, options: SceneOptions | None) -> Playback | None:
    """Return how a scene is played, which ``options`` say otherwise; ValueError for anything else.

    None: neither says anything.
    """
    if playback is None:
        playback = options and options.playback
    try:
        return None if playback is None else Playback(playback)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError(f"playback must be 'follow' or 'free', not {shown(playback)}") from None


def checked_n_envs(n_envs: object) -> int:
    """Return the number of environments; TypeError or ValueError when it is none."""
    return whole_number(n_envs, "n_envs", least=1, most=MOST_ENVS)


def destroy_scene(scene: SceneLife) -> None:
    """End a scene, on its owner thread (or on any when that has ended). Twice is harmless."""
    if not isinstance(scene, SceneLife):
        raise TypeError(f"destroy_scene takes a scene, not {shown(scene)}")
    scene.destroy()
