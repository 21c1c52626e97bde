"""The part of :class:`Scene` that is about recording."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from stroboscope.engine.errors import RecordingError
from stroboscope.engine.history.scene_history import SceneHistory
from stroboscope.engine.recording.file_recording import FileRecording
from stroboscope.engine.recording.flight_recorder import FlightRecorder
from stroboscope.engine.recording.recording import Recording
from stroboscope.engine.recording.scene_recorders import SceneRecorders
from stroboscope.engine.recording.trajectory_file import TrajectoryFile, trajectory_file

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.host.scene_link import SceneLink
    from stroboscope.engine.scene import Scene

__all__ = ["RecordingMethods"]


class RecordingMethods:
    """Methods of a scene about recording it; owner thread only."""

    recorders: SceneRecorders
    link: "SceneLink"
    history: SceneHistory
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
        wanted = trajectory_file(file)
        recording: Recording
        if wanted.is_flight_recorder:
            recording = FlightRecorder(wanted, scene)
        else:
            recording = FileRecording(wanted, [scene])
        recording.begin(scene)
        return recording

    def stop_recording(self) -> Path:
        """End the newest recording of this scene; return the file, which is complete.

        One of several scenes goes on with the others. Raises RecordingError when nothing is
        recorded, or where the disk has failed: what was written before that is in the file.
        """
        self._guard()
        recordings = self.recorders.recordings
        if not recordings:
            raise RecordingError(
                f"scene {self.link.name!r} is not recorded: call scene.start_recording(…) first"
            )
        recording = cast("Recording", recordings[-1])
        recording.end_scene(cast("Scene", self), saves=True)
        return recording.path if recording.is_recording else recording.stop()
