"""A block of rows as bytes that can be read with nothing else at hand, and back."""

import math
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.files.block_head import (
    BLOCK_MAGIC,
    CODEC,
    META_COLUMNS,
    NOWHERE,
    VERSION,
    BlockError,
    BlockHead,
    HeadFlag,
)
from stroboscope.engine.files.codec import decode_columns, encode_columns
from stroboscope.engine.files.compression import CompressedError, Compressor, Decompressor
from stroboscope.engine.files.frames import BlockKind, RowBlock
from stroboscope.engine.files.limits import LARGEST_ROWS, MOST_COLUMNS, MOST_ROWS

__all__ = [
    "EncodedBlock",
    "decode_block",
    "encode_block",
    "placed",
    "rows_per_block",
    "rows_per_kept_block",
]

Integers = NDArray[np.int64]
EncodedBlock = tuple[BlockHead, bytes]

# Raw bytes of a block: small enough to be decoded within a millisecond.
_RAW_BYTES = 640 << 10
_FEWEST_ROWS, _MOST_ROWS = 16, 256
# Of a minimal block most bytes are the first row, and the head: so many more rows. All of them may
# have to be stepped to when the last one is looked at.
_MINIMAL_FACTOR, _MOST_MINIMAL_ROWS = 4, 2048
# What was kept in memory is written as what is recorded in real time would be: a quarter of a
# second at once, which is what a flipped bit then costs.
_KEPT_S = 0.25
# Wall times are kept to ticks of 2^10 ns ≈ 1 µs, and to 16 of them where every byte counts: the
# jitter of a clock is most of what it says, and can't be compressed.
_WALL_SHIFT = 10
_WALL_TICKS = 16
# Which growths per row are tried for the line that most of them are to lie on, of all in order.
_TRIED_GROWTHS = (0.3, 0.5, 0.65, 0.8, 0.9)


def rows_per_block(width: int, *, is_minimal: bool = False) -> int:
    """Return how many rows of ``width`` columns make a block that is neither slow nor wasteful."""
    more = _MINIMAL_FACTOR if is_minimal else 1
    most = _MOST_MINIMAL_ROWS if is_minimal else _MOST_ROWS
    rows = min(max(_RAW_BYTES // (8 * width), _FEWEST_ROWS) * more, most)
    return int(min(rows, LARGEST_ROWS // (8 * width)))


def rows_per_kept_block(width: int, *, seconds: float, is_minimal: bool = False) -> int:
    """Return how many rows make a block of what was kept in memory and is written at once.

    ``seconds``: how far they are apart in simulation time.
    """
    most = rows_per_block(width, is_minimal=is_minimal)
    more = _MINIMAL_FACTOR if is_minimal else 1
    kept = _KEPT_S / seconds if seconds > 0.0 else math.inf
    return int(min(max(round(min(kept, most)), _FEWEST_ROWS) * more, most))


# --- writing


def encode_block(
    block: RowBlock, *, compress: Compressor, inputs: tuple[int, int] = (0, 0)
) -> EncodedBlock:
    """Return the head and the body of a block; the head does not know its place yet.

    ``inputs``: begin and end of the columns that rows of a minimal block have. Raises ValueError
    for arrays that are no block.
    """
    rows, meta = _checked(block)
    n, width = rows.shape
    inputs = inputs if block.kind is BlockKind.MINIMAL else (0, 0)
    bits = rows.view(np.int64)
    follows = _time_follows(block, rows)
    changes = (bits[1:] != bits[:-1]).any(axis=0)
    if block.kind is BlockKind.MINIMAL:
        changes &= _is_kept(width, inputs)
    changes[0] &= not follows
    _to_ticks(meta[3], slack=_WALL_TICKS if block.kind is BlockKind.MINIMAL else 1)
    strides = _straighten(meta)
    meta_changes = (meta[:, 1:] != meta[:, :-1]).any(axis=1)
    columns = np.concatenate((bits.T[changes], meta[meta_changes]))
    planes = encode_columns(columns)
    if block.kind is BlockKind.MINIMAL and _is_sparse(planes):
        step = len(planes) // 8
        parts = [memoryview(planes)[at : at + step] for at in range(0, len(planes), step)]
        stream = compress.sparse((rows[0].tobytes(), *parts, block.hidden))
    else:
        stream = compress(b"".join((rows[0].tobytes(), planes, block.hidden)))
    digests = b"" if block.digests is None else block.digests.astype("<u8").tobytes()
    mask = np.packbits(np.concatenate((changes, meta_changes))).tobytes()
    body = b"".join((mask, digests, stream))
    head = BlockHead(
        magic=BLOCK_MAGIC,
        version=VERSION,
        codec=CODEC,
        kind=int(block.kind),
        flags=HeadFlag.DIGESTS * (block.digests is not None) | HeadFlag.TIME_FOLLOWS * follows,
        scene=block.scene,
        rows=n,
        width=width,
        inputs_begin=inputs[0],
        inputs_end=inputs[1],
        hidden=len(block.hidden),
        stream=len(stream),
        first_axis=int(block.axes[0]),
        axis_stride=strides[0],
        last_axis=int(block.axes[-1]),
        first_step=int(block.steps[0]),
        step_stride=strides[1],
        first_time=float(rows[0, 0]),
        last_time=float(rows[-1, 0]),
        timestep_bits=int(block.timesteps[:1].view(np.int64)[0]),
        first_wall=int(block.wall[0]),
        wall_stride=strides[2],
        chunk=NOWHERE,
        previous=NOWHERE,
        rows_crc=_crc_of_rows(rows, block.kind, inputs),
        body_crc=crc32(body),
        wall_shift=_WALL_SHIFT,
        first_flag=int(block.flags[0]),
    )
    return head, body


def placed(block: EncodedBlock, *, scene: int, chunk: int, previous: int) -> bytes:
    """Return the bytes of a block that stands in the chunk at ``chunk`` of a file."""
    head, body = block
    return head._replace(scene=scene, chunk=chunk, previous=previous).packed() + body


def _is_sparse(planes: bytes) -> bool:
    """Return whether some of the bytes are there and most are zero, as of inputs that are held."""
    nonzero = int(np.count_nonzero(np.frombuffer(planes, np.uint8)))
    return len(planes) > 0 and 4 * nonzero < len(planes)


def _checked(block: RowBlock) -> tuple[NDArray[np.float64], Integers]:
    """Return contiguous rows, (n, width), and the columns besides, (5, n), copies."""
    rows = np.ascontiguousarray(block.rows, dtype="<f8")
    if rows.ndim != 2 or not 0 < len(rows) <= MOST_ROWS or not 0 < rows.shape[1] <= MOST_COLUMNS:
        raise ValueError(
            f"a block has 1 to {MOST_ROWS:,} rows of up to {MOST_COLUMNS:,} columns, these have "
            f"the shape {rows.shape}"
        )
    if max(rows.nbytes, len(block.hidden)) > LARGEST_ROWS:
        raise ValueError(
            f"a block has at most {LARGEST_ROWS:,} bytes of rows, these have {rows.nbytes:,} (and "
            f"{len(block.hidden):,} hidden ones): make it of fewer rows"
        )
    n = len(rows)
    besides = (block.axes, block.steps, block.timesteps, block.wall, block.flags)
    digests = () if block.digests is None else (block.digests,)
    if any(array.shape != (n,) for array in (*besides, *digests)):
        shapes = [array.shape for array in (*besides, *digests)]
        raise ValueError(f"all arrays of a block of {n} rows have the shape ({n},), not {shapes}")
    if block.kind is BlockKind.FINAL and n != 1:
        raise ValueError(f"a final block has one row, this one has {n}")
    meta: Integers = np.empty((META_COLUMNS, n), dtype=np.int64)
    meta[0], meta[1], meta[3], meta[4] = block.axes, block.steps, block.wall, block.flags
    meta[2] = np.ascontiguousarray(block.timesteps, dtype="<f8").view(np.int64)
    return rows, meta


def _time_follows(block: RowBlock, rows: NDArray[np.float64]) -> bool:
    """Return whether each time is the one before plus the timestep, to the bit.

    Not for NaN: which one a sum has is not the same on every processor.
    """
    if not np.isfinite(rows[:, 0]).all():
        return False
    times = _following(rows[0, 0], np.asarray(block.timesteps, dtype=np.float64))
    return times.tobytes() == rows[:, 0].tobytes()


def _following(first: float, timesteps: NDArray[np.float64]) -> NDArray[np.float64]:
    # accumulate() adds one after the other, as a simulation does; sum() would not.
    with np.errstate(all="ignore"):
        times: NDArray[np.float64] = np.add.accumulate(np.concatenate(([first], timesteps[:-1])))
    return times


def _to_ticks(wall: Integers, *, slack: int) -> None:
    """Turn wall times [ns] into ticks after the first one, at most half of ``slack`` off.

    With a slack they go on evenly as long as that is true to half of it, so that most of them say
    nothing; those that didn't go back don't. Times that were ticks already, as those of blocks that
    were read, stay what they are: what is copied again and again does not drift.
    """
    passed = wall - wall[0]
    if slack == 1 or not (passed & ((1 << _WALL_SHIFT) - 1)).any():
        wall[:] = (passed + (1 << _WALL_SHIFT >> 1)) >> _WALL_SHIFT
        return
    ticks = passed >> _WALL_SHIFT
    growth = np.sort(ticks[1:] - ticks[:-1])
    places = (np.array(_TRIED_GROWTHS) * len(growth)).astype(np.intp)
    found = [_even_ticks(ticks.tolist(), slack, int(each)) for each in set(growth[places].tolist())]
    wall[:] = min(found)[1]


def _even_ticks(ticks: list[int], slack: int, stride: int) -> tuple[int, list[int]]:
    """Return times that grow by ``stride`` wherever they may, and where they don't how often."""
    at = jumps = 0
    half = slack // 2
    even: list[int] = []
    for tick in ticks:
        if not tick - half < at <= tick + half:
            last = even[-1] if even else tick
            at = last if tick < last <= tick + half else tick
            jumps += 1
        even.append(at)
        at += stride
    return jumps, even


def _usual_growth(column: Integers) -> int:
    """Return by how much most numbers are above the one before them; 0 for one number."""
    growth = np.sort(column[1:] - column[:-1])
    return int(growth[len(growth) // 2]) if len(growth) else 0


def _straighten(meta: Integers) -> tuple[int, int, int]:
    """Take out of axes, steps and wall ticks what grows steadily; return by how much, per row."""
    strides = []
    for column in (0, 1, 3):
        stride = _usual_growth(meta[column])
        meta[column] -= np.int64(stride) * np.arange(meta.shape[1])
        strides.append(stride)
    return strides[0], strides[1], strides[2]


def _is_kept(width: int, inputs: tuple[int, int]) -> NDArray[np.bool_]:
    """Return which columns the rows of a minimal block have: the time and the inputs."""
    kept = np.zeros(width, dtype=np.bool_)
    kept[0] = True
    kept[inputs[0] : inputs[1]] = True
    return kept


def _crc_of_rows(rows: NDArray[np.float64], kind: int, inputs: tuple[int, int]) -> int:
    """Return the CRC-32 of all of a block's rows that is stored."""
    if kind != BlockKind.MINIMAL:
        return crc32(rows.data)
    crc = crc32(rows[0].tobytes())
    kept = np.ascontiguousarray(rows[1:, _is_kept(rows.shape[1], inputs)])
    return crc32(kept.data, crc)


# --- reading


def decode_block(head: BlockHead, body: memoryview, *, decompress: Decompressor) -> RowBlock:
    """Return the block; raises BlockError when anything about it is not as it was written.

    In a minimal block, what rows after the first don't have is NaN.
    """
    if len(body) != head.body_bytes:
        raise BlockError(f"it has {len(body):,} bytes of {head.body_bytes:,}")
    if crc32(body) != head.body_crc:
        raise BlockError("the checksum of its bytes is wrong")
    n, width = head.rows, head.width
    is_minimal = head.kind == BlockKind.MINIMAL
    inputs = (head.inputs_begin, head.inputs_end)
    mask = np.frombuffer(body, dtype=np.uint8, count=head.mask_bytes)
    is_changing = np.unpackbits(mask, count=width + META_COLUMNS).view(np.bool_)
    changes, meta_changes = is_changing[:width], is_changing[width:]
    if is_minimal and (changes & ~_is_kept(width, inputs)).any():
        raise BlockError("it stores columns that a minimal block does not have")
    changing = int(np.count_nonzero(is_changing))
    planes = 8 * changing * (n - 1)
    size = 8 * width + planes + head.hidden
    try:
        content = memoryview(decompress(body[-head.stream :], limit=size, exact=True))
    except CompressedError as error:
        raise BlockError(str(error)) from error
    first = np.frombuffer(content, dtype="<i8", count=width)
    first_meta = np.array(
        [head.first_axis, head.first_step, head.timestep_bits, 0, head.first_flag], dtype=np.int64
    )
    begins = np.concatenate((first[changes], first_meta[meta_changes]))
    columns = decode_columns(content[8 * width : 8 * width + planes], begins, n)
    in_rows = int(np.count_nonzero(changes))

    bits: Integers = np.empty((n, width), dtype=np.int64)
    bits[:] = first
    bits[:, changes] = columns[:in_rows].T
    meta: Integers = np.empty((META_COLUMNS, n), dtype=np.int64)
    meta[:] = first_meta[:, None]
    meta[meta_changes] = columns[in_rows:]
    _bend(meta, head)
    rows = bits.view(np.float64)
    timesteps = meta[2].view(np.float64)
    if head.flags & HeadFlag.TIME_FOLLOWS:
        rows[:, 0] = _following(rows[0, 0], timesteps)
    if _crc_of_rows(rows, head.kind, inputs) != head.rows_crc or meta[0, -1] != head.last_axis:
        raise BlockError("its rows are not those that were written")
    if is_minimal:
        rows[1:, ~_is_kept(width, inputs)] = np.nan
    digests = None
    if head.flags & HeadFlag.DIGESTS:
        digests = np.frombuffer(body, dtype="<u8", count=n, offset=head.mask_bytes).copy()
    return RowBlock(
        scene=head.scene,
        kind=BlockKind(head.kind),
        rows=rows,
        axes=meta[0],
        steps=meta[1],
        timesteps=timesteps,
        wall=meta[3],
        flags=meta[4].astype(np.uint8),
        digests=digests,
        hidden=bytes(content[8 * width + planes :]),
    )


def _bend(meta: Integers, head: BlockHead) -> None:
    """Put back into axes, steps and wall times what :func:`_straighten` has taken out."""
    counting = np.arange(head.rows)
    meta[0] += np.int64(head.axis_stride) * counting
    meta[1] += np.int64(head.step_stride) * counting
    meta[3] = (meta[3] + np.int64(head.wall_stride) * counting) << head.wall_shift
    meta[3] += np.int64(head.first_wall)
