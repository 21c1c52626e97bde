"""What a file is, by its first bytes: a suffix is only a name."""

import contextlib
import enum
import os
import re
import shlex
import stat
import struct
from pathlib import Path
from typing import Final

__all__ = ["HEAD_BYTES", "FileKind", "kind_of", "what_opens"]

HEAD_BYTES: Final = 4096
"""So much of a file's beginning is enough to know."""

_MCAP = b"\x89MCAP0\r\n"
_ZIP = b"PK\x03\x04"
_EMPTY_ZIP = b"PK\x05\x06"
_MJB_MAGIC = 54321
_ZIP_NAME = struct.Struct("<26xHH")
_MANIFEST = b"manifest.json"
# The first element, behind what XML allows before it.
_ROOT = re.compile(rb"^\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*)*<([A-Za-z_][\w:.-]*)", re.DOTALL)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class FileKind(enum.StrEnum):
    """The kinds of files that can be opened."""

    SCENE = "scene"
    """``.strobe``: a scene."""
    TRAJECTORY = "trajectory"
    """``.mcap``: a recorded run, or a checkpoint."""
    MJZ = "mjz"
    """An archive of an MJCF file and its assets."""
    MJB = "mjb"
    """A compiled model."""
    MJCF = "mjcf"
    URDF = "urdf"
    UNKNOWN = "unknown"


def kind_of(head: bytes) -> FileKind:
    """Return what a file is that begins with ``head``."""
    if head.startswith(_MCAP):
        return FileKind.TRAJECTORY
    if head.startswith(_ZIP) and len(head) >= 30:
        length, _ = _ZIP_NAME.unpack_from(head)
        return FileKind.SCENE if head[30 : 30 + length] == _MANIFEST else FileKind.MJZ
    if head.startswith(_EMPTY_ZIP):
        return FileKind.MJZ
    if len(head) >= 4 and int.from_bytes(head[:4], "little") == _MJB_MAGIC:
        return FileKind.MJB
    text = head.removeprefix(_BYTE_ORDER_MARK).lstrip()
    if not text.startswith(b"<"):
        return FileKind.UNKNOWN
    root = _ROOT.match(text)
    return FileKind.URDF if root is not None and root[1] == b"robot" else FileKind.MJCF


def what_opens(path: str | os.PathLike[str]) -> str:
    """Return what a file that is no session is, and what opens it; empty where it is none of ours.

    For who takes a session and gets a file: "is a recorded run: stroboscope open run.mcap".
    """
    kind = FileKind.UNKNOWN
    with contextlib.suppress(OSError, ValueError):
        if stat.S_ISREG(os.stat(path).st_mode):
            with Path(path).open("rb") as file:
                kind = kind_of(file.read(HEAD_BYTES))
    match kind:
        case FileKind.UNKNOWN:
            return ""
        case FileKind.TRAJECTORY:
            what = "a recorded run or a checkpoint"
        case FileKind.SCENE:
            what = "a scene"
        case _:
            what = f"a model ({kind.value.upper()})"
    return f"is {what}: stroboscope open {shlex.quote(os.fspath(path))}"
