"""Files with anything done to them: cut, spliced, overwritten, many times."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recordings import blocks_of, same_block, write_small

from stroboscope.engine.files.errors import FileDamagedError, FileError
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.repair import repair

_FACTOR = int(os.environ.get("STROBOSCOPE_FUZZ_FACTOR", "1"))
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


@settings(
    max_examples=300 * _FACTOR,
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
