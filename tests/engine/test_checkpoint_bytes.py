"""The layout of checkpoint bytes: bytes of before must stay readable, or say another version."""

import numpy as np

from stroboscope.engine.checkpoint_bytes import (
    FORMAT_VERSION,
    Clock,
    Head,
    Layout,
    damage,
    pack_head,
    seal,
)

# A row of three numbers, and a script part and a record of two bytes each.
GOLDEN_SMALL = bytes.fromhex(
    "5354524f42434b509aa52cd4020000001700000005000000010000000800000001000000ff1f0000"
    "0000000003000000000000000000000000000000000102030405060708090a0b0c0d0e0f10111213"
    "1415161718191a1b1c1d1e1f06006d756a6f636f0500342e302e3103007768790000007461626c65"
    "d4000000000000000200000000000000020000000000000007000000000000000e00000000000000"
    "000000000000e03ffca9f1d24d62603f0300000000000000000000000000e03f000000000000f0bf"
    "182d4454fb21094073637265"
)


def sealed(row: np.ndarray[tuple[int], np.dtype[np.float64]]) -> bytes:
    head = pack_head(
        texts=("mujoco", "4.0.1", "why"),
        table=b"table",
        precision=8,
        state_mask=0x1FFF,
        row_length=len(row),
        hidden_bytes=0,
        digest=bytes(range(32)),
    )
    tail = b"scre"
    clock = Clock(len(head) + Clock.SIZE + row.nbytes + len(tail), 2, 2, 7, 14, row[0], 0.002, 3)
    made = bytearray(head + clock.packed() + row.tobytes() + tail)
    seal(made)
    return bytes(made)


def test_small_checkpoints_are_written_as_they_always_were() -> None:
    row = np.array([0.5, -1.0, np.pi])
    assert sealed(row).hex(" ", 8) == GOLDEN_SMALL.hex(" ", 8)


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
    state = sealed(np.arange(1.0, 1006.0) / 7)
    assert Head.of(state).crc == 0x09BDB06A
    assert damage(state) == ""
