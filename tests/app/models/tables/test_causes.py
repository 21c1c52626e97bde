"""Why does it move: the ranked sources of a dof's acceleration add up to what the engine states."""

import pytest

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.causes import CauseTable, dof_choices, dofs_of
from stroboscope.app.models.tables.constraints import ConstraintTable
from stroboscope.debugger_protocol.topics import Topic

PRESSED = """
<mujoco><option timestep="0.002"/><worldbody>
<geom name="floor" type="plane" size="1 1 0.1"/>
<body name="box" pos="0 0 0.1"><joint name="lift" type="slide" axis="0 0 1" damping="3"/>
<geom name="box" type="box" size="0.1 0.1 0.1" mass="2"/></body>
<body name="arm" pos="1 0 1"><joint name="knee" axis="0 1 0" range="-10 10"/>
<geom name="shin" type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass="1"/></body>
</worldbody><actuator><motor name="press" joint="lift"/></actuator></mujoco>
"""


@pytest.fixture
def pressed(engine_scene):
    case = engine_scene(PRESSED)
    case.scene.ctrl[0] = -30.0
    for _ in range(1000):
        case.scene.step()
    return case


def test_sources_are_ranked_and_add_up_to_qacc(pressed):
    d = pressed.description
    causes = CauseTable(d)
    causes.choice = next(c for c in dof_choices(d) if c.name == "lift")
    frames = pressed.executed()
    table = causes.table(frames)
    values = list(table.cells["qacc"].numbers)
    assert [abs(v) for v in values] == sorted((abs(v) for v in values), reverse=True)
    assert sum(values) == pytest.approx(causes.total, abs=1e-6)
    assert causes.total == pytest.approx(float(frames.array(Topic.STATE, "qacc")[0]), abs=1e-9)
    named = {table.text("name", n): n for n in range(table.count)}
    assert table.number("qfrc", named["press"]) == pytest.approx(-30.0)
    assert table.number("qacc", named["press"]) == pytest.approx(-15.0)
    assert table.number("qacc", named["gravity"]) == pytest.approx(-9.81)
    assert table.element(named["press"]) == Element(ElementKind.ACTUATOR, 0)
    contact = next(n for name, n in named.items() if "floor" in name)
    assert table.element(contact).kind is ElementKind.CONTACT


def test_a_limit_that_holds_an_arm_is_the_answer_why_it_does_not_fall(pressed):
    d = pressed.description
    causes = CauseTable(d)
    causes.choice = next(c for c in dof_choices(d) if c.name == "knee")
    table = causes.table(pressed.executed())
    kinds = {table.text("kind", n) for n in range(table.count)}
    assert {"gravity", "limit"} <= kinds
    limit = next(n for n in range(table.count) if table.text("kind", n) == "limit")
    assert table.element(limit) == Element(ElementKind.JOINT, 1)


def test_what_is_selected_leads_to_a_dof(pressed):
    d = pressed.description
    for element in (
        Element(ElementKind.JOINT, 1),
        Element(ElementKind.BODY, 2),
        Element(ElementKind.GEOM, 2),
    ):
        assert list(dofs_of(d, element)) == [1], element
    assert list(dofs_of(d, Element(ElementKind.ACTUATOR, 0))) == [0]
    assert not dofs_of(d, Element(ElementKind.BODY, 0))
    assert not dofs_of(d, None)


def test_without_a_choice_there_are_no_rows(pressed):
    assert CauseTable(pressed.description).table(pressed.executed()).count == 0


def test_constraints_stand_under_their_type_with_state_and_element(pressed):
    constraints = ConstraintTable(pressed.description)
    table = constraints.table(pressed.executed())
    names = [table.text("name", n) for n in range(table.count)]
    assert names[0] == "joint limit (1)"
    assert "contact, pyramid (16)" in names
    limit = names.index("knee")
    assert table.text("state", limit) == "active"
    assert table.number("force", limit) > 0.0
    assert table.element(limit) == Element(ElementKind.JOINT, 1)
    assert table.element(names.index("floor – box")) == Element(ElementKind.CONTACT, 0, 1)
    summary = constraints.summary
    assert summary.iterations >= 1
    assert f"of {summary.limit}" in summary.text
    assert summary.warning == ""


def test_a_solver_that_hits_its_limit_warns_in_words(engine_scene):
    case = engine_scene(PRESSED.replace('timestep="0.002"', 'iterations="1" tolerance="0"'))
    case.scene.ctrl[0] = -30.0
    for _ in range(20):
        case.scene.step()
    constraints = ConstraintTable(case.description)
    constraints.table(case.executed())
    assert "hit its limit of 1 iterations in this step" in constraints.summary.warning
