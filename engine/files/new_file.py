"""A file that begins: what has its name stays until there is a valid beginning to replace it."""

import contextlib
import errno
import os
import sys
from pathlib import Path

from stroboscope.engine.files.atomic import no_file, part_of, refuse_no_file
from stroboscope.engine.files.disk import Disk
from stroboscope.engine.files.fate import Fate, fate_of
from stroboscope.engine.files.in_use import refuse_if_written

__all__ = ["NewFile", "advice_on"]

_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


class NewFile:
    """A file under the name that it is to have, or beside one that it is to replace.

    ``overwrite``: replace what is there. Methods raise OSError, and FileWriteError where somebody
    is recording into what is there.
    """

    def __init__(self, path: Path, *, disk: Disk, overwrite: bool) -> None:
        self._path, self._disk = path, disk
        refuse_no_file(path)
        replaces = overwrite and (os.path.isfile(path) or os.path.islink(path))
        if replaces:
            refuse_if_written(path)
        self._part = part_of(path) if replaces else None
        self.descriptor = disk.create(self._part or path)

    def begun(self) -> int:
        """Have it replace what is there; return the descriptor to go on with."""
        part = self._part
        if part is None:
            return self.descriptor
        disk = self._disk
        disk.fsync(self.descriptor)  # else a power cut might leave neither of them
        refuse_if_written(self._path)  # another may have begun there meanwhile
        if sys.platform != "win32":
            disk.replace(part, self._path)
        else:  # which gives no open file another name
            descriptor, self.descriptor = self.descriptor, -1
            disk.close(descriptor)
            disk.replace(part, self._path)
            self.descriptor = disk.reopen(self._path)
        self._part = None
        return self.descriptor

    def discard(self) -> None:
        """Close and remove it, if it is there still: there is nothing in it."""
        path = self._part or self._path
        is_there = fate_of(path, self.descriptor, nbytes=0) is Fate.THERE
        with contextlib.suppress(OSError):
            self._disk.close(self.descriptor)
        if is_there:
            with contextlib.suppress(OSError):
                self._disk.remove(path)


def advice_on(error: OSError, path: Path) -> str:
    """Return what to do about a file that can't be created or written."""
    if wrong := no_file(path):
        return wrong
    if error.errno == errno.EEXIST:
        return "name another file"
    if error.errno in (errno.ENOENT, errno.ENOTDIR) and not os.path.isdir(path.parent):
        found = "is a file" if os.path.lexists(path.parent) else "is not there"
        return f"the folder {path.parent} {found}: make it, or name another"
    if error.errno in _FORBIDDEN:
        return "look at who may write there; what was written before stays"
    if error.errno in _FULL:
        return "make room on the disk; what was written before stays"
    return "look at that disk and at who may write there; what was written before stays"
