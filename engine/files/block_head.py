"""The head of a block: what it holds, how long it is, and where it stands in its file."""

import struct
from typing import NamedTuple
from zlib import crc32

from stroboscope.engine.files.frames import BlockKind
from stroboscope.engine.files.limits import (
    LARGEST_CHUNK,
    LARGEST_ROWS,
    MOST_COLUMNS,
    MOST_ROWS,
    MOST_SCENES,
)

__all__ = [
    "BLOCK_MAGIC",
    "HEAD_BYTES",
    "META_COLUMNS",
    "NOWHERE",
    "BlockError",
    "BlockHead",
    "HeadFlag",
]

BLOCK_MAGIC = b"SBLK"
VERSION = 1
CODEC = 1
# Where no block comes before.
NOWHERE = (1 << 64) - 1
# Axis, step, timestep, wall, flag: columns besides those of a row.
META_COLUMNS = 5

_HEAD = struct.Struct("<4s4B7I3q2q2dq2q2Q2I2B2x")
_CRC = struct.Struct("<I")
HEAD_BYTES = _HEAD.size + _CRC.size
"""Bytes of a head."""


class BlockError(ValueError):
    """Bytes are no intact block; the reader knows which file and which frames it is about."""


class HeadFlag:
    """Bits of ``flags``."""

    DIGESTS = 1
    """A digest per row stands in the body."""
    TIME_FOLLOWS = 2
    """Each time is the one before plus the timestep, to the bit: it is not stored."""
    ALL = DIGESTS | TIME_FOLLOWS


class BlockHead(NamedTuple):
    """What stands before the bytes of a block, in this order, little-endian; then its CRC-32.

    ``inputs_begin``, ``inputs_end``: in a minimal block, the columns that all rows have besides
    the time. ``hidden``, ``stream``: bytes of what no row holds, and of the compressed part.
    ``axis_stride`` and the like: how much a column grows per row, before it is stored.
    ``timestep_bits``: the first one as an integer. ``chunk``, ``previous``: where in the file the
    chunk of this block begins, and that of the block before of the same scene. ``rows_crc``: of
    the raw rows; ``body_crc``: of what follows the head.
    """

    magic: bytes
    version: int
    codec: int
    kind: int
    flags: int
    scene: int
    rows: int
    width: int
    inputs_begin: int
    inputs_end: int
    hidden: int
    stream: int
    first_axis: int
    axis_stride: int
    last_axis: int
    first_step: int
    step_stride: int
    first_time: float
    last_time: float
    timestep_bits: int
    first_wall: int
    wall_stride: int
    chunk: int
    previous: int
    rows_crc: int
    body_crc: int
    wall_shift: int
    first_flag: int

    def packed(self) -> bytes:
        """Return the bytes, with their CRC behind them."""
        data = _HEAD.pack(*self)
        return data + _CRC.pack(crc32(data))

    @classmethod
    def unpacked(cls, data: bytes | memoryview) -> "BlockHead":
        """Return the head that ``data`` begins with; raises BlockError, also for unknown kinds."""
        if len(data) < HEAD_BYTES:
            raise BlockError("it ends within its head")
        head = cls._make(_HEAD.unpack_from(data))
        if head.magic != BLOCK_MAGIC:
            raise BlockError("no block of rows begins here")
        if crc32(data[: _HEAD.size]) != _CRC.unpack_from(data, _HEAD.size)[0]:
            raise BlockError("the checksum of its head is wrong")
        head.check()
        return head

    def check(self) -> None:
        """Raise BlockError for what this version does not read, or what no writer writes."""
        if self.version != VERSION:
            raise BlockError(f"it has block version {self.version}, this reads {VERSION}")
        if self.codec != CODEC:
            raise BlockError(f"it is written with codec {self.codec}, this reads {CODEC}")
        if self.kind not in BlockKind.__members__.values() or self.flags & ~HeadFlag.ALL:
            raise BlockError(f"it is of the unknown kind {self.kind}, with flags {self.flags}")
        if not (0 < self.rows <= MOST_ROWS and 0 < self.width <= MOST_COLUMNS):
            raise BlockError(f"it declares {self.rows:,} rows of {self.width:,} columns")
        if 8 * self.rows * self.width > LARGEST_ROWS or self.hidden > LARGEST_ROWS:
            raise BlockError(
                f"it declares {8 * self.rows * self.width:,} bytes of rows and {self.hidden:,} "
                f"more, allowed are {LARGEST_ROWS:,}"
            )
        if not self.inputs_begin <= self.inputs_end <= self.width or self.wall_shift > 40:
            raise BlockError("its columns are not within a row")
        if self.scene >= MOST_SCENES:
            raise BlockError(f"it is of scene {self.scene:,}")
        if self.stream > LARGEST_CHUNK:
            raise BlockError(f"it declares {self.stream:,} bytes, allowed are {LARGEST_CHUNK:,}")

    @property
    def mask_bytes(self) -> int:
        """Bytes of the mask that says which columns change."""
        return -(-(self.width + META_COLUMNS) // 8)

    @property
    def body_bytes(self) -> int:
        """Bytes between this head and the end of the block."""
        digests = 8 * self.rows if self.flags & HeadFlag.DIGESTS else 0
        return self.mask_bytes + digests + self.stream

    @property
    def nbytes(self) -> int:
        """Bytes of the block, head included."""
        return HEAD_BYTES + self.body_bytes
