"""The words of ``stroboscope ctl`` that put one state beside another: ghosts, comparisons."""

import argparse
from functools import partial
from typing import TextIO

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.ctl_json import add_json, write_items, write_json
from stroboscope.debugger_protocol.ctl_words import Add, Command
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import GhostRef, GhostSource

__all__ = ["COMMANDS", "add_arguments", "only_looks"]

_REFERENCE = "row:118, checkpoint:NAME or :ID, rollout:ID, ended:ID (a scene that has ended), env:N"
_SOURCES = {
    "row": GhostSource.ROW,
    "checkpoint": GhostSource.CHECKPOINT,
    "rollout": GhostSource.ROLLOUT,
    "ended": GhostSource.ROLLOUT,
    "env": GhostSource.ENVIRONMENT,
}


def add_arguments(add: Add) -> None:
    """Add the parsers of :data:`COMMANDS`; ``add`` makes one from a name and a help text."""
    ghosts = add(
        "ghosts", f"show others beside a scene: {_REFERENCE}; none: show none; alone: list them"
    )
    ghosts.add_argument("references", nargs="*")
    compare = add("compare", f"compare two states or rollouts: {_REFERENCE}")
    compare.add_argument("first")
    compare.add_argument("second")
    compare.add_argument("--tolerance", type=float, default=0.0)
    add_json(ghosts, compare)


def only_looks(name: str, arguments: argparse.Namespace) -> bool:
    """Return whether a command changes nothing, so that it needs no control."""
    return name == "compare" or not arguments.references


def _ghosts(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    if not a.references:
        line = partial(_ghost_line, scene_id=scene_id)
        write_items(a, out, client.ghosts(scene_id), line, empty="no ghosts are shown")
        return
    references = [] if a.references == ["none"] else a.references
    client.show_ghosts(scene_id, [_reference(client, scene_id, text) for text in references])
    if a.json:
        write_json(out, client.ghosts(scene_id))
        return
    count = len(references)
    out.write("1 ghost is shown\n" if count == 1 else f"{count or 'no'} ghosts are shown\n")
    if count:
        out.write("in the windows of this session, and in the topic 'ghosts'\n")


def _ghost_line(ghost: GhostRef, *, scene_id: int) -> str:
    """Return a line with the reference of a ghost, as it may be written."""
    if ghost.source is GhostSource.ROLLOUT and not ghost.scene_id:
        return f"ended:{ghost.number}\n"
    word = next(word for word, source in _SOURCES.items() if source is ghost.source)
    other = "" if ghost.scene_id == scene_id else f"  (of scene {ghost.scene_id})"
    return f"{word}:{ghost.number}{other}\n"


def _compare(client: DebuggerClient, scene_id: int, a: argparse.Namespace, out: TextIO) -> None:
    first, second = (_reference(client, scene_id, text) for text in (a.first, a.second))
    compared = client.compare(scene_id, first, second, tolerance=a.tolerance)
    if a.json:
        write_json(out, compared)
        return
    if compared.text:
        out.write(f"{compared.text}\n")
    for each in compared.differences:
        step = f"  step {each.at_step}" if each.at_step else ""
        out.write(f"  {each.name:<32} {each.first:>14.8g} {each.second:>14.8g} {each.unit}{step}\n")
    if compared.more:
        out.write(f"  +{compared.more} more\n")
    for name, first_step in (
        ("not the same to the last bit", compared.first_bit),
        ("beyond the tolerance", compared.first_beyond),
        ("with other contacts", compared.first_contacts),
    ):
        if first_step >= 0:
            out.write(f"first step {name}: {first_step}\n")


def _reference(client: DebuggerClient, scene_id: int, text: str) -> GhostRef:
    kind, _, what = text.partition(":")
    if kind == "checkpoint":
        what = str(client.find_checkpoint(scene_id, what))
    if kind not in _SOURCES or not what.isdecimal():
        raise CommandError(f"{text!r} is nothing to compare with or show: write {_REFERENCE}")
    scene = 0 if kind == "ended" else scene_id
    return GhostRef(source=_SOURCES[kind], number=int(what), scene_id=scene)


COMMANDS: dict[str, Command] = {
    "ghosts": _ghosts,
    "compare": _compare,
}
"""What each word does with a client, a scene and its arguments."""
