"""Write a file as a whole or not at all."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from stroboscope.engine.files.disk import Disk, write_all
from stroboscope.engine.files.errors import FileWriteError

__all__ = ["replacing", "write_file"]


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str], *, disk: Disk | None = None) -> Iterator[Path]:
    """Yield the path of a temporary file beside ``path``, for the caller to write and fsync.

    It gets the name ``path`` when the block ends, and goes away when the block raises: ``path``
    is the old or the new file at every instant. Raises FileWriteError, also for an OSError of the
    block.
    """
    disk = disk or Disk()
    target = Path(path)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
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
