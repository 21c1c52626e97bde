"""A file that is read in places, never past its end and never mapped."""

import os
import stat
from pathlib import Path

from stroboscope.engine.files.errors import FileDamagedError, FileError, FileFormatError

__all__ = ["ByteSource"]

# A pipe would wait for its other end.
_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


class ByteSource:
    """Bytes of one file; a mapped file that somebody else cuts off would kill the process.

    Raises FileError when it can't be opened.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            self._descriptor = os.open(self.path, _FLAGS | getattr(os, "O_BINARY", 0))
        except (OSError, ValueError) as error:  # ValueError: no path can be that
            reason = getattr(error, "strerror", None) or error
            raise FileError(
                self.path, f"can't be opened ({reason})", "check the path and who may read"
            ) from error
        mode = os.fstat(self._descriptor).st_mode
        if not stat.S_ISREG(mode):
            self.close()
            what = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
            todo = "give the path of a trajectory file"
            raise FileFormatError(self.path, f"is no file but {what}", todo)
        self.size = self.refresh()

    def refresh(self) -> int:
        """Look how large the file is now, and return it."""
        self._check_open()
        self.size = os.fstat(self._descriptor).st_size
        return self.size

    def close(self) -> None:
        """Close it; more than once is fine."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def read(self, offset: int, size: int) -> bytes:
        """Return ``size`` bytes from ``offset`` on; raises FileDamagedError without them."""
        if offset < 0 or size < 0 or offset + size > self.size:
            raise FileDamagedError(
                self.path,
                f"ends at byte {self.size:,}, before byte {offset + size:,}, which it points to",
                "take it from its source again, or rewrite what is there with stroboscope repair",
            )
        self._check_open()
        try:
            data = _pread(self._descriptor, size, offset)
            while len(data) < size:
                more = _pread(self._descriptor, size - len(data), offset + len(data))
                if not more:
                    break
                data += more
        except OSError as error:
            raise FileError(
                self.path,
                f"can't be read at byte {offset:,} ({error.strerror})",
                "copy it to another disk and try again",
            ) from error
        if len(data) < size:
            raise FileDamagedError(
                self.path,
                f"has become shorter than {offset + size:,} bytes while it was read",
                "open it again",
            )
        return data

    def _check_open(self) -> None:
        if self._descriptor < 0:
            raise FileError(self.path, "has been closed", "open it again")


def _pread(descriptor: int, size: int, offset: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, size)
