"""Recording several scenes into one file."""

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from stroboscope.engine.arguments import shown
from stroboscope.engine.errors import EngineError, RecordingError
from stroboscope.engine.recording.by_owner import is_mine
from stroboscope.engine.recording.file_recording import FileRecording
from stroboscope.engine.recording.recording import Recording
from stroboscope.engine.recording.trajectory_file import TrajectoryFile, trajectory_file
from stroboscope.engine.runtime import current_runtime
from stroboscope.engine.scene_life import SceneLife

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.scene import Scene

__all__ = ["start_recording"]


def start_recording(
    file: str | os.PathLike[str] | TrajectoryFile,
    *,
    scenes: "Iterable[Scene | BatchScene] | None" = None,
) -> Recording:
    """Record several scenes, all there are unless ``scenes``, into one file; any thread.

    One that is named twice is recorded once.

    Those of the calling thread are recorded from now on, those of other threads from their next
    step on. Each ends with ``scene.stop_recording()``, or all of them with ``recording.stop()``.
    Raises what :meth:`Scene.start_recording` does, and RecordingError when there is no scene, or
    for a flight recorder (``keep_last``), which is one scene's.
    """
    wanted = trajectory_file(file)
    if isinstance(scenes, str | Mapping) or not isinstance(scenes, Iterable | None):
        raise TypeError(f"scenes must be a list of scenes, not {shown(scenes)}")
    chosen = list(current_runtime().scenes if scenes is None else scenes)
    for scene in chosen:
        if not isinstance(scene, SceneLife):
            raise TypeError(f"scenes must be scenes, not {shown(scene)}")
        if scene.is_destroyed:
            raise EngineError(f"{scene!r} can't be recorded: it is no more")
    if not chosen and scenes is not None:
        raise RecordingError(f"scenes must be one scene at least, not {shown(scenes)}")
    if not chosen:
        raise RecordingError("there is no scene to record: create one first")
    if wanted.is_flight_recorder:
        raise RecordingError(
            "a flight recorder (keep_last) keeps the past of one scene: start one for each, with "
            "scene.start_recording"
        )
    chosen = list(dict.fromkeys(chosen))  # of one that is named twice each frame once
    recording = FileRecording(wanted, chosen)
    for scene in chosen:
        if is_mine(scene):
            recording.begin(scene)
        else:
            scene.call_soon(lambda scene=scene: recording.begin(scene))  # type: ignore[misc]
    return recording
