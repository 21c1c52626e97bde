"""Skins, flexes and tendons stand where MuJoCo's own visualisation puts them."""

from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from reference_scenes import SCENES, Shown, shown_by_engine

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.surface_normals import SurfaceNormals
from stroboscope.debugger_protocol.topics import Topic


def drawn_of(shown: Shown) -> DrawnScene:
    drawn = DrawnScene()
    drawn.set_description(shown.description, shown.assets)
    drawn.set_poses(*shown.poses)
    for topic, arrays in shown.values.items():
        drawn.set_values(topic, arrays)
    return drawn


def visualised(shown: Shown) -> Any:
    scene = mujoco.MjvScene(shown.model, 1000)
    mujoco.mjv_updateScene(
        shown.model,
        shown.data,
        mujoco.MjvOption(),
        None,
        mujoco.MjvCamera(),
        int(mujoco.mjtCatBit.mjCAT_ALL),
        scene,
    )
    mujoco.mjv_updateSkin(shown.model, shown.data, scene)
    return scene


def positions(drawn: DrawnScene) -> NDArray[np.float64]:
    return np.asarray(drawn.soft().vertices["a_position"], dtype=np.float64)


def test_a_skin_bends_as_in_mujoco() -> None:
    shown = shown_by_engine(SCENES["skin"])
    theirs = visualised(shown)
    drawn = drawn_of(shown)
    soft = drawn.soft()
    expected = np.array(theirs.skinvert).reshape(-1, 3)
    assert np.abs(positions(drawn) - expected).max() < 1e-5
    normals = np.array(theirs.skinnormal).reshape(-1, 3)
    assert np.einsum("ij,ij->i", soft.vertices["a_normal"], normals).min() > 0.999


def test_cloth_has_two_sides_a_radius_apart() -> None:
    shown = shown_by_engine(SCENES["flex 2D"])
    vertices = positions(drawn_of(shown))
    front, back = np.split(vertices, 2)
    flex = shown.description.flexes[0]
    assert np.linalg.norm(front - back, axis=1) == pytest.approx(2 * flex.radius, rel=1e-3)
    middle = np.array(shown.data.flexvert_xpos)
    assert np.abs((front + back) / 2 - middle).max() < 1e-5


def test_a_rope_follows_its_vertices() -> None:
    shown = shown_by_engine(SCENES["flex 1D"])
    vertices = positions(drawn_of(shown))
    points = np.array(shown.data.flexvert_xpos)
    away = np.linalg.norm(vertices[:, None] - points[None], axis=2).min(axis=1)
    assert away.max() < 0.06 + shown.description.flexes[0].radius


def test_a_soft_block_is_closed_and_faces_outwards() -> None:
    shown = shown_by_engine(SCENES["flex 3D"])
    soft = drawn_of(shown).soft()
    corners = np.asarray(soft.vertices["a_position"], dtype=np.float64)[soft.faces]
    volume = np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    assert volume == pytest.approx(0.5**3, rel=0.15)


def test_tendons_are_tubes_along_their_path() -> None:
    shown = shown_by_engine(SCENES["tendons"])
    drawn = drawn_of(shown)
    soft, items = drawn.soft(), drawn.items
    (cable,) = items.of_element(Element(ElementKind.TENDON, 0), shown.description)
    mine = soft.vertices["a_item"] == cable
    vertices = np.asarray(soft.vertices["a_position"], dtype=np.float64)[mine]
    count = int(shown.data.ten_wrapnum[0])
    path = np.array(shown.data.wrap_xpos).reshape(-1, 3)[:count]
    width = shown.description.tendons[0].width
    assert vertices.min(axis=0) == pytest.approx(path.min(axis=0) - width, abs=1e-3)
    assert vertices.max(axis=0) == pytest.approx(path.max(axis=0) + width, abs=1e-3)


def test_a_tendon_beyond_its_range_is_at_its_limit() -> None:
    drawn = drawn_of(shown_by_engine(SCENES["tendons"]))
    assert [drawn.items.element(int(i)).index for i in drawn.at_limit()] == [1]


def test_without_values_nothing_soft_is_drawn_and_nothing_breaks() -> None:
    shown = shown_by_engine(SCENES["flex 2D"])
    drawn = drawn_of(shown)
    drawn.set_values(Topic.DEFORMABLE, None)
    assert len(drawn.soft().vertices) == 0
    drawn.set_values(Topic.DEFORMABLE, {"flexvert_xpos": np.zeros((3, 3), dtype=np.float32)})
    assert len(drawn.soft().vertices) == 0


def test_a_ray_through_cloth_finds_the_cloth() -> None:
    shown = shown_by_engine(SCENES["flex 2D"])
    drawn = drawn_of(shown)
    center = np.array(shown.data.flexvert_xpos).mean(axis=0)
    origin = center + np.array([0.0, 0.0, 5.0])
    found = drawn.near_ray(origin, np.array([0.0, 0.0, -1.0]), options=ViewOptions(), slack=1e-3)
    kinds = {drawn.items.element(int(i)).kind for i in found}
    assert ElementKind.FLEX in kinds


def test_normals_of_a_moving_surface_are_smooth_and_of_unit_length() -> None:
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0.5], [0, 1, 0]])
    normals = SurfaceNormals(faces, 5).of(np.vstack([corners, [9.0, 9.0, 9.0]]))
    assert np.linalg.norm(normals, axis=1) == pytest.approx(np.ones(5))
    assert normals[4] == pytest.approx([0.0, 0.0, 1.0])
    assert normals[0] == pytest.approx(normals[2])


def test_a_flex_is_framed_before_its_vertices_come() -> None:
    shown = shown_by_engine(SCENES["flex 2D"])
    drawn = DrawnScene()
    drawn.set_description(shown.description, shown.assets)
    drawn.set_poses(*shown.poses)
    center, radius = drawn.scene_bounds(ViewOptions())
    points = np.array(shown.data.flexvert_xpos)
    assert np.linalg.norm(points - center, axis=1).max() <= radius + 0.1
    assert radius < 3.0
