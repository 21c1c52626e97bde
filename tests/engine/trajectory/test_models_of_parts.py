"""Parts of files say of their rows what the whole file says of them: also what was found later."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from samples import few

import stroboscope.engine as physics
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.files.cut import cut

ARM = """
<mujoco>
  <option timestep="0.005"/>
  <worldbody>
    <site name="target" pos="0 0 1"/>
    <site name="other" pos="1 2 3"/>
    <body pos="0 0 1"><joint name="elbow" axis="0 1 0" damping="0.2"/>
      <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03"/></body>
  </worldbody>
  <actuator><motor joint="elbow" gear="3"/></actuator>
  <sensor><framepos objtype="site" objname="target"/></sensor>
</mujoco>
"""
WRITES: dict[str, Callable[[Any], None]] = {
    "no step tells": lambda model: model.site_pos.__setitem__(0, (3.0, 0.0, 0.0)),
    "steps tell": lambda model: model.actuator_gear.__setitem__((0, 0), 9.0),
    "no row carries it": lambda model: model.sensor_objid.__setitem__(0, 1),
}
WRITTEN, LOOKED = 20, 40


def _recorded(
    path: Path, write: Callable[[Any], None], *, kept: str = "exact", resets: bool = False
) -> tuple[Path, list[bytes]]:
    """Record a script that writes into its model once; nobody looks before the end, or a reset.

    Return the file, and what sensors read at each step.
    """
    seen = []
    scene = physics.create_scene("arm", ARM)
    if kept == "saved":
        scene.keep_history(True)
    else:
        scene.start_recording(physics.TrajectoryFile(path, mode=kept))
    for k in range(LOOKED):
        if k == WRITTEN:
            write(scene.model)
        scene.ctrl[:] = np.sin(k / 5)
        seen.append(_sensors(scene))
        scene.step()
    if resets:
        scene.reset()
        for _ in range(10):
            scene.step()
    made = scene.save_history(path) if kept == "saved" else scene.stop_recording()
    scene.destroy()
    return made, seen


def _sensors(scene: Any) -> bytes:
    data = mujoco.MjData(scene.model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = scene.qpos, scene.qvel, scene.ctrl
    mujoco.mj_forward(scene.model, data)
    return bytes(data.sensordata.tobytes())


def _shown(trajectory: Any, axis: int) -> bytes:
    """Return what sensors are said to have read at a step; empty where nobody knows."""
    machine = trajectory.scene.backend.time_machine()
    if machine.look_at(axis, frozenset({Topic.STATE})).note not in ("", "verified"):
        return b""
    (rows,) = machine.read_rows(0, ["sensordata"], first=axis, last=axis, max_rows=1)
    return bytes(rows["values"].tobytes())


@pytest.mark.parametrize("resets", [False, True], ids=["", "before a reset"])
@pytest.mark.parametrize("kept", few(["exact", "minimal", "saved"], 2))
@pytest.mark.parametrize("write", WRITES)
def test_a_part_shows_rows_with_the_model_of_the_whole_file_or_says_that_nobody_knows(
    tmp_path: Path, write: str, kept: str, resets: bool
) -> None:
    path, seen = _recorded(tmp_path / "run", WRITES[write], kept=kept, resets=resets)
    for begin, end in [(0, 35), (0, 21), (0, 19)] + [(25, 35)] * (kept != "minimal"):
        part_path = tmp_path / f"{begin}-{end}.mcap"
        cut(path, part_path, begin=begin, end=end)
        with physics.load_trajectory(part_path) as part:
            shown = {axis: _shown(part, axis) for axis in range(begin, end - 1)}
            wrong = [axis for axis, values in shown.items() if values not in (b"", seen[axis])]
            assert not wrong, (begin, end)
            if write == "steps tell":  # but not the last row, if nothing else has one before it
                assert all(shown[axis] for axis in range(begin, end - 2)), (begin, end)
            verified = part.verify(jobs=1)
            assert not verified.changes
            assert verified.first is None
