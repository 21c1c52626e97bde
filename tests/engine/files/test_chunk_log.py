"""What a writer remembers of its chunks is little, and what it says of them in the end is right."""

import struct
import tracemalloc
from pathlib import Path

import pytest
from mcap.reader import make_reader
from mcap.records import ChunkIndex
from recordings import block_of, manifest_of, same_block

from stroboscope.engine.files.container import Opcode
from stroboscope.engine.files.disk import Disk
from stroboscope.engine.files.errors import FileWriteError
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.writer import TrajectoryWriter

_ROWS = 2
_BLOCKS = 9_000


class SmallDisk(Disk):
    """Has room for so many bytes."""

    def __init__(self, room: int) -> None:
        self._room = room

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        if len(data) > self._room:
            raise OSError(28, "No space left on device")
        self._room -= len(data)
        return super().write(descriptor, data)


def _written(path: Path, *, disk: Disk | None = None, blocks: int = _BLOCKS) -> TrajectoryWriter:
    """Write many small blocks of two scenes, events and signals in between, and don't close it."""
    writer = TrajectoryWriter(
        path, manifest_of(scenes=2), attachments={"model.mjb": b"model"}, disk=disk
    )
    for number in range(blocks):
        writer.write_block(block_of(_ROWS * number, _ROWS, scene=number % 3 // 2))
        if number % 500 == 3:
            writer.write_events([FileEvent(kind="log", axis=number)])
            writer.write_signals(0, "a", [number], [0.1], [1.0])
    return writer


def _chunks(path: Path) -> list[ChunkIndex]:
    """Return what the index of the container should say, from the chunks themselves."""
    data, at, found = path.read_bytes(), 8, []
    while at < len(data) - 8:
        opcode, size = struct.unpack_from("<BQ", data, at)
        content = data[at + 9 : at + 9 + size]
        if opcode == Opcode.CHUNK:
            first, last, raw, _, named = struct.unpack_from("<QQQII", content)
            compression = content[32 : 32 + named].decode()
            found.append(
                ChunkIndex(
                    chunk_length=9 + size,
                    chunk_start_offset=at,
                    compression=compression,
                    compressed_size=int.from_bytes(content[32 + named : 40 + named], "little"),
                    message_end_time=last,
                    message_index_length=0,
                    message_index_offsets={},
                    message_start_time=first,
                    uncompressed_size=raw,
                )
            )
        elif opcode == Opcode.MESSAGE_INDEX:
            found[-1].message_index_length += 9 + size
            found[-1].message_index_offsets[int.from_bytes(content[:2], "little")] = at
        at += 9 + size
    return found


@pytest.mark.slow
def test_a_writer_remembers_few_bytes_of_each_block(tmp_path: Path) -> None:
    blocks = 7_000  # slow while all is traced
    tracemalloc.start()
    writer = _written(tmp_path / "a.mcap", blocks=blocks)
    by_line = tracemalloc.take_snapshot().filter_traces(
        [tracemalloc.Filter(True, "*/engine/files/*")]
    )
    tracemalloc.stop()
    chunks = writer._chunks
    waiting = 2 * len(chunks._new) + 2 * len(chunks._new_records)
    traced = sum(each.size for each in by_line.statistics("filename"))
    assert traced < waiting + 20 * chunks.count + 100_000
    assert chunks.count == blocks + 2 * blocks // 500
    kept = chunks.nbytes - len(chunks._new) - len(chunks._new_records)
    assert kept < 20 * (chunks.count - len(chunks._new) // 80)
    writer.close()


def test_both_indexes_say_what_stands_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    _written(path).close()
    with path.open("rb") as file:
        summary = make_reader(file, validate_crcs=True).get_summary()
    assert summary is not None
    assert summary.chunk_indexes == _chunks(path)
    with TrajectoryReader(path) as reader:
        assert reader.complete
        assert not reader.damage
        of_scene: tuple[list[int], list[int]] = ([], [])
        for number in range(_BLOCKS):
            of_scene[number % 3 // 2].append(number)
        for scene, numbers in enumerate(of_scene):
            assert len(reader.index(scene)) == len(numbers)
            for place in (0, 2_000, -1):
                block = reader.block(scene, range(len(numbers))[place])
                assert same_block(block, block_of(_ROWS * numbers[place], _ROWS, scene=scene))
        assert len(reader.events(0)) == _BLOCKS // 500


@pytest.mark.slow
def test_an_end_that_a_disk_takes_in_part_only_is_taken_back(tmp_path: Path) -> None:
    whole, path = tmp_path / "whole.mcap", tmp_path / "a.mcap"
    writer = _written(whole)
    before = writer.nbytes
    writer.close()
    room = whole.stat().st_size - 1
    assert room > before + (1 << 20)  # more than one write
    writer = _written(path, disk=SmallDisk(room))
    with pytest.raises(FileWriteError, match="No space left"):
        writer.close()
    assert path.read_bytes() == whole.read_bytes()[:before]
    with TrajectoryReader(path) as reader:
        assert not reader.complete
        assert not reader.damage
        assert sum(len(reader.index(scene)) for scene in (0, 1)) == _BLOCKS
