"""Whether an X server lets us in: asked as Qt would ask it, which aborts where it doesn't."""

import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["refusal_of"]

# One that is busy is believed to let us in [s].
_ANSWERS_WITHIN_S: Final = 2.0
_COOKIE: Final = b"MIT-MAGIC-COOKIE-1"
_LOCAL, _WILD = 256, 65535
# Far more than any list of cookies has.
_MOST_BYTES: Final = 1 << 20
_SUCCESS, _FAILED = 1, 0
_HEAD: Final = 8
_LONGEST: Final = 200


class _Entry(NamedTuple):
    """A line of the list of cookies: which display it is of, and what is to be shown there."""

    family: int
    address: bytes
    number: bytes
    name: bytes
    data: bytes


def refusal_of(end: socket.socket, number: int) -> str:
    """Return why the display ``number`` of this machine refuses us; empty where it doesn't.

    ``end``: connected to it, and of no use for anything else then.
    """
    name, data = b"", b""
    for entry in _entries():
        is_here = entry.family == _WILD or (
            entry.family == _LOCAL and entry.address == os.fsencode(socket.gethostname())
        )
        if is_here and entry.number in (b"", str(number).encode()):
            name, data = entry.name, entry.data
            break
    if name not in (b"", _COOKIE):
        return ""  # its answer would have to be computed
    try:
        end.settimeout(_ANSWERS_WITHIN_S)
        request = struct.pack("<BxHHHHxx", ord("l"), 11, 0, len(name), len(data))
        end.sendall(request + _padded(name) + _padded(data))
        head = _receive(end, _HEAD)
        if len(head) < _HEAD or head[0] == _SUCCESS:
            return ""
        said = _receive(end, head[1]) if head[0] == _FAILED else b""
    except OSError:
        return ""
    words = "".join(each if each.isprintable() else " " for each in said.decode("ascii", "replace"))
    return words.strip()[:_LONGEST] or "it wants another authorization"


def _entries() -> Iterator[_Entry]:
    """Go through the list of cookies, as far as it makes sense."""
    path = os.environ.get("XAUTHORITY") or Path("~/.Xauthority").expanduser()
    try:
        with open(path, "rb") as file:
            content = file.read(_MOST_BYTES)
    except (OSError, RuntimeError, ValueError):
        return
    at = 0
    try:
        while at < len(content):
            (family,) = struct.unpack_from(">H", content, at)
            at += 2
            texts = []
            for _ in range(4):
                (length,) = struct.unpack_from(">H", content, at)
                texts.append(content[at + 2 : at + 2 + length])
                at += 2 + length
            yield _Entry(family, *texts)
    except struct.error:
        return


def _padded(text: bytes) -> bytes:
    return text + bytes(-len(text) % 4)


def _receive(end: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count and (more := end.recv(count - len(found))):
        found += more
    return found
