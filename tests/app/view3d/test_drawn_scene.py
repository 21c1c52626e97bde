"""A scene as arrays: poses, bounds, streaming assets, what elements stand for."""

import dataclasses
from typing import Any

import msgspec
import numpy as np
import pytest

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.scene_buffers import _middles
from stroboscope.debugger_protocol.scene_description import (
    GeomInfo,
    GeomType,
    JointInfo,
    JointType,
    LightInfo,
    MeshInfo,
    SceneDescription,
)


@pytest.fixture
def drawn(scene: SceneDescription, poses: tuple[Any, Any]) -> DrawnScene:
    drawn = DrawnScene()
    drawn.set_description(scene, {})
    drawn.set_poses(*poses)
    return drawn


def test_geoms_follow_their_bodies(drawn: DrawnScene, poses: tuple[Any, Any]) -> None:
    xpos, xquat = poses[0].copy(), poses[1].copy()
    xpos[1] = (5.0, 6.0, 7.0)
    xquat[1] = (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))
    drawn.set_poses(xpos, xquat)
    texels = drawn.pose_texels()
    assert texels[1, :, 3] == pytest.approx([5.0, 6.0, 7.0])
    assert texels[1, :, :3] @ [1.0, 0.0, 0.0] == pytest.approx([0.0, 1.0, 0.0], abs=1e-6)


def test_poses_of_another_size_are_refused_with_both_sizes(drawn: DrawnScene) -> None:
    with pytest.raises(ValueError, match=r"4 bodies .* \(3, 3\) and \(3, 4\)"):
        drawn.set_poses(np.zeros((3, 3)), np.zeros((3, 4)))


def test_a_body_with_a_pose_that_is_no_number_hides_alone(
    drawn: DrawnScene, poses: tuple[Any, Any]
) -> None:
    xpos = poses[0].copy()
    xpos[2] = np.nan
    drawn.set_poses(xpos, poses[1])
    assert drawn.visible(ViewOptions()).tolist() == [True, True, False, True]
    center, radius = drawn.scene_bounds(ViewOptions())
    assert np.isfinite(center).all()
    assert np.isfinite(radius)


def test_bounds_hold_every_shape_and_leave_the_plane_out(drawn: DrawnScene) -> None:
    center, radius = drawn.scene_bounds(ViewOptions())
    for item in (1, 2, 3):
        reach = np.linalg.norm(drawn.item_pos[item] - center) + drawn.items.radius[item]
        assert reach <= radius + 1e-9
    assert radius < 2.5


def test_a_room_around_a_robot_does_not_decide_the_framing(
    scene: SceneDescription, poses: tuple[Any, Any]
) -> None:
    wall = GeomInfo(
        name="wall", body=0, type=GeomType.BOX, size=(40.0, 0.1, 5.0), pos=(0.0, 40.0, 0.0)
    )
    drawn = DrawnScene()
    drawn.set_description(msgspec.structs.replace(scene, geoms=(*scene.geoms, wall)), {})
    drawn.set_poses(*poses)
    assert drawn.scene_bounds(ViewOptions())[1] < 2.5


def test_collision_groups_are_hidden_until_they_are_asked_for(
    scene: SceneDescription, poses: tuple[Any, Any]
) -> None:
    geoms = tuple(
        msgspec.structs.replace(geom, group=3) if geom.name == "ball" else geom
        for geom in scene.geoms
    )
    drawn = DrawnScene()
    drawn.set_description(msgspec.structs.replace(scene, geoms=geoms), {})
    drawn.set_poses(*poses)
    options = ViewOptions()
    assert not drawn.visible(options)[2]
    options = dataclasses.replace(options, geom_groups=(True,) * 6)
    assert drawn.visible(options)[2]


def test_a_mesh_appears_when_its_asset_arrives(scene: SceneDescription) -> None:
    mesh = GeomInfo(name="mesh", body=1, type=GeomType.MESH, size=(1.0, 1.0, 1.0), mesh=0)
    description = msgspec.structs.replace(
        scene,
        geoms=(*scene.geoms, mesh),
        meshes=(MeshInfo(name="tetra", digest="abc", nvert=4, nface=4),),
    )
    drawn = DrawnScene()
    drawn.set_description(description, {})
    assert len(drawn.buffers().faces_of(np.array([4]))) == 0
    before = drawn.geometry_revision
    drawn.set_asset("of another scene", {})
    assert drawn.geometry_revision == before
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], dtype=np.int32)
    drawn.set_asset("abc", {"vertices": vertices, "faces": faces})
    assert len(drawn.buffers().faces_of(np.array([4]))) == 4


def test_a_missing_or_wrong_mesh_index_draws_nothing_and_harms_nothing(
    scene: SceneDescription,
) -> None:
    lost = GeomInfo(name="lost", body=99, type=GeomType.MESH, size=(1.0, 1.0, 1.0), mesh=7)
    drawn = DrawnScene()
    drawn.set_description(msgspec.structs.replace(scene, geoms=(*scene.geoms, lost)), {})
    buffers = drawn.buffers()
    assert len(buffers.faces_of(np.array([4]))) == 0
    assert len(buffers.faces_of(np.array([1]))) == 12


def test_the_ground_lies_below_what_reaches_below_zero_and_stays_there(
    scene: SceneDescription, poses: tuple[Any, Any]
) -> None:
    drawn = DrawnScene()
    drawn.set_description(msgspec.structs.replace(scene, geoms=scene.geoms[1:]), {})
    drawn.set_poses(*poses)
    assert drawn.ground_height == 0.0
    drawn.set_description(msgspec.structs.replace(scene, geoms=scene.geoms[1:], scene_id=2), {})
    drawn.set_poses(poses[0] - [0.0, 0.0, 2.0], poses[1])
    assert drawn.ground_height == pytest.approx(-2.0)
    drawn.set_poses(poses[0] - [0.0, 0.0, 9.0], poses[1])
    assert drawn.ground_height == pytest.approx(-2.0)


def test_the_centre_of_a_subtree_weighs_its_bodies(
    drawn: DrawnScene, poses: tuple[Any, Any]
) -> None:
    # The capsule (3 kg) hangs below the ball (1 kg).
    expected = (poses[0][2] * 1.0 + poses[0][3] * 3.0) / 4.0
    assert drawn.subtree_center(2) == pytest.approx(expected)


def test_an_element_stands_for_its_geoms(scene: SceneDescription) -> None:
    joint = JointInfo(
        name="hinge", body=3, type=JointType.HINGE, qpos=0, dof=0, pos=(0.0, 0.0, -0.3)
    )
    description = msgspec.structs.replace(scene, joints=(joint,))
    drawn = DrawnScene()
    drawn.set_description(description, {})
    items = drawn.items
    of = [
        items.of_element(Element(kind, index), description).tolist()
        for kind, index in (
            (ElementKind.GEOM, 2),
            (ElementKind.BODY, 1),
            (ElementKind.JOINT, 0),
            (ElementKind.GEOM, 77),
            (ElementKind.SENSOR, 0),
        )
    ]
    assert of == [[2], [1], [3], [], []]
    assert drawn.element_position(Element(ElementKind.JOINT, 0)) == pytest.approx([0.0, 0.0, -0.3])


def test_a_ray_comes_near_what_it_goes_through_and_nothing_else(
    drawn: DrawnScene, poses: tuple[Any, Any]
) -> None:
    def near(origin: list[float], direction: list[float]) -> list[int]:
        found = drawn.near_ray(
            np.array(origin), np.array(direction), options=ViewOptions(), slack=1e-3
        )
        return sorted(found.tolist())

    assert near([-5.0, 0.0, 0.3], [1.0, 0.0, 0.0]) == [1, 2, 3]
    assert near([-1.0, 0.0, 5.0], [0.0, 0.0, -1.0]) == [1]
    assert near([-0.5, 0.0, 0.3], [1.0, 0.0, 0.0]) == [2, 3]  # the box lies behind
    assert near([0.0, 0.0, 5.0], [0.0, 1.0, 0.0]) == []
    turned = poses[1].copy()
    turned[1] = (np.cos(np.pi / 8), 0.0, 0.0, np.sin(np.pi / 8))  # 45 degrees: wider along x
    drawn.set_poses(poses[0], turned)
    assert near([-1.38, 0.0, 5.0], [0.0, 0.0, -1.0]) == [1]


def test_a_lamp_stands_where_it_is_and_paints_no_floor(scene: SceneDescription) -> None:
    lit = msgspec.structs.replace(
        scene, lights=(LightInfo(name="lamp", body=0, pos=(0.0, 0.0, 3.0), dir=(0.0, 0.0, -1.0)),)
    )
    drawn = DrawnScene()
    drawn.set_description(lit, {})
    lamp = Element(ElementKind.LIGHT, 0)
    assert not len(drawn.items.of_element(lamp, lit))
    bounds = drawn.element_bounds(lamp)
    assert bounds is not None
    assert bounds[0].tolist() == [0.0, 0.0, 3.0]
    world = drawn.items.of_element(Element(ElementKind.BODY, 0), lit)
    assert not drawn.items.is_plane[world].any()


def test_boxes_that_hold_nothing_or_no_number_stand_at_the_origin() -> None:
    low = np.array([(1.0, 2.0, 3.0), (np.inf,) * 3, (np.nan, 0.0, -np.inf), (-1.7e308,) * 3])
    high = np.array([(3.0, 2.0, 4.0), (-np.inf,) * 3, (1.0, 4.0, 1.0), (-1.7e308,) * 3])
    expected = [(2.0, 2.0, 3.5), (0.0,) * 3, (0.0, 2.0, 0.0), (-1.7e308,) * 3]
    assert _middles(low, high).tolist() == [list(each) for each in expected]
