"""Files are MCAP to others: the ``mcap`` package reads them, and compares every checksum it can."""

import inspect
import io
import itertools
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from mcap.reader import NonSeekingReader, make_reader
from mcap.records import Channel, Chunk, ChunkIndex, Message, MessageIndex
from mcap.stream_reader import StreamReader, breakup_chunk
from mcap.writer import Writer
from recordings import write_small

from stroboscope.engine.files.errors import FileFormatError
from stroboscope.engine.files.reader import TrajectoryReader

_REPOSITORY = Path(__file__).resolve().parents[3]
_MCAP_CORE = _REPOSITORY / ".cache/mcap_core/node_modules/@mcap/core"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed file of two scenes."""
    return write_small(tmp_path / "a.mcap", blocks=3, scenes=2)


def test_a_seeking_reader_finds_every_message(path: Path) -> None:
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        summary = reader.get_summary()
        assert summary is not None
        assert summary.statistics is not None
        found = [(channel, message) for _, channel, message in reader.iter_messages()]
        counts = summary.statistics.channel_message_counts
        for number, channel in summary.channels.items():
            mine = [message for other, message in found if other.id == number]
            assert len(mine) == counts[number], channel.topic
            assert sorted(m.sequence for m in mine) == list(range(len(mine)))
        topics = {channel.topic for channel in summary.channels.values()}
    assert topics == {
        "/stroboscope/scene/0/state",
        "/stroboscope/scene/0/events",
        "/stroboscope/scene/0/signals/reward",
        "/stroboscope/scene/0/signals/knee",
        "/stroboscope/scene/1/state",
        "/stroboscope/scene/1/events",
        "/tf",
    }
    assert summary.statistics.chunk_count == len(summary.chunk_indexes) == 12 + 3
    assert summary.statistics.attachment_count == 4
    assert summary.statistics.metadata_count == 1


def test_a_streaming_reader_agrees_with_the_checksum_of_all_data(path: Path) -> None:
    with path.open("rb") as file:
        messages = list(NonSeekingReader(file, validate_crcs=True).iter_messages())
    assert len(messages) == 6 + 6 + 6 + 1


def test_messages_are_found_by_time_and_topic(path: Path) -> None:
    with path.open("rb") as file:
        reader = make_reader(file, validate_crcs=True)
        start = 1_700_000_000_000_000_000
        topic = "/stroboscope/scene/1/state"
        # Older versions of the package have another word for it.
        words = inspect.signature(reader.iter_messages).parameters
        since = {"starting_at" if "starting_at" in words else "start_time": start + 90_000}
        late = list(reader.iter_messages(topics=[topic], **since))
    assert len(late) == 1


def test_indexes_point_at_what_they_say(path: Path) -> None:
    data = path.read_bytes()
    with path.open("rb") as file:
        summary = make_reader(file).get_summary()
        assert summary is not None
    for index in summary.chunk_indexes:
        begin = index.chunk_start_offset
        record = _record_at(data, begin)
        assert isinstance(record, Chunk)
        _check_chunk(record, index)
        end = begin + index.chunk_length
        for channel, place in index.message_index_offsets.items():
            of_channel = _record_at(data, place)
            assert isinstance(of_channel, MessageIndex)
            assert of_channel.channel_id == channel
            assert end <= place < end + index.message_index_length
            inner = {r.log_time for r in breakup_chunk(record) if isinstance(r, Message)}
            assert {time for time, _ in of_channel.records} <= inner


def _check_chunk(chunk: Chunk, index: ChunkIndex) -> None:
    records = breakup_chunk(chunk, validate_crc=True)
    messages = [record for record in records if isinstance(record, Message)]
    assert all(isinstance(record, Message | Channel) or record for record in records)
    times = [message.log_time for message in messages]
    assert (chunk.message_start_time, chunk.message_end_time) == (min(times), max(times))
    assert (index.message_start_time, index.message_end_time) == (min(times), max(times))
    assert index.compressed_size == len(chunk.data)
    assert index.uncompressed_size == chunk.uncompressed_size
    assert index.compression == chunk.compression


def _record_at(data: bytes, place: int) -> object:
    stream = StreamReader(io.BytesIO(data[place:]), skip_magic=True, emit_chunks=True)
    return next(iter(stream.records))


def test_attachments_and_the_hint_are_there(path: Path) -> None:
    with path.open("rb") as file:
        reader = make_reader(file)
        attachments = {a.name: a.data for a in reader.iter_attachments()}
        (hint,) = reader.iter_metadata()
        assert reader.get_header().profile == "stroboscope"
    assert attachments["model.mjb"] == b"model"
    manifest = json.loads(attachments["stroboscope/manifest.json"])
    assert manifest["format"] == 1
    assert hint.name == "stroboscope"
    assert (hint.metadata["format"], hint.metadata["mode"]) == ("1", "exact")
    assert hint.metadata["uuid"] == manifest["uuid"]


def test_signals_and_events_are_json_with_a_schema(path: Path) -> None:
    with path.open("rb") as file:
        for schema, channel, message in make_reader(file).iter_messages():
            if channel.topic.endswith("/state"):
                assert schema is None
                assert channel.message_encoding == "x-stroboscope-block"
                assert channel.metadata["segments"] == "time:0:1,qpos:1:3,ctrl:4:2"
                assert message.data[:4] == b"SBLK"
            elif channel.topic != "/tf":
                assert schema is not None
                assert schema.encoding == "jsonschema"
                properties = json.loads(schema.data)["properties"]
                assert set(json.loads(message.data)) <= set(properties)


@pytest.mark.parametrize("finished", [True, False])
def test_a_file_of_another_program_is_refused_by_its_name(tmp_path: Path, finished: bool) -> None:
    path = tmp_path / "robot.mcap"
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start(profile="ros2", library="some recorder 1.0")
        channel = writer.register_channel("/tf", "json", 0)
        writer.add_message(channel, 0, b"{}", 0)
        if finished:
            writer.finish()
    with pytest.raises(FileFormatError, match=r"of another program \(some recorder 1\.0\)"):
        TrajectoryReader(path)


@pytest.mark.skipif(
    not (_MCAP_CORE.is_dir() and shutil.which("node")),
    reason="see packaging/read_with_mcap_core.mjs for how to install what it reads with",
)
def test_the_library_that_foxglove_is_built_on_reads_every_message(path: Path) -> None:
    script = _REPOSITORY / "packaging/read_with_mcap_core.mjs"
    result = subprocess.run(
        ["node", str(script), str(path)],
        cwd=_REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "/stroboscope/scene/1/state: 3" in result.stdout


def test_a_file_without_its_end_can_be_streamed(tmp_path: Path) -> None:
    path = write_small(tmp_path / "a.mcap", close=False)
    with path.open("rb") as file:
        records = iter(StreamReader(file, validate_crcs=True).records)
        # Then the file ends, which that reader has an exception for.
        messages = list(itertools.islice((r for r in records if isinstance(r, Message)), 13))
    assert len(messages) == 13
    with TrajectoryReader(path) as reader:
        assert reader.frame_count(0) == 12
