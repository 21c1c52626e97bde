"""``stroboscope verify`` of damaged files: which frames are lost, whichever they are, and 2."""

import math
from pathlib import Path
from typing import Any

import mujoco
import pytest
from plain_recording import PlainRun, record_plain

from stroboscope.app.main.cli import main
from stroboscope.engine.files.frames import RecordMode
from stroboscope.engine.files.reader import TrajectoryReader

MODEL = """
<mujoco>
  <worldbody><body><joint name="hinge" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></worldbody>
  <actuator><motor joint="hinge"/></actuator>
</mujoco>
"""
_BLOCKS = 5


def _record(path: Path, mode: RecordMode) -> PlainRun:
    def control(step: int, data: Any) -> None:
        data.ctrl[:] = math.sin(0.05 * step)

    model = mujoco.MjModel.from_xml_string(MODEL)
    return record_plain(path, model, steps=60, control=control, mode=mode)


def _damage(path: Path, *numbers: int) -> None:
    """Flip a bit within each of some blocks."""
    data = bytearray(path.read_bytes())
    with TrajectoryReader(path) as reader:
        index = reader.index(0)
        assert len(index) == _BLOCKS
        for number in numbers:
            data[int(index.offset[number] + index.nbytes[number]) - 5] ^= 4
    path.write_bytes(data)


@pytest.mark.parametrize("mode", list(RecordMode))
@pytest.mark.parametrize("numbers", [(0,), (2,), (3,), (4,), (0, 4), (3, 4), (0, 1, 2, 3)])
def test_a_flipped_bit_is_2_and_says_which_frames_are_lost_whichever_they_are(
    mode: RecordMode, numbers: tuple[int, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = _record(tmp_path / "run.mcap", mode)
    _damage(run.path, *numbers)
    code = main(["verify", str(run.path)])
    told = capsys.readouterr()
    assert code == 2, told
    assert told.out.count("; lost: frame") >= len(numbers)
    assert "is damaged (" in told.out
    assert not told.err
    assert "go to a frame" not in told.out


@pytest.mark.parametrize("mode", list(RecordMode))
def test_a_file_none_of_whose_frames_is_whole_is_damaged_too(
    mode: RecordMode, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = _record(tmp_path / "run.mcap", mode)
    _damage(run.path, *range(_BLOCKS))
    assert main(["verify", str(run.path)]) == 2
    told = capsys.readouterr()
    assert told.out.count("DAMAGED") >= _BLOCKS
    assert "none of its frames can be read" in told.out + told.err
