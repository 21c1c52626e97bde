"""Finding what is in a file without its index: cut off, damaged, or still being written."""

import re
import struct
from typing import NamedTuple

from stroboscope.engine.files.block_head import BLOCK_MAGIC, HEAD_BYTES, BlockError, BlockHead
from stroboscope.engine.files.chunk_index import ChunkKind, block_entry, low_rate_entry
from stroboscope.engine.files.container import (
    MAGIC,
    MESSAGE_HEAD,
    RECORD_HEAD,
    ContainerError,
    Fields,
    Opcode,
    chunk_head_bytes,
)
from stroboscope.engine.files.damage import Damage
from stroboscope.engine.files.limits import LARGEST_CHUNK
from stroboscope.engine.files.manifest import MANIFEST_NAME
from stroboscope.engine.files.source import ByteSource

__all__ = ["AttachmentPlace", "FileScan", "attachment_place"]

# How blocks, compressed chunks and manifests can be told in the middle of anything.
_BLOCK_SIGN = BLOCK_MAGIC + rb"\x01\x01[\x00-\x02][\x00-\x03]"
_ZSTD_SIGN = rb"\x04\x00\x00\x00zstd.{8}\x28\xb5\x2f\xfd"
_MANIFEST_SIGN = struct.pack("<I", len(MANIFEST_NAME)) + re.escape(MANIFEST_NAME.encode())
_SIGN = re.compile(b"(" + _BLOCK_SIGN + b")|(" + _ZSTD_SIGN + b")|" + _MANIFEST_SIGN, re.DOTALL)
# How far within their records the signs of compressed chunks and of manifests stand.
_ZSTD_SIGN_AT = RECORD_HEAD + 28
_MANIFEST_SIGN_AT = RECORD_HEAD + 16
_LONGEST_SIGN = 32
_WINDOW = 1 << 20
# A look at the beginning of a chunk or attachment: most are understood with so much of it.
_LOOK = 512
# The declarations of one topic before the first block: the names of all its columns.
_LONGEST_DECLARATION = 8 << 20
# Beyond so many, a file is made to keep its reader busy.
_MOST_FALSE_SIGNS = 50_000
_MOST_SMALL_RECORDS, _SMALL_RECORDS_PER_CHUNK = 100_000, 100
_MOST_DAMAGE = 1_000

_IN_DATA = frozenset(
    {
        Opcode.HEADER,
        Opcode.SCHEMA,
        Opcode.CHANNEL,
        Opcode.CHUNK,
        Opcode.MESSAGE,
        Opcode.MESSAGE_INDEX,
        Opcode.ATTACHMENT,
        Opcode.METADATA,
        Opcode.DATA_END,
    }
)


class AttachmentPlace(NamedTuple):
    """Where an attachment stands: its record, and what it is called."""

    name: str
    offset: int
    nbytes: int


class FileScan:
    """Goes through a file record by record; :meth:`go_on` again when the file has grown."""

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self.at = len(MAGIC)
        """Behind the last record that was understood."""
        self.entries = bytearray()
        self.attachments: list[AttachmentPlace] = []
        self.damage: list[Damage] = []
        self.ended = False
        """Whether the record that ends the data was found."""
        self._false_signs = 0
        self._small_records = 0
        self._chunks = 0
        self._window, self._window_at = b"", 0

    def go_on(self) -> None:
        """Go to the end of what is there now."""
        self._window = b""  # what failed half-way may have been taken back and written anew
        self._false_signs = 0  # a block that is still on its way is one of them each time
        while not self.ended:
            if not self._record():
                begin = self.at
                found = self._search(begin + 1, self._source.size)
                if found is None:
                    return
                lost, self.at = found
                self._note(begin, lost - begin, "bytes that are no record were passed over")

    def cut_off(self) -> Damage | None:
        """Return what is wrong with the end; None when it ends behind a record of its data."""
        left = self._source.size - self.at
        if self.ended:
            what = "the end of the file, which makes it quick to open, is damaged or cut off"
            return Damage(what=what, offset=self.at, nbytes=left, is_cut_off=True)
        if left <= 0:
            return None
        return Damage(
            what=f"the file ends within a record, whose {left:,} bytes are lost",
            offset=self.at,
            nbytes=left,
            is_cut_off=True,
        )

    def _note(self, offset: int, nbytes: int, what: str) -> None:
        if len(self.damage) < _MOST_DAMAGE:
            self.damage.append(Damage(what=what, offset=offset, nbytes=nbytes))

    # --- records

    def _record(self) -> bool:
        """Pass the next record; False when there is none whole."""
        at, source = self.at, self._source
        if source.size - at < RECORD_HEAD:
            return False
        look = self._look(at)
        opcode, length = look[0], int.from_bytes(look[1:RECORD_HEAD], "little")
        end = at + RECORD_HEAD + length
        if opcode not in _IN_DATA or end > source.size:
            return False
        if opcode == Opcode.CHUNK:
            if not self._chunk(at, end - at, look):
                return False
        elif opcode == Opcode.ATTACHMENT:
            place = attachment_place(source, at, end - at)
            if place is None:
                return False
            self.attachments.append(place)
        elif not _is_whole(opcode, look[RECORD_HEAD:], length):
            return False
        elif opcode == Opcode.DATA_END:
            self.ended = True
        else:
            self._small_records += 1
            if self._is_made_to_last:
                return False
        self.at = end
        return True

    @property
    def _is_made_to_last(self) -> bool:
        """Whether there are more records that hold nothing than any writer makes."""
        return self._small_records > _MOST_SMALL_RECORDS + self._chunks * _SMALL_RECORDS_PER_CHUNK

    def _look(self, at: int) -> bytes:
        """Return some bytes from ``at`` on; several records are often in what was read at once."""
        within = at - self._window_at
        size = min(_LOOK, self._source.size - at)
        if within < 0 or within + size > len(self._window):
            self._window_at, within = at, 0
            self._window = self._source.read(at, min(8 * _LOOK, self._source.size - at))
        return self._window[within : within + size]

    def _chunk(self, at: int, nbytes: int, look: bytes) -> bool:
        """Note a chunk; False when it can't be one."""
        if nbytes > LARGEST_CHUNK:
            return False
        fields = Fields(look[RECORD_HEAD:])
        try:
            fields.take(24 + 4)
            compression = fields.string()
            size = fields.u64()
        except ContainerError:
            return False
        if chunk_head_bytes(compression) + size != nbytes or compression not in ("", "zstd"):
            return False
        self._chunks += 1
        if compression:
            self.entries += low_rate_entry(ChunkKind.UNKNOWN, chunk=at, chunk_bytes=nbytes)
            return True
        block = self._block_within(at, nbytes)
        if block is None:
            if not self._is_followed(at + nbytes):
                return False
            known = len(self.entries)
            self._search(at + 1, at + nbytes)
            is_there = len(self.entries) > known
            what = "the block in it is not" if is_there else "its block is lost"
            self._note(at, nbytes, f"a chunk is damaged; {what}")
            return True
        place, head = block
        self.entries += block_entry(head, chunk=at, chunk_bytes=nbytes, block=place)
        return True

    def _is_followed(self, end: int) -> bool:
        """Return whether another record, or nothing, follows: a length is as it was written."""
        if end == self._source.size:
            return True
        return end < self._source.size and self._source.read(end, 1)[0] in _IN_DATA

    def _block_within(self, at: int, nbytes: int) -> tuple[int, BlockHead] | None:
        """Return where in a chunk its block stands, and its head."""
        within = chunk_head_bytes("")
        while within + MESSAGE_HEAD + HEAD_BYTES <= min(nbytes, _LONGEST_DECLARATION):
            look = self._look(at + within)
            opcode = look[0]
            if opcode == Opcode.MESSAGE:
                place = at + within + MESSAGE_HEAD
                try:
                    head = BlockHead.unpacked(self._source.read(place, HEAD_BYTES))
                except BlockError:
                    return None
                fits = place + head.nbytes <= at + nbytes and head.chunk == at
                return (place, head) if fits else None
            self._small_records += 1
            if opcode not in (Opcode.CHANNEL, Opcode.SCHEMA) or self._is_made_to_last:
                return None
            within += RECORD_HEAD + int.from_bytes(look[1:RECORD_HEAD], "little")
        return None

    # --- behind damage

    def _search(self, begin: int, end: int) -> tuple[int, int] | None:
        """Return where something is understood again, and where records go on; None: nowhere."""
        at, source = begin, self._source
        while end - at > _LONGEST_SIGN:
            window = source.read(at, min(_WINDOW, end - at))
            for sign in _SIGN.finditer(window):
                place = at + sign.start()
                if sign.group(1):
                    found = self._lone_block(place)
                elif sign.group(2):
                    found = self._begins(place - _ZSTD_SIGN_AT, begin, Opcode.CHUNK)
                else:
                    found = self._begins(place - _MANIFEST_SIGN_AT, begin, Opcode.ATTACHMENT)
                if found is not None:
                    return found
                self._false_signs += 1
                if self._false_signs > _MOST_FALSE_SIGNS:
                    self._note(at, end - at, "too much of it looks like blocks and is none")
                    return None
            at += max(len(window) - _LONGEST_SIGN, 1)
        return None

    def _lone_block(self, place: int) -> tuple[int, int] | None:
        """Note the block at ``place``, whose chunk can't be trusted; return where it stands."""
        if self._source.size - place < HEAD_BYTES:
            return None
        try:
            head = BlockHead.unpacked(self._source.read(place, HEAD_BYTES))
        except BlockError:
            return None
        end = place + head.nbytes
        if end > self._source.size or not head.chunk < place:
            return None
        self.entries += block_entry(
            head, chunk=head.chunk, chunk_bytes=end - head.chunk, block=place
        )
        self._chunks += 1
        return place, end

    def _begins(self, at: int, begin: int, opcode: Opcode) -> tuple[int, int] | None:
        """Return ``at``, twice, when a record of a kind stands there, not before ``begin``."""
        if at < begin or self._source.read(at, 1)[0] != opcode:
            return None
        nbytes = RECORD_HEAD + int.from_bytes(self._source.read(at + 1, 8), "little")
        return (at, at) if at + nbytes <= self._source.size else None


def _is_whole(opcode: int, content: bytes, length: int) -> bool:
    """Return whether the content of a small record is as long as it says within itself.

    A length that was damaged would lead to the middle of something else.
    """
    if opcode == Opcode.DATA_END:
        return length == 4
    fields = Fields(content)
    try:
        if opcode == Opcode.MESSAGE_INDEX:
            fields.take(2)
        elif opcode in (Opcode.HEADER, Opcode.METADATA):
            fields.string()
        else:
            return True
        return len(content) - fields.left + 4 + fields.u32() == length
    except ContainerError:
        return False


def attachment_place(source: ByteSource, at: int, nbytes: int) -> AttachmentPlace | None:
    """Return what the record of an attachment is called; None when it is none."""
    look = source.read(at, min(nbytes, 8 * _LOOK))
    fields = Fields(look[RECORD_HEAD:])
    try:
        fields.take(16)
        name, _ = fields.string(), fields.string()
        size = fields.u64()
    except ContainerError:
        return None
    if len(look) - fields.left + size + 4 != nbytes:
        return None
    return AttachmentPlace(name, at, nbytes)
