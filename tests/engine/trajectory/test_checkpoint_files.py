"""States in files: scenes built from them, and put into scenes that run."""

import math
from pathlib import Path
from typing import Any

import mujoco
import pytest
from plain_recording import PlainRun, record_plain, state_of

import stroboscope.engine as physics

MODEL = """
<mujoco>
  <option timestep="0.004"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="arm" pos="0 0 .6">
      <joint name="shoulder" axis="0 1 0" damping="{damping}"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
    </body>
    <body name="ball" pos=".4 .05 .2"><freejoint/><geom size=".06"/></body>
  </worldbody>
  <actuator><position joint="shoulder" kp="8"/></actuator>
</mujoco>
"""


def _control(step: int, data: Any) -> None:
    data.ctrl[:] = math.sin(0.05 * step)


@pytest.fixture
def run(tmp_path: Path) -> PlainRun:
    """80 steps of an arm and a ball."""
    model = mujoco.MjModel.from_xml_string(MODEL.format(damping=0.05))
    return record_plain(tmp_path / "run.mcap", model, steps=80, control=_control)


def test_a_scene_built_from_a_file_stands_at_its_last_frame_and_goes_on(run: PlainRun) -> None:
    scene = physics.load_checkpoint(run.path)
    assert scene.physics_step_count == 80
    assert state_of(run.model, scene.data).tobytes() == run.rows[-1].tobytes()
    for _ in range(40):
        scene.step()
    assert state_of(run.model, scene.data).tobytes() == run.after(-1, 40).tobytes()
    assert scene.step_count == 120


def test_a_state_goes_into_a_running_scene_with_its_step_and_time(run: PlainRun) -> None:
    scene = physics.create_scene("Arm", MODEL.format(damping=0.05))
    for _ in range(7):
        scene.step()
    assert scene.load_checkpoint(run.path).is_exact
    assert (scene.step_count, scene.get_total_simulation_time()) == (80, run.rows[-1, 0])
    for _ in range(10):
        scene.step()
    assert state_of(run.model, scene.data).tobytes() == run.after(-1, 10).tobytes()


def test_the_state_of_another_model_is_refused_saying_what_differs(run: PlainRun) -> None:
    scene = physics.create_scene("Arm", MODEL.format(damping=0.06))
    scene.step()
    before = state_of(run.model, scene.data).tobytes()
    with pytest.raises(physics.StateMismatchError, match=r"damping.*shoulder.*load_checkpoint"):
        scene.load_checkpoint(run.path)
    assert state_of(run.model, scene.data).tobytes() == before
    assert scene.step_count == 1
