"""ZIP archives: ours, written to the same bytes every time, and strangers', read within limits.

Nothing of an archive is unpacked to the disk. Everything that its directory says is checked before
anything is decompressed, and the directory itself before it is read.
"""

import dataclasses
import io
import os
import posixpath
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from stroboscope.engine.files.errors import FileDamagedError, FileFormatError

__all__ = ["Archive", "ArchiveLimits", "pack_archive", "safe_member"]

# The earliest time that a ZIP can hold: when something was packed is nobody's business.
_NO_TIME = (1980, 1, 1, 0, 0, 0)
_FAST = 1
_END = b"PK\x05\x06"
_END_SIZE = 22
# What stands before the end where sizes need 64 bits: then those of the end count for nothing.
_LOCATOR = b"PK\x06\x07"
_LOCATOR_SIZE = 20
_LONGEST_COMMENT = 0xFFFF
_LOCAL_HEADER = 30
_ENCRYPTED = 0x1 | 0x40 | 0x2000
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_PIECE = 1 << 20
# What is small may be as empty as it likes.
_RATIO_FROM = 8 << 20
_AGAIN = "get the file once more from whoever made it"
_REFUSED = "it is refused as a whole: get it from a source that you trust"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveLimits:
    """What an archive may be at most; sizes in bytes.

    ``ratio``: decompressed to compressed size of what is larger than 8 MiB. Deflate makes zeros
    1,000 times smaller; models with much empty space reach 200.
    """

    entries: int = 64
    entry_bytes: int = 1 << 30
    total_bytes: int = 2 << 30
    directory_bytes: int = 1 << 20
    ratio: int = 400
    name_bytes: int = 512
    depth: int = 16


def pack_archive(members: Mapping[str, bytes | bytearray]) -> bytes:
    """Return an archive of ``members``, in their order: the same bytes for the same content.

    What is small, or packed already (another archive), is stored as it is.
    """
    output = io.BytesIO()
    with zipfile.ZipFile(output, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name, _NO_TIME)
            # As on Unix, whatever this is: else the bytes depend on the system.
            info.create_system = 3
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            packed = bytes(content[:4]).startswith(b"PK")
            info.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
            archive.writestr(info, bytes(content), compresslevel=_FAST)
    return output.getvalue()


def safe_member(name: str) -> str:
    """Return why ``name`` is no name inside an archive; empty when it is one."""
    if not name or name != name.strip() or "\0" in name:
        return "is no name"
    if name.startswith("/") or "\\" in name or ":" in name:
        return "is a path outside of the archive"
    parts = name.split("/")
    # "." leads nowhere else: MuJoCo itself writes "./mesh.obj".
    if any(part in ("", "..") for part in parts) or parts[-1] == ".":
        return "is a path outside of the archive"
    if any(ord(character) < 32 or ord(character) == 127 for character in name):
        return "has characters that no name has"
    return ""


class Archive:
    """An archive from anywhere, checked; members are decompressed only when they are read.

    ``content``: the whole archive, or the path of one. ``path`` names it in errors. Raises
    FileFormatError for what no honest archive has, FileDamagedError for a broken one, OSError.
    """

    def __init__(
        self,
        content: bytes | str | os.PathLike[str],
        *,
        path: str | os.PathLike[str],
        limits: ArchiveLimits | None = None,
        what: str = "an archive",
    ) -> None:
        self.path = Path(path)
        self._limits = limits or ArchiveLimits()
        self._what = what
        self._file: io.BytesIO | io.BufferedReader
        if isinstance(content, bytes):
            self._file = io.BytesIO(content)
        else:
            self._file = open(content, "rb")  # noqa: SIM115 - closed by close()
        try:
            self._members = self._checked()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Archive":
        """Return itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Let the file go."""
        self._file.close()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all members, in their order, without "." in them."""
        return tuple(self._members)

    def __contains__(self, name: object) -> bool:
        """Return whether there is such a member."""
        return name in self._members

    def size(self, name: str) -> int:
        """Return how many bytes a member has."""
        return self._members[name].file_size

    def read(self, name: str, *, limit: int | None = None) -> bytes:
        """Return a member's content, of ``limit`` bytes at most; its checksum was right.

        Raises FileFormatError when there is none or when it is larger, FileDamagedError when it
        can't be decompressed.
        """
        info = self._members.get(name)
        if info is None:
            raise self._refused(f"there is no {name!r} in it", _AGAIN)
        most = self._limits.entry_bytes if limit is None else limit
        if info.file_size > most:
            raise self._refused(
                f"{name!r} in it has {info.file_size:,} bytes; at most {most:,} are read"
            )
        try:
            return self._decompressed(info)
        except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, ValueError) as error:
            raise self._damaged(f"{name!r} in it is damaged ({error})") from error
        except (NotImplementedError, RuntimeError) as error:
            raise self._refused(f"{name!r} in it can't be read ({error})") from error

    def _decompressed(self, info: zipfile.ZipInfo) -> bytes:
        content = bytearray()
        with zipfile.ZipFile(self._file) as archive, archive.open(info) as member:
            while piece := member.read(_PIECE):
                content += piece
                if len(content) > info.file_size:
                    break
        if len(content) != info.file_size:
            raise EOFError(f"{len(content):,} bytes instead of {info.file_size:,}")
        return bytes(content)

    # --- checks

    def _checked(self) -> dict[str, zipfile.ZipInfo]:
        size = self._file.seek(0, os.SEEK_END)
        self._check_end(size)
        try:
            with zipfile.ZipFile(self._file) as archive:
                infos = archive.infolist()
        except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError) as error:
            raise self._damaged(f"its directory can't be read ({error})") from error
        members: dict[str, zipfile.ZipInfo] = {}
        seen: set[str] = set()
        total = 0
        for info in infos:
            self._check_member(info)
            name = posixpath.normpath(info.filename)
            # Two names that one file system takes for the same are one name as well.
            folded = name.casefold()
            if folded in seen:
                raise self._refused(f"there are two {_shown(name)} in it")
            seen.add(folded)
            total += info.file_size
            members[name] = info
        if total > self._limits.total_bytes:
            raise self._refused(
                f"it would unpack to {total:,} bytes; at most {self._limits.total_bytes:,} are read"
            )
        self._check_overlap(infos, size)
        return members

    def _check_end(self, size: int) -> None:
        """Look at the last record alone: a directory of a million names fills the memory."""
        tail = min(size, _END_SIZE + _LONGEST_COMMENT)
        self._file.seek(size - tail)
        end = self._file.read(tail)
        at = end.rfind(_END)
        if at < 0 or at + _END_SIZE > len(end):
            raise self._damaged(f"it is not {self._what}, or its end is missing")
        *disks, here, entries, directory, offset, comment = struct.unpack_from(
            "<HHHHIIH", end, at + 4
        )
        if any(disks) or here != entries:
            raise self._refused("it is a part of an archive of several files")
        if entries > self._limits.entries:
            shown = "65,535 or more" if entries == 0xFFFF else f"{entries:,}"
            raise self._refused(
                f"it has {shown} entries; {self._what} has at most {self._limits.entries:,}"
            )
        if directory > self._limits.directory_bytes:
            raise self._refused(
                f"its directory has {directory:,} bytes; at most "
                f"{self._limits.directory_bytes:,} are read"
            )
        if at >= _LOCATOR_SIZE and end.startswith(_LOCATOR, at - _LOCATOR_SIZE):
            raise self._refused("it has the sizes of an archive above 4 GiB")
        if offset + directory + _END_SIZE + comment != size:
            raise self._damaged("bytes stand before, behind or between the parts of the archive")

    def _check_member(self, info: zipfile.ZipInfo) -> None:
        name, limits = info.filename, self._limits
        wrong = safe_member(info.orig_filename) or safe_member(name)
        if wrong:
            raise self._refused(f"the name {_shown(info.orig_filename)} in it {wrong}")
        if len(name.encode("utf-8", "replace")) > limits.name_bytes:
            raise self._refused(
                f"the name {_shown(name)} in it is longer than {limits.name_bytes} bytes"
            )
        if name.count("/") >= limits.depth:
            raise self._refused(f"{_shown(name)} stands deeper than {limits.depth} folders")
        mode = info.external_attr >> 16
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            kind = "a link" if stat.S_ISLNK(mode) else "no plain file"
            raise self._refused(f"{_shown(name)} in it is {kind}")
        if info.flag_bits & _ENCRYPTED:
            raise self._refused(f"{_shown(name)} in it is encrypted")
        if info.compress_type not in _METHODS:
            raise self._refused(
                f"{_shown(name)} in it is compressed by method {info.compress_type}; only stored "
                "and deflated ones are read"
            )
        if info.file_size > limits.entry_bytes:
            raise self._refused(
                f"{_shown(name)} in it has {info.file_size:,} bytes; at most "
                f"{limits.entry_bytes:,} are read"
            )
        if info.file_size > max(_RATIO_FROM, limits.ratio * info.compress_size):
            raise self._refused(
                f"{_shown(name)} in it unpacks {info.compress_size:,} bytes to "
                f"{info.file_size:,}; at most {limits.ratio} times as many are read"
            )

    def _check_overlap(self, infos: list[zipfile.ZipInfo], size: int) -> None:
        """Refuse members that share bytes: a few kilobytes could be terabytes."""
        end = 0
        for info in sorted(infos, key=lambda each: each.header_offset):
            if info.header_offset < end:
                raise self._refused(f"{_shown(info.filename)} shares bytes with another entry")
            end = info.header_offset + _LOCAL_HEADER + info.compress_size
        if end > size:
            raise self._damaged("its entries go on behind its end")

    def _refused(self, wrong: str, todo: str = _REFUSED) -> FileFormatError:
        return FileFormatError(self.path, wrong, todo)

    def _damaged(self, wrong: str) -> FileDamagedError:
        return FileDamagedError(self.path, wrong, _AGAIN)


def _shown(name: str) -> str:
    return repr(name if len(name) < 80 else f"{name[:77]}…")
