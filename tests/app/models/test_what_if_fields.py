"""Numbers of the model that are typed out where something else is tried."""

import pytest

from stroboscope.app.models.what_if_fields import typed_field
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
