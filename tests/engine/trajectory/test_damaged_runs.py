"""Recorded runs that were damaged: what is asked of them is answered, or refused in words."""

import random
from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from plain_recording import record_plain

from stroboscope.engine.errors import EngineError
from stroboscope.engine.files.frames import RecordMode
from stroboscope.engine.trajectory.trajectory import Trajectory, load_trajectory

PENDULUM = """
<mujoco>
  <worldbody><body><joint name="hinge" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></worldbody>
  <actuator><motor joint="hinge"/></actuator>
</mujoco>
"""
# Rows only: what builds the model starts processes, and has tests of its own.
ASKED: tuple[Callable[[Trajectory, int], object], ...] = (
    lambda t, i: t.frame(i).row if t.record.mode is RecordMode.EXACT else None,
    lambda t, i: t.time(i),
    lambda t, i: t.axis(i),
    lambda t, i: t.wall(i),
    lambda t, i: t.timings(i),
    lambda t, i: t.find(time=0.001 * i),
    lambda t, i: t.frames_at(0.01),
    lambda t, i: t.signals,
    lambda t, i: t.events,
    lambda t, i: t.others(),
    lambda t, i: (repr(t), t.name, t.axes, t.damage, t.complete),
    lambda t, i: t.refresh(),
)
TRIALS = 150


@pytest.mark.parametrize("mode", list(RecordMode))
@pytest.mark.parametrize("how", ["flipped", "cut off", "overwritten"])
def test_everything_that_is_asked_of_a_damaged_run_is_answered_or_refused_in_words(
    mode: RecordMode, how: str, tmp_path: Path
) -> None:
    run = record_plain(
        tmp_path / "run.mcap",
        mujoco.MjModel.from_xml_string(PENDULUM),
        steps=60,
        control=lambda step, data: None,
        mode=mode,
        resets=(20,),
        reward=lambda steps: steps * 0.5,
    )
    whole, rng = run.path.read_bytes(), random.Random(how)
    path, right, opened = tmp_path / "damaged.mcap", run.rows, 0
    refusals: list[str] = []
    for _ in range(TRIALS):
        content = bytearray(whole)
        at = rng.randrange(len(content))
        match how:
            case "flipped":
                content[at] ^= 1 << rng.randrange(8)
            case "cut off":
                del content[at:]
            case _:
                content[at : at + 64] = rng.randbytes(len(content[at : at + 64]))
        path.write_bytes(content)
        try:
            trajectory = load_trajectory(path)
        except EngineError as error:
            refusals.append(str(error))
            continue
        opened += 1
        with trajectory:
            for index in (0, 17, 40, len(trajectory) - 1, -1):
                for ask in ASKED:
                    try:
                        answer = ask(trajectory, index)
                    except (EngineError, ValueError) as error:
                        refusals.append(f"damaged.mcap: {error}")
                        continue
                    if isinstance(answer, np.ndarray) and answer.dtype == np.float64:
                        assert any(answer.tobytes() == row.tobytes() for row in right)
    assert opened > TRIALS // 4
    assert all("damaged.mcap" in said and len(said) > 40 for said in refusals)


@pytest.mark.parametrize("mode", list(RecordMode))
@pytest.mark.parametrize("lost", [0, 1, -1])
def test_a_run_whose_first_middle_or_last_block_is_lost_is_resumed_from_every_other_frame(
    lost: int, mode: RecordMode, tmp_path: Path
) -> None:
    run = record_plain(
        tmp_path / "run.mcap",
        mujoco.MjModel.from_xml_string(PENDULUM),
        steps=600,
        control=lambda step, data: None,
        mode=mode,
    )
    with load_trajectory(run.path) as whole:
        index = whole._rows.index
        at, gone = int(index.offset[lost]), whole._rows.frames_of(range(len(index.count))[lost])
    content = bytearray(run.path.read_bytes())
    content[at + 100] ^= 0x10
    run.path.write_bytes(content)
    with load_trajectory(run.path) as trajectory:
        assert len(trajectory) == 601
        for frame in (0, 1, 255, 256, 300, 511, 512, 598, 599, 600):
            if frame in gone:
                with pytest.raises(EngineError, match="lost"):
                    trajectory.seek(frame)
                continue
            trajectory.seek(frame)
            scene = trajectory.scene
            assert scene.data.qpos.tobytes() == run.rows[frame][1:2].tobytes(), frame
            if frame < 600:
                scene.step()
                assert scene.data.qpos.tobytes() == run.rows[frame + 1][1:2].tobytes(), frame
        end = min(gone) - 1 if lost < 0 else 600
        assert trajectory.last.qpos.tobytes() == run.rows[end][1:2].tobytes()
