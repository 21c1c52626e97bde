"""Contacts and their forces, from the engine's numbers to the pixels."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from stroboscope.app.models.overlays import Amount, Role
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.view3d.overlays.contacts import contact_forces, force_sides
from stroboscope.app.view3d.overlays.glyphs import Layer, Shape
from stroboscope.debugger_protocol.topics import Topic

TWO_BALLS = Path(__file__).parents[3] / "cases/C27/model.xml"
SLOPE = """
<mujoco><option timestep="0.002" cone="elliptic"/><worldbody>
 <geom name="slope" type="plane" size="0 0 .1" euler="0 12 0"/>
 <body name="box" pos="0 0 0.105" euler="0 12 0"><freejoint/>
  <geom name="box" type="box" size=".1 .1 .1" mass="1"/></body>
</worldbody></mujoco>"""


def test_the_forces_on_both_resting_balls_point_up(engine_view):
    shown = engine_view(TWO_BALLS, steps=1000)
    shown.set(contact_forces=True)
    pos, force, _ = contact_forces(shown.picture.subject)
    order = np.argsort(pos[:, 0])
    assert force[order, 2] == pytest.approx([9.81, 19.62], rel=0.005)
    # The raw contact vector of the second pair points down.
    frame = shown.view._scene.value(Topic.CONTACTS, "frame")
    raw = shown.view._scene.value(Topic.CONTACTS, "force")
    world = np.einsum("nij,ni->nj", frame, raw[:, :3])
    assert world[order[1], 2] == pytest.approx(-19.62, rel=0.005)


def test_the_opposite_forces_are_those_on_floor_and_table(engine_view):
    shown = engine_view(TWO_BALLS, steps=1000)
    shown.set(contact_forces=True, contact_opposite=True)
    _, force, _ = contact_forces(shown.picture.subject)
    assert sorted(force[:, 2]) == pytest.approx([-19.62, -9.81], rel=0.005)


def test_force_arrows_are_as_long_as_their_forces_and_start_at_the_contact(engine_view):
    shown = engine_view(TWO_BALLS, steps=1000)
    shown.set(contact_forces=True)
    (arrows,) = shown.parts(Role.CONTACT_FORCE)
    pos, force, _ = contact_forces(shown.picture.subject)
    metres = shown.picture.subject.sizes.metres_per(Amount.FORCE)
    np.testing.assert_allclose(arrows.texels[:, 0, :3], pos, atol=1e-6)
    np.testing.assert_allclose(arrows.texels[:, 1, :3], force * metres, rtol=1e-5, atol=1e-7)
    shown.set(contact_forces=True, force_scale=1.25)
    (longer,) = shown.parts(Role.CONTACT_FORCE)
    np.testing.assert_allclose(longer.texels[:, 1, :3], 1.25 * force * metres, rtol=1e-5, atol=1e-7)


def test_split_forces_add_up_and_lie_along_and_across_the_normal(engine_view):
    shown = engine_view(SLOPE, steps=400)
    shown.set(contact_forces=True)
    (whole,) = shown.parts(Role.CONTACT_FORCE)
    shown.set(contact_forces=True, contact_split=True)
    (normal,), (friction,) = shown.parts(Role.CONTACT_FORCE), shown.parts(Role.CONTACT_FRICTION)
    vectors = [part.texels[:, 1, :3].astype(np.float64) for part in (whole, normal, friction)]
    np.testing.assert_allclose(vectors[1] + vectors[2], vectors[0], rtol=1e-4, atol=1e-6)
    up = np.array([np.sin(np.radians(12.0)), 0.0, np.cos(np.radians(12.0))])
    np.testing.assert_allclose(np.cross(vectors[1], up), 0.0, atol=1e-4)
    np.testing.assert_allclose(vectors[2] @ up, 0.0, atol=1e-4)
    assert np.linalg.norm(vectors[2].sum(axis=0)) > 0.1 * np.linalg.norm(vectors[1].sum(axis=0))


def test_of_two_bodies_that_move_the_force_on_the_later_one_is_shown(engine_view):
    facts = engine_view(SLOPE).picture.subject.facts
    facts = dataclasses.replace(facts, bodies=_bodies(fixed=[True, False, False]))
    pairs = np.array([[0, 1], [1, 0], [1, 2], [2, 1], [-1, 1], [1, -1]])
    side = force_sides(facts, pairs, pairs, opposite=False)
    assert side.tolist() == [1.0, -1.0, 1.0, -1.0, 1.0, -1.0]
    assert force_sides(facts, pairs, pairs, opposite=True).tolist() == (-side).tolist()


def _bodies(*, fixed):
    @dataclasses.dataclass
    class Bodies:
        fixed: np.ndarray

    return Bodies(np.array(fixed))


def test_contact_points_say_whether_they_push_and_whether_a_hull_does(engine_view):
    shown = engine_view(TWO_BALLS, steps=1000)
    shown.set(contacts=True)
    values = dict(shown.view._scene.values[Topic.CONTACTS])
    values["efc_address"] = np.array([-1, 0], dtype=np.int32)
    values["hull"] = np.array([[0, 0], [0, 1]], dtype=np.int32)
    shown.view.set_values(Topic.CONTACTS, values)
    (discs,) = [part for part in shown.picture.parts if part.shape is Shape.DISC]
    assert discs.layer is Layer.SURFACE
    np.testing.assert_allclose(discs.texels[0, 3], Role.CONTACT_GAP.value, rtol=1e-6)
    np.testing.assert_allclose(discs.texels[1, 3], Role.CONTACT_HULL.value, rtol=1e-6)
    assert set(discs.roles) == {Role.CONTACT_GAP, Role.CONTACT_HULL}


def test_a_contact_is_selected_where_its_arrow_is(engine_view):
    shown = engine_view(TWO_BALLS, steps=1000)
    shown.set(contact_forces=True, contacts=True)
    (arrows,) = shown.parts(Role.CONTACT_FORCE)
    geom = shown.view._scene.value(Topic.CONTACTS, "geom")
    for index, texel in enumerate(arrows.texels.astype(np.float64)):
        tip = texel[0, :3] + 0.6 * texel[1, :3]
        x, y, _ = shown.view.view().project(tip, width=640, height=480)[0]
        hit = shown.view.pick_at(float(x), float(y))
        pair = [int(g) for g in geom[index]]
        assert hit.element == Element(ElementKind.CONTACT, pair[0], pair[1])


def test_arrays_that_are_missing_draw_nothing_and_break_nothing(engine_view):
    shown = engine_view(TWO_BALLS, steps=1000)
    shown.set(contacts=True, contact_forces=True, contact_torques=True, contact_normals=True)
    for name in ("geom", "force", "frame", "dist", "pos"):
        shown.feed()
        values = dict(shown.view._scene.values[Topic.CONTACTS])
        del values[name]
        shown.view.set_values(Topic.CONTACTS, values)
        assert not shown.view.grab_image().isNull()
        assert shown.view.isVisible()


def test_a_force_arrow_is_drawn_in_its_colour_where_it_is(engine_view, pixels, near):
    shown = engine_view(TWO_BALLS, steps=1000)
    # From the side, with the ball hidden: nothing is before the arrow.
    shown.set(contact_forces=True, geom_groups=(False,) * 6)
    (arrows,) = shown.parts(Role.CONTACT_FORCE)
    middle = arrows.texels[:, 0, :3] + 0.4 * arrows.texels[:, 1, :3]
    picture = pixels(shown.view)
    for x, y, _ in shown.view.view().project(middle, width=640, height=480):
        around = picture[int(y) - 3 : int(y) + 4, int(x) - 3 : int(x) + 4]
        assert near(around, Role.CONTACT_FORCE.value).any()


def test_a_tiny_force_still_has_an_arrow_of_some_pixels(engine_view, pixels):
    shown = engine_view(TWO_BALLS, steps=1000)
    off = {"geom_groups": (False,) * 6}
    shown.set(**off)
    before = pixels(shown.view)
    shown.set(contact_forces=True, force_scale=1e-6, **off)
    assert shown.picture.subject.sizes.metres_per(Amount.FORCE) < 1e-7
    changed = np.abs(pixels(shown.view) - before).max(axis=2) > 0.1
    pos = contact_forces(shown.picture.subject)[0]
    for x, y, _ in shown.view.view().project(pos, width=640, height=480):
        x, y = int(x), int(y)
        column = changed[max(y - 20, 0) : y + 3, x - 3 : x + 4].any(axis=1)
        assert 6 <= column.sum() <= 12


def test_a_selected_contact_is_ringed_and_both_its_geoms_are_outlined(engine_view):
    shown = engine_view(TWO_BALLS, steps=1000)
    shown.set(contacts=True)
    shown.view.set_selection(Element(ElementKind.CONTACT, 2, 1))
    assert len([part for part in shown.picture.parts if part.shape is Shape.HOOP]) == 0
    geom = shown.view._scene.value(Topic.CONTACTS, "geom")[0].astype(int).tolist()
    shown.view.set_selection(Element(ElementKind.CONTACT, *geom))
    (hoop,) = [part for part in shown.picture.parts if part.shape is Shape.HOOP]
    assert len(hoop.texels) == 1
    assert set(shown.view._make_frame().selected) <= set(geom)
    assert len(shown.view._make_frame().selected) >= 1


def test_hovering_a_contact_says_which_geoms_touch(engine_view, wait_until):
    shown = engine_view(TWO_BALLS, steps=1000)
    shown.set(contacts=True)
    pos = shown.view._scene.value(Topic.CONTACTS, "pos")[0]
    x, y, _ = shown.view.view().project(pos, width=640, height=480)[0]
    shown.view._on_hover(float(x), float(y))
    wait_until(lambda: shown.view._surface.toolTip())
    assert shown.view._surface.toolTip() in (
        "floor – ball_floor   contact",
        "ball_table – table   contact",
    )
