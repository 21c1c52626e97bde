"""Twenty pairs of nearly equal models: a checkpoint of one is refused by the other, which says why.

Also when the first model is gone: the checkpoint itself knows the fields of its model.
"""

import gc
from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray

import stroboscope.engine as physics

StateOf = Callable[[physics.Scene], NDArray[np.float64]]

MODEL = """
<mujoco><option timestep="0.002" gravity="0 0 -9.81"/>
  <asset><mesh name="wedge" vertex="0 0 0  .1 0 0  0 .1 0  0 0 .1"/></asset>
  <worldbody><geom name="floor" type="plane" size="1 1 .1" friction="1 .005 .0001"/>
    <body name="link1" pos="0 0 .5"><joint name="shoulder" axis="0 1 0" damping=".1"/>
      <geom name="upper" type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass="1"/>
      <body name="link2" pos=".3 0 0"><joint name="elbow" axis="0 1 0" range="-90 90"/>
        <geom name="lower" type="capsule" fromto="0 0 0 .2 0 0" size=".02" mass=".5"/>
        <site name="tip" pos=".2 0 0"/></body></body>
    <body name="left" pos="1 0 .2"><freejoint name="l"/><geom type="box" size=".1 .1 .1"/></body>
    <body name="right" pos="2 0 .2"><freejoint name="r"/><geom type="mesh" mesh="wedge"/></body>
  </worldbody>
  <equality><weld name="held" body1="left" body2="right" active="false"/></equality>
  <actuator><position name="servo" joint="shoulder" kp="10"/><motor name="motor" joint="elbow"/>
  </actuator><sensor><jointpos name="angle" joint="elbow"/></sensor>
</mujoco>
"""

# What is changed, and what the message must name: with both models at hand, and without.
PAIRS = {
    "mass": (
        ('mass="1"', 'mass="1.1"'),
        "body_mass of body 'link1': 1.1 here, 1.0 there",
        "body_mass",
    ),
    "timestep": (('"0.002"', '"0.004"'), "opt.timestep: 0.004 here, 0.002 there", "opt.timestep"),
    "gravity": (("-9.81", "-9.8"), "opt.gravity[2]: -9.8 here, -9.81 there", "opt.gravity"),
    "integrator": (
        ('gravity="0 0 -9.81"', 'gravity="0 0 -9.81" integrator="RK4"'),
        "opt.integrator: 1 here, 0 there",
        "opt.integrator",
    ),
    "solver iterations": (
        ('gravity="0 0 -9.81"', 'gravity="0 0 -9.81" iterations="30"'),
        "opt.iterations: 30 here, 100 there",
        "opt.iterations",
    ),
    "sleep flag": (
        ('-9.81"/>', '-9.81"><flag sleep="enable"/></option>'),
        "opt.enableflags: ",
        "opt.enableflags",
    ),
    "a joint renamed": (
        ('"elbow"', '"knee"'),
        "joint 1 is called 'knee' here, 'elbow' there",
        "joints have other names",
    ),
    "a body renamed": (
        ('name="link2"', 'name="forearm"'),
        "body 2 is called 'forearm' here, 'link2' there",
        "bodies have other names",
    ),
    "a geom added": (
        ("</worldbody>", '<geom size=".1" pos="0 0 5"/></worldbody>'),
        "ngeom is 6 here, 5 there",
        "ngeom is 6",
    ),
    "a joint added": (
        ("</worldbody>", '<body><joint/><geom size=".1"/></body></worldbody>'),
        "njnt is 5 here, 4 there",
        "njnt is 5 here, 4 there",
    ),
    "a sensor removed": (
        ('<jointpos name="angle" joint="elbow"/>', ""),
        "nsensor is 0 here, 1 there",
        "nsensor is 0",
    ),
    "another order of bodies": (
        (
            '<body name="left" pos="1 0 .2"><freejoint name="l"/>'
            '<geom type="box" size=".1 .1 .1"/></body>',
            "",
        ),
        "bodies stand in another order: number 3 is 'right' here, 'left' there",
        "bodies have other names or another order",
    ),
    "damping": (
        ('damping=".1"', 'damping=".11"'),
        "dof_damping of joint 'shoulder': 0.11 here, 0.1 there",
        "dof_damping",
    ),
    "a joint's range": (
        ('range="-90 90"', 'range="-90 91"'),
        "jnt_range[1] of joint 'elbow'",
        "jnt_range",
    ),
    "an axis": (
        ('name="elbow" axis="0 1 0"', 'name="elbow" axis="0 0 1"'),
        "jnt_axis[1] of joint 'elbow': 0.0 here, 1.0 there",
        "jnt_axis",
    ),
    "a gain": (
        ('kp="10"', 'kp="11"'),
        "actuator_gainprm[0] of actuator 'servo': 11.0 here, 10.0 there",
        "actuator_gainprm",
    ),
    "friction": (
        ('friction="1 ', 'friction=".9 '),
        "geom_friction[0] of geom 'floor': 0.9 here, 1.0 there",
        "geom_friction",
    ),
    "a size": (
        ('size=".1 .1 .1"', 'size=".1 .1 .12"'),
        "geom_size[2] of geom 3: 0.12 here, 0.1 there",
        "geom_size",
    ),
    "a vertex of a mesh": (
        ('0 0 .1"', '0 0 .11"'),
        "body_mass of body 'right'",
        "body_mass differs",
    ),
    "an equality switched on": (
        ('active="false"', 'active="true"'),
        "eq_active0 of equality 'held'",
        "eq_active0",
    ),
    "a site moved": (
        ('pos=".2 0 0"/>', 'pos=".2 0 .01"/>'),
        "site_pos[2] of site 'tip': 0.01 here, 0.0 there",
        "site_pos",
    ),
}


def changed(kind: str) -> str:
    (old, new), _, _ = PAIRS[kind]
    assert old in MODEL
    text = MODEL.replace(old, new)
    if kind == "another order of bodies":
        text = text.replace("</worldbody>", f"{old}</worldbody>")
    return text


def refusal(scene: physics.Scene, state: bytes | physics.Checkpoint, state_of: StateOf) -> str:
    """Return why ``state`` is refused, having checked that nothing has changed."""
    before = state_of(scene)
    with pytest.raises(physics.StateMismatchError) as caught:
        scene.restore(state)
    assert np.array_equal(before, state_of(scene))
    return str(caught.value)


@pytest.mark.parametrize("kind", PAIRS)
def test_a_nearly_equal_model_is_refused_and_the_difference_named(
    kind: str, state_of: StateOf
) -> None:
    if kind == "sleep flag" and not hasattr(mujoco.mjtEnableBit, "mjENBL_SLEEP"):
        pytest.skip("this MuJoCo has no sleeping islands")
    _, with_values, with_table = PAIRS[kind]
    first = physics.create_scene("First", MODEL)
    checkpoint = first.checkpoint()
    other = physics.create_scene("Other", changed(kind))
    message = refusal(other, checkpoint, state_of)
    assert with_values in message
    assert refusal(other, checkpoint.to_bytes(), state_of) == message
    with pytest.raises(physics.StateMismatchError) as caught:
        other.reset(first.get_state())
    assert with_values in str(caught.value)
    # Now as if the bytes came from another process, whose model nobody here has seen.
    physics.destroy_scene(first)
    del first, caught
    gc.collect()
    message = refusal(other, checkpoint.to_bytes(), state_of)
    assert with_table in message
    assert "there" in message or "differ" in message or "have other" in message


def test_an_equal_model_made_anew_is_not_refused() -> None:
    first = physics.create_scene("First", MODEL)
    again = physics.create_scene("Again", MODEL)
    assert again.restore(first.checkpoint()).is_exact
    again.reset(first.get_state())


def test_more_differences_than_fit_are_counted(state_of: StateOf) -> None:
    first = physics.create_scene("First", MODEL)
    text = changed("damping").replace('kp="10"', 'kp="11"').replace('friction="1 ', 'friction=".9 ')
    other = physics.create_scene("Other", text)
    assert " more" in refusal(other, first.checkpoint(), state_of)
