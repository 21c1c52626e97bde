"""A reader written from docs/trajectory_format.md alone reads what ours reads."""

import struct
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
import zstandard
from mcap.reader import make_reader

from stroboscope.engine.files.reader import TrajectoryReader

_GOLDEN = Path(__file__).with_name("golden") / "version_1.mcap"
_HEAD = "<4sBBBBIIIIIIIqqqqqddqqqQQIIBBH"
_NAMES = (
    *("magic", "version", "codec", "kind", "flags", "scene", "rows", "width"),
    *("inputs_begin", "inputs_end", "hidden", "stream", "first_axis", "axis_stride", "last_axis"),
    *("first_step", "step_stride", "first_time", "last_time", "timestep", "first_wall"),
    *("wall_stride", "chunk", "previous", "rows_crc", "body_crc", "wall_shift", "first_flag"),
    "zero",
)
_MODULUS = 1 << 64


def _signed(number: int) -> int:
    number %= _MODULUS
    return number - _MODULUS if number >> 63 else number


def _decode(data: bytes) -> dict[str, Any]:
    """Return a block's numbers, with loops and whole numbers as the page says it."""
    head = dict(zip(_NAMES, struct.unpack_from(_HEAD, data), strict=True))
    assert struct.calcsize(_HEAD) == 144
    assert struct.unpack_from("<I", data, 144)[0] == crc32(data[:144])
    assert head["magic"] == b"SBLK"
    assert crc32(data[148:]) == head["body_crc"]
    n, w = head["rows"], head["width"]
    at = 148 + (w + 5 + 7) // 8
    mask = [bool(data[148 + k // 8] >> (7 - k % 8) & 1) for k in range(w + 5)]
    digests = None
    if head["flags"] & 1:
        digests = list(struct.unpack_from(f"<{n}Q", data, at))
        at += 8 * n
    m = sum(mask)
    stream = zstandard.decompress(data[at:])
    assert len(data) == at + head["stream"]
    assert len(stream) == 8 * w + 8 * m * (n - 1) + head["hidden"]
    first = [
        *struct.unpack_from(f"<{w}Q", stream),
        head["first_axis"],
        head["first_step"],
        head["timestep"],
        0,
        head["first_flag"],
    ]
    planes = stream[8 * w : 8 * w + 8 * m * (n - 1)]
    columns, place = [], 0
    for changes, begin in zip(mask, first, strict=True):
        column = [begin % _MODULUS] * n
        if changes:
            for k in range(1, n):
                z = sum(planes[(p * m + place) * (n - 1) + k - 1] << (8 * p) for p in range(8))
                column[k] = (column[k - 1] + ((z >> 1) ^ -(z & 1))) % _MODULUS
            place += 1
        columns.append(column)
    timesteps = np.array(columns[w + 2], dtype=np.uint64).view(np.float64)
    rows = np.array(columns[:w], dtype=np.uint64).view(np.float64).T.copy()
    if head["flags"] & 2:
        for k in range(1, n):
            rows[k, 0] = rows[k - 1, 0] + timesteps[k - 1]
    stored = [0, *range(head["inputs_begin"], head["inputs_end"])]
    raw = rows.tobytes()
    if head["kind"] == 1:
        raw = rows[0].tobytes() + rows[1:, stored].tobytes()
        rows[1:, [k for k in range(w) if k not in stored]] = np.nan
    assert crc32(raw) == head["rows_crc"]
    shift = head["wall_shift"]
    ticks = [_signed(t + head["wall_stride"] * k) for k, t in enumerate(columns[w + 3])]
    return {
        "rows": rows.tobytes(),
        "axes": [_signed(a + head["axis_stride"] * k) for k, a in enumerate(columns[w])],
        "steps": [_signed(s + head["step_stride"] * k) for k, s in enumerate(columns[w + 1])],
        "timesteps": timesteps.tobytes(),
        "wall": [head["first_wall"] + (tick << shift) for tick in ticks],
        "flags": columns[w + 4],
        "digests": digests,
        "hidden": stream[8 * w + len(planes) :],
    }


@pytest.mark.parametrize("scene", [0, 1])
def test_blocks_are_as_the_page_describes_them(scene: int) -> None:
    topic = f"/stroboscope/scene/{scene}/state"
    with _GOLDEN.open("rb") as file, TrajectoryReader(_GOLDEN) as reader:
        messages = list(make_reader(file).iter_messages(topics=[topic], log_time_order=False))
        assert len(messages) == len(reader.index(scene))
        for number, (_, _, message) in enumerate(messages):
            ours, theirs = reader.block(scene, number), _decode(message.data)
            assert theirs["rows"] == ours.rows.tobytes()
            assert theirs["axes"] == ours.axes.tolist()
            assert theirs["steps"] == ours.steps.tolist()
            assert theirs["timesteps"] == ours.timesteps.tobytes()
            assert theirs["wall"] == ours.wall.tolist()
            assert theirs["flags"] == ours.flags.tolist()
            assert theirs["digests"] == (None if ours.digests is None else ours.digests.tolist())
            assert theirs["hidden"] == ours.hidden


def test_the_index_is_as_the_page_describes_it() -> None:
    with _GOLDEN.open("rb") as file, TrajectoryReader(_GOLDEN) as reader:
        attachments = {each.name: each.data for each in make_reader(file).iter_attachments()}
        entries = list(struct.iter_unpack("<QQQqqddqIIIB3x", attachments["stroboscope/index"]))
        data = _GOLDEN.read_bytes()
        for scene in reader.scenes:
            mine = [entry for entry in entries if entry[8] == scene]
            index = reader.index(scene)
            assert [entry[2] for entry in mine] == index.offset.tolist()
            assert [entry[9] for entry in mine] == index.count.tolist()
            assert [entry[10] for entry in mine] == index.nbytes.tolist()
            assert [entry[11] for entry in mine] == index.kind.tolist()
            for entry in mine:
                assert data[entry[2] : entry[2] + 4] == b"SBLK"
                assert struct.unpack_from("<Q", data, entry[2] + 116)[0] == entry[0]
        kinds = [entry[11] for entry in entries if entry[8] == 0xFFFFFFFF]
        assert kinds == [16, 16, 17, 17, 18]
