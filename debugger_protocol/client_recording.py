"""How a client has scenes recorded."""

from typing import Any

from stroboscope.debugger_protocol import recording_messages as rm
from stroboscope.debugger_protocol.client_time import TimeClient
from stroboscope.debugger_protocol.limits import Limits

__all__ = ["RecordingClient"]


class RecordingClient(TimeClient):
    """The part of a client that records. Methods may be called from any thread.

    Files are written where the application runs, into the folder that its script has chosen.
    """

    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self._recordings: dict[int, rm.SceneRecording] = {}

    def start_recording(self, scene_id: int, name: str = "", *, mode: str = "exact") -> str:
        """Record every physics step of a scene from now on; return the file.

        ``name`` is no path; empty: after the scene. ``mode``: "exact", "minimal" or "auto".
        """
        done = self._done(rm.StartRecording, scene_id=scene_id, name=name, mode=mode)
        return str(done.note)

    def stop_recording(self, scene_id: int, name: str = "") -> str:
        """End the newest recording of a scene, or the one into ``name``; return the file.

        The file is complete. Raises CommandError for a name that nothing is recorded into.
        """
        return str(self._done(rm.StopRecording, scene_id=scene_id, name=name).note)

    def save_history(self, scene_id: int, name: str = "") -> str:
        """Write what a scene remembers into a file; return it."""
        return str(self._done(rm.SaveHistory, scene_id=scene_id, name=name).note)

    def recordings(self, scene_id: int) -> tuple[rm.RecordingInfo, ...]:
        """Return what records a scene, oldest first, as last told."""
        with self._changed:
            told = self._recordings.get(scene_id)
            return told.recordings if told is not None else ()

    def _take_time_news(self, message: Any) -> bool:
        """Take what is about recordings or time, with the lock held; return whether it was."""
        if isinstance(message, rm.SceneRecording):
            self._recordings[message.scene_id] = message
            return True
        return super()._take_time_news(message)

    def _forget_time(self, scene_id: int) -> None:
        super()._forget_time(scene_id)
        self._recordings.pop(scene_id, None)
