"""The words of ``stroboscope ctl`` about the environments of a batch."""

import argparse
from typing import TextIO

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.ctl_json import add_json, write_json
from stroboscope.debugger_protocol.ctl_words import Add, Command
from stroboscope.debugger_protocol.environment_grid import grid_with

__all__ = ["COMMANDS", "add_arguments", "only_looks"]


def add_arguments(add: Add) -> None:
    """Add the parsers of :data:`COMMANDS`; ``add`` makes one from a name and a help text."""
    environments = add("environments", "list the environments of a scene, or look at one")
    environments.add_argument("selected", nargs="?", type=int, help="number of the one to look at")
    environments.add_argument(
        "--shown",
        nargs="*",
        type=int,
        default=[],
        help="those in the grid; as it is, around the one that is looked at, unless given",
    )
    add_json(environments)
    fork = add("fork", "copy the state of one environment to others")
    fork.add_argument("source", type=int)
    fork.add_argument("targets", nargs="+", type=int)


def only_looks(name: str, arguments: argparse.Namespace) -> bool:
    """Return whether a command changes nothing, so that it needs no control."""
    return name == "environments" and arguments.selected is None


def _environments(
    client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO
) -> None:
    told = client.environments(scene_id)
    if a.selected is not None:
        shown = a.shown
        if told is not None and not shown:
            # Who looks at a grid keeps it.
            shown = grid_with(a.selected, told.shown, looked_at=told.selected, count=told.count)
        client.select_environments(scene_id, a.selected, shown)
        told = client.environments(scene_id)
    if a.json:
        write_json(out, told)
        return
    if told is None:
        out.write("this scene has no environments: it is one world\n")
        return
    failed = ", ".join(map(str, told.failed)) or "none"
    more = told.failed_count - len(told.failed)
    out.write(
        f"{told.count} environments, {told.selected} selected, "
        f"{len(told.shown)} shown; failed: {failed}{f' (+{more} more)' if more else ''}\n"
    )


def _fork(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    client.fork(scene_id, a.source, a.targets)
    out.write(f"environment {a.source} copied to {len(a.targets)} others\n")


COMMANDS: dict[str, Command] = {
    "environments": _environments,
    "fork": _fork,
}
"""What each word does with a client, a scene and its arguments."""
