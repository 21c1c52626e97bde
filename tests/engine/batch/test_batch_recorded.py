"""A batch that is recorded while a client goes back, edits, restores and copies environments."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stroboscope.engine as physics

pytest.importorskip("mujoco.batch")

MODEL = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 .1"/>
    <body pos="0 0 .4"><freejoint/><geom type="box" size=".1 .15 .2"/>
      <body pos=".1 0 0"><joint name="elbow" axis="0 1 0" damping=".2"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/></body></body>
  </worldbody>
  <actuator><motor joint="elbow"/></actuator>
</mujoco>
"""


def test_what_a_client_does_to_environments_is_in_the_file_of_each(
    flock: Callable[..., Any], tmp_path: Path
) -> None:
    physics.set_recordings_folder(tmp_path)
    client, herd = flock(MODEL, 4)
    number = herd.id
    path = client.start_recording(number, "run")
    client.step(number, 30)
    client.goto(number, axis=10)
    client.continue_from_here(number)
    client.step(number, 10)
    client.select_environments(number, 2)
    client.edit_state(number, "qvel", 1, [0.5])
    client.step(number, 5)
    client.fork(number, 2, [3])
    client.step(number, 5)
    client.restore_initial(number)
    client.step(number, 3)
    assert client.stop_recording(number) == path
    end = herd.state()
    expected = [
        [("begin", 0), ("branch", 30), ("restore", 50)],
        [("begin", 0), ("branch", 30), ("restore", 50)],
        [("begin", 0), ("branch", 30), ("edit", 40), ("restore", 50)],
        [("begin", 0), ("branch", 30), ("restore", 45), ("restore", 50)],
    ]
    for env in range(4):
        with physics.load_trajectory(path, scene=f"flock[{env}]") as trajectory:
            assert [(e.kind, e.axis) for e in trajectory.events] == expected[env]
            assert trajectory.events[1].parent_axis == 10
            assert len(trajectory) == 54
            for frame in trajectory:
                # The client has moved them after the script had looked.
                if not frame.is_last and frame.axis not in (30, 40, 45, 50):
                    assert frame.row.tobytes() == herd.rows[frame.axis][env].tobytes()
            assert trajectory.frame(-1).row.tobytes() == end[env].tobytes()
            assert [trajectory.frame(k).physics_step for k in (29, 30, 50)] == [29, 10, 0]
            assert trajectory.verify().exit_code == 0
            assert np.isfinite(trajectory.frame(45).qpos).all()
