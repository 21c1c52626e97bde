"""Numbers of the model that are typed out where something else is tried."""

import pytest

from stroboscope.app.models.what_if_fields import (
    fields_of,
    name_of_trial,
    typed_field,
    typed_fields,
    value_text,
)
from stroboscope.debugger_protocol.scene_description import ActuatorInfo, SceneDescription
from stroboscope.debugger_protocol.time_messages import EditKind, WhatIf


@pytest.mark.parametrize(
    ("text", "name", "index"),
    [
        ("geom_solref[4]", "geom_solref", 4),
        (" dof_damping.elbow ", "dof_damping.elbow", 0),
        ("actuator_biasprm.wrist[2]", "actuator_biasprm.wrist", 2),
        ("dof_armature.left leg.rx", "dof_armature.left leg.rx", 0),
        ("qpos0[3]", "qpos0", 3),
    ],
)
def test_a_number_is_typed_by_its_index_or_by_whose_it_is(text: str, name: str, index: int) -> None:
    field = typed_field(text)
    assert field is not None
    assert field.edits(0.5) == (WhatIf(kind=EditKind.MODEL, name=name, index=index, values=(0.5,)),)
    assert typed_field(field.key) == field


@pytest.mark.parametrize(
    "text", ["", "kp of wrist", "dof_damping", "elbow", "damping.elbow", "_x.y"]
)
def test_what_is_only_searched_for_is_no_number(text: str) -> None:
    assert typed_field(text) is None


def servo(name: str, kp: float, kv: float) -> ActuatorInfo:
    return ActuatorInfo(
        name=name, kp=kp, kv=kv, gain="fixed", bias="affine", ctrl_unit="rad", force_unit="N·m",
        gainprm=(kp, *[0.0] * 9), biasprm=(0.0, -kp, -kv, *[0.0] * 7),
    )  # fmt: skip


LEGS = ("left_hip", "left_knee", "right_hip", "right_knee")
KPS = dict(zip(LEGS, (40.0, 20.0, 40.0, 20.0), strict=True))
DOG = SceneDescription(
    scene_id=1, name="dog", actuators=tuple(servo(name, kp, 0.0) for name, kp in KPS.items())
)
FIELDS = {field.name: field for field in fields_of(DOG)}


def gain(name: str, value: float, kind: EditKind = EditKind.GAIN) -> tuple[WhatIf, ...]:
    return (WhatIf(kind=kind, name=name, values=(value,)),)


def test_a_gain_of_all_servos_is_one_field_and_a_factor_of_it_another() -> None:
    assert [name for name in FIELDS if name.startswith(("kp", "scale"))] == [
        "kp of all 4 servos",
        "scale kp of all 4 servos",
        *(f"kp of {name}" for name in LEGS),
    ]
    every, scaled = FIELDS["kp of all 4 servos"], FIELDS["scale kp of all 4 servos"]
    assert every.edits(80.0) == gain("kp", 80.0)
    assert value_text(every, None) == "20…40 N·m/rad"
    assert every.why_not("80", None) == ""
    assert "for a factor add “scale kp of all 4 servos”" in every.why_not("x2", None)
    assert scaled.edits(1.5) == gain("kp", 1.5, EditKind.GAIN_FACTOR)
    assert value_text(scaled, 1.0, unit=False) == "20…40"
    assert scaled.whose == every.name
    assert scaled.parsed("×1,5") == scaled.parsed(" x1.5") == scaled.parsed("1.5") == 1.5
    assert "×1 changes nothing" in scaled.why_not("1", 1.0)
    # None brakes yet: all get what they are given, and nothing can be scaled.
    assert FIELDS["kv of all 4 servos"].edits(2.0) == gain("kv.*", 2.0)
    assert "scale kv of all 4 servos" not in FIELDS
    assert FIELDS["kp of left_hip"].edits(80.0) == gain("kp.left_hip", 80.0)
    alone = SceneDescription(scene_id=1, name="arm", actuators=(servo("wrist", 5.0, 1.0),))
    assert [field.name for field in fields_of(alone)] == ["kp of wrist", "kv of wrist"]


def test_servos_are_found_by_a_pattern_that_is_typed_out() -> None:
    some, scaled = typed_fields(DOG, " kp.*hip ")
    assert (some.name, some.described) == ("kp of 2 servos (*hip)", 40.0)
    assert some.edits(60.0) == gain("kp.*hip", 60.0)
    assert scaled.name == "scale kp of 2 servos (*hip)"
    for text in ("kp.left_hip", "kp.*elbow*", "kp", "kp of left", "banana"):
        assert not [each for each in typed_fields(DOG, text) if each.name not in FIELDS], text
    assert [each.key for each in typed_fields(None, "dof_damping[3]")] == ["dof_damping[3]"]


def test_a_trial_is_called_after_what_servos_got_together_also_where_they_were_added_one_by_one(
) -> None:  # fmt: skip
    def named(**values: float) -> str:
        return name_of_trial(
            [(FIELDS[f"kp of {name}"], to, KPS[name]) for name, to in values.items()]
        )

    assert named(left_hip=60.0) == "kp of left_hip 40 → 60 N·m/rad"
    assert named(left_hip=60.0, right_hip=60.0) == "kp of 2 servos (left_hip, right_hip): 40 → 60"
    assert named(left_hip=60.0, left_knee=60.0, right_hip=60.0) == (
        "kp of 3 servos (left_hip … right_hip): 20…40 → 60"
    )
    assert named(**dict.fromkeys(LEGS, 60.0)) == "kp of all 4 servos: 20…40 → 60"
    assert named(left_hip=60.0, right_hip=50.0) == (
        "kp of left_hip 40 → 60 N·m/rad; kp of right_hip 40 → 50 N·m/rad"
    )
    every, scaled = FIELDS["kp of all 4 servos"], FIELDS["scale kp of all 4 servos"]
    assert name_of_trial([(every, 60.0, None)]) == "kp of all 4 servos: 20…40 → 60"
    assert name_of_trial([(scaled, 1.5, 1.0)]) == "kp of all 4 servos: ×1.5"


def test_servos_whose_names_are_alike_are_told_apart_by_where_they_stand() -> None:
    alike = SceneDescription(
        scene_id=1, name="arm", actuators=(servo("actuator 1", 5.0, 1.0), servo("", 5.0, 1.0))
    )
    first, second = [each for each in fields_of(alike) if each.name == "kp of actuator 1"]
    assert first.key != second.key
    assert second.edits(9.0) == (
        WhatIf(kind=EditKind.MODEL, name="actuator_gainprm", index=10, values=(9.0,)),
        WhatIf(kind=EditKind.MODEL, name="actuator_biasprm", index=11, values=(-9.0,)),
    )
