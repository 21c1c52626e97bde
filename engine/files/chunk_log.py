"""What a writer remembers of its chunks until it closes the file: a few bytes of each.

A scene of few joints that is stepped fast makes millions of small blocks in a file. What the file
says of each in its end, 163 bytes in two indexes, follows from one entry, and entries from those
before: kept compressed, most take less than 20.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.files.chunk_index import ENTRY
from stroboscope.engine.files.compression import Compressor, Decompressor
from stroboscope.engine.files.container import (
    RECORD_HEAD,
    Opcode,
    chunk_head_bytes,
    message_index_record,
)

__all__ = ["ChunkLog"]

# So many entries are compressed together.
_TOGETHER: Final = 4096
_WORDS: Final = ENTRY.itemsize // 8

# The container's record of where a chunk with one block stands: of one message, not compressed.
_INDEX_RECORD: Final = np.dtype(
    [
        ("opcode", "u1"),
        ("length", "<u8"),
        ("first_time", "<u8"),
        ("last_time", "<u8"),
        ("chunk", "<u8"),
        ("chunk_bytes", "<u8"),
        ("map_bytes", "<u4"),
        ("channel", "<u2"),
        ("message_index", "<u8"),
        ("index_bytes", "<u8"),
        ("compression", "<u4"),
        ("stored", "<u8"),
        ("size", "<u8"),
    ]
)
_MAP_BYTES: Final = 10
_MESSAGE_INDEX_BYTES: Final = len(message_index_record(0, [(0, 0)]))


class ChunkLog:
    """All chunks of a file in order; one thread at a time."""

    def __init__(self) -> None:
        self.count = 0
        """How many chunks there are."""
        self.index_record_bytes = 0
        """How many bytes all records of the container's index take."""
        self._compress, self._decompress = Compressor(), Decompressor()
        self._new = bytearray()
        self._new_records = bytearray()
        self._new_kinds = bytearray()
        self._old: list[tuple[bytes, bytes, bytes]] = []
        """Entries, index records of those that hold no block, and which do; compressed."""
        self._record_bytes: list[int] = []

    def add_block(self, entry: bytes) -> None:
        """Remember a chunk with one block."""
        self.index_record_bytes += _INDEX_RECORD.itemsize
        self._add(entry, holds_block=True)

    def add_low_rate(self, entry: bytes, index_record: bytes) -> None:
        """Remember a chunk of messages, and what the container's index says of it."""
        self._new_records += index_record
        self.index_record_bytes += len(index_record)
        self._add(entry, holds_block=False)

    def _add(self, entry: bytes, *, holds_block: bool) -> None:
        self._new += entry
        self._new_kinds.append(holds_block)
        self.count += 1
        if len(self._new) >= _TOGETHER * ENTRY.itemsize:
            parts = _planes(bytes(self._new)), bytes(self._new_records), bytes(self._new_kinds)
            entries, records, kinds = (_alone(self._compress(each)) for each in parts)
            self._old.append((entries, records, kinds))
            self._record_bytes.append(len(self._new_records))
            for each in (self._new, self._new_records, self._new_kinds):
                each.clear()

    @property
    def nbytes(self) -> int:
        """How many bytes of memory it takes, about."""
        old = sum(sum(map(len, parts)) for parts in self._old)
        return old + len(self._new) + len(self._new_records) + len(self._new_kinds)

    @property
    def entry_bytes(self) -> int:
        """How many bytes all entries take."""
        return self.count * ENTRY.itemsize

    def entries(self) -> Iterator[bytes]:
        """Yield all entries, some thousand at a time."""
        return (entries for entries, _, _ in self._parts())

    def index_records(
        self, *, channels: Mapping[int, int], log_time: Callable[[int], int]
    ) -> Iterator[bytes]:
        """Yield the records of the container's index, some thousand at a time.

        ``channels``: those of each scene's blocks. ``log_time``: the container's time [ns] of a
        monotonic time [ns].
        """
        for entries, records, kinds in self._parts():
            found = np.frombuffer(entries, dtype=ENTRY)
            is_block = np.frombuffer(kinds, dtype=np.bool_)
            others = iter(_split(records))
            blocks = _block_records(found[is_block], channels, log_time).tobytes()
            if is_block.all():
                yield blocks
                continue
            made, at = [], 0
            for each in is_block.tolist():
                if each:
                    made.append(blocks[at : at + _INDEX_RECORD.itemsize])
                    at += _INDEX_RECORD.itemsize
                else:
                    made.append(next(others))
            yield b"".join(made)

    def _parts(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        size = _TOGETHER * ENTRY.itemsize
        for (entries, records, kinds), nbytes in zip(self._old, self._record_bytes, strict=True):
            yield (
                _entries(self._decompress(entries, limit=size, exact=True)),
                self._decompress(records, limit=nbytes, exact=True),
                self._decompress(kinds, limit=_TOGETHER, exact=True),
            )
        yield bytes(self._new), bytes(self._new_records), bytes(self._new_kinds)


def _alone(compressed: bytes) -> bytes:
    """Return a copy: what was compressed keeps room for all that it might have taken."""
    return bytes(memoryview(compressed))


def _planes(entries: bytes) -> bytes:
    """Return entries as differences, byte by byte: what changes regularly becomes alike."""
    words = np.frombuffer(entries, dtype="<u8").reshape(-1, _WORDS)
    apart = np.diff(words, axis=0, prepend=np.zeros((1, _WORDS), dtype="<u8"))
    return np.ascontiguousarray(apart).view(np.uint8).reshape(len(words), -1).T.tobytes()


def _entries(planes: bytes) -> bytes:
    """Return the entries that :func:`_planes` was given."""
    rows = np.frombuffer(planes, dtype=np.uint8).reshape(ENTRY.itemsize, -1).T
    apart = np.ascontiguousarray(rows).view("<u8")
    return np.cumsum(apart, axis=0, dtype="<u8").tobytes()


def _block_records(
    entries: NDArray[np.void], channels: Mapping[int, int], log_time: Callable[[int], int]
) -> NDArray[np.void]:
    records = np.empty(len(entries), dtype=_INDEX_RECORD)
    times = np.array([log_time(wall) for wall in entries["first_wall"].tolist()], dtype=np.uint64)
    records["opcode"] = Opcode.CHUNK_INDEX
    records["length"] = _INDEX_RECORD.itemsize - RECORD_HEAD
    records["first_time"] = records["last_time"] = times
    records["chunk"], records["chunk_bytes"] = entries["chunk"], entries["chunk_bytes"]
    records["map_bytes"] = _MAP_BYTES
    records["channel"] = [channels[scene] for scene in entries["scene"].tolist()]
    records["message_index"] = entries["chunk"] + entries["chunk_bytes"]
    records["index_bytes"] = _MESSAGE_INDEX_BYTES
    records["compression"] = 0
    content = entries["chunk_bytes"] - np.uint64(chunk_head_bytes(""))
    records["stored"] = records["size"] = content
    return records


def _split(records: bytes) -> list[bytes]:
    """Return records one by one."""
    found, at = [], 0
    while at < len(records):
        size = RECORD_HEAD + int.from_bytes(records[at + 1 : at + RECORD_HEAD], "little")
        found.append(records[at : at + size])
        at += size
    return found
