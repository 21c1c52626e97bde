"""What records a scene into files, where its application runs. GUI thread only."""

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import TYPE_CHECKING

from stroboscope.app.models.signal import Signal
from stroboscope.debugger_protocol.message_base import Command
from stroboscope.debugger_protocol.recording_messages import (
    RecordingInfo,
    SaveHistory,
    SceneRecording,
    StartRecording,
    StopRecording,
)

if TYPE_CHECKING:
    from stroboscope.app.models.scene import SceneModel

__all__ = ["RecordedFile", "RecordingModel", "recorded_files"]

_Told = Callable[[str], object]


@dataclasses.dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file that is being recorded, and the scenes that go into it, of one application."""

    info: RecordingInfo
    scenes: "tuple[SceneModel, ...]"

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return PurePath(self.info.path).name

    @property
    def folder(self) -> str:
        """Its folder, on the application's machine."""
        return str(PurePath(self.info.path).parent)


def recorded_files(scenes: "Iterable[SceneModel]") -> tuple[RecordedFile, ...]:
    """Return what is recorded into files, oldest first per scene; no flight recorders."""
    found: dict[tuple[int, str], RecordedFile] = {}
    for scene in scenes:
        if scene.is_stale:
            continue
        for info in scene.recording.files:
            key = (scene.session.key, info.path)
            before = found[key].scenes if key in found else ()
            found[key] = RecordedFile(info, (*before, scene))
    return tuple(found.values())


class RecordingModel:
    """The recordings of one scene, oldest first; ``changed`` when they are others, or longer.

    Commands are answered with ``done`` (the file, as the application names it) or ``refused`` (the
    reason).
    """

    def __init__(self, scene: "SceneModel") -> None:
        self.changed: Signal[[]] = Signal()
        self.recordings: tuple[RecordingInfo, ...] = ()
        self._scene = scene

    @property
    def files(self) -> tuple[RecordingInfo, ...]:
        """Those into files, not the flight recorders, oldest first."""
        return tuple(each for each in self.recordings if not each.keep_last)

    @property
    def running(self) -> RecordingInfo | None:
        """The newest one into a file; None: there is none, or only flight recorders."""
        return self.files[-1] if self.files else None

    def receive(self, message: SceneRecording) -> None:
        """Take what the application has told."""
        self.recordings = message.recordings
        self.changed.emit()

    def close(self) -> None:
        """The scene is gone: nothing records it any more."""
        self.recordings = ()
        self.changed.emit()

    def start(self, name: str, *, mode: str, done: _Told, refused: _Told) -> None:
        """Record from now on. ``name`` is no path; empty: after the scene."""
        number = self._scene.scene_id
        self._send(
            lambda i: StartRecording(id=i, scene_id=number, name=name, mode=mode), done, refused
        )

    def stop(self, path: str = "", *, done: _Told, refused: _Told) -> None:
        """End the recording into a file, or the newest one."""
        number = self._scene.scene_id
        self._send(lambda i: StopRecording(id=i, scene_id=number, name=path), done, refused)

    def save_history(self, name: str, *, done: _Told, refused: _Told) -> None:
        """Save what is remembered."""
        number = self._scene.scene_id
        self._send(lambda i: SaveHistory(id=i, scene_id=number, name=name), done, refused)

    def _send(self, make: Callable[[int], Command], done: _Told, refused: _Told) -> None:
        sent = self._scene.session.send(
            make, note=done, otherwise=lambda _id, reason: refused(reason)
        )
        if sent is None:
            refused("The application is not attached any more.")
