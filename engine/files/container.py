"""Records of the open container MCAP (mcap.dev/spec), as far as trajectories use them."""

import struct
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from zlib import crc32

__all__ = [
    "MAGIC",
    "RECORD_HEAD",
    "ContainerError",
    "Fields",
    "Opcode",
    "attachment_index_record",
    "attachment_pieces",
    "attachment_record",
    "channel_record",
    "chunk_index_record",
    "chunk_record",
    "footer_record",
    "message_index_record",
    "message_record",
    "metadata_index_record",
    "record",
    "schema_record",
    "statistics_record",
]

MAGIC = b"\x89MCAP0\r\n"
RECORD_HEAD = 9
"""Bytes before the content of a record: opcode and length."""

_RECORD = struct.Struct("<BQ")
_U16, _U32, _U64 = struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<Q")
_TWO_IDS = struct.Struct("<HH")
_MESSAGE = struct.Struct("<BQHIQQ")
_CHUNK = struct.Struct("<QQQI")
_TIMES = struct.Struct("<QQ")
_INDEX_ENTRY = struct.Struct("<HIQQ")
_CHUNK_INDEX = struct.Struct("<QQQQI")
_CHANNEL_OFFSET = struct.Struct("<HQ")
_STATISTICS = struct.Struct("<QHIIIIQQ")
_FOOTER = struct.Struct("<QQ")


class Opcode(IntEnum):
    """What a record is."""

    HEADER = 0x01
    FOOTER = 0x02
    SCHEMA = 0x03
    CHANNEL = 0x04
    MESSAGE = 0x05
    CHUNK = 0x06
    MESSAGE_INDEX = 0x07
    CHUNK_INDEX = 0x08
    ATTACHMENT = 0x09
    ATTACHMENT_INDEX = 0x0A
    STATISTICS = 0x0B
    METADATA = 0x0C
    METADATA_INDEX = 0x0D
    SUMMARY_OFFSET = 0x0E
    DATA_END = 0x0F


class ContainerError(ValueError):
    """Bytes are no record; the reader knows which file and which place it is about."""


# --- writing


def record(opcode: Opcode, *content: bytes) -> bytes:
    """Return a record of the parts of its content."""
    return b"".join((_RECORD.pack(opcode, sum(map(len, content))), *content))


def string(text: str) -> bytes:
    """Return a text with its length before it."""
    data = text.encode()
    return _U32.pack(len(data)) + data


def mapping(texts: Mapping[str, str]) -> bytes:
    """Return names and texts with their length before them."""
    data = b"".join(string(key) + string(text) for key, text in texts.items())
    return _U32.pack(len(data)) + data


def schema_record(number: int, name: str, encoding: str, data: bytes) -> bytes:
    """Return a schema; numbers begin at 1."""
    size = _U32.pack(len(data))
    return record(Opcode.SCHEMA, _U16.pack(number), string(name), string(encoding), size, data)


def channel_record(
    number: int, *, schema: int, topic: str, encoding: str, metadata: Mapping[str, str]
) -> bytes:
    """Return a channel; ``schema`` 0: it has none."""
    ids = _TWO_IDS.pack(number, schema)
    return record(Opcode.CHANNEL, ids, string(topic), string(encoding), mapping(metadata))


def message_record(channel: int, *, sequence: int, log_time: int, data: bytes) -> bytes:
    """Return a message that was logged [ns] when it was published."""
    size = len(data) + _MESSAGE.size - RECORD_HEAD
    return (
        _MESSAGE.pack(Opcode.MESSAGE, size, channel, sequence & 0xFFFF_FFFF, log_time, log_time)
        + data
    )


MESSAGE_HEAD = _MESSAGE.size
"""Bytes of a message record before its data."""


def chunk_record(
    records: bytes, *, crc: int, size: int, times: tuple[int, int], compression: str
) -> bytes:
    """Return a chunk; ``crc`` and ``size`` of its records before they were compressed."""
    head = _CHUNK.pack(*times, size, crc)
    return record(Opcode.CHUNK, head, string(compression), _U64.pack(len(records)), records)


def chunk_head_bytes(compression: str) -> int:
    """Bytes of a chunk record before its records."""
    return RECORD_HEAD + _CHUNK.size + 4 + len(compression) + 8


def message_index_record(channel: int, entries: list[tuple[int, int]]) -> bytes:
    """Return the log times and places within its chunk of a channel's messages."""
    data = b"".join(_TIMES.pack(time, offset) for time, offset in entries)
    return record(Opcode.MESSAGE_INDEX, _U16.pack(channel), _U32.pack(len(data)), data)


def attachment_record(name: str, media_type: str, data: bytes, *, log_time: int) -> bytes:
    """Return an attachment with its CRC."""
    return b"".join(attachment_pieces(name, media_type, (data,), size=len(data), log_time=log_time))


def attachment_pieces(
    name: str, media_type: str, data: Iterable[bytes], *, size: int, log_time: int
) -> Iterator[bytes]:
    """Yield an attachment of ``size`` bytes, which come in pieces, with its CRC."""
    head = b"".join(
        (_TIMES.pack(log_time, log_time), string(name), string(media_type), _U64.pack(size))
    )
    yield _RECORD.pack(Opcode.ATTACHMENT, len(head) + size + _U32.size) + head
    crc = crc32(head)
    for piece in data:
        yield piece
        crc = crc32(piece, crc)
    yield _U32.pack(crc)


def attachment_index_record(
    name: str, media_type: str, *, offset: int, length: int, log_time: int, size: int
) -> bytes:
    """Return where an attachment stands in the file."""
    numbers = struct.pack("<5Q", offset, length, log_time, log_time, size)
    return record(Opcode.ATTACHMENT_INDEX, numbers, string(name), string(media_type))


def metadata_index_record(name: str, *, offset: int, length: int) -> bytes:
    """Return where a metadata record stands in the file."""
    return record(Opcode.METADATA_INDEX, _TIMES.pack(offset, length), string(name))


def chunk_index_record(
    *,
    offset: int,
    length: int,
    times: tuple[int, int],
    indexes: Mapping[int, int],
    index_bytes: int,
    compression: str,
    sizes: tuple[int, int],
) -> bytes:
    """Return where a chunk stands; ``indexes``: where those of its channels' messages stand.

    ``sizes``: of its records, compressed and not.
    """
    return record(
        Opcode.CHUNK_INDEX,
        _CHUNK_INDEX.pack(*times, offset, length, _CHANNEL_OFFSET.size * len(indexes)),
        b"".join(_CHANNEL_OFFSET.pack(channel, at) for channel, at in indexes.items()),
        _U64.pack(index_bytes),
        string(compression),
        _TIMES.pack(*sizes),
    )


def statistics_record(
    *,
    schemas: int,
    attachments: int,
    metadata: int,
    chunks: int,
    times: tuple[int, int],
    messages: Mapping[int, int],
) -> bytes:
    """Return how much of everything there is; ``messages`` by channel."""
    counts = b"".join(_CHANNEL_OFFSET.pack(channel, n) for channel, n in messages.items())
    numbers = _STATISTICS.pack(
        sum(messages.values()), schemas, len(messages), attachments, metadata, chunks, *times
    )
    return record(Opcode.STATISTICS, numbers, _U32.pack(len(counts)), counts)


def footer_record(summary_crc: int, *, summary_start: int, offset_start: int) -> bytes:
    """Return the footer behind a summary with that CRC, with the CRC of both."""
    head = _RECORD.pack(Opcode.FOOTER, 20) + _FOOTER.pack(summary_start, offset_start)
    return head + _U32.pack(crc32(head, summary_crc))


# --- reading


class Fields:
    """Reads fields one after the other; raises ContainerError instead of reading past the end."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = memoryview(data)
        self._at = 0

    @property
    def left(self) -> int:
        """Bytes that are left."""
        return len(self._data) - self._at

    def take(self, size: int) -> memoryview:
        """Return the next ``size`` bytes."""
        if size > self.left:
            raise ContainerError(f"a field of {size:,} bytes stands where {self.left:,} are left")
        self._at += size
        return self._data[self._at - size : self._at]

    def u16(self) -> int:
        """Return the next number of 2 bytes."""
        return int.from_bytes(self.take(2), "little")

    def u32(self) -> int:
        """Return the next number of 4 bytes."""
        return int.from_bytes(self.take(4), "little")

    def u64(self) -> int:
        """Return the next number of 8 bytes."""
        return int.from_bytes(self.take(8), "little")

    def string(self) -> str:
        """Return the next text."""
        try:
            return str(self.take(self.u32()), "utf-8")
        except UnicodeDecodeError as error:
            raise ContainerError("a text is not UTF-8") from error

    def mapping(self) -> dict[str, str]:
        """Return the next names and texts."""
        fields = Fields(self.take(self.u32()))
        texts = {}
        while fields.left:
            key = fields.string()
            texts[key] = fields.string()
        return texts

    def record(self) -> tuple[int, memoryview]:
        """Return the opcode and the content of the next record."""
        opcode = self.take(1)[0]
        return opcode, self.take(self.u64())
