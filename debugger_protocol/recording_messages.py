"""Recording scenes into files of the application's machine.

Clients name a recording, never a path: the application writes into the folder that its script has
chosen, and answers where that is.
"""

import msgspec

from stroboscope.debugger_protocol.message_base import Command, Message

__all__ = [
    "RecordingInfo",
    "SaveHistory",
    "SceneRecording",
    "StartRecording",
    "StopRecording",
]


class StartRecording(Command, frozen=True, kw_only=True, tag="start_recording"):
    """Record every physics step of a scene from now on; the answer's note is the file.

    ``name``: what to call it, 1 to 100 characters that are no path; empty: after the scene.
    ``mode``: "exact" (every bit), "minimal" (inputs and digests) or "auto".
    """

    scene_id: int
    name: str = ""
    mode: str = "exact"


class StopRecording(Command, frozen=True, kw_only=True, tag="stop_recording"):
    """End a recording of a scene; answered, with the file, when that is complete.

    ``name``: its file, with or without folder and ending; empty: the newest recording.
    """

    scene_id: int
    name: str = ""


class SaveHistory(Command, frozen=True, kw_only=True, tag="save_history"):
    """Write what a scene remembers into a file; answered, with the file, when it is complete."""

    scene_id: int
    name: str = ""


class RecordingInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One recording: its newest file, frames and bytes written so far.

    ``keep_last`` [s]: of a flight recorder, whose frames are in memory; else 0. ``failure``: why
    nothing is written any more, empty while it is.
    """

    path: str
    frames: int = 0
    nbytes: int = 0
    keep_last: float = 0.0
    failure: str = ""


class SceneRecording(Message, frozen=True, kw_only=True, tag="scene_recording"):
    """What records a scene, oldest first; told on change, a few times a second while it grows."""

    scene_id: int
    recordings: tuple[RecordingInfo, ...] = ()
