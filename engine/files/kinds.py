"""What a file is that somebody has named; see :mod:`stroboscope.debugger_protocol.file_kinds`."""

import os
import stat
from pathlib import Path

from stroboscope.debugger_protocol.file_kinds import HEAD_BYTES, FileKind, kind_of
from stroboscope.engine.files.errors import FileFormatError

__all__ = ["HEAD_BYTES", "FileKind", "kind_of", "kind_of_file"]


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
