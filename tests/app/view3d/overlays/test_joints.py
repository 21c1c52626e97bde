"""Joint axes and ranges."""

import numpy as np
import pytest

from stroboscope.app.models.overlays import Role
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.view3d.overlays.joints import arc_points, limit_roles
from stroboscope.debugger_protocol.topics import Topic

ARM = """
<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody>
 <body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0" range="-1 0.5" limited="true"/>
  <geom type="capsule" fromto="0 0 0 .5 0 0" size=".05" mass="1"/>
  <body name="slider" pos=".5 0 0">
   <joint name="slide" type="slide" axis="0 0 1" range="-.1 .3" limited="true"/>
   <geom type="sphere" size=".08" mass="1"/></body></body>
</worldbody></mujoco>"""


def test_a_vector_is_turned_about_an_axis_counter_clockwise():
    axis, needle = np.array([[0.0, 0.0, 1.0]]), np.array([[1.0, 0.0, 0.0]])
    points = arc_points(axis, needle, np.array([[0.0, np.pi / 2, np.pi]]))
    np.testing.assert_allclose(points[0], [[1, 0, 0], [0, 1, 0], [-1, 0, 0]], atol=1e-12)


@pytest.mark.parametrize(
    ("position", "role"),
    [(0.0, 0), (0.44, 1), (-0.95, 1), (0.5, 2), (0.7, 2), (-1.0, 2), (-1.2, 2)],
)
def test_limits_warn_when_they_are_near_and_when_they_are_reached(position, role):
    assert limit_roles(np.array([position]), np.array([[-1.0, 0.5]])).tolist() == [role]


def test_the_arc_spans_the_range_and_the_needle_stands_where_the_joint_is(engine_view):
    shown = engine_view(ARM)
    shown.scene.data.qpos[:] = [0.3, 0.1]
    shown.set(joint_limits=True)
    needles = [p for p in shown.parts(Role.LIMIT_OK) if p.shape.value == "arrow"]
    hinge = needles[0].texels[0, 1, :3].astype(np.float64)
    hinge /= np.linalg.norm(hinge)
    # The arm's mass lies along its x axis, which has turned by 0.3 rad about y.
    np.testing.assert_allclose(hinge, [np.cos(0.3), 0.0, -np.sin(0.3)], atol=1e-6)
    (lines,) = [p for p in shown.parts(Role.LIMIT_OK) if p.shape.value == "line"]
    of_hinge = lines.texels[lines.index == 0].astype(np.float64)
    start = of_hinge[0, 0, :3] - [0.0, 0.0, 1.0]
    # At -1 rad the x axis points up: rotation about +y.
    expected = [np.cos(1.0), 0.0, np.sin(1.0)]
    np.testing.assert_allclose(start / np.linalg.norm(start), expected, atol=1e-5)


def test_the_rail_of_a_slide_spans_its_range(engine_view):
    shown = engine_view(ARM)
    shown.scene.data.qpos[:] = [0.0, 0.1]
    shown.set(joint_limits=True)
    (lines,) = [p for p in shown.parts(Role.LIMIT_OK) if p.shape.value == "line"]
    rail = lines.texels[lines.index == 1][0].astype(np.float64)
    np.testing.assert_allclose(rail[0, :3], [0.5, 0.0, 0.9], atol=1e-6)
    np.testing.assert_allclose(rail[1, :3], [0.0, 0.0, 0.4], atol=1e-6)


def test_a_joint_at_its_limit_is_marked(engine_view):
    shown = engine_view(ARM)
    shown.scene.data.qpos[:] = [0.5, 0.0]
    shown.set(joint_limits=True)
    assert shown.parts(Role.LIMIT_OVER)
    assert Role.LIMIT_NEAR not in shown.picture.roles


def test_a_joint_is_selected_at_its_axis_and_hidden_with_its_group(engine_view):
    shown = engine_view(ARM)
    shown.set(joints=True)
    x, y, _ = shown.view.view().project(np.array([0.0, 0.0, 1.0]), width=640, height=480)[0]
    assert shown.view.pick_at(float(x), float(y)).element == Element(ElementKind.JOINT, 0)
    shown.set(joints=True, joint_groups=(False,) * 6)
    assert not shown.parts(Role.JOINT)
    assert shown.view.pick_at(float(x), float(y)).element.kind is ElementKind.GEOM


def test_without_positions_nothing_is_drawn(engine_view):
    shown = engine_view(ARM)
    shown.set(joint_limits=True)
    shown.view.set_values(Topic.STATE, {})
    assert not shown.picture.parts


@pytest.mark.parametrize(("turn", "role"), [(0.3, Role.LIMIT_OK), (0.8, Role.LIMIT_OVER)])
def test_a_ball_joint_is_coloured_by_how_far_it_is_turned(engine_view, turn, role):
    shown = engine_view(
        "<mujoco><compiler angle='radian'/><worldbody><body>"
        "<joint type='ball' range='0 0.8' limited='true'/><geom size='.1'/></body></worldbody>"
        "</mujoco>"
    )
    shown.scene.data.qpos[:] = [np.cos(turn / 2), 0.0, np.sin(turn / 2), 0.0]
    shown.set(joint_limits=True)
    assert shown.picture.roles == {role}
