"""What ``stroboscope ctl … --json`` writes: one JSON document, for programs.

Things are written as the protocol tells them, field by field, see docs/protocol.md. All of it is
ASCII, so that a terminal obeys nothing in it; numbers in texts are written as they are typed.
"""

import argparse
import json
import math
from collections.abc import Callable, Sequence
from typing import Any, TextIO, TypeVar

import msgspec

from stroboscope.debugger_protocol.ctl_words import write_list
from stroboscope.debugger_protocol.plain_text import typed_numbers

__all__ = ["add_json", "write_item", "write_items", "write_json"]

_Item = TypeVar("_Item")


def add_json(*parsers: argparse.ArgumentParser) -> None:
    """Add ``--json`` to commands."""
    for parser in parsers:
        parser.add_argument("--json", action="store_true", help="one JSON document, for programs")


def write_json(out: TextIO, value: object) -> None:
    """Write what messages are made of as one JSON document; null for what is no finite number."""
    told = _plain(msgspec.to_builtins(value, enc_hook=str))
    out.write(f"{json.dumps(told, indent=2, allow_nan=False)}\n")


def write_item(
    a: argparse.Namespace, out: TextIO, item: _Item, lines: Callable[[_Item], str]
) -> None:
    """Write one thing: a document with ``--json``, else its lines."""
    if a.json:
        write_json(out, item)
    else:
        out.write(lines(item))


def write_items(
    a: argparse.Namespace,
    out: TextIO,
    items: Sequence[_Item],
    lines: Callable[[_Item], str],
    *,
    empty: str,
) -> None:
    """Write a list: an array with ``--json``, else the lines of each item, or ``empty``."""
    if a.json:
        write_json(out, items)
    else:
        write_list(out, map(lines, items), empty)


def _plain(value: Any) -> Any:
    match value:
        case str():
            return typed_numbers(value)
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {str(name): _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
    return value
