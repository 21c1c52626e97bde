"""What the words of ``stroboscope ctl`` are made of: parsers, what each does, lists it writes."""

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TextIO

from stroboscope.debugger_protocol.client import DebuggerClient

__all__ = ["Add", "Command", "WordsOfOneKind", "write_list"]

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


def write_list(out: TextIO, lines: Iterable[str], empty: str) -> None:
    """Write lines that end with a line break, or, without any, the line ``empty``."""
    written = [out.write(line) for line in lines]
    if not written:
        out.write(f"{empty}\n")
