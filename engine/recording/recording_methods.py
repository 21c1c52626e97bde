"""The part of :class:`Scene` that is about recording."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from stroboscope.engine.arguments import checked_path, flag
from stroboscope.engine.env_indices import refuse_environments
from stroboscope.engine.errors import RecordingError
from stroboscope.engine.files.atomic import refuse_no_file
from stroboscope.engine.recording.batch_flight_recorder import BatchFlightRecorder
from stroboscope.engine.recording.checkpoint_file import save_checkpoint_file
from stroboscope.engine.recording.file_recording import FileRecording
from stroboscope.engine.recording.flight_recorder import SceneFlightRecorder
from stroboscope.engine.recording.past_of_batch import saving_of_batch
from stroboscope.engine.recording.recording import Recording, stop_of_scene
from stroboscope.engine.recording.saved_causes import SavedCauses
from stroboscope.engine.recording.saving import Saving
from stroboscope.engine.recording.scene_recorders import SceneRecorders
from stroboscope.engine.recording.scene_tap import final_row
from stroboscope.engine.recording.trajectory_file import TrajectoryFile, trajectory_file

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.scene_link import SceneLink
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.scene import Scene

__all__ = ["RecordingMethods", "new_recording"]


def new_recording(
    scene: "Scene | BatchScene", wanted: TrajectoryFile, *, causes: SavedCauses | None = None
) -> Recording:
    """Return a recording of a scene as it is wanted, to begin with; by its owner.

    ``causes``: what flight recorders have saved together. Raises what
    :meth:`RecordingMethods.start_recording` does.
    """
    if not wanted.is_flight_recorder:
        return FileRecording(wanted, [scene])
    refuse_no_file(wanted.path)  # not first when there is something to save
    if hasattr(scene, "n_envs"):
        return BatchFlightRecorder(wanted, cast("BatchScene", scene), causes=causes)
    if wanted.envs is not None:
        refuse_environments(wanted.envs, scene_name=scene.name)
    return SceneFlightRecorder(wanted, scene, causes=causes)


class RecordingMethods:
    """Methods of a scene about recording it; owner thread only."""

    recorders: SceneRecorders
    link: "SceneLink"
    _guard: Callable[[], None]

    def start_recording(self, file: str | os.PathLike[str] | TrajectoryFile) -> Recording:
        """Record every physics step from now on into a file, attached or not.

        ``file``: a path, or a :class:`TrajectoryFile` that says how. The file is complete after
        :meth:`stop_recording`, or the end of ``with scene.start_recording(…):``; when the process
        is killed, all but the last quarter of a second is in it. The last frame is the state that
        the scene stands in then. Several recordings may run at once.

        Raises FileWriteError when the file can't be created, TypeError and ValueError for
        arguments that make no sense.
        """
        self._guard()
        scene = cast("Scene", self)
        recording = new_recording(scene, trajectory_file(file))
        recording.begin(scene)
        return recording

    def save_history(self, path: str | os.PathLike[str], *, envs_idx: object = None) -> Path:
        """Write all that the history of this scene holds into a file, as if it had been recorded.

        Rows that were thinned out are left out: the file says by its steps which. Of many
        environments each is a scene of the file, all of them or ``envs_idx``, from the oldest row
        on that is remembered of it. Returns when the file is complete; while it is not, there is
        none, or the one of before. Raises RecordingError when it can't be written; for
        ``envs_idx`` what :meth:`reset` raises.
        """
        self._guard()
        scene = cast("Scene", self)
        wanted = TrajectoryFile(path, envs=envs_idx)
        scene.runtime.recordings.check_free(wanted.path)
        if self._has_environments:
            return saving_of_batch(cast("BatchScene", self), wanted).stop()
        if envs_idx is not None:
            refuse_environments(envs_idx, scene_name=scene.name)
        final = final_row(scene, scene.world)
        return Saving.of_scene(wanted, scene, path=wanted.path, final=final).stop()

    def save_checkpoint(
        self, path: str | os.PathLike[str], *, envs_idx: object = None, with_scene: bool = True
    ) -> Path:
        """Write the complete dynamic state, with step and time, into a file of one frame.

        ``with_scene``: with the model, so that ``physics.load_checkpoint(path)`` builds the scene
        anywhere; without it the file has some kilobytes, and goes into a scene that is there,
        ``scene.load_checkpoint(path)``. ``.mcap`` is appended when the path has no suffix. The file
        is there as a whole or not at all. What the script has registered (:meth:`register_state`)
        is in it, never pickled: TypeError names what can't be. Of a scene with environments it
        stays behind, which is logged. Raises FileWriteError; for ``envs_idx`` what :meth:`reset`
        raises.
        """
        self._guard()
        whole = flag(with_scene, "with_scene")
        wanted = TrajectoryFile(checked_path(path, "path"), envs=envs_idx)
        return save_checkpoint_file(cast("Scene", self), wanted, with_scene=whole)

    @property
    def _has_environments(self) -> bool:
        return hasattr(self, "n_envs")

    def stop_recording(self) -> Path:
        """End the newest recording of this scene; return the file, which is complete.

        One of several scenes goes on with the others. Raises RecordingError when nothing is
        recorded, or where the disk has failed: what was written before that is in the file; and
        RecordingFullError where the file had its size before the newest frames were written.
        """
        self._guard()
        recordings = self.recorders.recordings
        ended, self.recorders.ended = self.recorders.ended, None
        if not recordings and ended is not None:
            return cast("Recording", ended).stop()
        if not recordings:
            raise RecordingError(
                f"scene {self.link.name!r} is not recorded: call scene.start_recording(…) first"
            )
        return stop_of_scene(cast("Scene", self), cast("Recording", recordings[-1]))
