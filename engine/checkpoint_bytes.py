"""The layout of a checkpoint as bytes, little-endian.

A *head* that is the same for all checkpoints of a model: magic, CRC, format, sizes, the model's
digest, three texts (engine, its version, why it is only approximate) and a table of the model's
fields. Then a *clock*: sizes of what follows, step counts, time, timestep. Then the row
(``mjSTATE_INTEGRATION``, float64), for models with hidden state every array of ``MjData`` outside
its arena, what the script has registered of its own, and a record (its name, changes to the model).

The CRC covers all that follows it. Where row and hidden state (the *body*) are large, it covers
the sums of 32 stretches of them instead of each byte: a CRC takes ten times as long as MuJoCo takes
to copy the state. Any change of a single word shows in a sum.
"""

import dataclasses
import functools
import struct
import zlib
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CRC",
    "CRC_AT",
    "CRC_FROM",
    "FORMAT_VERSION",
    "MAGIC",
    "Clock",
    "Head",
    "InPlaceChecksum",
    "Layout",
    "StateBytes",
    "checksum",
    "checksum_of",
    "damage",
    "pack_head",
    "seal",
    "sealed",
]

FORMAT_VERSION = 2
MAGIC = b"STROBCKP"

# magic, crc, format, text bytes, table bytes, exactness, precision, n_envs, state mask,
# row length, bytes of hidden state, digest
_HEAD = struct.Struct("<8sIIIIIIIQQQ32s")
# total bytes, script bytes, record bytes, step_count, physics_step_count, time, timestep, edits
_CLOCK = struct.Struct("<QQQqqddQ")
CRC = struct.Struct("<I")
CRC_AT = 8
CRC_FROM = 12

# Bodies up to this size go into the CRC byte by byte.
_SMALL_BODY = 4096
_STRETCHES = 32

StateBytes = bytes | bytearray | memoryview | NDArray[np.uint8]


class Head(NamedTuple):
    """What is the same in all checkpoints of a model; field order as in the bytes."""

    magic: bytes
    crc: int
    format_version: int
    text_bytes: int
    table_bytes: int
    approximate: int
    precision: int
    n_envs: int
    state_mask: int
    row_length: int
    hidden_bytes: int
    digest: bytes

    @property
    def size(self) -> int:
        """How many bytes the head has."""
        return _HEAD.size + self.text_bytes + self.table_bytes

    @classmethod
    def of(cls, state: bytes | bytearray) -> "Head":
        """Return the head of a checkpoint, or of a head alone."""
        return cls._make(_HEAD.unpack_from(state))

    def texts(self, state: bytes) -> tuple[str, str, str]:
        """Return the engine, its version and why it is approximate."""
        packed = state[_HEAD.size : _HEAD.size + self.text_bytes]
        texts = []
        at = 0
        for _ in range(3):
            length = int.from_bytes(packed[at : at + 2], "little")
            texts.append(packed[at + 2 : at + 2 + length].decode("utf-8", "replace"))
            at += 2 + length
        return texts[0], texts[1], texts[2]

    def table(self, state: bytes) -> bytes:
        """Return the packed table of the model's fields."""
        return state[self.size - self.table_bytes : self.size]


@dataclasses.dataclass(frozen=True, slots=True)
class Clock:
    """Sizes of the parts that follow, and where the scene stood; times in seconds."""

    total: int
    script_bytes: int
    record_bytes: int
    step_count: int
    physics_step_count: int
    time: float
    timestep: float
    edits: int

    STRUCT: ClassVar[struct.Struct] = _CLOCK
    SIZE: ClassVar[int] = _CLOCK.size

    def pack_into(self, buffer: bytearray, at: int) -> None:
        """Write it."""
        _CLOCK.pack_into(buffer, at, *dataclasses.astuple(self))

    def packed(self) -> bytes:
        """Return it as bytes."""
        return _CLOCK.pack(*dataclasses.astuple(self))


class Layout(NamedTuple):
    """Where the parts of intact bytes stand."""

    head: Head
    clock: Clock
    row: slice
    """The row."""
    hidden: slice
    """Arrays outside the arena; empty for most models."""
    script: slice
    """What the script registered."""
    record: slice
    """Name, note and changes to the model."""

    @classmethod
    def of(cls, state: bytes | bytearray) -> "Layout":
        """Return the layout of bytes that :func:`damage` found intact."""
        head = Head.of(state)
        clock = Clock(*_CLOCK.unpack_from(state, head.size))
        row_at = head.size + _CLOCK.size
        hidden_at = row_at + 8 * head.row_length
        script_at = hidden_at + head.hidden_bytes
        record_at = script_at + clock.script_bytes
        return cls(
            head,
            clock,
            row=slice(row_at, hidden_at),
            hidden=slice(hidden_at, script_at),
            script=slice(script_at, record_at),
            record=slice(record_at, record_at + clock.record_bytes),
        )


def checksum_of(content: memoryview, *, body_at: int = 0) -> Callable[[int], int]:
    """Return a function that continues a CRC over ``content`` as it is then.

    From ``body_at`` on it is the body. Prepared once for a buffer whose content changes.
    """
    word = 8 * _STRETCHES
    size = len(content) - body_at
    if size <= _SMALL_BODY:
        return functools.partial(zlib.crc32, content)
    end = body_at + size // word * word
    before, rest = content[:body_at], content[end:]
    words = np.frombuffer(content[body_at:end], dtype=np.uint64).reshape(_STRETCHES, -1)
    sums = np.empty(words.shape[1], dtype=np.uint64)

    def crc_of_sums(crc: int) -> int:
        np.add.reduce(words, axis=0, out=sums)  # wraps around
        return zlib.crc32(rest, zlib.crc32(sums.data, zlib.crc32(before, crc)))

    return crc_of_sums


class InPlaceChecksum:
    """Continues CRCs over large bodies where they stand, from ``begin`` of a checkpoint on.

    The body, of ``body_bytes``, begins at ``body_at`` and is not copied.
    """

    def __init__(self, *, begin: int, body_at: int, body_bytes: int) -> None:
        columns = body_bytes // (8 * _STRETCHES)
        self._count = _STRETCHES * columns
        self._begin, self._body_at = begin, body_at
        self._rest_at, self._end = body_at + 8 * self._count, body_at + body_bytes
        self._sums = np.empty(columns, dtype=np.uint64)
        self.is_worth_while = body_bytes > _SMALL_BODY
        """Whether bodies of that size are summed at all."""

    def __call__(self, content: bytes | bytearray, crc: int, *, at: int = 0) -> int:
        """Return the CRC of what comes after ``crc`` in the checkpoint that begins at ``at``."""
        words = np.frombuffer(content, np.uint64, self._count, at + self._body_at)
        np.add.reduce(words.reshape(_STRETCHES, -1), axis=0, out=self._sums)  # wraps around
        crc = zlib.crc32(content[at + self._begin : at + self._body_at], crc)
        crc = zlib.crc32(self._sums.data, crc)
        return zlib.crc32(content[at + self._rest_at : at + self._end], crc)


def checksum(state: bytes | bytearray, layout: Layout) -> int:
    """Return the CRC of a checkpoint with this layout."""
    view = memoryview(state)
    start, end = layout.row.start, layout.hidden.stop
    crc = checksum_of(view[start:end])(zlib.crc32(view[CRC_FROM:start]))
    return zlib.crc32(view[end:], crc)


def seal(state: bytearray) -> None:
    """Write the CRC into a checkpoint that is complete but for that."""
    CRC.pack_into(state, CRC_AT, checksum(state, Layout.of(state)))


def sealed(
    head: bytes,
    clock: bytes,
    row: NDArray[np.float64],
    *,
    hidden: bytes,
    script: bytes,
    record: bytes,
) -> bytes:
    """Return a checkpoint of these parts, all of them as they stand but for the CRC in the head."""
    body = memoryview(b"".join((row.data, hidden))) if hidden else row.data.cast("B")
    crc = checksum_of(body)(zlib.crc32(clock, zlib.crc32(head[CRC_FROM:])))
    crc = zlib.crc32(record, zlib.crc32(script, crc))
    # One copy: parts that are large come together once.
    return b"".join((head[:CRC_AT], CRC.pack(crc), head[CRC_FROM:], clock, body, script, record))


def pack_head(
    *,
    texts: tuple[str, str, str],
    table: bytes,
    precision: int,
    state_mask: int,
    row_length: int,
    hidden_bytes: int,
    digest: bytes,
) -> bytes:
    """Return a head, its CRC zero; its length keeps the row that follows aligned."""
    parts = [text.encode("utf-8") for text in texts]
    packed = b"".join(struct.pack("<H", len(part)) + part for part in parts)
    packed += b"\0" * (-(len(packed) + len(table) + _HEAD.size + _CLOCK.size) % 8)
    head = _HEAD.pack(
        *(MAGIC, 0, FORMAT_VERSION, len(packed), len(table), bool(texts[2]), precision, 1),
        *(state_mask, row_length, hidden_bytes, digest),
    )
    return head + packed + table


def damage(state: bytes) -> str:
    """Return what is broken in ``state``; empty when it is intact, or of another format."""
    if len(state) < _HEAD.size:
        return f"{len(state)} bytes, a header alone has {_HEAD.size}"
    head = Head.of(state)
    if head.magic != MAGIC:
        return "it does not begin like a checkpoint"
    if head.format_version != FORMAT_VERSION:
        return ""
    if len(state) < head.size + _CLOCK.size:
        return f"it should have more than {head.size + _CLOCK.size} bytes and has {len(state)}"
    layout = Layout.of(state)
    if layout.clock.total != len(state):
        return f"it should have {layout.clock.total} bytes and has {len(state)}"
    if layout.record.stop != layout.clock.total:
        return "the sizes of its parts do not add up"
    return "" if checksum(state, layout) == head.crc else "its checksum is wrong"
