"""Files made to hurt their reader: refused in little memory and time, with errors of ours."""

import contextlib
import json
import os
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar
from zlib import crc32

import msgspec
import numpy as np
import pytest
import zstandard
from recordings import block_of, blocks_of, manifest_of, same_block

from stroboscope.engine.files import container
from stroboscope.engine.files.block import encode_block, placed
from stroboscope.engine.files.block_head import META_COLUMNS, NOWHERE
from stroboscope.engine.files.chunk_index import ENTRY, ChunkKind, block_entry, low_rate_entry
from stroboscope.engine.files.compression import Compressor
from stroboscope.engine.files.container import MAGIC, Opcode
from stroboscope.engine.files.errors import FileDamagedError, FileError
from stroboscope.engine.files.json_values import encode_json
from stroboscope.engine.files.low_rate import events_topic
from stroboscope.engine.files.manifest import INDEX_NAME, MANIFEST_NAME
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.repair import repair

# What a reader may need for a file of which nothing can be had: bytes beside those of who made the
# file here, and seconds of the processor, with every allocation traced.
_MOST_MEMORY = 50 << 20
_MOST_TIME = 20.0
_COMPRESS = Compressor()


@pytest.fixture(autouse=True)
def little_memory_and_time() -> Iterator[None]:
    """Fail a test that needs much of either."""
    tracemalloc.start()
    begin, Forge.holds = time.process_time(), 0
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak - Forge.holds < _MOST_MEMORY
    assert time.process_time() - begin < _MOST_TIME


class Forge:
    """Puts a file together from records of any kind, with every checksum right."""

    holds: ClassVar[int] = 0
    """Bytes that whoever made the file has in memory."""

    def __init__(self, manifest: bytes | None = None) -> None:
        manifest = encode_json(manifest_of()) if manifest is None else manifest
        self.data = MAGIC + container.record(
            Opcode.HEADER, container.string("stroboscope"), container.string("")
        )
        self.attachments: list[bytes] = []
        self.attach(MANIFEST_NAME, manifest)
        self.entries = b""

    def attach(self, name: str, data: bytes) -> None:
        """Add an attachment."""
        written = container.attachment_record(name, "", data, log_time=0)
        self.attachments.append(
            container.attachment_index_record(
                name, "", offset=len(self.data), length=len(written), log_time=0, size=len(data)
            )
        )
        self.data += written

    def chunk(self, records: bytes, *, compression: str, stored: bytes, size: int) -> None:
        """Add a chunk, whatever it declares."""
        written = container.chunk_record(
            stored, crc=crc32(records), size=size, times=(0, 0), compression=compression
        )
        kind = ChunkKind.UNKNOWN
        self.entries += low_rate_entry(kind, chunk=len(self.data), chunk_bytes=len(written))
        self.data += written

    def block(self, data: bytes) -> None:
        """Add a chunk with a block."""
        message = container.message_record(1, sequence=0, log_time=0, data=data)
        self.data += container.chunk_record(
            message, crc=crc32(message), size=len(message), times=(0, 0), compression=""
        )

    def write(self, path: Path, *, index: bytes | None = None) -> Path:
        """Write the file with an index, its own unless said."""
        self.attach(INDEX_NAME, self.entries if index is None else index)
        self.data += container.record(Opcode.DATA_END, bytes(4))
        summary = b"".join(self.attachments)
        footer = container.footer_record(
            crc32(summary), summary_start=len(self.data), offset_start=0
        )
        return self._written(path, self.data + summary + footer + MAGIC)

    def write_cut_off(self, path: Path) -> Path:
        """Write the file without its end."""
        return self._written(path, self.data)

    @staticmethod
    def _written(path: Path, data: bytes) -> Path:
        path.write_bytes(data)
        tracemalloc.reset_peak()  # what comes now is the reader's
        Forge.holds = tracemalloc.get_traced_memory()[0]
        return path


def _event_chunk(text_bytes: int, *, messages: int = 1) -> bytes:
    channel = container.channel_record(
        9, schema=0, topic=events_topic(0), encoding="json", metadata={}
    )
    event = encode_json({"kind": "log", "axis": 0, "text": "x" * text_bytes})
    message = container.message_record(9, sequence=0, log_time=0, data=event)
    return channel + messages * message


def _zeros(size: int) -> bytes:
    """Return a small zstd frame that becomes ``size`` zeros, made without them."""
    compressor = zstandard.ZstdCompressor(level=1).compressobj(size=size)
    part = bytes(1 << 20)
    frames = [
        compressor.compress(part[: min(len(part), size - at)]) for at in range(0, size, len(part))
    ]
    return b"".join([*frames, compressor.flush()])


def _everything(path: Path) -> TrajectoryReader:
    """Read all that can be read; every error is one of ours."""
    with TrajectoryReader(path) as reader:
        for scene in reader.scenes:
            reader.events(scene)
            for name in reader.signals(scene):
                reader.signal(scene, name)
            for number in range(len(reader.index(scene))):
                try:
                    reader.block(scene, number)
                except FileDamagedError:
                    assert reader.damage
        for name in reader.attachments:
            with pytest.raises(FileError):
                reader.attachment(name)
    return reader


# --- bombs in chunks of messages


@pytest.mark.parametrize("honest", [True, False])
def test_a_chunk_that_becomes_a_gigabyte_is_refused(tmp_path: Path, honest: bool) -> None:
    forge = Forge()
    bomb = _zeros(1 << 30)
    assert len(bomb) < 1 << 17
    forge.chunk(b"", compression="zstd", stored=bomb, size=1 << 30 if honest else 1000)
    reader = _everything(forge.write(tmp_path / "a.mcap"))
    assert "declares 1,073,741,824 bytes" in str(reader.damage[0])


def test_a_frame_that_does_not_say_its_size_is_refused(tmp_path: Path) -> None:
    forge = Forge()
    compressor = zstandard.ZstdCompressor(level=1, write_content_size=False)
    bomb = compressor.compress(bytes(1 << 24))
    forge.chunk(b"", compression="zstd", stored=bomb, size=1 << 24)
    reader = _everything(forge.write(tmp_path / "a.mcap"))
    assert "does not say how large" in str(reader.damage[0])


def test_many_chunks_that_become_large_are_read_up_to_a_limit(tmp_path: Path) -> None:
    forge = Forge()
    records = _event_chunk(15 << 20)
    stored = _COMPRESS(records)
    for _ in range(60):
        forge.chunk(records, compression="zstd", stored=stored, size=len(records))
    path = forge.write(tmp_path / "a.mcap")
    assert path.stat().st_size < 1 << 20
    with TrajectoryReader(path) as reader:
        count = sum(1 for _ in reader.messages(ChunkKind.EVENTS))
        assert count < 20
        assert "allowed are" in str(reader.damage[-1])


def test_more_events_than_anybody_can_look_at_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stroboscope.engine.files.happenings.MOST_EVENTS", 1000)
    forge = Forge()
    records = _event_chunk(1, messages=3000)
    stored = _COMPRESS(records)
    forge.chunk(records, compression="zstd", stored=stored, size=len(records))
    with TrajectoryReader(forge.write(tmp_path / "a.mcap")) as reader:
        assert len(reader.events(0)) == 1000
        assert "more than 1,000 events" in str(reader.damage[-1])


def test_unknown_compression_is_refused_by_name(tmp_path: Path) -> None:
    forge = Forge()
    forge.chunk(b"", compression="lz4", stored=b"abc", size=3)
    reader = _everything(forge.write(tmp_path / "a.mcap"))
    assert "compressed with 'lz4'" in str(reader.damage[0])


def test_nested_json_is_no_event(tmp_path: Path) -> None:
    forge = Forge()
    nested = b'{"kind":"log","axis":0,"data":{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}}"
    channel = container.channel_record(
        9, schema=0, topic=events_topic(0), encoding="json", metadata={}
    )
    records = channel + container.message_record(9, sequence=0, log_time=0, data=nested)
    forge.chunk(records, compression="zstd", stored=_COMPRESS(records), size=len(records))
    reader = _everything(forge.write(tmp_path / "a.mcap"))
    assert "can't be read" in str(reader.damage[0])


@pytest.mark.parametrize("at", ["channel", "message", "record"])
def test_lengths_within_a_chunk_that_lead_out_of_it_are_refused(tmp_path: Path, at: str) -> None:
    forge = Forge()
    records = bytearray(_event_chunk(10))
    behind = 9 + int.from_bytes(records[1:9], "little")
    place = {"record": 1, "channel": 9 + 4, "message": behind + 1}[at]
    records[place : place + 4] = b"\xff\xff\xff\x7f"
    data = bytes(records)
    forge.chunk(data, compression="zstd", stored=_COMPRESS(data), size=len(data))
    reader = _everything(forge.write(tmp_path / "a.mcap"))
    assert "is damaged" in str(reader.damage[0])


# --- bombs in blocks


@pytest.mark.parametrize("indexed", [True, False])
def test_a_block_that_becomes_a_gigabyte_is_refused(tmp_path: Path, indexed: bool) -> None:
    forge = Forge()
    begin = len(forge.data)
    head, _ = encode_block(block_of(0, 4), compress=_COMPRESS)
    stream = _zeros(1 << 30)
    body = b"\xff" * head.mask_bytes + stream
    head = head._replace(stream=len(stream), body_crc=crc32(body), chunk=begin)
    place = begin + container.chunk_head_bytes("") + container.MESSAGE_HEAD
    forge.block(placed((head, body), scene=0, chunk=begin, previous=NOWHERE))
    entry = block_entry(head, chunk=begin, chunk_bytes=len(forge.data) - begin, block=place)
    path = tmp_path / "a.mcap"
    if indexed:
        forge.write(path, index=entry)
    else:
        forge.write_cut_off(path)
    reader = _everything(path)
    assert reader.frame_count(0) == 4
    assert "declares 1,073,741,824 bytes" in str(reader.damage[-1])


def test_declared_counts_are_compared_with_what_is_there(tmp_path: Path) -> None:
    # 4,096 rows of 1,000 numbers would be allowed; the manifest says that rows have 6.
    forge = Forge()
    begin = len(forge.data)
    size = 8 * 1000 + 8 * (1000 + META_COLUMNS) * 4095
    head, _ = encode_block(block_of(0, 4), compress=_COMPRESS)
    stream = _zeros(size)
    head = head._replace(rows=4096, width=1000, stream=len(stream), chunk=begin)
    body = b"\xff" * head.mask_bytes + stream
    head = head._replace(body_crc=crc32(body))
    forge.block(placed((head, body), scene=0, chunk=begin, previous=NOWHERE))
    reader = _everything(forge.write_cut_off(tmp_path / "a.mcap"))
    assert "1,000 columns" in str(reader.damage[-1])


def test_blocks_of_scenes_that_are_not_in_the_manifest_are_left_out(tmp_path: Path) -> None:
    forge = Forge()
    begin = len(forge.data)
    encoded = encode_block(block_of(0, 4), compress=_COMPRESS)
    forge.block(placed(encoded, scene=77, chunk=begin, previous=NOWHERE))
    path = forge.write_cut_off(tmp_path / "a.mcap")
    reader = _everything(path)
    assert reader.frame_count(0) == 0
    assert repair(path).frames == {0: 0}


# --- indexes that point anywhere


@pytest.mark.parametrize(
    "change",
    [
        {"chunk": 2**64 - 1},
        {"chunk": 2**63, "chunk_bytes": 2**63},
        {"chunk_bytes": 2**64 - 1},
        {"chunk_bytes": 0},
        {"block": 0},
        {"block": 2**64 - 1},
        {"block_bytes": 2**32 - 1},
        {"block_bytes": 3},
        {"rows": 0},
        {"rows": 2**32 - 1},
        {"scene": 2**32 - 1},
        {"kind": 200},
        {"first_axis": 2**62},
        {"rows": 5},
        {"block": "first"},
    ],
    ids=str,
)
def test_an_index_that_points_anywhere_costs_nothing_but_itself(
    tmp_path: Path, change: dict[str, object]
) -> None:
    forge = Forge()
    entries = b""
    for block in blocks_of(3):
        begin = len(forge.data)
        encoded = encode_block(block, compress=_COMPRESS)
        forge.block(placed(encoded, scene=0, chunk=begin, previous=NOWHERE))
        place = begin + container.chunk_head_bytes("") + container.MESSAGE_HEAD
        entries += block_entry(
            encoded[0]._replace(chunk=begin),
            chunk=begin,
            chunk_bytes=len(forge.data) - begin,
            block=place,
        )
    index = np.frombuffer(bytearray(entries), dtype=ENTRY)
    for name, value in change.items():
        index[1][name] = index[0][name] if value == "first" else value
    path = forge.write(tmp_path / "a.mcap", index=index.tobytes())
    with TrajectoryReader(path) as reader:
        numbers = range(len(reader.index(0)))
        read = []
        for number in numbers:
            try:
                read.append(reader.block(0, number))
            except FileDamagedError:
                assert reader.damage
        # Those that the index has right, at least.
        for written in (blocks_of(3)[0], blocks_of(3)[2]):
            assert any(same_block(block, written) for block in read)
        with contextlib.suppress(FileDamagedError):
            reader.find_axis(0, 9)


@pytest.mark.parametrize("index", [b"x" * 81, b"", b"\xff" * 80 * 1000])
def test_an_index_that_is_none_is_not_used(tmp_path: Path, index: bytes) -> None:
    forge = Forge()
    path = forge.write(tmp_path / "a.mcap", index=index)
    _everything(path)


# --- counts and lengths


@pytest.mark.parametrize("opcode", [1, 4, 6, 7, 9, 12, 15, 0x90])
@pytest.mark.parametrize("length", [2**64 - 1, 2**63, 2**40, 5])
def test_records_that_declare_any_length_are_the_end(
    tmp_path: Path, opcode: int, length: int
) -> None:
    forge = Forge()
    forge.data += bytes([opcode]) + length.to_bytes(8, "little") + bytes(3)
    reader = _everything(forge.write_cut_off(tmp_path / "a.mcap"))
    assert not reader.complete
    assert reader.damage


@pytest.mark.slow
def test_millions_of_empty_records_are_not_gone_through(tmp_path: Path) -> None:
    forge = Forge()
    forge.data += container.record(Opcode.MESSAGE_INDEX, bytes(6)) * 3_000_000
    reader = _everything(forge.write_cut_off(tmp_path / "a.mcap"))
    assert not reader.complete
    assert reader.damage


def test_millions_of_false_blocks_are_not_looked_at(tmp_path: Path) -> None:
    forge = Forge()
    forge.data += b"\xee" + b"SBLK\x01\x01\x00\x00" * 4_000_000
    reader = _everything(forge.write_cut_off(tmp_path / "a.mcap"))
    assert any("looks like blocks" in str(damage) for damage in reader.damage)


def test_a_footer_may_point_anywhere(tmp_path: Path) -> None:
    for start in (0, 1, 8, 2**63, 2**64 - 1):
        forge = Forge()
        footer = container.footer_record(0, summary_start=start, offset_start=start)
        path = tmp_path / "a.mcap"
        path.write_bytes(forge.data + footer + MAGIC)
        assert not _everything(path).complete


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"scenes": []}, None),
        ({"scenes": [{"index": 0}] * 100_000}, "manifest"),
        ({"format": 10**30}, "manifest"),
        ({"format": "1"}, "manifest"),
        ({"created": 1e300}, "created at"),
        ({"attachments": {"a": "b"}}, None),
        ({"unknown": {"more": [1, 2, 3]}}, None),
    ],
    ids=range(7),
)
def test_manifests_that_say_anything(
    tmp_path: Path, change: dict[str, object], why: str | None
) -> None:
    fields = json.loads(encode_json(manifest_of())) | change
    path = Forge(json.dumps(fields).encode()).write(tmp_path / "a.mcap")
    if why is None:
        _everything(path)
    else:
        with pytest.raises(FileError, match=why):
            TrajectoryReader(path)


@pytest.mark.parametrize(
    "change",
    [
        {"width": 2**40},
        {"width": -1},
        {"index": 2**33},
        {"inputs": [-5, 2]},
        {"inputs": [0, 2**62]},
        {"columns": [["time", 0, 2**60]]},
    ],
    ids=str,
)
def test_scenes_that_say_anything(tmp_path: Path, change: dict[str, object]) -> None:
    fields = json.loads(encode_json(manifest_of()))
    fields["scenes"][0] |= change
    path = Forge(json.dumps(fields).encode()).write(tmp_path / "a.mcap")
    with pytest.raises(FileError, match=r"a\.mcap: .*manifest"):
        TrajectoryReader(path)


def test_a_manifest_nested_without_end_is_none(tmp_path: Path) -> None:
    text = b'{"format":1,"x":' + b"[" * 500_000 + b"]" * 500_000 + b"}"
    with pytest.raises(FileError, match="manifest"):
        TrajectoryReader(Forge(text).write(tmp_path / "a.mcap"))


def test_an_attachment_that_declares_more_than_the_file_is_refused(tmp_path: Path) -> None:
    manifest = msgspec.structs.replace(manifest_of(), attachments={"m": "00"})
    forge = Forge(encode_json(manifest))
    forge.attachments.append(
        container.attachment_index_record("m", "", offset=0, length=2**63, log_time=0, size=2**63)
    )
    assert not _everything(forge.write(tmp_path / "a.mcap")).complete


def test_a_pipe_is_no_file(tmp_path: Path, make_pipe: Callable[[Path], None]) -> None:
    make_pipe(tmp_path / "pipe.mcap")
    with pytest.raises(FileError, match="is no file"):
        TrajectoryReader(tmp_path / "pipe.mcap")


@pytest.fixture
def make_pipe() -> Callable[[Path], None]:
    """Make a named pipe, where the system has such."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no named pipes here")
    return os.mkfifo


def test_random_bytes_behind_the_magic_are_no_trajectory(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "a.mcap"
    for _ in range(200):
        path.write_bytes(MAGIC + rng.bytes(int(rng.integers(0, 2000))))
        with pytest.raises(FileDamagedError, match="no manifest"):
            TrajectoryReader(path)
