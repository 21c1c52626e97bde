"""Files with anything done to them: cut, spliced, overwritten, many times."""

import contextlib
import os
import struct
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recordings import (
    INPUTS,
    block_of,
    blocks_of,
    manifest_of,
    same_block,
    write_small,
)

from stroboscope.engine.files.block import encode_block
from stroboscope.engine.files.compression import Compressor
from stroboscope.engine.files.errors import FileDamagedError, FileError
from stroboscope.engine.files.frames import BlockKind
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.repair import repair
from stroboscope.engine.files.writer import TrajectoryWriter

_COMPRESS = Compressor()
_FACTOR = int(os.environ.get("STROBOSCOPE_FUZZ_FACTOR", "0"))
_WRITTEN = {0: blocks_of(4, scene=0), 1: blocks_of(4, scene=1)}
_NUMBERS = st.sampled_from([0, 1, 0x7F, 0xFF, 0xFFFF, 2**31, 2**32 - 1, 2**63, 2**64 - 1])


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    """Files with and without their end."""
    folder = tmp_path_factory.mktemp("originals")
    whole = write_small(folder / "whole.mcap", blocks=4, scenes=2)
    log = write_small(folder / "log.mcap", blocks=4, scenes=2, close=False)
    return whole.read_bytes(), log.read_bytes()


@st.composite
def _changes(draw: st.DrawFn) -> list[tuple[str, int, int, bytes]]:
    """Draw what is done to a file: (what, where, how long, with which bytes)."""
    change = st.tuples(
        st.sampled_from(["overwrite", "insert", "delete", "repeat", "move"]),
        st.integers(0, 20_000),
        st.integers(0, 3_000),
        st.binary(max_size=40) | _NUMBERS.map(lambda n: n.to_bytes(8, "little")),
    )
    return draw(st.lists(change, min_size=1, max_size=4))


def _changed(data: bytes, changes: list[tuple[str, int, int, bytes]]) -> bytes:
    changed = bytearray(data)
    for what, where, length, new in changes:
        at = where % (len(changed) + 1)
        part = bytes(changed[at : at + length])
        if what == "overwrite":
            changed[at : at + len(new)] = new
        elif what == "insert":
            changed[at:at] = new
        elif what == "delete":
            del changed[at : at + length]
        elif what == "repeat":
            changed[at:at] = part
        else:
            del changed[at : at + length]
            place = length * 7 % (len(changed) + 1)
            changed[place:place] = part
    return bytes(changed)


_BYTE = st.integers(0, 255)
_WORD = st.integers(0, 12) | st.sampled_from([2**31, 2**32 - 1])
_LONG = st.integers(-9, 9) | st.sampled_from([2**62, -(2**62), 2**63 - 1, -(2**63)])
_PLACE = st.integers(0, 3000) | st.sampled_from([2**63, 2**64 - 1])
_FIELDS: dict[str, st.SearchStrategy[float]] = {
    **dict.fromkeys(("kind", "flags", "wall_shift", "first_flag"), _BYTE),
    **dict.fromkeys(("scene", "rows", "width", "inputs_begin", "inputs_end"), _WORD),
    **dict.fromkeys(("hidden", "stream", "rows_crc"), _WORD),
    **dict.fromkeys(("first_axis", "axis_stride", "last_axis", "first_step"), _LONG),
    **dict.fromkeys(("step_stride", "timestep_bits", "first_wall", "wall_stride"), _LONG),
    **dict.fromkeys(("chunk", "previous"), _PLACE),
    **dict.fromkeys(("first_time", "last_time"), st.floats()),
}


@settings(
    max_examples=300 * _FACTOR or 100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    changes=st.lists(
        st.sampled_from(sorted(_FIELDS)).flatmap(
            lambda name: st.tuples(st.just(name), _FIELDS[name])
        ),
        min_size=1,
        max_size=4,
    ),
    body=st.none() | st.binary(max_size=60),
    kind=st.sampled_from([BlockKind.EXACT, BlockKind.MINIMAL]),
)
def test_a_mutated_head_with_the_right_checksums_is_read_or_refused(
    tmp_path: Path, changes: list[tuple[str, float]], body: bytes | None, kind: BlockKind
) -> None:
    path = tmp_path / "mutated.mcap"
    head, right = encode_block(block_of(4, 4, kind=kind), compress=_COMPRESS, inputs=INPUTS)
    head = head._replace(**dict(changes))
    body = right if body is None else body
    head = head._replace(body_crc=crc32(body))
    with TrajectoryWriter(path, manifest_of(), attachments={}) as writer:
        writer.write_block(block_of(0, 4))
        try:
            writer.write_encoded_block(0, (head, body))
        except (struct.error, ValueError, IndexError, TypeError):
            return  # the writer is not made for this
        writer.write_block(block_of(8, 4))
    data = path.read_bytes()
    for content in (data, data[:-40]):  # with an index and without
        path.write_bytes(content)
        with TrajectoryReader(path) as reader:
            read = []
            for number in range(len(reader.index(0))):
                with contextlib.suppress(FileDamagedError):
                    read.append(reader.block(0, number))
            # What may be damaged is the one between, whatever it says of itself.
            for written in (block_of(0, 4), block_of(8, 4)):
                assert any(same_block(block, written) for block in read)
            reader.check()
            assert all(map(str, reader.damage))
            for axis in (0, 8, 2**62):
                with contextlib.suppress(FileDamagedError):
                    reader.find_axis(0, axis)
        repair(path)


@settings(
    max_examples=300 * _FACTOR or 100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(closed=st.booleans(), changes=_changes())
def test_a_mutated_file_gives_what_was_written_or_an_error_of_ours(
    tmp_path: Path,
    originals: tuple[bytes, bytes],
    closed: bool,
    changes: list[tuple[str, int, int, bytes]],
) -> None:
    path = tmp_path / "mutated.mcap"
    path.write_bytes(_changed(originals[not closed], changes))
    try:
        reader = TrajectoryReader(path)
    except FileError:
        return
    with reader:
        for scene in reader.scenes:
            for number in range(len(reader.index(scene))):
                try:
                    block = reader.block(scene, number)
                except FileDamagedError:
                    assert reader.damage
                    continue
                assert any(same_block(block, written) for written in _WRITTEN[scene])
            assert {event.text for event in reader.events(scene)} <= {"grüße"}
            assert set(reader.signals(scene)) <= {"reward", "knee"}
        reader.check()
        assert all(map(str, reader.damage))
    result = repair(path)
    with TrajectoryReader(result.path) as repaired:
        assert repaired.complete
        assert repaired.check() == ()
        assert {s: repaired.frame_count(s) for s in repaired.scenes} == result.frames
