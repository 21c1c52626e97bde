"""Whatever happens to the bytes of a file: what is left is read as it was written, or refused."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from recordings import blocks_of, same_block, write_small
from samples import few

from stroboscope.engine.files.errors import FileDamagedError, FileError
from stroboscope.engine.files.frames import RowBlock
from stroboscope.engine.files.reader import TrajectoryReader

BLOCKS = 2
WRITTEN = blocks_of(BLOCKS)


def _places(path: Path) -> list[tuple[int, int]]:
    """Return where the blocks of an intact file begin and end."""
    with TrajectoryReader(path) as reader:
        index = reader.index(0)
        return [(int(a), int(a + n)) for a, n in zip(index.offset, index.nbytes, strict=True)]


def _flips(path: Path, places: Iterable[int]) -> Iterator[int]:
    """Yield each place while one bit of the byte there is another one."""
    with path.open("r+b", buffering=0) as file:
        for at in places:
            file.seek(at)
            byte = file.read(1)
            for value in (bytes([byte[0] ^ (1 << at % 8)]), byte):
                file.seek(at)
                file.write(value)
                if value != byte:
                    yield at


def _blocks_by_axis(reader: TrajectoryReader) -> dict[int, RowBlock]:
    """Return the blocks that can be read, by their first axis."""
    blocks = {}
    for number in range(len(reader.index(0))):
        try:
            block = reader.block(0, number)
        except FileDamagedError:
            assert "frame" in str(reader.damage[-1])
            continue
        blocks[int(block.axes[0])] = block
    return blocks


def _check_the_rest(reader: TrajectoryReader) -> None:
    """Look at all else: nothing in it is another value than was written, nor a raw exception."""
    events = reader.events(0)
    assert all(event.text == "grüße" for event in events)
    assert {event.axis for event in events} <= {0, 4}
    for name in reader.signals(0):
        values = reader.signal(0, name).values
        if name == "knee":
            assert values.tolist() == [[0, 1], [2, 3], [4, 5]]
        else:
            assert name == "reward"
            assert np.array_equal(values, [1.0, np.nan, np.inf], equal_nan=True)
    with contextlib.suppress(FileError):
        assert reader.attachment("model.mjb") == b"model"
    assert [message.data for message in reader.messages() if message.channel.topic == "/tf"] in (
        [],
        [b'{"a":1}'],
    )
    assert all(map(str, reader.damage))


def _check(path: Path, lost: set[int]) -> TrajectoryReader:
    """Open a file; every block but those of ``lost`` comes back as it was written."""
    with TrajectoryReader(path) as reader:
        blocks = _blocks_by_axis(reader)
        for number, written in enumerate(WRITTEN):
            read = blocks.pop(4 * number, None)
            if read is None:
                assert number in lost, f"block {number} is lost"
            else:
                assert same_block(read, written)
        assert not blocks
        _check_the_rest(reader)
    return reader


# Every place, in parts; eleven, so that each flips every bit of some bytes.
_PARTS = 11


@pytest.mark.parametrize("part", few(range(_PARTS), 2))
@pytest.mark.parametrize("closed", [True, False])
def test_a_file_cut_off_at_any_length_gives_what_is_whole(
    tmp_path: Path, closed: bool, part: int
) -> None:
    path = write_small(tmp_path / "cut.mcap", blocks=BLOCKS, close=closed)
    places = _places(path)
    for length in range(part, path.stat().st_size, _PARTS)[::-1]:
        os.truncate(path, length)
        lost = {number for number, (_, end) in enumerate(places) if end > length}
        try:
            reader = _check(path, lost)
        except FileDamagedError:
            assert length < places[0][0]
            continue
        assert not reader.complete


@pytest.mark.parametrize("part", few(range(_PARTS), 2))
@pytest.mark.parametrize("closed", [True, False])
def test_a_flipped_byte_costs_at_most_the_block_it_is_in(
    tmp_path: Path, closed: bool, part: int
) -> None:
    path = write_small(tmp_path / "flipped.mcap", blocks=BLOCKS, close=closed)
    places = _places(path)
    with TrajectoryReader(path) as reader:
        manifest = reader._contents.attachments[0]
    for at in _flips(path, range(part, path.stat().st_size, _PARTS)):
        lost = {number for number, (begin, end) in enumerate(places) if begin <= at < end}
        try:
            reader = _check(path, lost)
        except FileError:
            # Without its end there is one manifest only, and nothing says what a file is but
            # its first bytes.
            assert not closed
            assert at < 8 or manifest.offset <= at < manifest.offset + manifest.nbytes, at
            continue
        if lost:
            assert reader.damage


@pytest.mark.parametrize("closed", [True, False])
def test_a_file_that_was_only_cut_off_is_not_said_to_be_damaged(
    tmp_path: Path, closed: bool
) -> None:
    path = write_small(tmp_path / "cut.mcap", blocks=BLOCKS, close=closed)
    begins = _places(path)[0][0]
    for length in range(begins, path.stat().st_size, 17)[::-1]:
        os.truncate(path, length)
        with TrajectoryReader(path) as reader:
            assert [str(each) for each in reader.check() if not each.is_cut_off] == [], length


def test_a_lost_block_is_named_with_its_frames_and_steps(tmp_path: Path) -> None:
    path = write_small(tmp_path / "a.mcap", blocks=BLOCKS)
    begin, end = _places(path)[1]
    data = bytearray(path.read_bytes())
    data[end - 1] ^= 1
    path.write_bytes(data)
    with TrajectoryReader(path) as reader:
        assert reader.damage == ()  # nobody has looked there
        with pytest.raises(FileDamagedError, match=r"a\.mcap.*frames 4 to 7 of scene 0"):
            reader.block(0, 1)
        with pytest.raises(FileDamagedError, match="checksum"):
            reader.block(0, 1)
        (damage,) = reader.damage
        assert (damage.offset, damage.nbytes) == (begin, end - begin)
        assert (damage.frames, damage.axes) == ((4, 8), (4, 7))
        assert same_block(reader.block(0, 0), WRITTEN[0])


def test_a_block_lost_without_an_index_is_named_with_its_steps(tmp_path: Path) -> None:
    path = write_small(tmp_path / "a.mcap", blocks=3, close=False)
    for at in (_places(path)[1][0] + 10, _places(path)[1][0] - 70):  # its head; its chunk's length
        data = bytearray(path.read_bytes())
        data[at] ^= 255
        data[_places(path)[1][0] + 20] ^= 1
        (tmp_path / "b.mcap").write_bytes(data)
        with TrajectoryReader(tmp_path / "b.mcap") as reader:
            assert reader.frame_count(0) == 8
            (damage,) = reader.damage
            assert (damage.scene, damage.axes) == (0, (4, 7))
            assert "lost: physics steps 4 to 7 of scene 0" in str(damage)


def test_a_whole_check_finds_any_flipped_byte(tmp_path: Path) -> None:
    path = write_small(tmp_path / "a.mcap", blocks=1)
    done: list[float] = []
    with TrajectoryReader(path) as reader:
        assert reader.check(done.append) == ()
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0.0, 1.0)
    for at in _flips(path, range(0, path.stat().st_size, 11)):
        with TrajectoryReader(path) as reader:
            found = reader.check()
            assert found or not reader.complete, at


def test_frames_keep_their_numbers_when_a_block_before_them_is_lost(tmp_path: Path) -> None:
    path = write_small(tmp_path / "a.mcap", blocks=BLOCKS)
    begin, _ = _places(path)[0]
    data = bytearray(path.read_bytes())
    data[begin + 40] ^= 1
    path.write_bytes(data)
    with TrajectoryReader(path) as reader:
        number, row = reader.locate(0, 5)
        assert reader.block(0, number).axes[row] == 5


def test_events_survive_the_loss_of_the_chunk_that_declares_them(tmp_path: Path) -> None:
    path = write_small(tmp_path / "a.mcap", blocks=BLOCKS)
    with TrajectoryReader(path) as reader:
        entries = reader._contents.entries
        first = entries[entries["kind"] >= 16][0]
    data = bytearray(path.read_bytes())
    data[int(first["chunk"] + first["chunk_bytes"]) - 1] ^= 1
    path.write_bytes(data)
    with TrajectoryReader(path) as reader:
        assert [event.axis for event in reader.events(0)] == [4]
        assert "chunk of events" in str(reader.damage[0])


def test_a_file_that_becomes_shorter_while_it_is_read_is_an_error_of_ours(tmp_path: Path) -> None:
    path = write_small(tmp_path / "a.mcap", blocks=BLOCKS)
    with TrajectoryReader(path) as reader, path.open("r+b") as file:
        file.truncate(_places(path)[1][0] + 10)
        assert same_block(reader.block(0, 0), WRITTEN[0])
        with pytest.raises(FileDamagedError, match="shorter"):
            reader.block(0, 1)


def test_an_end_that_is_damaged_is_told_and_costs_nothing(tmp_path: Path) -> None:
    data = write_small(tmp_path / "a.mcap", blocks=BLOCKS).read_bytes()
    path = tmp_path / "b.mcap"
    for end in (data[:-1], data[:-1] + b"X", data + b"more", data[:-60] + bytes(60)):
        path.write_bytes(end)
        with TrajectoryReader(path) as reader:
            assert not reader.complete
            assert "the end of the file" in str(reader.damage[0])
            assert all(same_block(reader.block(0, k), WRITTEN[k]) for k in range(BLOCKS))


def test_a_closed_reader_says_so(tmp_path: Path) -> None:
    reader = TrajectoryReader(write_small(tmp_path / "a.mcap", close=False))
    reader.close()
    reader.close()
    for look in (lambda: reader.block(0, 0), reader.follow, lambda: reader.attachment("model.mjb")):
        with pytest.raises(FileError, match="has been closed"):
            look()


def test_a_path_that_can_be_none_is_an_error_of_ours() -> None:
    with pytest.raises(FileError, match="can't be opened"):
        TrajectoryReader("a\0b.mcap")
