"""Whether somebody still writes a file: a lock that ends with whoever has it, even if killed."""

import os
import sys
import time
from pathlib import Path
from typing import Final

if sys.platform != "win32":
    import fcntl

from stroboscope.engine.files.errors import FileWriteError

__all__ = ["is_being_written", "mark_as_written", "refuse_if_written", "writer_of"]

# Where there are no locks, a file that changed so lately is still being written [s].
_LATELY_S: Final = 3.0
_READS: Final = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


def mark_as_written(descriptor: int) -> None:
    """Say to others that the open file is being written, until it is closed by all who have it.

    Nothing is said on disks without locks.
    """
    if sys.platform == "win32":
        return  # a lock there would keep readers out
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return


def is_being_written(path: str | os.PathLike[str]) -> bool:
    """Return whether another has ``path`` open to write it, or has written it just now.

    Where there are no locks a writer that waits for long can't be told from one that has ended.
    Raises OSError when the file can't be read.
    """
    changed = time.time() - Path(path).stat().st_mtime
    if 0.0 <= changed < _LATELY_S:
        return True
    if sys.platform == "win32":
        return False
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def writer_of(path: str | os.PathLike[str]) -> str:
    """Return who has ``path`` open to write it, "process 123"; empty when nobody is known to.

    Of a link, nobody: to replace it leaves the file that it names alone.
    """
    if sys.platform == "win32":
        return ""  # the system itself refuses to replace it
    try:
        descriptor = os.open(path, _READS | os.O_NOFOLLOW)
    except OSError:
        return ""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        number = _locked_by(os.fstat(descriptor))
        if number == os.getpid():
            return "this process"
        return f"process {number}" if number else "another process"
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return ""


def refuse_if_written(path: str | os.PathLike[str]) -> None:
    """Raise FileWriteError, naming who, when somebody has ``path`` open to write it."""
    writer = writer_of(path)
    if writer:
        raise FileWriteError(
            Path(path),
            f"is being recorded into by {writer}",
            "stop that recording first, or name another file",
        )


def _locked_by(status: os.stat_result) -> int:
    """Return the number of the process that has a file locked; 0 where the system does not tell."""
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    try:
        locks = Path("/proc/locks").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    for line in locks.splitlines():
        words = line.split()
        if words[1:2] == ["FLOCK"] and place in words:
            number = int(words[4])
            return max(number, 0)
    return 0
