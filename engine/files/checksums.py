"""Checksums that reading single frames does not need: of chunks with blocks, and of all data."""

from collections.abc import Iterator
from zlib import crc32

from stroboscope.engine.files.chunk_index import ChunkKind
from stroboscope.engine.files.container import RECORD_HEAD, ContainerError, Fields, Opcode, record
from stroboscope.engine.files.contents import FileContents
from stroboscope.engine.files.damage import Damage
from stroboscope.engine.files.errors import FileDamagedError
from stroboscope.engine.files.source import ByteSource

__all__ = ["chunk_damage", "data_damage"]

_WINDOW = 1 << 20
_DATA_END_BYTES = RECORD_HEAD + 4


def chunk_damage(source: ByteSource, contents: FileContents) -> Iterator[Damage | None]:
    """Compare the checksum of each chunk with a block; yield what is wrong with it, or None."""
    entries = contents.entries
    for entry in entries[entries["kind"] < ChunkKind.EVENTS]:
        offset, nbytes = int(entry["chunk"]), int(entry["chunk_bytes"])
        try:
            opcode, content = Fields(source.read(offset, nbytes)).record()
            fields = Fields(content)
            fields.take(16)
            size, crc, compression = fields.u64(), fields.u32(), fields.string()
            records = fields.take(fields.u64())
            right = (opcode, compression, size) == (Opcode.CHUNK, "", len(records))
            yield None if right and crc32(records) == crc else _chunk(offset, nbytes)
        except (ContainerError, FileDamagedError):
            yield _chunk(offset, nbytes)


def _chunk(offset: int, nbytes: int) -> Damage:
    what = "the checksum of a chunk is wrong, which other tools look at"
    return Damage(what=what, offset=offset, nbytes=nbytes)


def data_damage(source: ByteSource, contents: FileContents) -> Iterator[Damage | None]:
    """Compare the checksum of all data; yield None now and then, and what is wrong at the end."""
    end = contents.summary_start - _DATA_END_BYTES
    if not contents.complete or end < 0:
        return  # without its end, there is none
    crc = 0
    for at in range(0, end, _WINDOW):
        crc = crc32(source.read(at, min(_WINDOW, end - at)), crc)
        yield None
    if source.read(end, _DATA_END_BYTES) != record(Opcode.DATA_END, crc.to_bytes(4, "little")):
        yield Damage(what="the checksum of all data is wrong", offset=0, nbytes=end)
