"""Edits of a re-simulation that name the element they are about, instead of counting flat."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.time_messages import EditKind, WhatIf
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.rollouts import what_if
from stroboscope.engine.rollouts.what_if import apply_what_if

MODEL = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1" pos="0 0 -1"/>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0"/><geom name="bone" size=".1" mass="1"/>
      <body name="lower" pos=".3 0 0"><joint name="elbow.left" axis="0 1 0"/>
        <geom size=".05" mass=".5"/></body>
    </body>
    <body name="ball" pos="1 0 1"><joint name="hip" type="ball"/><geom size=".1"/></body>
    <body name="box" pos="2 0 1"><freejoint name="root"/><geom size=".1"/></body>
  </worldbody>
  <actuator>
    <position name="swing" joint="shoulder" kp="20"/>
    <motor joint="elbow.left"/>
    <position name="wrist[2]" joint="elbow.left" kp="5"/>
  </actuator>
</mujoco>
"""


@pytest.fixture
def model() -> Any:
    return mujoco.MjModel.from_xml_string(MODEL)


def edited(model: Any, name: str, *values: float, index: int = 0) -> str:
    """Apply one edit of a field; return what is said of it."""
    edit = WhatIf(kind=EditKind.MODEL, name=name, index=index, values=values)
    (text,) = apply_what_if(model, (edit,), adapter=load_mujoco()).texts
    return text


def test_numbers_of_one_element_are_counted_from_its_first(model: Any) -> None:
    assert edited(model, "actuator_gainprm.swing", 100.0, 0.0, 7.0) == (
        "actuator_gainprm[0] of swing: (20, 0, 0) → (100, 0, 7)"
    )
    assert model.actuator_gainprm[0, :4].tolist() == [100.0, 0.0, 7.0, 0.0]
    assert edited(model, "actuator_biasprm.wrist[2]", -0.5, index=2) == (
        "actuator_biasprm[2] of wrist[2]: 0 → −0.5"
    )
    assert model.actuator_biasprm[2, :4].tolist() == [0.0, -5.0, -0.5, 0.0]


def test_dofs_are_named_by_their_joint_and_by_what_they_are(model: Any) -> None:
    edited(model, "dof_damping.elbow.left", 1.0)
    edited(model, "dof_damping.hip.ry", 2.0)
    edited(model, "dof_armature.root", 1.0, 2.0, 3.0)
    edited(model, "dof_armature.hip", 4.0, index=1)
    assert model.dof_damping.tolist() == [0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0]
    assert model.dof_armature.tolist() == [0, 0, 0, 4, 0, 1, 2, 3, 0, 0, 0]


def test_elements_without_a_name_are_called_as_they_are_shown(model: Any) -> None:
    edited(model, "actuator_gear.actuator 1", 3.0)
    edited(model, "geom_friction.geom 2", 0.5)
    edited(model, "qpos0.root.z", 5.0)
    assert model.actuator_gear[:, 0].tolist() == [1.0, 3.0, 1.0]
    assert np.unique(np.flatnonzero(model.geom_friction[:, 0] == 0.5)).tolist() == [2]
    assert model.qpos0[8] == 5.0


def test_constants_that_follow_from_a_named_mass_are_derived_anew(model: Any) -> None:
    before = model.body_subtreemass.copy()
    assert edited(model, "body_mass.lower", 3.0) == "body_mass of lower: 0.5 → 3"
    assert model.body_subtreemass[1] == pytest.approx(before[1] + 2.5)


@pytest.mark.parametrize(
    ("name", "index", "count", "words"),
    [
        ("actuator_gainprm.swin", 0, 1, "actuator_gainprm has no 'swin'; did you mean 'swing'?"),
        ("dof_damping.knee", 0, 1, "dof_damping has no 'knee'"),
        ("body_mass.nothing", 0, 1, "there is 'world', 'upper', 'lower', 'ball', 'box'"),
        ("actuator_gainprm.swing", 8, 3, "actuator_gainprm.swing has 10 values; 3 from index 8"),
        ("dof_damping.shoulder", 0, 2, "dof_damping.shoulder has 1 value; 2 from index 0"),
        ("dof_damping.hip", -1, 1, "do not fit"),
        ("dof_dampin.hip", 0, 1, "no field 'dof_dampin'; did you mean 'dof_damping'"),
        ("timestepp", 0, 1, "no field 'timestepp'; did you mean 'option.timestep'"),
        ("dof_damping.", 0, 1, "dof_damping has no ''"),
        ("body_parentid.upper", 0, 1, "can't be tried out"),
        ("__class__.x", 0, 1, "no field '__class__'"),
    ],
)
def test_names_that_there_are_not_are_refused_with_those_that_are_near(
    model: Any, name: str, index: int, count: int, words: str
) -> None:
    with pytest.raises(CommandError) as refused:
        edited(model, name, *([1.0] * count), index=index)
    assert words in str(refused.value)


def test_a_name_of_several_elements_is_refused(model: Any) -> None:
    spec = mujoco.MjSpec.from_string(MODEL)
    spec.worldbody.add_geom(name="geom 3", size=[0.1, 0.1, 0.1])
    with pytest.raises(CommandError, match="2 of geom_friction are called 'geom 3'"):
        edited(spec.compile(), "geom_friction.geom 3", 0.5)


def test_an_option_that_there_is_not_is_refused_with_those_that_are_near(model: Any) -> None:
    edit = WhatIf(kind=EditKind.OPTION, name="integrater", values=(1.0,))
    with pytest.raises(CommandError, match="'integrater'; did you mean 'integrator'"):
        apply_what_if(model, (edit,), adapter=load_mujoco())


def test_every_row_of_every_field_that_may_be_edited_is_called_something() -> None:
    adapter = load_mujoco()
    path = Path(__file__).parents[1] / "every_element.xml"
    several = ""
    if hasattr(mujoco.mjtTrn, "mjTRN_SO3"):  # actuators with several controls
        several = "<orientation joint='ball joint' kp='10'/><pid joint='hinge' kp='9'/>"
    text = path.read_text().replace("</actuator>", f"{several}</actuator>", 1)
    assert several in text
    model = mujoco.MjModel.from_xml_string(text)
    fields = [name for name in dir(model) if what_if._is_physics(model, name)]
    assert {"actuator_gear", "eq_data", "pair_solref", "tendon_damping", "qpos0"} <= {*fields}
    for name in fields:
        field = getattr(model, name)
        labels = what_if._Labels(model, adapter).of(field, name)
        assert len(labels) == len(field), name
        assert len(set(labels)) == len(labels), name
