"""Where a model has no limit, no contact, no load: tables and inspector say so, never "NaN"."""

import msgspec
import numpy as np
import pytest

from stroboscope.app.models.element_values import element_values
from stroboscope.app.models.elements import elements_of
from stroboscope.app.models.numbers import number_text
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.causes import CauseTable, dof_choices
from stroboscope.app.models.tables.constraints import ConstraintTable
from stroboscope.app.models.tables.contacts import ContactTable
from stroboscope.app.models.tables.joints import JointTable
from stroboscope.app.models.tables.profile import StageTable
from stroboscope.app.models.tables.state import StateKind, make_state_table
from stroboscope.app.models.tables.table import ABSENT, cell_text
from stroboscope.debugger_protocol.scene_description import SceneDescription

UNLIMITED = """
<mujoco><worldbody>
<body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0"/><geom size=".1" mass="1"/>
<body name="rod" pos="1 0 0"><joint name="slide" type="slide"/><geom size=".1" mass="1"/>
<body name="hand" pos="1 0 0"><joint name="ball" type="ball"/><geom size=".1" mass="1"/>
<site name="tip"/></body></body></body>
<body name="free" pos="0 3 1"><freejoint name="free"/><geom size=".1" mass="1"/></body>
</worldbody></mujoco>"""
LOOSE = """
<mujoco><worldbody>
<body name="left" pos="0 0 1"><joint name="hip" axis="0 1 0"/><geom size=".1" mass="1"/>
<site name="a" pos=".1 0 0"/></body>
<body name="right" pos="1 0 1"><joint name="knee" axis="0 1 0"/><geom size=".1" mass="1"/>
<site name="b" pos="-.1 0 0"/></body></worldbody>
<tendon><spatial name="rope"><site site="a"/><site site="b"/></spatial></tendon>
<equality><joint name="gear" joint1="hip" joint2="knee"/></equality>
<actuator><motor name="free" joint="hip"/><general name="rope" tendon="rope" dyntype="filter"
dynprm="1"/><velocity name="still" joint="knee" kv="0"/><position name="weak" joint="knee" kp="0"/>
</actuator><sensor><jointpos joint="hip"/><touch site="a"/><rangefinder site="a"/></sensor>
</mujoco>"""
FRICTIONLESS = """
<mujoco><worldbody><geom name="floor" type="plane" size="1 1 .1" condim="1"/>
<body name="box" pos="0 0 .099"><freejoint/><geom name="box" type="box" size=".1 .1 .1" condim="1"/>
</body><body name="ball" pos="1 0 .099"><freejoint/>
<geom name="ball" size=".1" friction="0 0 0" priority="1"/></body></worldbody></mujoco>"""
MODELS = {
    "nothing at all": "<mujoco/>",
    "only a floor": '<mujoco><worldbody><geom type="plane" size="1 1 .1"/></worldbody></mujoco>',
    "unlimited joints": UNLIMITED,
    "weightless": UNLIMITED.replace("<worldbody>", '<option gravity="0 0 0"/><worldbody>'),
    "loose": LOOSE,
    "frictionless": FRICTIONLESS,
    "one contact": FRICTIONLESS.replace('condim="1"', ""),
}


def _sources(description):
    for kind in StateKind:
        yield make_state_table(kind, description)
    yield ContactTable(description)
    yield ConstraintTable(description)
    yield StageTable(description)
    for choice in dof_choices(description):
        causes = CauseTable(description)
        causes.choice = choice
        yield causes
    yield CauseTable(description)


def _cells(description, frames):
    for source in _sources(description):
        table = source.table(frames)
        for column in table.columns:
            for row in range(table.count):
                where = f"{type(source).__name__} {column.title} of row {row}"
                yield where, cell_text(table, column, row)


def _rows(description, frames):
    """Every line that the inspector has for any element."""
    for kind in ElementKind:
        for index in range(len(elements_of(description, kind))):
            values = element_values(description, Element(kind, index), frames)
            for section in values.sections if values is not None else ():
                for row in section.rows:
                    number = "" if row.value is None else number_text(row.value, row.decimals)
                    where = f"{kind.value} {index}: {section.title} {row.label}"
                    yield where, f"{number} {row.text} {row.note}"


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
@pytest.mark.parametrize("steps", [0, 3])
def test_no_cell_of_a_healthy_scene_says_that_something_is_no_number(engine_scene, model, steps):
    case = engine_scene(model)
    for _ in range(steps):
        case.scene.step()
    description = case.description
    for frames in (case.now(), case.executed(), None):
        texts = [*_cells(description, frames), *_rows(description, frames)]
        assert texts
        wrong = [(where, text) for where, text in texts if "nan" in text.lower()]
        assert not wrong


def _diverged(engine_scene):
    case = engine_scene(
        UNLIMITED.replace('name="hinge"', 'name="hinge" range="-1 1" limited="true"').replace(
            'name="ball"', 'name="ball" range="0 1" limited="true"'
        )
    )
    frames = case.executed()
    for frame in frames.frames.values():
        if "qpos" in frame.arrays:
            frame.arrays["qpos"][:] = np.nan
    return case, frames


def test_a_position_that_is_no_number_is_on_neither_side_of_its_range(engine_scene):
    case, frames = _diverged(engine_scene)
    table = JointTable(case.description).table(frames)
    assert table.text("position", 0) == "NaN"  # evidence is shown
    assert table.text("margin", 0) == ABSENT
    assert table.text("state", 0) == ""
    for joint in (0, 2):
        values = element_values(case.description, Element(ElementKind.JOINT, joint), frames)
        (limits,) = (section for section in values.sections if section.title == "Limits")
        margin = next(row for row in limits.rows if row.label == "margin")
        assert margin.value is None
        assert margin.text == "unknown: the position is no number"
        assert not margin.note


def test_a_range_without_an_end_has_only_the_other_one(engine_scene):
    case = engine_scene(UNLIMITED.replace('name="hinge"', 'name="hinge" range="-1 1"'))
    joint = case.description.joints[0]
    half = _with_range(case.description, joint, (-np.inf, 0.5))
    (limits,) = (s for s in _inspected(half, case.now()) if s.title == "Limits")
    rows = {row.label: row for row in limits.rows}
    assert rows["margin"].value == pytest.approx(0.5)
    assert rows["margin"].note == "upper"
    endless = _with_range(case.description, joint, (-np.inf, np.inf))
    (limits,) = (s for s in _inspected(endless, case.now()) if s.title == "Limits")
    assert [row.text for row in limits.rows] == ["unlimited"]
    table = JointTable(endless).table(case.now())
    assert table.text("range", 0) == ""
    assert table.text("margin", 0) == ABSENT


def _with_range(description, joint, limits) -> SceneDescription:
    changed = msgspec.structs.replace(joint, range=limits)
    return msgspec.structs.replace(description, joints=(changed, *description.joints[1:]))


def _inspected(description, frames):
    return element_values(description, Element(ElementKind.JOINT, 0), frames).sections
