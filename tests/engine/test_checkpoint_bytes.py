"""The layout of checkpoint bytes: bytes of before must stay readable, or say another version."""

import numpy as np
import pytest
from numpy.typing import NDArray

from stroboscope.engine.checkpoint_bytes import (
    FORMAT_VERSION,
    Clock,
    Head,
    Layout,
    damage,
    pack_head,
    seal,
    sealed,
)

Row = NDArray[np.float64]

# A row of three numbers, and a script part and a record of two bytes each.
GOLDEN_SMALL = bytes.fromhex(
    "5354524f42434b509aa52cd4020000001700000005000000010000000800000001000000ff1f0000"
    "0000000003000000000000000000000000000000000102030405060708090a0b0c0d0e0f10111213"
    "1415161718191a1b1c1d1e1f06006d756a6f636f0500342e302e3103007768790000007461626c65"
    "d4000000000000000200000000000000020000000000000007000000000000000e00000000000000"
    "000000000000e03ffca9f1d24d62603f0300000000000000000000000000e03f000000000000f0bf"
    "182d4454fb21094073637265"
)


def parts_of(row: Row, hidden: bytes = b"") -> tuple[bytes, bytes]:
    """Return head and clock of a checkpoint with this row."""
    head = pack_head(
        texts=("mujoco", "4.0.1", "why"),
        table=b"table",
        precision=8,
        state_mask=0x1FFF,
        row_length=len(row),
        hidden_bytes=len(hidden),
        digest=bytes(range(32)),
    )
    total = len(head) + Clock.SIZE + row.nbytes + len(hidden) + 4
    return head, Clock(total, 2, 2, 7, 14, row[0], 0.002, 3).packed()


def made_of(row: Row, hidden: bytes = b"") -> bytes:
    head, clock = parts_of(row, hidden)
    return sealed(head, clock, row, hidden=hidden, script=b"sc", record=b"re")


def test_small_checkpoints_are_written_as_they_always_were() -> None:
    row = np.array([0.5, -1.0, np.pi])
    assert made_of(row).hex(" ", 8) == GOLDEN_SMALL.hex(" ", 8)


def test_small_checkpoints_of_before_are_read() -> None:
    assert damage(GOLDEN_SMALL) == ""
    layout = Layout.of(GOLDEN_SMALL)
    assert layout.head.format_version == FORMAT_VERSION
    assert layout.head.texts(GOLDEN_SMALL) == ("mujoco", "4.0.1", "why")
    assert layout.head.table(GOLDEN_SMALL) == b"table"
    assert layout.head.digest == bytes(range(32))
    assert (layout.clock.step_count, layout.clock.physics_step_count) == (7, 14)
    assert np.frombuffer(GOLDEN_SMALL[layout.row]).tolist() == [0.5, -1.0, np.pi]
    assert (GOLDEN_SMALL[layout.script], GOLDEN_SMALL[layout.record]) == (b"sc", b"re")


def test_the_checksum_of_large_checkpoints_is_what_it_always_was() -> None:
    # Of this many numbers some stand after the last whole stretch.
    state = made_of(np.arange(1.0, 1006.0) / 7)
    assert Head.of(state).crc == 0x09BDB06A
    assert damage(state) == ""


@pytest.mark.parametrize("hidden", [b"", b"h" * 11, b"h" * 10_000])
@pytest.mark.parametrize("length", [3, 1005])
def test_a_checkpoint_is_the_same_made_of_parts_or_sealed_in_place(
    hidden: bytes, length: int
) -> None:
    row = np.linspace(-1.0, 1.0, length)
    head, clock = parts_of(row, hidden)
    whole = bytearray(head + clock + row.tobytes() + hidden + b"scre")
    seal(whole)
    assert made_of(row, hidden) == bytes(whole)
    assert damage(bytes(whole)) == ""
