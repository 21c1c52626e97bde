"""What a file is, by its first bytes: a suffix is only a name."""

import enum
import os
import re
import stat
import struct
from pathlib import Path

from stroboscope.engine.files.errors import FileFormatError

__all__ = ["HEAD_BYTES", "FileKind", "kind_of", "kind_of_file"]

HEAD_BYTES = 4096
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


def kind_of_file(path: str | os.PathLike[str]) -> FileKind:
    """Return what the file ``path`` is; FileFormatError when it can't be read at all.

    Only plain files are looked into: a pipe would never end, a device never begin.
    """
    file = Path(path)
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            what = "a folder" if stat.S_ISDIR(status.st_mode) else "no plain file"
            raise FileFormatError(file, f"it is {what}", "name a file")
        with file.open("rb") as content:
            return kind_of(content.read(HEAD_BYTES))
    except FileNotFoundError:
        raise FileFormatError(file, "there is no such file", "look at how it is spelled") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileFormatError(file, f"it can't be read ({reason})", "look at who may") from error
