"""Files made of others: repaired ones, and parts."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from recordings import block_of, blocks_of, frames_of, manifest_of, same_block, write_small

from stroboscope.engine.files.chunk_index import ChunkKind
from stroboscope.engine.files.cut import cut
from stroboscope.engine.files.errors import FileDamagedError, FileError
from stroboscope.engine.files.frames import BlockKind, FileEvent, RecordMode
from stroboscope.engine.files.lost_messages import lost_in_words
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.repair import repair
from stroboscope.engine.files.writer import TrajectoryWriter


class Stopped(Exception):
    """What a progress callback raises."""


def _stop(done: float) -> None:
    if done > 0.3:
        raise Stopped


def test_a_file_without_its_end_becomes_complete(tmp_path: Path) -> None:
    path = write_small(tmp_path / "run.mcap", scenes=2, close=False)
    before = path.read_bytes()
    path.write_bytes(before[:-30])  # within the last chunk, that of /tf
    result = repair(path)
    assert result.path == tmp_path / "run.repaired.mcap"
    assert result.frames == {0: 12, 1: 12}
    assert "within a record" in str(result.damage[0])
    assert path.read_bytes() == before[:-30]
    with TrajectoryReader(result.path) as reader:
        assert reader.complete
        assert reader.damage == ()
        assert "repaired from run.mcap" in reader.manifest.note
        for scene in (0, 1):
            assert all(map(same_block, frames_of(reader, scene), blocks_of(3, scene=scene)))
            assert [event.axis for event in reader.events(scene)] == [0, 4, 8]
        assert reader.signal(0, "knee").values.shape == (3, 2)
        assert reader.signal_names(0, "knee") == ("q", "v")
        assert reader.attachment("model.mjb") == b"model"


def test_damaged_blocks_and_attachments_are_left_out_and_named(tmp_path: Path) -> None:
    path = write_small(tmp_path / "run.mcap")
    with TrajectoryReader(path) as reader:
        middle = int(reader.index(0).offset[1]) + 20
    data = bytearray(path.read_bytes())
    data[middle] ^= 1
    data[data.rindex(b"model", 0, data.index(b"SBLK"))] ^= 1  # the attachment's content
    path.write_bytes(data)
    result = repair(path, tmp_path / "new.mcap")
    assert result.frames == {0: 8}
    assert result.attachments_lost == ("model.mjb",)
    with TrajectoryReader(result.path) as reader:
        assert reader.complete
        assert [int(block.axes[0]) for block in frames_of(reader)] == [0, 8]
        (gap,) = [event for event in reader.events(0) if event.kind == "gap"]
        assert gap.axis == 4
        assert gap.data["axes"] == [4, 7]
        assert "4 frames" in gap.text


def damaged_chunk(path: Path, kind: ChunkKind, number: int = 0) -> None:
    """Flip a bit in the middle of a chunk of events, of signals, or of what is for other tools."""
    with TrajectoryReader(path) as reader:
        entries = reader._contents.entries
    entry = entries[entries["kind"] == kind][number]
    data = bytearray(path.read_bytes())
    data[int(entry["chunk"]) + int(entry["chunk_bytes"]) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("kind", "lost"),
    [
        (ChunkKind.EVENTS, "1 event of scene 0"),
        (ChunkKind.SIGNALS, "3 values of 'reward' of scene 0"),
        (ChunkKind.MESSAGES, "1 message for other tools"),
    ],
)
@pytest.mark.parametrize("closed", [True, False])
def test_events_and_values_that_are_lost_are_counted_and_told_in_the_new_file(
    tmp_path: Path, kind: ChunkKind, lost: str, closed: bool
) -> None:
    path = write_small(tmp_path / "run.mcap", scenes=2)
    whole = sum(repair(path, tmp_path / "whole.mcap").messages.values())
    damaged_chunk(path, kind)
    if not closed:
        size = write_small(tmp_path / "open.mcap", scenes=2, close=False).stat().st_size
        path.write_bytes(path.read_bytes()[:size])
        # What declares a topic is in its first chunk, and at the end, which is lost, too.
        lost = ""
    result = repair(path)
    assert result.was_closed == closed
    words = lost_in_words(result.messages_lost, {})
    assert words.startswith(lost)
    assert ("of which nothing else is known" in words) != closed
    assert any(f"lost: {lost}" in str(each) for each in result.damage)
    assert sum(result.messages.values()) + sum(e.number for e in result.messages_lost) == whole
    assert result.has_lost
    with TrajectoryReader(result.path) as reader:
        gaps = [event for event in reader.events(0) if event.kind == "gap"]
        if kind is ChunkKind.MESSAGES and closed:
            assert not gaps
        else:
            assert lost in gaps[0].text
            assert "logged between physics steps 0 and " in gaps[0].text


def test_signals_of_which_the_declaration_is_lost_take_no_others_with_them(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    writer = TrajectoryWriter(path, manifest_of(), attachments={})
    axes, times = np.arange(5), 0.1 * np.arange(5)
    writer.write_signals(0, "first", axes, times, times)
    writer.write_signals(0, "second", axes, times, times)
    with TrajectoryReader(path) as reader:
        both = [message for message in reader.messages() if "signals" in message.channel.topic]
    writer.copy_messages(both, ChunkKind.SIGNALS)  # in one chunk
    writer.flush()
    size = path.stat().st_size
    writer.close()
    damaged_chunk(path, ChunkKind.SIGNALS)
    path.write_bytes(path.read_bytes()[:size])  # its end declares them, too
    result = repair(path)
    with TrajectoryReader(result.path) as reader:
        assert reader.signals(0) == ("second",)
        assert len(reader.signal(0, "second").axes) == 10
    assert sum(each.number for each in result.messages_lost) == 10
    assert "messages are of channels that a damaged chunk declares" in str(result.damage)


def test_a_damaged_block_within_a_part_is_left_out_and_named(tmp_path: Path) -> None:
    path = write_small(tmp_path / "run.mcap", close=False)
    with TrajectoryReader(path) as reader:
        end = int(reader.index(0).offset[1] + reader.index(0).nbytes[1])
    data = bytearray(path.read_bytes())
    data[end - 1] ^= 1
    path.write_bytes(data)
    cut(path, tmp_path / "part.mcap", begin=1, end=11)
    with TrajectoryReader(tmp_path / "part.mcap") as reader:
        assert reader.frame_count(0) == 6
        gaps = [event for event in reader.events(0) if event.kind == "gap"]
        assert [gap.data["axes"] for gap in gaps] == [[4, 7]]
    with pytest.raises(FileDamagedError, match="frames 4 to 7"):
        cut(path, tmp_path / "part.mcap", begin=5, end=11)


def test_a_repair_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    path = write_small(tmp_path / "run.mcap", close=False)
    with pytest.raises(Stopped):
        repair(path, progress=_stop)
    assert [each.name for each in tmp_path.iterdir()] == ["run.mcap"]


def test_a_file_is_not_written_over_itself(tmp_path: Path) -> None:
    path = write_small(tmp_path / "run.mcap")
    (tmp_path / "link.mcap").symlink_to(path)
    with pytest.raises(FileError, match="is the file that is read"):
        repair(path, tmp_path / "link.mcap")
    with pytest.raises(FileError, match="is the file that is read"):
        cut(path, path, begin=0, end=1)


@pytest.mark.parametrize("begin", range(12))
@pytest.mark.parametrize("count", [1, 4, 7])
def test_any_part_has_the_frames_asked_for(tmp_path: Path, begin: int, count: int) -> None:
    path = write_small(tmp_path / "run.mcap")
    end = min(begin + count, 12)
    result = cut(path, tmp_path / "part.mcap", begin=begin, end=end)
    assert result.frames == {0: (begin, end)}
    with TrajectoryReader(path) as reader:
        whole = np.concatenate([block.rows for block in frames_of(reader)])
        wall = np.concatenate([block.wall for block in frames_of(reader)])
    with TrajectoryReader(result.path) as reader:
        assert reader.complete
        blocks = frames_of(reader)
        assert np.concatenate([b.rows for b in blocks]).tobytes() == whole[begin:end].tobytes()
        assert np.concatenate([b.axes for b in blocks]).tolist() == list(range(begin, end))
        assert np.concatenate([b.wall for b in blocks]).tolist() == wall[begin:end].tolist()
        for event in reader.events(0):
            assert begin <= event.axis < end


def test_signals_and_messages_are_cut_like_frames(tmp_path: Path) -> None:
    path = write_small(tmp_path / "run.mcap")
    cut(path, tmp_path / "part.mcap", begin=1, end=3)
    with TrajectoryReader(tmp_path / "part.mcap") as reader:
        assert reader.signal(0, "knee").axes.tolist() == [1, 2]
        assert [m for m in reader.messages() if m.channel.topic == "/tf"] == []
    cut(path, tmp_path / "part.mcap", begin=0, end=1)
    with TrajectoryReader(tmp_path / "part.mcap") as reader:
        assert reader.signal(0, "reward").axes.tolist() == [0]
        assert len([m for m in reader.messages() if m.channel.topic == "/tf"]) == 1


def test_other_scenes_are_cut_to_the_same_time(tmp_path: Path) -> None:
    path = write_small(tmp_path / "run.mcap", scenes=2)
    result = cut(path, tmp_path / "part.mcap", begin=3, end=9, scene=1)
    assert result.frames[1] == (3, 9)
    begin, end = result.frames[0]
    assert abs(begin - 3) <= 1
    assert abs(end - 9) <= 1
    with TrajectoryReader(result.path) as reader:
        assert reader.frame_count(0) == end - begin
        assert reader.frame_count(1) == 6


def test_a_part_knows_the_stretch_it_is_of_and_the_options_in_force(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    events = [
        FileEvent(kind="begin", axis=0),
        FileEvent(kind="option", axis=1, text="gravity"),
        FileEvent(kind="log", axis=2),
        FileEvent(kind="episode", axis=3, episode=1),
        FileEvent(kind="log", axis=5),
        FileEvent(kind="stop", axis=7),
    ]
    with TrajectoryWriter(path, manifest_of(), attachments={}) as writer:
        writer.write_events(events)
        for block in blocks_of(2):
            writer.write_block(block)
    cut(path, tmp_path / "part.mcap", begin=4, end=7)
    with TrajectoryReader(tmp_path / "part.mcap") as reader:
        assert [event.kind for event in reader.events(0)] == ["option", "episode", "log"]
    cut(path, tmp_path / "part.mcap", begin=4, end=8)
    with TrajectoryReader(tmp_path / "part.mcap") as reader:
        kinds = [event.kind for event in reader.events(0)]
        assert kinds == ["option", "episode", "log", "stop"]


def test_a_part_begins_where_its_first_state_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    with TrajectoryWriter(path, manifest_of(mode=RecordMode.MINIMAL), attachments={}) as writer:
        writer.write_block(block_of(0, 8, kind=BlockKind.MINIMAL))
        writer.write_block(dataclasses.replace(block_of(8, 4), hidden=b"asleep"))
    assert cut(path, tmp_path / "a.mcap", begin=3, end=6).frames == {0: (0, 6)}
    with TrajectoryReader(tmp_path / "a.mcap") as reader:
        block = reader.block(0, 0)
        assert block.kind is BlockKind.MINIMAL
        assert np.isfinite(block.rows[0]).all()
        assert len(block.digests) == 6  # type: ignore[arg-type]
    assert cut(path, tmp_path / "b.mcap", begin=9, end=10).frames == {0: (8, 10)}
    with TrajectoryReader(tmp_path / "b.mcap") as reader:
        assert reader.block(0, 0).hidden == b"asleep"


def test_frames_that_are_not_there_can_not_be_cut_out(tmp_path: Path) -> None:
    path = write_small(tmp_path / "run.mcap")
    for begin, end in ((-1, 3), (3, 3), (4, 3), (0, 13)):
        with pytest.raises(ValueError, match="has 12 frames"):
            cut(path, tmp_path / "part.mcap", begin=begin, end=end)
    with pytest.raises(FileError, match="no scene 5"):
        cut(path, tmp_path / "part.mcap", begin=0, end=1, scene=5)
    assert not (tmp_path / "part.mcap").exists()


def test_a_cut_that_is_stopped_leaves_the_old_target(tmp_path: Path) -> None:
    path = write_small(tmp_path / "run.mcap")
    target = tmp_path / "part.mcap"
    target.write_bytes(b"old")
    with pytest.raises(Stopped):
        cut(path, target, begin=0, end=12, progress=_stop)
    assert target.read_bytes() == b"old"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["part.mcap", "run.mcap"]
