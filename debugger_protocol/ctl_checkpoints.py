"""The words of ``stroboscope ctl`` about checkpoints: keeping, listing, restoring, forgetting."""

import argparse
from typing import TextIO

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.ctl_edits import tell_last_edit
from stroboscope.debugger_protocol.ctl_json import add_json, write_items
from stroboscope.debugger_protocol.ctl_words import Add, Command, find_scene
from stroboscope.debugger_protocol.edit_messages import CheckpointInfo, CheckpointOrigin
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.plain_text import plain_line

__all__ = ["COMMANDS", "add_arguments", "only_looks"]


def add_arguments(add: Add) -> None:
    """Add the parsers of :data:`COMMANDS`; ``add`` makes one from a name and a help text."""
    checkpoint = add("checkpoint", "keep the state under a name; without a name: list what is kept")
    checkpoint.add_argument("name", nargs="?", default="")
    checkpoint.add_argument("--note", default="", help="what to remember of it")
    back = add("back", "put a scene back to a checkpoint")
    back.add_argument("checkpoint", help="name or number; of several with that name the newest")
    back.add_argument("--from", dest="source", help="the scene that keeps it, by name or id")
    checkpoints = add("checkpoints", "list what is kept of a scene")
    forget = add("drop-checkpoint", "forget a checkpoint; the script keeps its own")
    forget.add_argument("checkpoint", help="name or id")
    label = add("label-checkpoint", "give a checkpoint another name or note")
    label.add_argument("checkpoint", help="name or id")
    label.add_argument("--name")
    label.add_argument("--note")
    add_json(checkpoint, checkpoints, label)


def only_looks(name: str, arguments: argparse.Namespace) -> bool:
    """Return whether a command changes nothing, so that it needs no control."""
    return name == "checkpoints" or (name == "checkpoint" and not arguments.name)


def _checkpoint(
    client: DebuggerClient, scene_id: int, arguments: argparse.Namespace, out: TextIO
) -> None:
    if arguments.name:
        client.checkpoint(scene_id, arguments.name, note=arguments.note)
    elif arguments.note:
        raise CommandError("a note is of a checkpoint that is kept: write its name, too")
    _checkpoints(client, scene_id, arguments, out)


def _checkpoints(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    write_items(a, out, client.checkpoints(scene_id), _line, empty="no checkpoints yet")


def _line(info: CheckpointInfo) -> str:
    script = "  (by the script)" if info.origin is CheckpointOrigin.SCRIPT else ""
    approximate = f" (approximate: {info.approximate})" if info.approximate else ""
    note = f"  {info.note}" if info.note else ""
    line = plain_line(
        f"{info.checkpoint_id:>4}  step {info.step_count:>9}  {info.time:10.3f} s  "
        f"{info.nbytes:>9} bytes  {info.name}{script}{approximate}{note}"
    )
    return f"{line}\n"


def _back(
    client: DebuggerClient, scene_id: int, arguments: argparse.Namespace, out: TextIO
) -> None:
    source = find_scene(client, arguments.source).scene_id if arguments.source else scene_id
    client.restore(scene_id, arguments.checkpoint, source_scene_id=source)
    tell_last_edit(client, scene_id, out)


def _drop_checkpoint(
    client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO
) -> None:
    client.drop_checkpoint(scene_id, a.checkpoint)
    out.write(f"checkpoint {a.checkpoint} dropped\n")


def _label_checkpoint(
    client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO
) -> None:
    client.label_checkpoint(scene_id, a.checkpoint, name=a.name, note=a.note)
    _checkpoints(client, scene_id, a, out)


COMMANDS: dict[str, Command] = {
    "checkpoint": _checkpoint,
    "checkpoints": _checkpoints,
    "back": _back,
    "drop-checkpoint": _drop_checkpoint,
    "label-checkpoint": _label_checkpoint,
}
"""What each word does with a client, a scene and its arguments."""
