"""Messages that come seldom, from compressed chunks that are checked one by one."""

import contextlib
from collections.abc import Callable, Iterator
from typing import NamedTuple
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.files.chunk_index import ChunkKind
from stroboscope.engine.files.compression import CompressedError, Decompressor
from stroboscope.engine.files.container import ContainerError, Fields, Opcode
from stroboscope.engine.files.damage import Damage
from stroboscope.engine.files.limits import LARGEST_LOW_RATE, LOW_RATE_TOTAL
from stroboscope.engine.files.source import ByteSource

__all__ = ["Channel", "LowRateChunks", "Message", "value_names"]


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
    """Goes through the chunks that hold no blocks; damaged ones are told to ``note`` and passed."""

    def __init__(
        self,
        source: ByteSource,
        entries: NDArray[np.void],
        decompress: Decompressor,
        note: Callable[[Damage], None],
        *,
        declared: bytes = b"",
    ) -> None:
        self._source, self._entries = source, entries
        self._decompress, self._note = decompress, note
        self._schemas: dict[int, tuple[str, str, bytes]] = {}
        self._channels: dict[int, Channel] = {}
        with contextlib.suppress(ContainerError):
            for _ in self._messages_of(declared):
                pass  # it holds none

    def all(self, kind: ChunkKind | None = None) -> Iterator[Message]:
        """Yield the messages of chunks that hold a kind, or may do so; None: of all."""
        kinds = self._entries["kind"]
        wanted = (kinds == kind) | (kinds == ChunkKind.UNKNOWN) if kind else kinds >= min(ChunkKind)
        left = LOW_RATE_TOTAL
        for entry in self._entries[wanted]:
            offset, nbytes = int(entry["chunk"]), int(entry["chunk_bytes"])
            try:
                content = self._content(offset, nbytes, min(left, LARGEST_LOW_RATE))
                left -= len(content)
                yield from self._messages_of(content)
            except (ContainerError, CompressedError) as error:
                what = f"a chunk of events, signals or messages is damaged: {error}"
                self._note(Damage(what=what, offset=offset, nbytes=nbytes))

    def _content(self, offset: int, nbytes: int, limit: int) -> bytes:
        """Return the records of a chunk, whose CRC was compared."""
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
        if size > limit:
            raise CompressedError(f"it declares {size:,} bytes, allowed are {limit:,}")
        records = self._decompress(stored, limit=size, exact=True)
        if crc32(records) != crc:
            raise CompressedError("its checksum is wrong")
        return records

    def _messages_of(self, content: bytes) -> Iterator[Message]:
        fields = Fields(content)
        while fields.left:
            opcode, data = fields.record()
            of_one = Fields(data)
            if opcode == Opcode.SCHEMA:
                number = of_one.u16()
                name, encoding = of_one.string(), of_one.string()
                self._schemas[number] = (name, encoding, bytes(of_one.take(of_one.u32())))
            elif opcode == Opcode.CHANNEL:
                number, schema = of_one.u16(), of_one.u16()
                topic, encoding = of_one.string(), of_one.string()
                known = self._schemas.get(schema)
                self._channels[number] = Channel(topic, encoding, known, of_one.mapping())
            elif opcode == Opcode.MESSAGE:
                number = of_one.u16()
                of_one.take(4)
                log_time = of_one.u64()
                of_one.take(8)
                channel = self._channels.get(number)
                if channel is None:
                    raise ContainerError(
                        f"a message is of channel {number}, which is declared "
                        "in a chunk that is damaged"
                    )
                yield Message(channel, log_time, bytes(of_one.take(of_one.left)))


class _Value(msgspec.Struct):
    properties: dict[str, msgspec.Raw] = {}


class _Properties(msgspec.Struct):
    value: _Value


class _Schema(msgspec.Struct):
    properties: _Properties


def value_names(schema: bytes) -> tuple[str, ...]:
    """Return the names of a signal's values, as its schema says; empty where it says none."""
    try:
        return tuple(msgspec.json.decode(schema, type=_Schema).properties.value.properties)
    except (msgspec.MsgspecError, RecursionError):
        return ()
