"""A trajectory that was written is read as it was; other tools can open it, too."""

import dataclasses
import math
from pathlib import Path

import msgspec
import numpy as np
import pytest
from recordings import (
    CLOCK,
    block_of,
    blocks_of,
    frames_of,
    manifest_of,
    same_block,
    write_small,
)

from stroboscope.engine.files.chunk_index import ChunkKind
from stroboscope.engine.files.errors import FileError, FileFormatError, FileVersionError
from stroboscope.engine.files.frames import BlockKind, FileEvent, Manifest
from stroboscope.engine.files.low_rate import MessageSchema, signal_topic
from stroboscope.engine.files.low_rate_chunks import Channel, Message
from stroboscope.engine.files.manifest import INDEX_NAME, unpack_manifest
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.repair import repair
from stroboscope.engine.files.writer import TrajectoryWriter


def test_frames_come_back_to_the_bit(tmp_path: Path) -> None:
    written = [*blocks_of(3), block_of(12, 1, kind=BlockKind.FINAL)]
    with TrajectoryWriter(tmp_path / "a.mcap", manifest_of(), attachments={}) as writer:
        for block in written:
            writer.write_block(block)
    with TrajectoryReader(tmp_path / "a.mcap") as reader:
        assert reader.complete
        assert reader.damage == ()
        assert reader.frame_count(0) == 13
        assert all(map(same_block, frames_of(reader), written))


def test_minimal_blocks_hold_inputs_and_digests(tmp_path: Path) -> None:
    written = block_of(0, 8, kind=BlockKind.MINIMAL)
    with TrajectoryWriter(tmp_path / "a.mcap", manifest_of(), attachments={}) as writer:
        writer.write_block(written)
    with TrajectoryReader(tmp_path / "a.mcap") as reader:
        read = reader.block(0, 0)
        assert same_block(read, written)
        assert np.isnan(read.rows[1:, 1:4]).all()


def test_frames_of_several_scenes_are_kept_apart(tmp_path: Path) -> None:
    path = write_small(tmp_path / "a.mcap", scenes=3)
    with TrajectoryReader(path) as reader:
        assert reader.scenes == (0, 1, 2)
        for scene in reader.scenes:
            written = blocks_of(3, scene=scene)
            assert all(map(same_block, frames_of(reader, scene), written))
            assert [event.axis for event in reader.events(scene)] == [0, 4, 8]


def test_a_frame_is_found_by_its_number_and_by_its_axis(tmp_path: Path) -> None:
    with TrajectoryWriter(tmp_path / "a.mcap", manifest_of(), attachments={}) as writer:
        writer.write_block(block_of(0, 4))
        writer.write_block(block_of(100, 4))
    with TrajectoryReader(tmp_path / "a.mcap") as reader:
        assert reader.locate(0, 0) == (0, 0)
        assert reader.locate(0, 5) == (1, 1)
        assert reader.find_axis(0, 102) == 6
        assert reader.find_axis(0, 50) is None
        assert reader.find_axis(0, 104) is None
        with pytest.raises(IndexError, match="frames are 0 to 7"):
            reader.locate(0, 8)
        with pytest.raises(IndexError):
            reader.locate(0, -1)


def test_events_signals_and_attachments_come_back(tmp_path: Path) -> None:
    with TrajectoryReader(write_small(tmp_path / "a.mcap")) as reader:
        assert [event.text for event in reader.events(0)] == ["grüße"] * 3
        assert reader.signals(0) == ("reward", "knee")
        axes, times, values = reader.signal(0, "reward")
        assert axes.tolist() == [0, 1, 2]
        assert times.tolist() == [0.0, 0.1, 0.2]
        assert np.array_equal(values, [1.0, np.nan, np.inf], equal_nan=True)
        assert reader.signal(0, "knee").values.tolist() == [[0, 1], [2, 3], [4, 5]]
        assert reader.signal_names(0, "knee") == ("q", "v")
        assert reader.signal_names(0, "reward") == ()
        assert reader.attachments == ("model.mjb",)
        assert reader.attachment("model.mjb") == b"model"
        with pytest.raises(FileError, match=r"no attachment 'other'.*'model.mjb'"):
            reader.attachment("other")
        with pytest.raises(FileError, match=r"no signal 'hip'.*'reward'"):
            reader.signal(0, "hip")
        with pytest.raises(FileError, match="no scene 7"):
            reader.index(7)


def test_the_manifest_comes_back(tmp_path: Path) -> None:
    with TrajectoryReader(write_small(tmp_path / "a.mcap")) as reader:
        digests = reader.manifest.attachments
        assert msgspec.structs.replace(reader.manifest, attachments={}) == manifest_of()
        assert list(digests) == ["model.mjb"]


def test_log_times_show_the_date_and_the_monotonic_clock(tmp_path: Path) -> None:
    event = FileEvent(kind="log", axis=0, wall=CLOCK + 1_500_000_000)
    with TrajectoryWriter(tmp_path / "a.mcap", manifest_of(), attachments={}) as writer:
        writer.write_events([event])
    with TrajectoryReader(tmp_path / "a.mcap") as reader:
        (message,) = reader.messages()
        assert message.log_time == 1_700_000_001_500_000_000


def test_a_file_being_written_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    written = blocks_of(3)
    writer = TrajectoryWriter(path, manifest_of(), attachments={})
    writer.write_block(written[0])
    with TrajectoryReader(path) as reader:
        assert not reader.complete
        assert reader.frame_count(0) == 4
        assert not reader.follow()
        writer.write_block(written[1])
        writer.write_events([FileEvent(kind="log", axis=4)])
        assert reader.follow()
        assert reader.frame_count(0) == 8
        assert len(reader.events(0)) == 1
        writer.write_block(written[2])
        writer.close()
        assert reader.follow()
        assert reader.complete
        assert reader.damage == ()
        assert all(map(same_block, frames_of(reader), written))
        assert not reader.follow()


def test_events_and_signals_grow_with_a_file_that_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    with TrajectoryWriter(path, manifest_of(scenes=2), attachments={}) as writer:
        writer.write_events([FileEvent(kind="begin", axis=0)])
        with TrajectoryReader(path) as reader:
            assert (len(reader.events(0)), reader.signals(0)) == (1, ())
            for count in range(1, 5):
                axes = np.array([count])
                writer.write_events([FileEvent(kind="log", axis=count, scene=count % 2)])
                writer.write_signals(0, "reward", axes, axes * 0.1, axes * 1.0)
                assert len(reader.events(0)) + len(reader.events(1)) == count
                assert reader.follow()
                assert len(reader.events(0)) + len(reader.events(1)) == count + 1
                assert reader.signal(0, "reward").axes.tolist() == [*range(1, count + 1)]
            assert reader.damage == ()


def test_samples_of_another_shape_are_left_out_and_told(tmp_path: Path) -> None:
    sample = b'{"axis":%d,"time":0.5,"value":%s}'
    values = (b"1.5", b"[1,2]", b'"Infinity"', b'"Unsinn"', b"null", b'{"a":1}', b"2")
    channel = Channel(signal_topic(0, "x"), "json", None, {})
    messages = [Message(channel, 0, sample % (k, value)) for k, value in enumerate(values)]
    messages.append(Message(channel, 0, sample % (9, b"1") + b"," + sample % (10, b"1")))
    messages.append(Message(channel, 0, sample % (1 << 70, b"1")))
    with TrajectoryWriter(tmp_path / "a.mcap", manifest_of(), attachments={}) as writer:
        writer.copy_messages(messages, ChunkKind.SIGNALS)
    with TrajectoryReader(tmp_path / "a.mcap") as reader:
        signal = reader.signal(0, "x")
        assert signal.axes.tolist() == [0, 2, 6]
        assert signal.values.tolist() == [1.5, np.inf, 2.0]
        assert "can't be read" in str(reader.damage[0])
        with pytest.raises(ValueError, match="read-only"):
            signal.values[0] = 1.0


def test_more_samples_than_can_be_kept_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stroboscope.engine.files.happenings.MOST_SAMPLES", 5)
    axes = np.arange(4)
    with TrajectoryWriter(tmp_path / "a.mcap", manifest_of(), attachments={}) as writer:
        for name in ("a", "b"):
            writer.write_signals(0, name, axes, axes * 0.1, axes * 1.0)
    with TrajectoryReader(tmp_path / "a.mcap") as reader:
        assert reader.signals(0) == ("a",)
        assert "more than 5 samples" in str(reader.damage[0])


def test_messages_that_no_reader_takes_are_refused(tmp_path: Path) -> None:
    with TrajectoryWriter(tmp_path / "a.mcap", manifest_of(), attachments={}) as writer:
        with pytest.raises(ValueError, match="at most 8,388,608 bytes"):
            writer.write_events([FileEvent(kind="log", axis=0, text="x" * (9 << 20))])
        writer.write_events([FileEvent(kind="log", axis=0, text="x" * (7 << 20))])
    with TrajectoryReader(tmp_path / "a.mcap") as reader:
        assert len(reader.events(0)[0].text) == 7 << 20


def test_a_half_written_block_is_no_damage_once_it_is_whole(tmp_path: Path) -> None:
    whole = write_small(tmp_path / "whole.mcap", close=False).read_bytes()
    path = tmp_path / "growing.mcap"
    path.write_bytes(whole[:-100])
    with TrajectoryReader(path) as reader:
        assert "within a record" in str(reader.damage[0])
        with path.open("ab") as file:
            file.write(whole[-100:])
        assert reader.follow()
        assert reader.damage == ()
        assert not reader.complete


def test_a_file_that_grows_byte_by_byte_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stroboscope.engine.files.scan._MOST_FALSE_SIGNS", 3)
    whole = write_small(tmp_path / "whole.mcap").read_bytes()
    begin = whole.index(b"SBLK") - 300
    path = tmp_path / "growing.mcap"
    path.write_bytes(whole[:begin])
    with path.open("ab", buffering=0) as file, TrajectoryReader(path) as reader:
        for at in range(begin, len(whole)):
            file.write(whole[at : at + 1])
            reader.follow()
            assert all(
                "the file ends" in d.what or "end of the file" in d.what for d in reader.damage
            )
        assert reader.complete
        assert all(map(same_block, frames_of(reader), blocks_of(3)))
        assert len(reader.events(0)) == 3


def test_a_file_that_is_replaced_stays_as_it_was_for_its_reader(tmp_path: Path) -> None:
    path = write_small(tmp_path / "a.mcap", blocks=2)
    with TrajectoryReader(path) as reader:
        write_small(path, blocks=5)
        assert reader.frame_count(0) == 8
        assert all(map(same_block, frames_of(reader), blocks_of(2)))


def test_other_files_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "picture.mcap"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    with pytest.raises(FileFormatError, match=r"picture.mcap: is no trajectory"):
        TrajectoryReader(path)
    with pytest.raises(FileError, match="can't be opened"):
        TrajectoryReader(tmp_path / "missing.mcap")
    with pytest.raises(FileFormatError, match="is no file"):
        TrajectoryReader(tmp_path)


def test_other_versions_are_refused_with_both_versions_named(tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    newer = msgspec.structs.replace(manifest_of(), format=2, stroboscope="9.9")
    TrajectoryWriter(path, newer, attachments={}).close()
    with pytest.raises(FileVersionError, match=r"format 2, .* 9\.9; .*formats 1 to 1; update"):
        TrajectoryReader(path)
    older = b'{"format":0,"stroboscope":"0.1"}'
    with pytest.raises(FileVersionError, match=r"format 0, .*; open it with Stroboscope 0\.1"):
        unpack_manifest(path, older)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"\x89MCAP0", b"\x89MCAP1"))
    with pytest.raises(FileVersionError, match="version '1' of the container"):
        TrajectoryReader(path)


def test_what_does_not_fit_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with TrajectoryWriter(tmp_path / "a.mcap", manifest_of(), attachments={}) as writer:
        before = writer.nbytes
        with pytest.raises(ValueError, match="no scene 3"):
            writer.write_block(block_of(0, 4, scene=3))
        with pytest.raises(ValueError, match="have 6 columns"):
            writer.write_block(dataclasses.replace(block_of(0, 4), rows=np.zeros((4, 5))))
        with pytest.raises(ValueError, match="no scene 3"):
            writer.write_events([FileEvent(kind="log", axis=0, scene=3)])
        with pytest.raises(ValueError, match="one of Stroboscope's own"):
            writer.write_message("/stroboscope/x", "json", None, b"{}", 0)
        axes = np.arange(2)
        with pytest.raises(ValueError, match="have the shapes"):
            writer.write_signals(0, "x", axes, axes * 0.1, np.zeros(3))
        with pytest.raises(ValueError, match="can't have the names"):
            writer.write_signals(0, "x", axes, axes * 0.1, np.zeros((2, 2)), names=("a",))
        assert writer.nbytes == before


def test_events_come_back_whatever_is_in_them(tmp_path: Path) -> None:
    strange = {"qacc": np.array([1.0, np.nan]), "limit": math.inf, "big": 1 << 80, "n": np.int64(3)}
    written = FileEvent(kind="stop", axis=3, time=math.nan, text="a\udc80b", data=strange)
    with TrajectoryWriter(tmp_path / "a.mcap", manifest_of(), attachments={}) as writer:
        writer.write_events([written])
        with pytest.raises(TypeError, match="type object can't be written"):
            writer.write_events([FileEvent(kind="log", axis=0, data={"a": object()})])
    with TrajectoryReader(tmp_path / "a.mcap") as reader:
        (read,) = reader.events(0)
        assert math.isnan(read.time)
        assert read.text == "a\\udc80b"
        big = str(1 << 80)
        assert read.data == {"qacc": [1.0, "NaN"], "limit": "Infinity", "big": big, "n": 3}


def test_signals_may_be_called_anything(tmp_path: Path) -> None:
    axes = np.arange(2)
    names = ("events", "a/b c", "größe", "state")
    with TrajectoryWriter(tmp_path / "a.mcap", manifest_of(), attachments={}) as writer:
        for name in names:
            writer.write_signals(0, name, axes, axes * 0.5, np.array([np.nan, -np.inf]))
        writer.write_signals(0, "none", axes[:0], axes[:0], axes[:0])
    for path in (tmp_path / "a.mcap", repair(tmp_path / "a.mcap").path):
        with TrajectoryReader(path) as reader:
            assert reader.signals(0) == names
            assert reader.events(0) == ()
            values = reader.signal(0, "events").values
            assert np.array_equal(values, [np.nan, -np.inf], equal_nan=True)
            assert reader.check() == ()


def test_attachments_that_no_reader_takes_are_refused(tmp_path: Path) -> None:
    for name, why in (("", "1 to 255"), ("a" * 300, "1 to 255"), (INDEX_NAME, "is taken")):
        with pytest.raises(ValueError, match=why):
            TrajectoryWriter(tmp_path / "a.mcap", manifest_of(), attachments={name: b""})
    assert not (tmp_path / "a.mcap").exists()


def test_a_topic_keeps_its_schema(tmp_path: Path) -> None:
    with TrajectoryWriter(tmp_path / "a.mcap", manifest_of(), attachments={}) as writer:
        schema = MessageSchema("a", "jsonschema", b'{"type":"object"}')
        writer.write_message("/a", "json", schema, b"{}", 0)
        with pytest.raises(ValueError, match="keeps its own"):
            writer.write_message("/a", "json", None, b"{}", 0)


def test_an_impossible_manifest_is_refused(tmp_path: Path) -> None:
    good = manifest_of()
    (scene,) = good.scenes

    def refused(manifest: Manifest, why: str) -> None:
        with pytest.raises(ValueError, match=why):
            TrajectoryWriter(tmp_path / "a.mcap", manifest, attachments={})
        assert not (tmp_path / "a.mcap").exists()

    replace = msgspec.structs.replace
    refused(replace(good, scenes=(scene, scene)), "the same index")
    refused(replace(good, scenes=(replace(scene, width=0),)), "0 columns")
    refused(replace(good, scenes=(replace(scene, inputs=(4, 9)),)), "inputs in the columns 4 to 9")
    refused(replace(good, scenes=(replace(scene, width=5),)), "inputs")
    refused(replace(good, created=-1.0), "created at -1")
