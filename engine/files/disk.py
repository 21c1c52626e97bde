"""The few calls through which anything is written: where tests let the disk fail."""

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from stroboscope.engine.files.in_use import mark_as_written

__all__ = ["Disk", "in_large_pieces", "write_all"]

_PIECE_BYTES = 1 << 20

_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)


class Disk:
    """Files by descriptor; every method raises OSError. Stateless, any thread."""

    def create(self, path: Path) -> int:
        """Create a file that is not there yet, and return its descriptor."""
        descriptor = os.open(path, _CREATE | _FLAGS, 0o666)
        mark_as_written(descriptor)
        return descriptor

    def reopen(self, path: Path) -> int:
        """Open a file that is there to go on at its end, and return its descriptor."""
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | _FLAGS)
        mark_as_written(descriptor)
        return descriptor

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        """Write at the end what is possible in one call, and return how many bytes."""
        return os.write(descriptor, data)

    def truncate(self, descriptor: int, length: int) -> None:
        """Cut the file off, and go on writing there."""
        os.ftruncate(descriptor, length)
        os.lseek(descriptor, length, os.SEEK_SET)

    def fsync(self, descriptor: int) -> None:
        """Wait until what was written is on the disk itself."""
        os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        """Close it."""
        os.close(descriptor)

    def replace(self, source: Path, target: Path) -> None:
        """Give a file another name, over one that is there."""
        os.replace(source, target)

    def rename_new(self, source: Path, target: Path) -> None:
        """Give a file another name that nothing has yet; raises FileExistsError when it has."""
        try:
            os.link(source, target)
        except FileExistsError:
            raise
        except OSError:  # some disks know no second name of a file
            if os.path.lexists(target):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
            os.rename(source, target)
            return
        os.unlink(source)

    def remove(self, path: Path) -> None:
        """Remove a file."""
        path.unlink()

    def fsync_folder(self, folder: Path) -> None:
        """Wait until the names in a folder are on the disk, where there is a way to."""
        if not hasattr(os, "O_DIRECTORY"):
            return
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno != errno.EINVAL:  # some network disks have no such thing
                raise
        finally:
            os.close(descriptor)


def write_all(disk: Disk, descriptor: int, data: bytes) -> None:
    """Write all of ``data``: one call, unless the disk takes less of it."""
    written = disk.write(descriptor, data)
    while written < len(data):
        more = disk.write(descriptor, memoryview(data)[written:])
        if more <= 0:
            raise OSError(f"only {written:,} of {len(data):,} bytes were written")
        written += more


def in_large_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the same bytes in few pieces: one write each, and a file's whole end mostly is one."""
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= _PIECE_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    yield b"".join(waiting)
