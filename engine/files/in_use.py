"""Whether somebody still writes a file: a lock that ends with whoever has it, even if killed."""

import os
import sys
import time
from pathlib import Path
from typing import Final

if sys.platform != "win32":
    import fcntl

__all__ = ["is_being_written", "mark_as_written"]

# Where there are no locks, a file that changed so lately is still being written [s].
_LATELY_S: Final = 3.0


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
