"""Write a file as a whole or not at all."""

import contextlib
import os
from pathlib import Path

from stroboscope.engine.files.disk import Disk, write_all
from stroboscope.engine.files.errors import FileWriteError

__all__ = ["write_file"]


def write_file(path: str | os.PathLike[str], content: bytes, *, disk: Disk | None = None) -> Path:
    """Write ``content`` to ``path``, which holds the old or the new content at every instant.

    It goes to a temporary file beside it, onto the disk, and then gets its name. Raises
    FileWriteError; what was there before is there still.
    """
    disk = disk or Disk()
    target = Path(path)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    made = False
    try:
        descriptor = disk.create(part)
        made = True
        try:
            write_all(disk, descriptor, content)
            disk.fsync(descriptor)
        finally:
            disk.close(descriptor)
        disk.replace(part, target)
        made = False
        disk.fsync_folder(target.parent)
    except OSError as error:
        raise FileWriteError(
            target,
            f"it can't be written ({error.strerror or error})",
            "look at the space on that disk and at who may write there",
        ) from error
    finally:
        if made:
            with contextlib.suppress(OSError):
                disk.remove(part)
    return target
