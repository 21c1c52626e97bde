"""Write a file as a whole or not at all."""

import contextlib
import errno
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from stroboscope.engine.files.disk import Disk, write_all
from stroboscope.engine.files.errors import FileWriteError
from stroboscope.engine.files.in_use import refuse_if_written

__all__ = ["no_file", "part_of", "refuse_no_file", "replacing", "write_file"]

_OF_NAME: Final = 48


def part_of(path: Path) -> Path:
    """Return a name beside ``path`` for what is not complete yet: no other writer has it.

    The process's number alone is no such name: of another thread it is the same, and in a
    container that of the next run, which would find what a killed one has left.
    """
    # A name may have 255 bytes, and this one is longer.
    name = path.name[:_OF_NAME]
    return path.with_name(f".{name}.{os.getpid()}-{secrets.token_hex(4)}.part")


def refuse_no_file(path: Path) -> None:
    """Raise FileWriteError for what no file can replace: a folder, and a pipe or a device.

    Also through a symbolic link, as ``/dev/stdout`` is one; and for a name that no file can have.
    """
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            wrong = f"can't be created ({error.strerror})"
            raise FileWriteError(path, wrong, "take a shorter name") from error
    if wrong := no_file(path):
        raise FileWriteError(path, "can't be created", wrong)


def no_file(path: Path) -> str:
    """Return why nothing can be written to ``path``, and what to do; empty for a file, or none."""
    if not path.name or path.name == ".." or os.path.isdir(path):
        return "it is a folder: name a file in it"
    if os.path.exists(path) and not os.path.isfile(path):
        return "it is a pipe or a device, and recordings are files: name another file"
    return ""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, disk: Disk | None = None) -> Iterator[Path]:
    """Yield the path of a temporary file beside ``path``, for the caller to write and fsync.

    It gets the name ``path`` when the block ends, and goes away when the block raises: ``path``
    is the old or the new file at every instant. Raises FileWriteError, also for an OSError of the
    block, when somebody is recording into ``path``, and where that is a folder, a pipe or a device.
    """
    disk = disk or Disk()
    target = Path(path)
    refuse_no_file(target)
    refuse_if_written(target)
    part = part_of(target)
    try:
        try:
            yield part
            disk.replace(part, target)
        except BaseException:
            with contextlib.suppress(OSError):
                disk.remove(part)
            raise
        disk.fsync_folder(target.parent)
    except FileWriteError as error:
        if error.path != part:
            raise
        raise FileWriteError(target, error.wrong, error.todo) from error.__cause__
    except OSError as error:
        raise FileWriteError(
            target,
            f"it can't be written ({error.strerror or error})",
            "look at the space on that disk and at who may write there",
        ) from error


def write_file(path: str | os.PathLike[str], content: bytes, *, disk: Disk | None = None) -> Path:
    """Write ``content`` to ``path``, which holds the old or the new content at every instant.

    It goes to a temporary file beside it, onto the disk, and then gets its name. Raises
    FileWriteError; what was there before is there still.
    """
    disk = disk or Disk()
    with replacing(path, disk=disk) as part:
        descriptor = disk.create(part)
        try:
            write_all(disk, descriptor, content)
            disk.fsync(descriptor)
        finally:
            disk.close(descriptor)
    return Path(path)
