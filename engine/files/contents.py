"""What is where in a file: from its index at the end, or else by going through it."""

import contextlib
import dataclasses
import itertools
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.files.chunk_index import ENTRY, ChunkKind, impossible_entry
from stroboscope.engine.files.container import (
    MAGIC,
    RECORD_HEAD,
    ContainerError,
    Fields,
    Opcode,
)
from stroboscope.engine.files.damage import Damage
from stroboscope.engine.files.errors import FileDamagedError, FileFormatError, FileVersionError
from stroboscope.engine.files.kinds import HEAD_BYTES, FileKind, kind_of
from stroboscope.engine.files.limits import LARGEST_ATTACHMENT
from stroboscope.engine.files.manifest import INDEX_NAME
from stroboscope.engine.files.scan import AttachmentPlace, FileScan
from stroboscope.engine.files.source import ByteSource

__all__ = ["PROFILE", "FileContents", "other_program", "read_attachment"]

_FOOTER_BYTES = RECORD_HEAD + 20
_VERSION_AT = 5
_HEADER_LOOK = 4096
PROFILE = "stroboscope"
"""What the header of every file of ours says."""
# Of so many places with damage it is worked out which steps are lost.
_MOST_EXPLAINED = 30


class FileContents:
    """Entries of all chunks, places of attachments, and what is wrong.

    ``complete``: the file was closed, and its index is intact. Else it was gone through.
    """

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self.damage: list[Damage] = []
        self.attachments: list[AttachmentPlace] = []
        self.entries: NDArray[np.void] = np.empty(0, dtype=ENTRY)
        self.complete = False
        self.declared = b""
        """Records of the channels, where the summary is intact."""
        self.summary_start = -1
        """Where the summary begins, -1 without one."""
        self._explained: list[list[Damage]] = []
        self._scan: FileScan | None = None
        self._first_damage = _check_magic(source)
        try:
            self._read_index()
            self.complete, self.damage = True, list(self._first_damage)
        except _NoIndexError as error:
            self._first_damage += (error.damage,) if error.damage else ()
            self._scan = FileScan(source)
            self._go_on(self._scan)

    def follow(self) -> bool:
        """Look for what was appended; return whether there is more than before."""
        scan = self._scan
        if scan is None or self.complete:
            return False
        before = self._source.size
        if self._source.refresh() == before:
            return False
        known = len(scan.entries), len(scan.attachments)
        self._go_on(scan)
        if scan.ended and not scan.damage:
            # What follows the end may still be on its way.
            with contextlib.suppress(_NoIndexError):
                self.summary_start, self.declared, _ = _read_summary(self._source)
                self.complete, self.damage = True, []
        return self.complete or known != (len(scan.entries), len(scan.attachments))

    def _go_on(self, scan: FileScan) -> None:
        scan.go_on()
        self.entries = np.frombuffer(bytes(scan.entries), dtype=ENTRY)
        self.attachments = scan.attachments
        end = None if scan.ended and self._first_damage else scan.cut_off()
        for damage in scan.damage[len(self._explained) :]:
            enough = len(self._explained) >= _MOST_EXPLAINED
            self._explained.append([damage] if enough else self._with_lost_steps(damage))
        found = itertools.chain.from_iterable(self._explained)
        self.damage = [*self._first_damage, *found, *([end] if end else [])]

    def _with_lost_steps(self, damage: Damage) -> list[Damage]:
        """Say of which scenes steps are missing where something was passed over."""
        found = []
        blocks = self.entries[self.entries["kind"] < ChunkKind.EVENTS]
        for scene in np.unique(blocks["scene"]).tolist():
            mine = blocks[blocks["scene"] == scene]
            behind = int(np.searchsorted(mine["block"], damage.offset))
            if not 0 < behind < len(mine):
                continue
            before, after = mine[behind - 1], mine[behind]
            rows, last = int(before["rows"]), int(before["last_axis"])
            stride = max((last - int(before["first_axis"])) // max(rows - 1, 1), 1)
            if int(after["first_axis"]) > last + stride:
                axes = (last + stride, int(after["first_axis"]) - 1)
                found.append(dataclasses.replace(damage, scene=scene, axes=axes))
        return found or [damage]

    def _read_index(self) -> None:
        source = self._source
        self.summary_start, self.declared, self.attachments = _read_summary(source)
        place = next((each for each in self.attachments if each.name == INDEX_NAME), None)
        if place is None:
            raise _NoIndexError(Damage(what="the file has no index of its blocks", offset=0))
        try:
            data = read_attachment(source, place)
        except FileDamagedError as error:
            raise _NoIndexError(
                Damage(what="its index is damaged", offset=place.offset, nbytes=place.nbytes)
            ) from error
        if len(data) % ENTRY.itemsize:
            raise _NoIndexError(Damage(what="its index is no list of blocks", offset=place.offset))
        entries = np.frombuffer(data, dtype=ENTRY)
        wrong = impossible_entry(entries, size=source.size)
        if wrong is not None:
            what = f"entry {wrong:,} of its index says what can't be"
            raise _NoIndexError(Damage(what=what, offset=place.offset, nbytes=place.nbytes))
        self.entries = entries


def other_program(source: ByteSource) -> str:
    """Return which other program an MCAP file is of; empty when it is one of ours, or damaged."""
    look = source.read(len(MAGIC), min(_HEADER_LOOK, max(source.size - len(MAGIC), 0)))
    try:
        opcode, header = Fields(look).record()
        texts = Fields(header)
        profile, library = texts.string(), texts.string()
    except ContainerError:
        return ""
    is_other = opcode == Opcode.HEADER and profile != PROFILE
    return (library or profile or "an unknown one")[:80] if is_other else ""


class _NoIndexError(Exception):
    """A file has no index that can be used; ``damage`` None: it was just not closed."""

    def __init__(self, damage: Damage | None) -> None:
        super().__init__()
        self.damage = damage


def _check_magic(source: ByteSource) -> tuple[Damage, ...]:
    """Return what is wrong with the first bytes of a file of ours.

    Raises FileFormatError or FileVersionError for files of other kinds.
    """
    magic = source.read(0, min(len(MAGIC), source.size))
    if magic == MAGIC:
        return ()
    with contextlib.suppress(_NoIndexError):
        _read_summary(source)
        return (Damage(what="its first bytes are damaged", offset=0, nbytes=len(MAGIC)),)
    if MAGIC.startswith(magic):
        raise FileDamagedError(
            source.path,
            f"has {len(magic)} bytes only: it was cut off, or nothing was recorded",
            "take it from its source again",
        )
    if magic[:_VERSION_AT] == MAGIC[:_VERSION_AT]:
        raise FileVersionError(
            source.path,
            f"has version {chr(magic[_VERSION_AT])!r} of the container MCAP, this reads '0'",
            "update Stroboscope to open it",
        )
    if kind_of(source.read(0, min(HEAD_BYTES, source.size))) is FileKind.SCENE:
        raise FileFormatError(
            source.path, "is a scene, no trajectory", "use load_scene, or stroboscope open"
        )
    raise FileFormatError(
        source.path,
        f"is no trajectory (it begins with {magic!r})",
        "open a file that a recording of Stroboscope has written",
    )


def _read_summary(source: ByteSource) -> tuple[int, bytes, list[AttachmentPlace]]:
    """Return where the summary begins, what channels it declares, which attachments it names.

    Raises _NoIndexError without an intact summary.
    """
    size = source.size
    if size < len(MAGIC) + _FOOTER_BYTES + len(MAGIC):
        raise _NoIndexError(None)
    tail = source.read(size - _FOOTER_BYTES - len(MAGIC), _FOOTER_BYTES + len(MAGIC))
    if tail[_FOOTER_BYTES:] != MAGIC or tail[0] != Opcode.FOOTER:
        raise _NoIndexError(None)
    fields = Fields(tail[RECORD_HEAD:])
    start, _, crc = fields.u64(), fields.u64(), fields.u32()
    end = size - _FOOTER_BYTES - len(MAGIC)
    damaged = Damage(what="its summary is damaged", offset=min(start, end))
    if not len(MAGIC) <= start <= end:
        raise _NoIndexError(damaged)
    summary = memoryview(source.read(start, end - start))
    if crc32(tail[: RECORD_HEAD + 16], crc32(summary)) != crc:
        raise _NoIndexError(damaged)
    try:
        return (start, *_parse_summary(summary, size=size))
    except ContainerError as error:
        raise _NoIndexError(damaged) from error


def _parse_summary(summary: memoryview, *, size: int) -> tuple[bytes, list[AttachmentPlace]]:
    places, declared = [], 0
    fields = Fields(summary)
    while fields.left:
        opcode, content = fields.record()
        if opcode == Opcode.CHUNK_INDEX:
            break  # many of them, and the last but what says where each kind begins
        if opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
            declared = len(summary) - fields.left
        if opcode == Opcode.ATTACHMENT_INDEX:
            of_one = Fields(content)
            offset, length = of_one.u64(), of_one.u64()
            of_one.take(24)
            name = of_one.string()
            if offset + length > size:
                raise ContainerError("an attachment stands behind the end")
            places.append(AttachmentPlace(name, offset, length))
    return bytes(summary[:declared]), places


def read_attachment(source: ByteSource, place: AttachmentPlace) -> bytes:
    """Return the content of an attachment; raises FileDamagedError when its CRC is wrong."""
    todo = "take it from its source again"
    wrong = f"has a damaged attachment {place.name!r} at byte {place.offset:,}"
    if place.nbytes > LARGEST_ATTACHMENT:
        raise FileDamagedError(
            source.path,
            f"has an attachment {place.name!r} of {place.nbytes:,} bytes, allowed are "
            f"{LARGEST_ATTACHMENT:,}",
            todo,
        )
    data = memoryview(source.read(place.offset, place.nbytes))
    try:
        opcode, content = Fields(data).record()
        crc = int.from_bytes(content[-4:], "little")
        if opcode != Opcode.ATTACHMENT or crc32(content[:-4]) != crc:
            raise FileDamagedError(source.path, wrong, todo)
        fields = Fields(content[:-4])
        fields.take(16)
        name, _ = fields.string(), fields.string()
        body = fields.take(fields.u64())
    except ContainerError as error:
        raise FileDamagedError(source.path, wrong, todo) from error
    if fields.left or name != place.name:
        raise FileDamagedError(source.path, wrong, todo)
    return bytes(body)
