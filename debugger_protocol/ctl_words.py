"""What the words of ``stroboscope ctl`` are made of: parsers, what each does, lists it writes."""

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TextIO

from stroboscope.debugger_protocol.client import DebuggerClient, SceneInfo
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.near_names import near_names
from stroboscope.debugger_protocol.plain_text import short_name

__all__ = ["Add", "Command", "WordsOfOneKind", "find_scene", "write_list"]

Command = Callable[[DebuggerClient, int, argparse.Namespace, TextIO], None]
"""Does what a word says, with a client, the id of a scene and arguments, and writes what came."""

Add = Callable[[str, str], argparse.ArgumentParser]
"""Makes the parser of a word from its name and a help text."""


class WordsOfOneKind(Protocol):
    """A module of words that belong together."""

    @property
    def COMMANDS(self) -> Mapping[str, Command]:
        """What each word does."""

    def add_arguments(self, add: Add, /) -> None:
        """Add the parsers of the words."""

    def only_looks(self, name: str, arguments: argparse.Namespace, /) -> bool:
        """Return whether a command changes nothing, so that it needs no control."""


def find_scene(client: DebuggerClient, chosen: str | None, *, hint: str = "") -> SceneInfo:
    """Return the scene of that name or id; without one, the only scene there is.

    ``hint`` is said where there is none of that name.
    """
    scenes = client.scenes()
    if chosen is None:
        if len(scenes) == 1:
            return scenes[0]
        what = "there is no scene yet" if not scenes else f"choose one of {len(scenes)} scenes"
    else:
        found = [s for s in scenes if s.name == chosen] or [
            s for s in scenes if str(s.scene_id) == chosen
        ]
        if len(found) == 1:
            return found[0]
        near = near_names(chosen, (scene.name for scene in scenes))
        meant = f"; did you mean {' or '.join(repr(short_name(n)) for n in near)}?" if near else ""
        what = f"there is no scene {chosen!r}{hint or meant}"
    names = "".join(f"\n  {scene.scene_id}  {short_name(scene.name)}" for scene in scenes)
    raise CommandError(f"{what}{':' if names else ''}{names}")


def write_list(out: TextIO, lines: Iterable[str], empty: str) -> None:
    """Write lines that end with a line break, or, without any, the line ``empty``."""
    written = [out.write(line) for line in lines]
    if not written:
        out.write(f"{empty}\n")
