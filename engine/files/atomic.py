"""Write a file as a whole or not at all."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from stroboscope.engine.files.disk import Disk, write_all
from stroboscope.engine.files.errors import FileWriteError
from stroboscope.engine.files.in_use import refuse_if_written

__all__ = ["part_of", "replacing", "write_file"]


def part_of(path: Path) -> Path:
    """Return a name beside ``path`` for what is not complete yet: no other writer has it.

    The process's number alone is no such name: of another thread it is the same, and in a
    container that of the next run, which would find what a killed one has left.
    """
    return path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, disk: Disk | None = None) -> Iterator[Path]:
    """Yield the path of a temporary file beside ``path``, for the caller to write and fsync.

    It gets the name ``path`` when the block ends, and goes away when the block raises: ``path``
    is the old or the new file at every instant. Raises FileWriteError, also for an OSError of the
    block, and when somebody is recording into ``path``.
    """
    disk = disk or Disk()
    target = Path(path)
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
