"""``stroboscope ctl record``: recording scenes of a running session from the terminal."""

import argparse
from typing import TextIO

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.ctl_json import add_json, write_item, write_items
from stroboscope.debugger_protocol.ctl_words import Add, Command
from stroboscope.debugger_protocol.plain_text import plain_line
from stroboscope.debugger_protocol.recording_messages import RecordingInfo

__all__ = ["COMMANDS", "add_arguments", "only_looks"]

_ACTIONS = ("start", "stop", "save", "list")


def add_arguments(add: Add) -> None:
    """Add the parser of :data:`COMMANDS`; ``add`` makes one from a name and a help text."""
    record = add("record", "record a scene into a file of the script's folder, or save its history")
    record.add_argument("action", choices=_ACTIONS, help="save: what is remembered by now")
    record.add_argument(
        "name",
        nargs="?",
        default="",
        help="of the file, no path; stop: which one (default: the newest)",
    )
    record.add_argument(
        "--mode",
        choices=("exact", "minimal", "auto"),
        default="exact",
        help="every bit of every state (default), inputs and digests, or what the scene allows",
    )
    add_json(record)


def only_looks(name: str, arguments: argparse.Namespace) -> bool:
    """Return whether a command changes nothing, so that it needs no control."""
    return name == "record" and arguments.action == "list"


def _record(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    match a.action:
        case "start":
            _tell(a, out, "recording into", client.start_recording(scene_id, a.name, mode=a.mode))
        case "stop":
            _tell(a, out, "recorded", client.stop_recording(scene_id, a.name))
        case "save":
            _tell(a, out, "saved", client.save_history(scene_id, a.name))
        case _:
            write_items(a, out, client.recordings(scene_id), _line, empty="nothing is recorded")


def _tell(a: argparse.Namespace, out: TextIO, what: str, path: str) -> None:
    """Write which file it is about."""
    write_item(a, out, {"path": path}, lambda told: f"{what} {told['path']}\n")


def _line(info: RecordingInfo) -> str:
    how = f"the last {info.keep_last:g} s" if info.keep_last else f"{info.frames:,} frames"
    failure = f": {info.failure}" if info.failure else ""
    return f"{plain_line(f'{info.path}  {how}, {info.nbytes / 1e6:.1f} MB{failure}')}\n"


COMMANDS: dict[str, Command] = {"record": _record}
"""What the word does with a client, a scene and its arguments."""
