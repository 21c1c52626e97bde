"""Recording one scene for clients; owner thread only, but what is told."""

from typing import TYPE_CHECKING, Final

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.message_base import Command
from stroboscope.debugger_protocol.recording_messages import (
    SaveHistory,
    SceneRecording,
    StartRecording,
    StopRecording,
)

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.time_machine import TimeMachine

__all__ = ["RECORDING_WORDS", "RecordingDesk"]

RECORDING_WORDS: dict[type[Command], str] = {
    StartRecording: "start recording",
    StopRecording: "stop recording",
    SaveHistory: "save history",
}
"""The commands that a :class:`RecordingDesk` performs, and what they are called."""

_LONGEST_NAME: Final = 100
_FORBIDDEN: Final = frozenset('/\\:*?"<>|')
_MODES: Final = ("exact", "minimal", "auto")


class RecordingDesk:
    """What records a scene. ``told`` is what clients are told, replaced by reference."""

    def __init__(self, scene_id: int) -> None:
        self.told = SceneRecording(scene_id=scene_id)

    def perform(self, machine: "TimeMachine", command: Command) -> str:
        """Do what a client asks for; return the file. Raises CommandError."""
        match command:
            case StartRecording():
                if command.mode not in _MODES:
                    raise CommandError(
                        f"mode must be one of {', '.join(_MODES)}, not {command.mode[:40]!r}"
                    )
                path = machine.start_recording(file_name(command.name), mode=command.mode)
            case SaveHistory():
                path = machine.save_history(file_name(command.name))
            case StopRecording():
                path = machine.stop_recording(command.name)
            case _:
                raise AssertionError(command)
        self.refresh(machine)
        return path

    def refresh(self, machine: "TimeMachine") -> bool:
        """Note what records the scene; return whether that is news."""
        told = SceneRecording(scene_id=self.told.scene_id, recordings=machine.recordings())
        if told == self.told:
            return False
        self.told = told
        return True


def file_name(name: str) -> str:
    """Return a name that can be a file's, and can name no folder; CommandError for any other."""
    name = name.strip()
    wrong = sorted(set(name) & _FORBIDDEN)
    if wrong or not name.isprintable() or name.startswith(".") or name.endswith("."):
        raise CommandError(
            f"a recording's name is no path and has none of {' '.join(sorted(_FORBIDDEN))}, "
            f"not {name[:_LONGEST_NAME]!r}"
        )
    if len(name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME:
        raise CommandError(
            f"a recording's name has at most {_LONGEST_NAME} bytes, this one has "
            f"{len(name.encode('utf-8', 'surrogatepass'))}"
        )
    return name
