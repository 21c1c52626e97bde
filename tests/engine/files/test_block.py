"""Blocks as bytes: every bit comes back, and what is no block is refused."""

import dataclasses
from zlib import crc32

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from recordings import INPUTS, TIMESTEP, block_of, same_block

from stroboscope.engine.files.block import decode_block, encode_block, placed, rows_per_block
from stroboscope.engine.files.block_head import HEAD_BYTES, BlockError, BlockHead
from stroboscope.engine.files.codec import decode_columns, encode_columns
from stroboscope.engine.files.compression import CompressedError, Compressor, Decompressor
from stroboscope.engine.files.frames import BlockKind, RowBlock
from stroboscope.engine.files.limits import MOST_COLUMNS, MOST_ROWS

_COMPRESS, _DECOMPRESS = Compressor(), Decompressor()
_PATTERNS = st.one_of(
    st.integers(0, 2**64 - 1),
    st.floats(width=64).map(lambda x: int(np.float64(x).view(np.uint64))),
    st.sampled_from(
        [0, 1 << 63, 0x7FF0000000000001, 0xFFF8000000000123, 0x7FEFFFFFFFFFFFFF, 2**64 - 1]
    ),
)


def _there_and_back(block: RowBlock) -> RowBlock:
    data = placed(
        encode_block(block, compress=_COMPRESS, inputs=INPUTS),
        scene=block.scene,
        chunk=7,
        previous=3,
    )
    head = BlockHead.unpacked(data)
    assert len(data) == head.nbytes
    assert (head.chunk, head.previous) == (7, 3)
    return decode_block(head, memoryview(data)[HEAD_BYTES:], decompress=_DECOMPRESS)


@st.composite
def _blocks(draw: st.DrawFn) -> RowBlock:
    """Draw blocks of anything: every bit pattern in rows and timesteps, any counter."""
    kind = draw(st.sampled_from(BlockKind))
    n = 1 if kind is BlockKind.FINAL else draw(st.integers(1, 12))

    def integers(low: int = -(2**63), high: int = 2**63 - 1) -> np.ndarray:
        return draw(hnp.arrays(np.int64, n, elements=st.integers(low, high)))

    rows = draw(hnp.arrays(np.uint64, (n, 6), elements=_PATTERNS, fill=_PATTERNS))
    timesteps = draw(hnp.arrays(np.uint64, n, elements=_PATTERNS))
    return RowBlock(
        scene=draw(st.integers(0, 1000)),
        kind=kind,
        rows=rows.view(np.float64),
        axes=integers(),
        steps=integers(),
        timesteps=timesteps.view(np.float64),
        wall=integers(0, 2**62),
        flags=draw(hnp.arrays(np.uint8, n)),
        digests=draw(st.none() | hnp.arrays(np.uint64, n)),
        hidden=draw(st.binary(max_size=40)),
    )


@settings(deadline=None)
@given(_blocks())
def test_every_bit_pattern_comes_back(block: RowBlock) -> None:
    assert same_block(_there_and_back(block), block)


@settings(deadline=None)
@given(hnp.arrays(np.int64, st.tuples(st.integers(0, 4), st.integers(1, 9))))
def test_columns_come_back(columns: np.ndarray) -> None:
    data = memoryview(encode_columns(columns))
    assert np.array_equal(decode_columns(data, columns[:, 0], columns.shape[1]), columns)


def test_a_block_that_came_back_comes_back_the_same_again() -> None:
    once = _there_and_back(block_of(0, 50))
    twice = _there_and_back(once)
    assert np.array_equal(once.wall, twice.wall)
    half = dataclasses.replace(
        once,
        **{
            name: getattr(once, name)[20:]
            for name in ("rows", "axes", "steps", "timesteps", "wall", "flags")
        },
    )
    assert np.array_equal(_there_and_back(half).wall, once.wall[20:])


def test_times_of_a_minimal_block_are_kept_to_8_us_never_go_back_and_do_not_drift_in_copies() -> (
    None
):
    rng = np.random.default_rng(0)
    block = block_of(0, 2000, kind=BlockKind.MINIMAL)
    took = 5_000 + rng.exponential(3_000.0, 2000) + 400_000 * (rng.random(2000) < 0.01)
    wall = block.wall[0] + np.cumsum(took).astype(np.int64)
    block = dataclasses.replace(block, wall=wall)
    once = _there_and_back(block)
    assert np.abs(once.wall - wall).max() <= 1 << 13
    assert (np.diff(once.wall) >= 0).all()
    # Most say nothing: half of the time they take goes on evenly.
    assert np.count_nonzero(np.diff(np.diff(once.wall)) == 0) > 1000
    again = _there_and_back(_there_and_back(once))
    assert np.array_equal(again.wall, once.wall)
    names = ("rows", "axes", "steps", "timesteps", "wall", "flags", "digests")
    part = dataclasses.replace(once, **{name: getattr(once, name)[700:1300] for name in names})
    assert np.array_equal(_there_and_back(part).wall, once.wall[700:1300])


def test_inputs_that_are_held_take_hardly_more_than_what_they_say() -> None:
    rng = np.random.default_rng(0)
    block = block_of(0, 2000, kind=BlockKind.MINIMAL)
    rows = block.rows.copy()
    rows[:, INPUTS[0] : INPUTS[1]] = np.repeat(rng.uniform(-1, 1, (200, 2)), 10, axis=0)
    rows[:, 0] = np.add.accumulate(np.full(2000, TIMESTEP))
    block = dataclasses.replace(
        block, rows=rows, steps=block.axes, wall=block.wall[0] + 10_240 * np.arange(2000)
    )
    assert same_block(_there_and_back(block), block)
    head, _ = encode_block(block, compress=_COMPRESS, inputs=INPUTS)
    says = 200 * 2 * 53 / 8  # random bits
    assert head.stream < 1.35 * says


def test_rows_that_do_not_lie_in_one_piece_are_stored_all_the_same() -> None:
    block = block_of(0, 8)
    wide = np.zeros((8, 12))
    wide[:, ::2] = block.rows
    assert same_block(_there_and_back(dataclasses.replace(block, rows=wide[:, ::2])), block)


def test_time_that_goes_back_is_kept() -> None:
    block = block_of(0, 8)
    block.rows[4:, 0] = np.arange(4) * 0.002
    assert same_block(_there_and_back(block), block)


def test_a_smooth_run_is_small() -> None:
    block = block_of(0, 256)
    _, body = encode_block(block, compress=_COMPRESS)
    # Of six columns, one is the time, three move smoothly and two are noise.
    assert len(body) / 256 < 5 * 8


def test_blocks_have_as_many_rows_as_are_decoded_at_once() -> None:
    assert rows_per_block(1) == 256
    assert rows_per_block(233) == 256
    assert rows_per_block(1247) == 65
    assert rows_per_block(100_000) == 16
    assert rows_per_block(MOST_COLUMNS) == 8  # more would be more than a reader takes


def test_arrays_that_are_no_block_are_refused() -> None:
    def refused(why: str, **changes: object) -> None:
        with pytest.raises(ValueError, match=why):
            encode_block(dataclasses.replace(block_of(0, 4), **changes), compress=_COMPRESS)

    refused("1 to 4,096 rows", rows=np.zeros((0, 6)))
    refused("1 to 4,096 rows", rows=np.zeros(6))
    refused("1 to 4,096 rows", rows=np.zeros((MOST_ROWS + 1, 1)))
    refused("make it of fewer rows", rows=np.zeros((4000, 3000)))
    refused(r"shape \(4,\)", axes=np.zeros(3, dtype=np.int64))
    refused(r"shape \(4,\)", digests=np.zeros(5, dtype=np.uint64))
    refused("final block has one row", kind=BlockKind.FINAL)


def test_heads_that_no_writer_makes_are_refused_by_name() -> None:
    head, _ = encode_block(block_of(0, 4), compress=_COMPRESS)

    def refused(why: str, **changes: int) -> None:
        with pytest.raises(BlockError, match=why):
            BlockHead.unpacked(head._replace(**changes).packed())  # type: ignore[arg-type]

    refused("block version 2, this reads 1", version=2)
    refused("codec 9, this reads 1", codec=9)
    refused("unknown kind 3", kind=3)
    refused("flags 128", flags=128)
    refused("declares 0 rows", rows=0)
    refused("declares 4,097 rows", rows=4097)
    refused("2,000,000 columns", width=2_000_000)
    refused("bytes of rows", rows=4096, width=1_000_000)
    refused("and 4,000,000,000 more", hidden=4_000_000_000)
    refused("not within a row", inputs_begin=3, inputs_end=2)
    refused("not within a row", inputs_end=7)
    refused("not within a row", wall_shift=41)
    refused("scene 4,294,967,295", scene=2**32 - 1)
    refused("declares 4,000,000,000 bytes", stream=4_000_000_000)
    data = bytearray(head.packed())
    data[50] ^= 1
    with pytest.raises(BlockError, match="checksum of its head"):
        BlockHead.unpacked(bytes(data))
    with pytest.raises(BlockError, match="ends within its head"):
        BlockHead.unpacked(bytes(data[:-1]))
    with pytest.raises(BlockError, match="no block of rows"):
        BlockHead.unpacked(b"X" + bytes(data[1:]))


def test_blocks_that_contradict_themselves_are_refused() -> None:
    head, body = encode_block(block_of(0, 4), compress=_COMPRESS)

    def refused(why: str, body: bytes, **changes: int) -> None:
        lie = head._replace(body_crc=crc32(body), **changes)  # type: ignore[arg-type]
        with pytest.raises(BlockError, match=why):
            decode_block(lie, memoryview(body), decompress=_DECOMPRESS)

    refused("not those that were written", body, rows_crc=head.rows_crc ^ 1)
    refused("not those that were written", body, last_axis=7)
    refused("not those that were written", body, flags=0)
    refused("bytes of", body[:-1])
    refused("declares", body, rows=3)
    refused("declares", body, hidden=1)
    refused("declares", bytes([body[0] ^ 0x40]) + body[1:])  # another column changes
    refused("a minimal block does not have", body, kind=BlockKind.MINIMAL)


def test_frames_declare_their_size_before_they_are_decompressed() -> None:
    frame = _COMPRESS(bytes(1 << 20))
    assert len(_DECOMPRESS(frame, limit=1 << 20, exact=True)) == 1 << 20
    with pytest.raises(CompressedError, match="1,048,576 bytes and may have at most 1,000"):
        _DECOMPRESS(frame, limit=1000)
    with pytest.raises(CompressedError, match="has to be 2,097,152"):
        _DECOMPRESS(frame, limit=2 << 20, exact=True)
    with pytest.raises(CompressedError, match="damaged"):
        _DECOMPRESS(frame[:-3], limit=1 << 20)
    with pytest.raises(CompressedError):
        _DECOMPRESS(b"no frame", limit=1 << 20)
    assert _DECOMPRESS(_COMPRESS(b""), limit=0) == b""
