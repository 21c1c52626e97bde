"""What has become of a file that is being written: others may move, delete or cut it meanwhile."""

import enum
import os
import sys
from pathlib import Path

if sys.platform != "win32":
    import fcntl

__all__ = ["Fate", "fate_of", "is_cut", "name_of"]

# What a client of a network disk calls a file that was deleted while somebody has it open.
_DELETED_THERE = ".nfs"


class Fate(enum.StrEnum):
    """What has become of it."""

    THERE = "there"
    """Nothing, or nothing that can be known."""
    MOVED = "moved away"
    """It has another name: what is written goes on into it."""
    DELETED = "deleted"
    """It has no name any more: all of it is gone when it is closed."""
    CUT = "cut off"
    """Somebody has made it shorter: what was in it is gone."""


def fate_of(path: Path, descriptor: int, *, nbytes: int) -> Fate:
    """Return what has become of the open file that was ``path`` and has got ``nbytes`` bytes."""
    try:
        mine = os.fstat(descriptor)
    except OSError:
        return Fate.THERE  # whoever writes next will hear of it
    if mine.st_size < nbytes:
        return Fate.CUT
    try:
        if os.path.samestat(mine, os.lstat(path)):
            return Fate.THERE
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError:
        return Fate.THERE
    if not mine.st_nlink:
        return Fate.DELETED
    now = name_of(descriptor)
    return Fate.DELETED if now and now.name.startswith(_DELETED_THERE) else Fate.MOVED


def is_cut(descriptor: int, *, nbytes: int) -> bool:
    """Return whether an open file that has got ``nbytes`` bytes has fewer; it asks no disk."""
    try:
        return os.fstat(descriptor).st_size < nbytes
    except OSError:
        return False  # whoever writes next will hear of it


def name_of(descriptor: int) -> Path | None:
    """Return the name that an open file has now; None where the system does not tell."""
    if sys.platform == "darwin":
        name = fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0")
        return Path(os.fsdecode(name))
    try:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        return path if os.path.samestat(os.fstat(descriptor), os.lstat(path)) else None
    except OSError:
        return None
