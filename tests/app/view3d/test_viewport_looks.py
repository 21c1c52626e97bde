"""What a person sees in the 3D view: colours, shadows, what is chosen, what is switched on."""

import dataclasses
from typing import Any

import msgspec
import numpy as np
import pytest
from front_view import BALL, BOX, CAPSULE, Read, looking, replace_options

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import (
    FloorStyle,
    FrameMode,
    LabelMode,
    Quality,
    ViewOptions,
)
from stroboscope.app.view3d.environments import EnvironmentGrid
from stroboscope.app.view3d.ghosts import OtherPose
from stroboscope.app.view3d.light_rig import LightRig
from stroboscope.debugger_protocol.scene_description import (
    GeomInfo,
    GeomType,
    SceneDescription,
    SiteInfo,
)
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.resources.themes import DARK, LIGHT


def test_every_shape_wears_its_colour(front: Any, at: Read) -> None:
    for point, channel in ((BOX, 0), (BALL, 1), (CAPSULE, 2)):
        color = at(front, point)
        others = [c for i, c in enumerate(color) if i != channel]
        assert color[channel] > 0.35
        assert color[channel] > 1.8 * max(others)


def test_a_shadow_is_darker_than_the_floor_beside_it(
    front: Any, scene: SceneDescription, poses: Any, at: Read
) -> None:
    # One colour all over, so that only the light differs.
    plain = msgspec.structs.replace(scene.geoms[0], rgba=(0.6, 0.6, 0.61, 1.0))
    front.set_description(msgspec.structs.replace(scene, geoms=(plain, *scene.geoms[1:])), {})
    front.set_poses(*poses)
    front.set_camera(looking(elevation=-89.0))
    to_lamp = -LightRig.of(DARK).lamps[0].direction
    top_of_capsule = np.array([1.0, 0.0, 0.9])
    shadow = top_of_capsule - to_lamp * (top_of_capsule[2] / to_lamp[2])
    shaded, sunny = at(front, shadow), at(front, (1.7, -0.7, 0.0))
    assert shaded.mean() < 0.8 * sunny.mean()
    replace_options(front, shadows=False)
    assert at(front, shadow).mean() == pytest.approx(sunny.mean(), abs=0.05)


def test_every_environment_of_a_grid_casts_a_shadow(
    front: Any, scene: SceneDescription, poses: Any, at: Read
) -> None:
    plain = msgspec.structs.replace(scene.geoms[0], rgba=(0.6, 0.6, 0.61, 1.0))
    front.set_description(msgspec.structs.replace(scene, geoms=(plain, *scene.geoms[1:])), {})
    xpos, xquat = poses
    aside = np.array([0.0, 2.5, 0.0])
    front.set_poses(xpos, xquat)
    pos = np.stack([xpos[1], xpos[1] + aside])
    grid = EnvironmentGrid(
        numbers=(0, 1),
        pos=pos,
        selected=0,
        failed=frozenset(),
        side=2.5,
        colors=((1.0, 1.0, 1.0, 1.0),) * 3,
    )
    front.set_others([OtherPose(xpos + aside, xquat, (1.0, 1.0, 1.0, 1.0), tint=0.0, env=1)], grid)
    front.set_camera(looking(elevation=-89.0, distance=9.0))
    to_lamp = -LightRig.of(DARK).lamps[0].direction
    top_of_capsule = np.array([1.0, 0.0, 0.9])
    shadow = top_of_capsule - to_lamp * (top_of_capsule[2] / to_lamp[2])
    sunny = at(front, (1.7, -0.7, 0.0)).mean()
    for place in (shadow, shadow + aside):
        assert at(front, place).mean() < 0.8 * sunny
    # Of one whose state is NaN nothing can be drawn; the others stay where they are.
    front.set_poses(xpos * np.nan, xquat)
    pos[0] = np.nan
    front.set_others([OtherPose(xpos + aside, xquat, (1.0, 1.0, 1.0, 1.0), tint=0.0, env=1)], grid)
    assert at(front, np.array(BOX) + aside)[0] > 2 * at(front, np.array(BOX) + aside)[1]
    front.set_poses(xpos, xquat)
    # A ghost is of another time or run: it stands in nobody's light.
    front.set_others([OtherPose(xpos + aside, xquat, (1.0, 1.0, 1.0, 1.0), tint=0.0)])
    assert at(front, shadow + aside).mean() == pytest.approx(sunny, abs=0.05)


@pytest.mark.parametrize("elevation", [-89.0, -25.0, 30.0])
def test_a_scene_without_a_floor_is_drawn_before_the_sky_with_a_few_thin_lines(
    elevation: float, front: Any, scene: SceneDescription, poses: Any, pixels: Read
) -> None:
    front.set_description(msgspec.structs.replace(scene, geoms=scene.geoms[1:]), {})
    front.set_poses(*poses)
    front.set_camera(looking(elevation=elevation))
    with_lines = pixels(front)
    replace_options(front, grid=False)
    without = pixels(front)
    changed = np.abs(with_lines - without).max(axis=2) > 0.015
    assert 0.003 < changed.mean() < 0.15


def test_nobody_points_at_the_lines_of_a_scene_without_a_floor(
    front: Any, scene: SceneDescription, poses: Any
) -> None:
    front.set_description(msgspec.structs.replace(scene, geoms=scene.geoms[1:]), {})
    front.set_poses(*poses)
    front.set_camera(looking(elevation=-60.0))
    assert front.pick_at(10.0, front.height() - 10.0) is None


def test_a_lit_surface_has_no_shadow_acne(front: Any, pixels: Read) -> None:
    front.set_camera(looking(lookat=BOX, distance=1.6, elevation=-50.0))
    picture = pixels(front)
    height, width, _ = picture.shape
    corners = np.array([[-1.2, -0.2, 0.6], [-0.8, -0.2, 0.6], [-0.8, 0.2, 0.6], [-1.2, 0.2, 0.6]])
    where = front.view().project(corners, width=width, height=height)
    left, right = where[:, 0].min() + 8, where[:, 0].max() - 8
    top, bottom = where[:, 1].min() + 8, where[:, 1].max() - 8
    face = picture[int(top) : int(bottom), int(left) : int(right), 0]
    assert face.size > 2000
    assert face.std() < 0.02


def test_a_selection_shows_and_goes(front: Any, pixels: Read) -> None:
    before = pixels(front)
    front.set_selection(Element(ElementKind.BODY, 2))
    selected = pixels(front)
    changed = np.abs(selected - before).max(axis=2) > 0.1
    height, width = changed.shape
    x, y, _ = front.view().project(np.array(BALL), width=width, height=height)[0]
    rows, columns = np.nonzero(changed)
    assert len(rows) > 100
    assert np.hypot(rows - y, columns - x).max() < 60  # nothing but the ball and its outline
    front.set_selection(None)
    assert np.abs(pixels(front) - before).max() < 0.02


def test_the_theme_colours_the_sky(front: Any, pixels: Read) -> None:
    front.set_camera(looking(elevation=10.0))
    dark = pixels(front)[20].mean()
    front.set_theme(LIGHT)
    assert pixels(front)[20].mean() > dark + 0.4


def test_a_stale_picture_loses_its_colours(front: Any, at: Read) -> None:
    front.set_stale(True)
    color = at(front, BOX)
    assert color.max() - color.min() < 0.25


def test_contacts_appear_only_when_asked_for(front: Any, pixels: Read) -> None:
    before = pixels(front)
    frame = np.array([[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    front.set_values(
        Topic.CONTACTS,
        {"pos": np.array([[0.5, -0.8, 0.0]]), "frame": frame, "dist": np.array([-0.001])},
    )
    assert np.abs(pixels(front) - before).max() < 0.02
    replace_options(front, contacts=True)
    changed = (np.abs(pixels(front) - before).max(axis=2) > 0.15).sum()
    assert changed > 30


def test_sites_and_see_through_geoms_are_blended_in(
    front: Any, scene: SceneDescription, poses: Any, at: Read
) -> None:
    glass = GeomInfo(
        name="glass",
        body=0,
        type=GeomType.BOX,
        size=(0.5, 0.05, 0.5),
        pos=(0.0, -0.8, 0.5),
        rgba=(0.9, 0.9, 0.9, 0.4),
    )
    site = SiteInfo(
        name="site",
        body=1,
        type=GeomType.SPHERE,
        size=(0.1, 0.0, 0.0),
        pos=(0.0, 0.0, 0.5),
        rgba=(0.9, 0.1, 0.9, 1.0),
    )
    bare = at(front, BALL)
    description = msgspec.structs.replace(scene, geoms=(*scene.geoms, glass), sites=(site,))
    front.set_description(description, {})
    front.set_poses(*poses)
    through = at(front, BALL)
    assert through[1] > through[0]  # still green
    assert through[0] > bare[0] + 0.1  # behind something pale
    purple = at(front, (-1.0, 0.0, 0.8))
    assert purple[0] > 2.0 * purple[1]
    assert purple[2] > 2.0 * purple[1]
    replace_options(front, site_groups=(False,) * 6)
    assert at(front, (-1.0, 0.0, 0.8))[2] < 0.5 * purple[2] + 0.2


def test_every_option_draws_and_none_fails(front: Any, pixels: Read) -> None:
    plain = ViewOptions(quality=Quality.LOW, triad=False)
    front.options = plain
    before = pixels(front)
    for changes in (
        {"frames": FrameMode.WORLD},
        {"frames": FrameMode.BODY},
        {"triad": True},
        {"wireframe": True},
        {"transparent": True},
        {"quality": Quality.HIGH},
        {"shadows": False},
        {"geom_groups": (False,) * 6},
        {"floor": FloorStyle.MODEL},
    ):
        front.options = dataclasses.replace(plain, **changes)  # type: ignore[arg-type]
        different = np.abs(pixels(front) - before).max()
        if "floor" not in changes:  # this floor has no colours of its own to show
            assert different > 0.1, changes
    assert front._message.isHidden()


def test_a_reflection_appears_in_high_quality(
    front: Any, scene: SceneDescription, poses: Any, pixels: Read
) -> None:
    replace_options(front, quality=Quality.HIGH, reflections=False)
    without = pixels(front)
    replace_options(front, reflections=True)
    assert (np.abs(pixels(front) - without).max(axis=2) > 0.02).sum() > 200


def test_labels_name_the_bodies_in_the_picture(front: Any) -> None:
    from stroboscope.app.view3d.labels import labels_of

    replace_options(front, labels=LabelMode.BODY)
    labels, missing = labels_of(front._overlay_picture(), view=front.view(), size=(640.0, 480.0))
    assert {label.text for label in labels} == {"box", "ball", "capsule"}
    assert missing == 0
    ball = next(label for label in labels if label.text == "ball")
    x, y, _ = front.view().project(np.array(BALL), width=640, height=480)[0]
    assert (ball.x, ball.y) == pytest.approx((x, y))


def test_a_selected_plane_is_tinted(front: Any, at: Read) -> None:
    before = at(front, (0.4, -0.9, 0.0))
    front.set_selection(Element(ElementKind.GEOM, 0))
    after = at(front, (0.4, -0.9, 0.0))
    assert after[0] - after[2] > before[0] - before[2] + 0.1


def test_the_selection_of_an_orange_thing_is_not_orange(
    front: Any, scene: SceneDescription, poses: Any, at: Read
) -> None:
    orange = msgspec.structs.replace(scene.geoms[2], rgba=(0.95, 0.55, 0.15, 1.0))
    geoms = (*scene.geoms[:2], orange, *scene.geoms[3:])
    front.set_description(msgspec.structs.replace(scene, geoms=geoms), {})
    front.set_poses(*poses)
    before = at(front, BALL)
    front.set_selection(Element(ElementKind.GEOM, 2))
    assert at(front, BALL)[2] > before[2] + 0.15
