"""Margins of joints and loads of actuators when limits are written that the model did not have."""

import math

import numpy as np
import pytest

import stroboscope.engine as physics

MODEL = """
<mujoco><compiler angle="radian"/><option gravity="0 0 -1"/>
  <worldbody>
    <body><joint name="free" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>
      <body pos=".5 0 0"><joint name="held" axis="0 1 0" limited="true" range="-.02 .02"/>
        <geom size=".1" pos=".3 0 0"/></body></body>
    <body pos="0 1 0"><joint name="other" axis="0 1 0" limited="true" range="-3 3"/>
      <geom size=".1" pos=".3 0 0"/></body>
  </worldbody>
  <actuator>
    <motor name="open" joint="free"/><motor name="narrow" joint="held" ctrlrange="-2 2"/>
  </actuator>
</mujoco>
"""


def margins(scene: physics.Scene) -> list[float]:
    source = scene.link.backend.signal_source(("joint.margin",))
    row = np.empty(source.width)
    source.before(row)
    scene.step()
    source.after(row)
    values: list[float] = row[source.columns["joint.margin"]].tolist()
    return values


def steps(scene: physics.Scene, count: int) -> None:
    for _ in range(count):
        scene.step()


def test_a_joint_without_its_limit_is_infinitely_far_and_others_keep_their_place() -> None:
    scene = physics.create_scene("arm", MODEL)
    scene.keep_history()
    beyond = scene.break_when("joint.margin['other'] < 0", log_only=True)
    any_limit = scene.break_when("min(joint.margin) < 0", log_only=True)
    assert margins(scene) == pytest.approx([0.02, 3.0])
    scene.model.jnt_limited[1] = 0
    assert margins(scene) == pytest.approx([math.inf, 3.0], abs=1e-3)
    for _ in range(100):
        scene.step()
    assert abs(scene.data.qpos[1]) > 0.02
    assert beyond.hit_count == any_limit.hit_count == 0


def test_a_joint_that_was_given_a_limit_later_takes_nobodys_place() -> None:
    scene = physics.create_scene("arm", MODEL)
    assert margins(scene) == pytest.approx([0.02, 3.0])
    scene.model.jnt_limited[0], scene.model.jnt_range[0] = 1, (-7.0, 7.0)
    assert margins(scene) == pytest.approx([0.02, 3.0], abs=1e-3)
    scene.keep_history()
    scene.raise_on_stop = True
    scene.break_when("min(joint.margin) < 0")
    with pytest.raises(physics.SimulationStopped, match=r"joint .held. is .* past its"):
        steps(scene, 300)


def test_an_actuator_that_was_given_a_range_later_takes_nobodys_place() -> None:
    scene = physics.create_scene("arm", MODEL)
    scene.data.ctrl[:] = (0.0, 1.0)
    assert scene.link.backend.signal_source(("actuator.load",)).width == 1
    scene.model.actuator_ctrllimited[0], scene.model.actuator_ctrlrange[0] = 1, (-9.0, 9.0)
    source = scene.link.backend.signal_source(("actuator.load",))
    row = np.empty(source.width)
    source.before(row)
    scene.step()
    source.after(row)
    assert row.tolist() == [0.5]
