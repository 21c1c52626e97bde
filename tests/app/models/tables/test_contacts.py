"""The table of contacts says who touches whom, with what force on which body, and why."""

import numpy as np
import pytest

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.bodies import BodyTable
from stroboscope.app.models.tables.contact_words import creep_text, origin_text, slip_text
from stroboscope.app.models.tables.contacts import ContactTable
from stroboscope.app.models.tables.table import cell_text
from stroboscope.debugger_protocol.scene_description import (
    BodyInfo,
    GeomInfo,
    GeomType,
    PairInfo,
    SceneDescription,
)
from stroboscope.debugger_protocol.topics import ParameterOrigin

SLIDING = """
<mujoco><option cone="elliptic"/><worldbody>
<geom name="ice" type="plane" size="9 9 .1" friction=".3 .005 .0001" priority="2"/>
<body name="puck" pos="0 0 .1"><freejoint/>
<geom name="puck" type="box" size=".1 .1 .1" mass="1" friction=".9 .005 .0001"/></body>
</worldbody></mujoco>
"""


def rows_named(table, name):
    return [n for n in range(table.count) if table.text("name", n).startswith(name)]


def test_c27_forces_are_stated_with_the_body_they_act_on(engine_scene, case_model):
    case = engine_scene(case_model("C27"))
    for _ in range(1000):
        case.scene.step()
    contacts = ContactTable(case.description)
    frames = case.executed()
    table = contacts.table(frames)
    forces = {table.text("on", n): table.number("force2", n) for n in range(table.count)}
    assert forces["ball_floor"] == pytest.approx(9.81, rel=5e-3)
    assert forces["ball_table"] == pytest.approx(19.62, rel=5e-3)
    # MuJoCo's own vector of the second pair points down: it acts on the table.
    contacts.flipped = True
    table = contacts.table(frames)
    (of_table,) = rows_named(table, "table – ball_table")
    assert table.text("on", of_table) == "world"
    assert table.number("force2", of_table) == pytest.approx(-19.62, rel=5e-3)
    assert contacts.total.contacts == 2
    assert contacts.total.normal == pytest.approx(29.43, rel=5e-3)


def test_r13_the_normal_forces_of_a_pair_add_up_to_what_the_step_had(engine_scene, case_model):
    case = engine_scene(case_model("R13"))
    case.scene.ctrl[0] = -30.0
    for _ in range(1000):
        case.scene.step()
    contacts = ContactTable(case.description)
    for frames in (case.executed(), case.now()):
        table = contacts.table(frames)
        (head,) = rows_named(table, "box – world (4)")
        assert table.number("normal", head) == pytest.approx(49.62, rel=5e-3)
        assert table.number("force2", head) == pytest.approx(49.62, rel=5e-3)
        assert list(table.parents) == [-1, 0, 0, 0, 0]
        assert "Σ normal 49.62" in contacts.total.text


def test_c26_contact_force_on_a_body_is_its_weight_or_said_to_be_not_computed(
    engine_scene, case_model
):
    case = engine_scene(case_model("C26"))
    for _ in range(1000):
        case.scene.step()
    frames = case.executed()
    assert not np.any(case.scene.data.cfrc_ext), "the live data stays as the step left it"
    table = ContactTable(case.description).table(frames)
    assert table.number("normal", 1) == pytest.approx(9.81, rel=2e-3)
    bodies = BodyTable(case.description)
    shown = bodies.table(frames)
    assert shown.number("contact2", 1) == pytest.approx(9.81, rel=2e-3)
    without = bodies.table(None)
    assert without.text("contact2", 1) == "—"
    assert without.cells["contact2"].absent == "not computed in this step"


def test_c07_overlapping_geoms_are_listed_with_their_depth(engine_scene, case_model):
    case = engine_scene(case_model("C07"))
    table = ContactTable(case.description).table(case.now())
    depths = {
        table.text("name", n): table.number("depth", n)
        for n in range(table.count)
        if table.parents[n] >= 0
    }
    assert depths == pytest.approx({"g2 – g1": 750.0, "g3 – g1": 500.0})


def test_a_sliding_box_slips_and_uses_all_of_its_friction(engine_scene):
    # As on a slope of 30°: steeper than a friction of 0.3 can hold.
    case = engine_scene(SLIDING.replace('"elliptic"', '"elliptic" gravity="4.9 0 -8.5"'))
    for _ in range(200):
        case.scene.step()
    contacts = ContactTable(case.description)
    # A box that slides this fast hops: look at a step that presses it down.
    tables = (contacts.table(case.executed()) for _ in range(50))
    table = next(t for t in tables if t.count and min(t.cells["normal"].numbers) > 0.0)
    children = [n for n in range(table.count) if table.parents[n] >= 0]
    for n in children:
        assert table.number("used", n) == pytest.approx(100.0, abs=0.5)
        assert table.text("state", n).startswith("slips")
        assert table.text("state", n).endswith("m/s")
        assert table.text("mu", n).startswith("0.300"), "the plane's, whose priority is higher"
        assert "ice, priority 2" in table.text("origin", n)
        assert table.element(n) == Element(ElementKind.CONTACT, 0, 1)
    head = rows_named(table, "puck – world")[0]
    # Friction against the motion, on the puck.
    assert table.number("force0", head) == pytest.approx(
        -0.3 * table.number("normal", head), rel=0.02
    )
    assert contacts.total.slipping == len(children)


def test_a_resting_box_sticks(engine_scene):
    case = engine_scene(SLIDING)
    for _ in range(500):
        case.scene.step()
    table = ContactTable(case.description).table(case.executed())
    assert {table.text("state", n) for n in range(1, table.count)} == {"sticks"}


def test_a_box_held_on_a_slope_sticks_and_creeps(engine_scene):
    case = engine_scene(SLIDING.replace('"elliptic"', '"elliptic" gravity="1 0 -9.8"'))
    for _ in range(500):
        case.scene.step()
    table = ContactTable(case.description).table(case.executed())
    assert table.count > 1
    for n in range(1, table.count):
        assert table.number("used", n) < 90.0
        assert table.text("state", n).startswith("sticks, creeps ")
        assert table.text("state", n).endswith("m/s")
    (column,) = [each for each in table.columns if each.key == "state"]
    assert "may still creep" in column.tip


def test_rows_keep_their_names_when_contacts_come_and_go(engine_scene, case_model):
    case = engine_scene(case_model("R13"))
    table = ContactTable(case.description).table(case.now())
    assert len(set(table.keys)) == table.count


def test_without_contacts_there_are_no_rows(engine_scene):
    case = engine_scene(
        "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
    )
    contacts = ContactTable(case.description)
    assert contacts.table(case.now()).count == 0
    assert contacts.total.text == "No contacts at this instant."


def test_old_engines_that_send_forces_alone_have_a_table_too(make_frame):
    from stroboscope.app.models.frames import FrameSet
    from stroboscope.debugger_protocol.topics import Instant, Topic

    frame = make_frame(
        Topic.CONTACTS,
        Instant.NOW,
        pos=np.zeros((1, 3)),
        frame=np.eye(3)[None],
        force=np.array([[2.0, 1.0, 0, 0, 0, 0]]),
        dist=np.array([-0.001]),
        geom=np.array([[0, 1]]),
    )
    frames = FrameSet(instant=Instant.NOW, axis=0, step=0, time=0.0, frames={Topic.CONTACTS: frame})
    table = ContactTable(DESCRIPTION).table(frames)
    assert table.number("used", 1) == pytest.approx(50.0)
    assert [cell_text(table, column, 1) for column in table.columns if column.key == "dim"] == ["—"]


DESCRIPTION = SceneDescription(
    scene_id=1,
    name="Two",
    bodies=(BodyInfo(name="world", parent=0), BodyInfo(name="foot", parent=0)),
    geoms=(
        GeomInfo(name="floor", body=0, type=GeomType.PLANE, size=(1, 1, 0.1), priority=1),
        GeomInfo(name="sole", body=1, type=GeomType.BOX, size=(1, 1, 1), solmix=3.0, margin=0.01),
    ),
    pairs=(PairInfo(name="grip", geom1=0, geom2=1),),
)


@pytest.mark.parametrize(
    ("what", "origin", "words"),
    [
        ("solref", ParameterOrigin.SAME, "both geoms"),
        ("friction", ParameterOrigin.GEOM1, "floor, priority 1"),
        ("margin", ParameterOrigin.MAXIMUM, "sole, the larger"),
        ("solimp", ParameterOrigin.MIX, "floor 25 %, sole 75 %"),
        ("margin", ParameterOrigin.SUM, "sum of floor and sole"),
        ("friction", ParameterOrigin.PAIR, "contact pair grip"),
        ("solref", ParameterOrigin.OVERRIDE, "option o_solref"),
        ("solref", ParameterOrigin.FLEX, "flex"),
    ],
)
def test_where_a_parameter_came_from_is_said_in_words(what, origin, words):
    text = origin_text(DESCRIPTION, what, int(origin), geoms=(0, 1), pair=0, clamped=True)
    assert words in text
    assert ("raised to 2 timesteps" in text) == (what == "solref")


def test_slip_speeds_are_in_the_unit_they_are_read_best_in():
    assert slip_text(0.25).split("\u202f") == ["0.2500", "m/s"]
    assert slip_text(0.0098).split("\u202f") == ["9.8", "mm/s"]
    assert slip_text(1.26e-5).split("\u202f") == ["12.6", "µm/s"]


def test_a_contact_within_its_cone_sticks_and_says_that_it_creeps_if_it_does():
    assert creep_text(0.0098) == "sticks, creeps 9.8\u202fmm/s"
    assert creep_text(1e-9) == "sticks"
    assert creep_text(None) == "sticks"
