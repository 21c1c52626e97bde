"""Recording for clients of the debugger: they name a file, the script has chosen the folder."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.recording_messages import RecordingInfo
from stroboscope.engine.arguments import checked_path
from stroboscope.engine.errors import EngineError
from stroboscope.engine.recording.flight_recorder import FlightRecorder
from stroboscope.engine.recording.recording import Recording, stop_of_scene
from stroboscope.engine.recording.scene_records import MOST_UNASKED
from stroboscope.engine.recording.trajectory_file import TrajectoryFile
from stroboscope.engine.runtime import current_runtime

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.scene import Scene

__all__ = [
    "recordings_of",
    "save_history_for_client",
    "set_recordings_folder",
    "start_for_client",
    "stop_for_client",
]

_T = TypeVar("_T")
_SUFFIX = ".mcap"
_MOST_NUMBER = 10_000
_MOST_SHOWN = 100
_NAMED = 8


def set_recordings_folder(folder: str | os.PathLike[str]) -> None:
    """Say where recordings go that are asked for in the window or by ``stroboscope ctl``.

    The folder that the script was started in, unless said; it is made when it is needed. Any
    thread.
    """
    current_runtime().recordings.folder = Path(checked_path(folder, "folder")).absolute()


def start_for_client(scene: "Scene | BatchScene", name: str, *, mode: str) -> str:
    """Start a recording; return the file. Raises CommandError.

    Of more environments than are recorded unasked, those that are shown.
    """
    path, envs = _free_path(scene, name), None
    n_envs = int(getattr(scene, "n_envs", 0))
    if n_envs > MOST_UNASKED:
        selected = cast("BatchScene", scene).selected
        envs = sorted({selected.env, *selected.shown})
    recording = _told(lambda: scene.start_recording(TrajectoryFile(path, mode=mode, envs=envs)))
    if envs is not None:
        named = ", ".join(map(str, envs[:_NAMED])) + ", …" * (len(envs) > _NAMED)
        scene.link.log_text(
            LogLevel.INFO,
            f"of {n_envs:,} environments those that are shown are recorded: {named}",
        )
    return str(recording.path)


def stop_for_client(scene: "Scene | BatchScene", name: str) -> str:
    """End the newest recording, or the one into ``name``; return the file. Raises CommandError."""
    if not name:
        return str(_told(scene.stop_recording))
    running = [each for each in scene.recorders.recordings if isinstance(each, Recording)]
    for recording in reversed(running):
        if any(name in (str(path), path.name, path.stem) for path in recording.paths):
            return str(_told(partial(stop_of_scene, scene, recording)))
    known = ", ".join(repr(each.path.stem) for each in running)
    what = f"these are: {known}" if known else "nothing is recorded"
    raise CommandError(f"nothing is recorded into {name[:_MOST_SHOWN]!r}; {what}")


def save_history_for_client(scene: "Scene | BatchScene", name: str) -> str:
    """Save what is remembered; return the file. Raises CommandError."""
    path = _free_path(scene, name)
    return str(_told(lambda: scene.save_history(path)))


def recordings_of(scene: "Scene | BatchScene") -> tuple[RecordingInfo, ...]:
    """Return what clients are told of the recordings of a scene."""
    return tuple(_info(each) for each in scene.recorders.recordings if isinstance(each, Recording))


def _info(recording: Recording) -> RecordingInfo:
    keeps = recording.keep_last if isinstance(recording, FlightRecorder) else 0.0
    error = recording.error
    return RecordingInfo(
        path=str(recording.path),
        frames=recording.frames,
        nbytes=recording.nbytes,
        keep_last=keeps,
        failure="" if error is None else str(error),
    )


def _free_path(scene: "Scene | BatchScene", name: str) -> Path:
    """Return a file in the script's folder that is not there yet."""
    folder = scene.runtime.recordings.folder or Path.cwd()
    stem = name.removesuffix(_SUFFIX) or _plain(scene.name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(
            f"there is no folder {folder} to record into ({error.strerror or error}): the script "
            "may name another one, physics.set_recordings_folder(…)"
        ) from error
    for number in range(1, _MOST_NUMBER):
        path = folder / f"{stem}{f'-{number}' if number > 1 else ''}{_SUFFIX}"
        if not path.exists():
            return path
    raise CommandError(f"there are {_MOST_NUMBER:,} recordings called {stem!r}: take another name")


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() or c in " -_()" else "_" for c in name).strip() or "scene"


def _told(action: Callable[[], _T]) -> _T:
    try:
        return action()
    except (EngineError, ValueError, TypeError) as error:
        raise CommandError(str(error)) from error
