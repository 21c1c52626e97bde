"""A process that records is killed at any instant: what it had written is all there."""

import random
import subprocess
import sys
from pathlib import Path

import pytest
from recordings import block_of, same_block

from stroboscope.engine.files.errors import FileDamagedError
from stroboscope.engine.files.reader import TrajectoryReader
from stroboscope.engine.files.repair import repair

_WRITER = Path(__file__).with_name("killed_writer.py")
_ROWS = 50


def _kill_after(path: Path, blocks: int) -> int:
    """Let a process record so many blocks at least, kill it, and return how many it told of."""
    with subprocess.Popen(
        [sys.executable, str(_WRITER), str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            told = [next(process.stdout) for _ in range(blocks)]
        finally:
            process.kill()
        told += [line for line in process.stdout if line.endswith("\n")]
    return int(told[-1])


def _check(path: Path, told: int) -> None:
    with TrajectoryReader(path) as reader:
        assert not reader.complete
        # The system may end a write at any page of it when its process is killed.
        assert len(reader.damage) <= 1
        assert all(each.what.startswith("the file ends within") for each in reader.damage)
        index = reader.index(0)
        # What was told is written; one more block may be.
        assert told <= len(index) <= told + 1
        for number in range(len(index)):
            assert same_block(reader.block(0, number), block_of(_ROWS * number, _ROWS))
        assert len(reader.events(0)) in (len(index) // 7, len(index) // 7 - (len(index) % 7 == 0))
        assert reader.attachment("model.mjb") == b"model"
        frames = reader.frame_count(0)
    assert repair(path).frames == {0: frames}


@pytest.mark.parametrize("trial", range(20))
def test_frames_survive_the_process_that_wrote_them(tmp_path: Path, trial: int) -> None:
    path = tmp_path / "a.mcap"
    _check(path, _kill_after(path, random.Random(trial).randint(1, 40)))


@pytest.mark.slow
@pytest.mark.parametrize("trial", range(180))
def test_frames_survive_in_many_trials(tmp_path: Path, trial: int) -> None:
    path = tmp_path / "a.mcap"
    _check(path, _kill_after(path, random.Random(1000 + trial).randint(1, 200)))


def test_a_recording_that_was_followed_when_it_was_killed_is_followed_to_its_end(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.mcap"
    with subprocess.Popen(
        [sys.executable, str(_WRITER), str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        next(process.stdout)
        reader = TrajectoryReader(path)
        seen = [reader.frame_count(0)]
        while len(seen) < 5 or seen[-1] == seen[0]:  # what it had told of was there already
            next(process.stdout)
            reader.follow()
            seen.append(reader.frame_count(0))
        process.kill()
        process.stdout.read()
    reader.follow()
    assert seen == sorted(seen)
    assert seen[-1] > seen[0]
    for number in range(len(reader.index(0))):
        try:
            assert same_block(reader.block(0, number), block_of(_ROWS * number, _ROWS))
        except FileDamagedError as error:
            pytest.fail(str(error))
    reader.close()
