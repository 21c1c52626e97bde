"""Messages that come seldom, from compressed chunks that are checked one by one."""

import contextlib
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.files.chunk_index import ChunkKind
from stroboscope.engine.files.compression import CompressedError, Decompressor
from stroboscope.engine.files.container import ContainerError, Fields, Opcode
from stroboscope.engine.files.damage import Damage
from stroboscope.engine.files.errors import FileDamagedError
from stroboscope.engine.files.limits import (
    LARGEST_LOW_RATE,
    LOW_RATE_PER_BYTE,
    LOW_RATE_TOTAL,
)
from stroboscope.engine.files.lost_messages import LostMessages, indexed_messages
from stroboscope.engine.files.source import ByteSource

__all__ = ["Channel", "LowRateChunks", "Message"]

# Opcode, length, channel, sequence, log time, publish time.
_MESSAGE = struct.Struct("<BQHIQQ")
_OPCODE_AND_LENGTH = 9
# Bytes of a chunk's own head, and of what compression may add to what can't be compressed.
_CHUNK_MARGIN = 1 << 20
_UNDECLARED = "messages are of channels that a damaged chunk declares"
_NAMES = {
    0: "a chunk of events, signals or messages",
    int(ChunkKind.EVENTS): "a chunk of events",
    int(ChunkKind.SIGNALS): "a chunk of signals",
    int(ChunkKind.MESSAGES): "a chunk of messages for other tools",
}


class Channel(NamedTuple):
    """A channel as it was declared."""

    topic: str
    encoding: str
    schema: tuple[str, str, bytes] | None
    metadata: dict[str, str]


class Message(NamedTuple):
    """A message of a channel, logged at ``log_time`` [ns]."""

    channel: Channel
    log_time: int
    data: bytes


class LowRateChunks:
    """Goes through chunks that hold no blocks; damaged ones are told to ``note`` and passed.

    ``declared``: records of channels from the file's summary, for when the chunk that declares
    one is damaged. All that is read with one of these together has a limit.
    """

    def __init__(
        self,
        source: ByteSource,
        decompress: Decompressor,
        note: Callable[[Damage], None],
        *,
        declared: bytes = b"",
    ) -> None:
        self._source = source
        self._decompress, self._note = decompress, note
        self._schemas: dict[int, tuple[str, str, bytes]] = {}
        self._channels: dict[int, Channel] = {}
        self._may_read = LOW_RATE_TOTAL
        self._undeclared = False
        """Whether the chunk has messages of channels that a damaged one declares."""
        with contextlib.suppress(ContainerError):
            for _ in self._messages_of(declared):
                pass  # it holds none

    def read(
        self, entries: NDArray[np.void], kind: ChunkKind | None = None
    ) -> Iterator[list[Message]]:
        """Yield the messages of each chunk that holds a kind, or may do so; None: of all."""
        kinds = entries["kind"]
        wanted = (kinds == kind) | (kinds == ChunkKind.UNKNOWN) if kind else kinds >= min(ChunkKind)
        for entry in entries[wanted]:
            offset, nbytes = int(entry["chunk"]), int(entry["chunk_bytes"])
            messages: list[Message] = []
            try:
                # Those before what is damaged within a chunk are intact: its CRC was compared.
                messages.extend(self._messages_of(self._content(offset, nbytes)))
                why = _UNDECLARED if self._undeclared else ""
            except (ContainerError, CompressedError, FileDamagedError) as error:
                why = f"{_NAMES.get(int(entry['kind']), _NAMES[0])} is damaged: {error}"
            if why:
                lost = self._lost(offset + nbytes, messages)
                self._note(Damage(what=why, offset=offset, nbytes=nbytes, messages=lost))
            yield messages

    def _lost(self, behind: int, read: list[Message]) -> tuple[LostMessages, ...]:
        """Return what could not be read of a chunk that ends at ``behind``."""
        undeclared, self._undeclared = self._undeclared, False
        there = Counter(message.channel.topic for message in read)
        found = []
        try:
            indexed = indexed_messages(self._source, behind)
        except FileDamagedError:
            return ()  # the file has become shorter meanwhile
        for number, (count, first, last) in indexed.items():
            channel = self._channels.get(number)
            topic = channel.topic if channel is not None else ""
            left = count - there[topic]
            if left > 0 and (channel is None or not undeclared):
                found.append(LostMessages(topic, left, first, last))
        return tuple(found)

    def _content(self, offset: int, nbytes: int) -> bytes:
        """Return the records of a chunk, whose CRC was compared."""
        if nbytes > LARGEST_LOW_RATE + _CHUNK_MARGIN:
            raise CompressedError(f"it has {nbytes:,} bytes, allowed are {LARGEST_LOW_RATE:,}")
        fields = Fields(self._source.read(offset, nbytes))
        opcode, content = fields.record()
        if opcode != Opcode.CHUNK or fields.left:
            raise ContainerError("no chunk stands there")
        fields = Fields(content)
        fields.take(16)
        size, crc, compression = fields.u64(), fields.u32(), fields.string()
        stored = fields.take(fields.u64())
        if compression != "zstd" or fields.left:
            raise ContainerError(f"it is compressed with {compression[:20]!r}, this reads 'zstd'")
        self._may_read += LOW_RATE_PER_BYTE * len(stored)
        limit = min(self._may_read, LARGEST_LOW_RATE)
        if size > limit:
            raise CompressedError(f"it declares {size:,} bytes, allowed are {limit:,}")
        records = self._decompress(stored, limit=size, exact=True)
        self._may_read -= size
        if crc32(records) != crc:
            raise CompressedError("its checksum is wrong")
        return records

    def _messages_of(self, content: bytes) -> Iterator[Message]:
        at, end = 0, len(content)
        while at < end:
            if content[at] == Opcode.MESSAGE and end - at >= _MESSAGE.size:
                # Most are these; anything else may take longer.
                _, length, number, _, log_time, _ = _MESSAGE.unpack_from(content, at)
                behind = at + _OPCODE_AND_LENGTH + length
                if behind > end or length < _MESSAGE.size - _OPCODE_AND_LENGTH:
                    raise ContainerError(f"a message of {length:,} bytes does not fit in")
                channel = self._channels.get(number)
                if channel is not None:
                    yield Message(channel, log_time, content[at + _MESSAGE.size : behind])
                else:
                    self._undeclared = True
                at = behind
            else:
                fields = Fields(memoryview(content)[at:])
                self._declare(*fields.record())
                at = end - fields.left

    def _declare(self, opcode: int, data: memoryview) -> None:
        """Take the declaration of a schema or channel; pass over other records."""
        fields = Fields(data)
        if opcode == Opcode.SCHEMA:
            number = fields.u16()
            name, encoding = fields.string(), fields.string()
            self._schemas[number] = (name, encoding, bytes(fields.take(fields.u32())))
        elif opcode == Opcode.CHANNEL:
            number, schema = fields.u16(), fields.u16()
            topic, encoding = fields.string(), fields.string()
            known = self._schemas.get(schema)
            self._channels[number] = Channel(topic, encoding, known, fields.mapping())
