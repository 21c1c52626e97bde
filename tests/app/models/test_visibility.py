"""What is hidden in the 3D view."""

import pytest

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.visibility import VisibilityModel, hidden_parts
from stroboscope.debugger_protocol.scene_description import (
    BodyInfo,
    GeomInfo,
    GeomType,
    SceneDescription,
    SiteInfo,
    SkinInfo,
    TendonInfo,
)

ARM, HAND = Element(ElementKind.BODY, 1), Element(ElementKind.BODY, 2)
FLOOR, UPPER, PALM = (Element(ElementKind.GEOM, i) for i in range(3))


@pytest.fixture
def arm(scene):
    """An arm with a hand (and a site in it) above a floor."""
    scene.set_description(
        SceneDescription(
            scene_id=7,
            name="Arm",
            bodies=(
                BodyInfo(name="world", parent=0),
                BodyInfo(name="arm", parent=0),
                BodyInfo(name="hand", parent=1),
            ),
            geoms=(
                GeomInfo(name="floor", body=0, type=GeomType.PLANE, size=(0.0, 0.0, 0.1)),
                GeomInfo(name="upper", body=1, type=GeomType.SPHERE, size=(0.1, 0.0, 0.0)),
                GeomInfo(name="palm", body=2, type=GeomType.SPHERE, size=(0.1, 0.0, 0.0)),
            ),
            sites=(SiteInfo(name="grip", body=2, type=GeomType.SPHERE, size=(0.01, 0.0, 0.0)),),
            tendons=(TendonInfo(name="cable"),),
            skins=(SkinInfo(name="skin", digest="", nvert=0, nface=0),),
        )
    )
    return scene


def _parts(visibility, scene):
    parts = hidden_parts(scene.description, visibility.hidden(scene))
    return tuple(
        {part.index for part in parts if part.kind is kind}
        for kind in (ElementKind.GEOM, ElementKind.SITE)
    )


def test_hiding_a_body_hides_what_hangs_on_it_and_showing_a_part_shows_it(arm):
    visibility, told = VisibilityModel(), []
    visibility.changed.connect(told.append)
    visibility.toggle(arm, ARM)
    assert _parts(visibility, arm) == ({1, 2}, {0})
    assert visibility.is_hidden(arm, PALM)
    assert not visibility.is_hidden(arm, FLOOR)
    # The eye of a part that a parent hides must open something.
    visibility.toggle(arm, PALM)
    assert _parts(visibility, arm) == (set(), set())
    assert told == [arm, arm]


def test_a_geom_is_hidden_alone(arm):
    visibility = VisibilityModel()
    visibility.toggle(arm, UPPER)
    assert _parts(visibility, arm) == ({1}, set())


def test_isolating_keeps_the_floor_and_what_hangs_on_the_element_and_undoes_itself(arm):
    visibility = VisibilityModel()
    visibility.isolate(arm, HAND)
    assert _parts(visibility, arm) == ({1}, set())
    assert visibility.isolated(arm) == HAND
    visibility.isolate(arm, UPPER)
    assert _parts(visibility, arm) == ({2}, {0})
    visibility.isolate(arm, UPPER)
    assert _parts(visibility, arm) == (set(), set())


def test_joints_have_no_eye(arm):
    visibility = VisibilityModel()
    visibility.toggle(arm, Element(ElementKind.JOINT, 0))
    assert not visibility.hidden(arm)


def test_tendons_and_skins_are_hidden_and_isolated_like_geoms(arm):
    visibility = VisibilityModel()
    cable, skin = Element(ElementKind.TENDON, 0), Element(ElementKind.SKIN, 0)
    visibility.toggle(arm, cable)
    assert hidden_parts(arm.description, visibility.hidden(arm)) == {cable}
    visibility.toggle(arm, ARM)
    assert skin not in hidden_parts(arm.description, visibility.hidden(arm))
    visibility.show_all(arm)
    visibility.isolate(arm, skin)
    hidden = hidden_parts(arm.description, visibility.hidden(arm))
    assert hidden == {UPPER, PALM, cable, Element(ElementKind.SITE, 0)}
