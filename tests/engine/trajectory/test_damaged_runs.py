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
