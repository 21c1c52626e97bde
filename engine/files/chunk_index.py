"""Where every chunk of a file stands: fixed-size entries that a million frames load from at once.

The container's own index says neither which frames a chunk holds nor can it be read without a loop
over its records. This one is the attachment ``stroboscope/index``, written when a file is closed.
"""

import dataclasses
import struct
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.files.block_head import HEAD_BYTES, BlockHead
from stroboscope.engine.files.frames import BlockKind
from stroboscope.engine.files.limits import LARGEST_CHUNK, MOST_ROWS, MOST_SCENES

__all__ = ["ENTRY", "NO_SCENE", "BlockIndex", "ChunkKind", "block_entry", "low_rate_entry"]

NO_SCENE = 0xFFFF_FFFF

ENTRY = np.dtype(
    [
        ("chunk", "<u8"),
        ("chunk_bytes", "<u8"),
        ("block", "<u8"),
        ("first_axis", "<i8"),
        ("last_axis", "<i8"),
        ("first_time", "<f8"),
        ("last_time", "<f8"),
        ("first_wall", "<i8"),
        ("scene", "<u4"),
        ("rows", "<u4"),
        ("block_bytes", "<u4"),
        ("kind", "u1"),
        ("unused", "u1", (3,)),
    ]
)
_ENTRY = struct.Struct("<3Q2q2dq3IB3x")


class ChunkKind(IntEnum):
    """What chunks hold that hold no block; those with one have its BlockKind here."""

    EVENTS = 16
    SIGNALS = 17
    MESSAGES = 18
    UNKNOWN = 19
    """Found without an index: any of the three."""


def block_entry(head: BlockHead, *, chunk: int, chunk_bytes: int, block: int) -> bytes:
    """Return the entry of a chunk with a block that begins at ``block`` in the file."""
    return _ENTRY.pack(
        chunk,
        chunk_bytes,
        block,
        head.first_axis,
        head.last_axis,
        head.first_time,
        head.last_time,
        head.first_wall,
        head.scene,
        head.rows,
        head.nbytes,
        head.kind,
    )


def low_rate_entry(kind: ChunkKind, *, chunk: int, chunk_bytes: int) -> bytes:
    """Return the entry of a chunk with messages of other kinds."""
    return _ENTRY.pack(chunk, chunk_bytes, 0, 0, 0, 0.0, 0.0, 0, NO_SCENE, 0, 0, kind)


def impossible_entry(entries: NDArray[np.void], *, size: int) -> int | None:
    """Return which entry no writer of a file of ``size`` bytes has made, None: all are possible."""
    chunk, chunk_bytes = entries["chunk"], entries["chunk_bytes"]
    block, block_bytes = entries["block"], entries["block_bytes"].astype(np.uint64)
    is_block = entries["kind"] <= max(BlockKind)
    is_low_rate = (entries["kind"] >= ChunkKind.EVENTS) & (entries["kind"] <= ChunkKind.UNKNOWN)
    within_file = (chunk <= size) & (chunk_bytes <= LARGEST_CHUNK) & (chunk + chunk_bytes <= size)
    begins = (block >= chunk) & (block < chunk + chunk_bytes)
    ends = begins & (block_bytes <= chunk + chunk_bytes - block)
    has_rows = (entries["rows"] > 0) & (entries["rows"] <= MOST_ROWS)
    has_head = (block_bytes >= HEAD_BYTES) & (entries["scene"] < MOST_SCENES)
    fits = within_file & np.where(is_block, ends & has_rows & has_head, is_low_rate)
    wrong = np.flatnonzero(~fits)
    return int(wrong[0]) if len(wrong) else None


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class BlockIndex:
    """The blocks of one scene in the order of the file, (blocks,) each.

    ``first_axis``, ``last_axis``: physics steps ever taken before the first and last row.
    ``count``: rows. ``kind``: of :class:`BlockKind`. ``first_time``, ``last_time``: simulation
    time [s] of those rows. ``first_wall``: monotonic [ns]. ``offset``, ``nbytes``: where in the
    file a block stands. ``frames``: (blocks + 1,) which frame each begins with; the last one is
    how many there are.
    """

    first_axis: NDArray[np.int64]
    last_axis: NDArray[np.int64]
    count: NDArray[np.int64]
    kind: NDArray[np.uint8]
    first_time: NDArray[np.float64]
    last_time: NDArray[np.float64]
    first_wall: NDArray[np.int64]
    offset: NDArray[np.int64]
    nbytes: NDArray[np.int64]
    frames: NDArray[np.int64]

    @classmethod
    def of(cls, entries: NDArray[np.void]) -> "BlockIndex":
        """Return the index of a scene's entries."""
        count = entries["rows"].astype(np.int64)
        return cls(
            first_axis=entries["first_axis"],
            last_axis=entries["last_axis"],
            count=count,
            kind=entries["kind"],
            first_time=entries["first_time"],
            last_time=entries["last_time"],
            first_wall=entries["first_wall"],
            offset=entries["block"].astype(np.int64),
            nbytes=entries["block_bytes"].astype(np.int64),
            frames=np.concatenate(([0], np.cumsum(count))).astype(np.int64),
        )

    def __len__(self) -> int:
        return len(self.count)

    @property
    def total(self) -> int:
        """How many frames there are."""
        return int(self.frames[-1])

    def locate(self, frame: int) -> tuple[int, int]:
        """Return in which block a frame stands, and in which row of it; raises IndexError."""
        if not 0 <= frame < self.total:
            raise IndexError(
                f"there is no frame {frame:,}: frames are 0 to {self.total - 1:,}"
                if self.total
                else f"there is no frame {frame:,}: there are none"
            )
        block = int(np.searchsorted(self.frames, frame, side="right")) - 1
        return block, frame - int(self.frames[block])
