"""The table of everything that can be switched in the 3D view."""

import dataclasses

import pytest

from stroboscope.app.models.overlay_topics import topics_of
from stroboscope.app.models.overlays import (
    OVERLAYS,
    Amount,
    OverlayGroup,
    active_overlays,
)
from stroboscope.app.models.view_options import FrameMode, LabelMode, ViewOptions
from stroboscope.debugger_protocol.scene_description import (
    BodyInfo,
    SceneDescription,
    SensorInfo,
    TendonInfo,
)
from stroboscope.debugger_protocol.topics import Topic

EMPTY = SceneDescription(scene_id=1, name="empty", bodies=(BodyInfo(name="world", parent=0),))
# mjVISSTRING and mjRNDSTRING of MuJoCo, where the same thing can be switched.
MUJOCO_KEYS = {
    "convex_hull": "H",
    "textures": "X",
    "joints": "J",
    "cameras": "Q",
    "actuators": "U",
    "activation": ",",
    "lights": "Z",
    "tendons": "V",
    "rangefinders": "Y",
    "equalities": "E",
    "inertia": "I",
    "scale_inertia": "'",
    "perturbation": "B",
    "contacts": "C",
    "islands": "N",
    "contact_forces": "F",
    "contact_split": "P",
    "transparent": "T",
    "autoconnect": "A",
    "com": "M",
    "static_bodies": "D",
    "skins": ";",
    "shadows": "S",
    "wireframe": "W",
    "reflections": "R",
    "skybox": "K",
    "haze": "/",
    "body_trees": "`",
    "mesh_trees": "\\",
}


def test_every_overlay_is_a_switch_of_the_options():
    fields = {field.name: field.type for field in dataclasses.fields(ViewOptions)}
    for overlay in OVERLAYS:
        assert isinstance(getattr(ViewOptions(), overlay.name), bool), overlay.name
        assert not overlay.parent or overlay.parent in fields
    assert len({overlay.name for overlay in OVERLAYS}) == len(OVERLAYS)


def test_every_switch_of_the_options_is_in_the_table():
    switches = {
        field.name
        for field in dataclasses.fields(ViewOptions)
        if isinstance(getattr(ViewOptions(), field.name), bool)
    }
    assert switches == {overlay.name for overlay in OVERLAYS}


def test_keys_are_those_of_mujocos_viewer_and_none_is_there_twice():
    keys = {overlay.name: overlay.keys[0] for overlay in OVERLAYS if overlay.keys}
    assert keys | MUJOCO_KEYS == keys
    assert len(set(keys.values())) == len(keys)


def test_every_amount_has_a_scale_that_people_can_choose():
    for amount in Amount:
        assert getattr(ViewOptions(), amount.scale_field) == 1.0


def test_a_part_of_an_overlay_shows_nothing_without_the_whole():
    split = ViewOptions(contact_split=True)
    assert "contact_split" not in {each.name for each in active_overlays(split)}
    both = dataclasses.replace(split, contact_forces=True)
    assert "contact_split" in {each.name for each in active_overlays(both)}


def test_a_scene_without_anything_costs_only_the_scripts_drawings():
    assert topics_of(ViewOptions(), EMPTY) == {Topic.DRAWING}


@pytest.mark.parametrize(
    ("options", "topic"),
    [
        (ViewOptions(contacts=True), Topic.CONTACTS),
        (ViewOptions(contact_forces=True), Topic.CONTACTS),
        (ViewOptions(velocities=True), Topic.STATE),
        (ViewOptions(applied_forces=True), Topic.BODIES),
        (ViewOptions(islands=True), Topic.BODIES),
        (ViewOptions(labels=LabelMode.CONTACT_FORCE), Topic.CONTACTS),
        (ViewOptions(frames=FrameMode.CONTACT), Topic.CONTACTS),
    ],
)
def test_what_is_switched_on_asks_for_its_topic(options, topic):
    assert topic in topics_of(options, EMPTY)


def test_tendons_and_rays_are_asked_for_where_there_are_any():
    scene = SceneDescription(
        scene_id=1,
        name="rich",
        tendons=(TendonInfo(name="tendon"),),
        sensors=(SensorInfo(name="ray", kind="rangefinder", adr=0, dim=1),),
    )
    assert {Topic.TENDONS, Topic.SENSORS} <= topics_of(ViewOptions(), scene)
    off = ViewOptions(tendons=False, rangefinders=False, drawings=False)
    assert not topics_of(off, scene)


def test_everything_drawn_beside_the_bodies_has_a_key_of_its_own():
    drawn = [each for each in OVERLAYS if each.group is not OverlayGroup.PICTURE]
    assert [each.name for each in drawn if not each.keys] == []
    keys = [key for each in OVERLAYS for key in each.keys]
    assert len(keys) == len(set(keys))
