"""The disk fails at any call: what was written before is readable, and the error says so."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest
from recordings import blocks_of, manifest_of, same_block, write_small

from stroboscope.engine.files.atomic import write_file
from stroboscope.engine.files.cut import cut
from stroboscope.engine.files.disk import Disk
from stroboscope.engine.files.errors import FileDamagedError, FileWriteError
from stroboscope.engine.files.frames import FileEvent, RowBlock
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.repair import repair
from stroboscope.engine.files.writer import TrajectoryWriter

BLOCKS = 3


class FailingDisk(Disk):
    """Fails its call number ``fail_at``, and all later ones when ``forever``.

    A write that fails has written half of what it was given: as a full disk does.
    """

    def __init__(self, fail_at: int, *, forever: bool = False) -> None:
        self._fail_at, self._forever = fail_at, forever
        self.calls = 0
        self.failed = ""

    def _call(self, name: str) -> bool:
        number, self.calls = self.calls, self.calls + 1
        fails = number == self._fail_at or (self._forever and number > self._fail_at)
        if fails and not self.failed:
            self.failed = name
        return fails

    def forgive(self) -> None:
        """Fail no more."""
        self._fail_at, self._forever = -1, False

    def _check(self, name: str) -> None:
        if self._call(name):
            raise OSError(errno.ENOSPC, "No space left on device")

    def create(self, path: Path) -> int:
        self._check("create")
        return super().create(path)

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        if self._call("write"):
            super().write(descriptor, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(descriptor, data)

    def truncate(self, descriptor: int, length: int) -> None:
        self._check("truncate")
        super().truncate(descriptor, length)

    def fsync(self, descriptor: int) -> None:
        self._check("fsync")
        super().fsync(descriptor)

    def close(self, descriptor: int) -> None:
        super().close(descriptor)
        self._check("close")

    def replace(self, source: Path, target: Path) -> None:
        self._check("replace")
        super().replace(source, target)

    def fsync_folder(self, folder: Path) -> None:
        self._check("fsync_folder")
        super().fsync_folder(folder)


class SlowDisk(Disk):
    """Takes some bytes of a write only, as systems may."""

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        return super().write(descriptor, data[:100])


def _record(path: Path, disk: Disk) -> tuple[list[RowBlock], int, bool]:
    """Record, going on after errors.

    Returns the blocks that were written, how many calls failed, and whether close() did not.
    """
    written, errors, finished = [], 0, True
    try:
        writer = TrajectoryWriter(path, manifest_of(), attachments={"m": b"model"}, disk=disk)
    except FileWriteError as error:
        _check_error(error, path)
        return [], 1, False
    for block in blocks_of(BLOCKS):
        try:
            writer.write_block(block)
            written.append(block)
            writer.write_events([FileEvent(kind="log", axis=int(block.axes[0]))])
        except FileWriteError as error:
            _check_error(error, path)
            errors += 1
    try:
        writer.close()
    except FileWriteError as error:
        _check_error(error, path)
        errors, finished = errors + 1, False
    writer.close()
    return written, errors, finished


def _check_error(error: FileWriteError, path: Path) -> None:
    assert str(path) in str(error)
    assert "No space left" in str(error) or "could not be taken back" in str(error)


@pytest.mark.parametrize("forever", [False, True])
def test_every_block_written_before_and_after_a_failure_is_there(
    tmp_path: Path, forever: bool
) -> None:
    path = tmp_path / "a.mcap"
    kinds = set()
    for fail_at in range(1000):
        disk = FailingDisk(fail_at, forever=forever)
        written, errors, finished = _record(path, disk)
        if not disk.failed:
            assert len(written) == BLOCKS
            break
        kinds.add(disk.failed)
        assert errors
        if not written:
            continue
        with TrajectoryReader(path) as reader:
            read = [reader.block(0, k) for k in range(len(reader.index(0)))]
            assert len(read) == len(written)
            assert all(map(same_block, read, written))
            assert len(reader.events(0)) <= BLOCKS
            assert reader.complete or not finished
            assert forever or reader.damage == ()
    else:
        pytest.fail("it fails forever")
    assert {"create", "write", "fsync", "close"} <= kinds


class InterruptedDisk(Disk):
    """Is interrupted in the middle of its write number ``at``, as by Ctrl+C."""

    def __init__(self, at: int) -> None:
        self._left = at

    def write(self, descriptor: int, data: bytes | memoryview) -> int:
        self._left -= 1
        if self._left == 0:
            super().write(descriptor, data[:50])
            raise KeyboardInterrupt
        return super().write(descriptor, data)


def test_an_interrupted_write_leaves_nothing_half(tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    writer = TrajectoryWriter(path, manifest_of(), attachments={}, disk=InterruptedDisk(4))
    first, second, third = blocks_of(3)
    writer.write_block(first)
    with pytest.raises(KeyboardInterrupt):
        writer.write_block(second)
    writer.write_block(third)
    writer.close()
    with TrajectoryReader(path) as reader:
        assert reader.check() == ()
        assert [int(reader.block(0, k).axes[0]) for k in range(2)] == [0, 8]


def test_what_failed_can_be_written_again(tmp_path: Path) -> None:
    block = blocks_of(1)[0]
    for fail_at in range(3, 7):
        path = tmp_path / f"{fail_at}.mcap"
        writer = TrajectoryWriter(path, manifest_of(), attachments={}, disk=FailingDisk(fail_at))
        for _ in range(4):
            try:
                writer.write_block(block)
            except FileWriteError:
                writer.write_block(block)
        writer.close()
        with TrajectoryReader(path) as reader:
            assert reader.complete
            assert reader.frame_count(0) == 16


def test_writes_that_take_a_part_only_are_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    written, errors, _ = _record(path, SlowDisk())
    assert not errors
    with TrajectoryReader(path) as reader:
        assert reader.complete
        assert all(same_block(reader.block(0, k), block) for k, block in enumerate(written))


def _fails_whole(tmp_path: Path, act: Callable[[Path, Disk], object], *, after: set[str]) -> None:
    """Let ``act`` fail at every call: the target is the old or the new file, nothing else is left.

    ``after``: calls that come when the new file has its name already.
    """
    target = tmp_path / "folder" / "target.mcap"
    target.parent.mkdir()
    for fail_at in range(1000):
        target.write_bytes(b"old")
        disk = FailingDisk(fail_at)
        refused = ""
        try:
            act(target, disk)
        except FileWriteError as error:
            refused = str(error)
        if not disk.failed:
            break
        assert refused.startswith(f"{target}: "), disk.failed
        assert (target.read_bytes() == b"old") == (disk.failed not in after)
        assert [each.name for each in target.parent.iterdir()] == ["target.mcap"], disk.failed
    assert target.read_bytes() != b"old"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    _fails_whole(tmp_path, lambda p, d: write_file(p, b"new", disk=d), after={"fsync_folder"})


def test_repairs_and_cuts_are_there_whole_or_not_at_all(tmp_path: Path) -> None:
    source = write_small(tmp_path / "source.mcap", close=False)
    _fails_whole(tmp_path, lambda p, d: repair(source, p, disk=d), after={"fsync_folder"})
    (tmp_path / "folder" / "target.mcap").unlink()
    (tmp_path / "folder").rmdir()
    _fails_whole(
        tmp_path, lambda p, d: cut(source, p, begin=2, end=9, disk=d), after={"fsync_folder"}
    )


def test_a_recording_that_can_not_begin_leaves_the_old_one_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    failed = set()
    for fail_at in range(10):
        path.write_bytes(b"old")
        disk = FailingDisk(fail_at)
        try:
            writer = TrajectoryWriter(path, manifest_of(), attachments={"m": b"model"}, disk=disk)
        except FileWriteError as error:
            _check_error(error, path)
            assert path.read_bytes() == b"old"
        else:
            assert path.read_bytes() != b"old"
            disk.forgive()
            writer.abandon()
        assert list(tmp_path.iterdir()) == [path], disk.failed
        failed.add(disk.failed)
    assert {"create", "write", "fsync", "replace"} <= failed


def test_places_that_can_not_be_written_to_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileWriteError, match=r"missing.*can't be created \(No such file"):
        TrajectoryWriter(tmp_path / "missing" / "a.mcap", manifest_of(), attachments={})
    with pytest.raises(FileWriteError, match="can't be created"):
        TrajectoryWriter(tmp_path, manifest_of(), attachments={})
    write_small(tmp_path / "there.mcap")
    with pytest.raises(FileWriteError, match="File exists"):
        TrajectoryWriter(tmp_path / "there.mcap", manifest_of(), attachments={}, overwrite=False)
    with TrajectoryReader(tmp_path / "there.mcap") as reader:
        assert reader.complete


def test_a_file_of_which_nothing_was_written_is_gone_or_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    with pytest.raises(FileWriteError):
        TrajectoryWriter(path, manifest_of(), attachments={}, disk=FailingDisk(1, forever=True))
    assert not path.exists()
    path.touch()  # what a process leaves that is killed there
    with pytest.raises(FileDamagedError, match="cut off"):
        TrajectoryReader(path)
