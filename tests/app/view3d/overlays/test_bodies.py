"""Mass, motion, servos, constraints, islands: geometry against MuJoCo's own numbers."""

import mujoco
import numpy as np
import pytest

from stroboscope.app.models.overlays import Amount, Role
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import FrameMode
from stroboscope.app.view3d.camera import StandardView
from stroboscope.app.view3d.overlays.glyphs import Shape
from stroboscope.app.view3d.overlays.mass import inertia_sizes, mass_glyphs, tree_centers
from stroboscope.debugger_protocol.edit_messages import Perturb, PerturbKind
from stroboscope.debugger_protocol.topics import Topic

ROBOT = """
<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81"/><worldbody>
 <body name="base" pos="0.1 0 1" euler="0.3 0.2 0.1"><freejoint/>
  <geom type="box" size=".1 .2 .3" mass="3"/>
  <body name="thigh" pos="0 .2 -.3" euler="0 0.4 0">
   <joint name="hip" axis="1 1 0" pos="0.02 0 0.01" ref="0.2"/>
   <joint name="lift" type="slide" axis="0 0 1"/>
   <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".05" mass="1"/>
   <body name="shin" pos="0 0 -.4"><joint name="knee" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .1 0 -.4" size=".04" mass=".5"/></body></body></body>
</worldbody><actuator>
 <position joint="hip" kp="10"/><position joint="knee" kp="10"/><position joint="lift" kp="10"/>
</actuator></mujoco>"""
LOOP = """
<mujoco><worldbody>
 <body name="a" pos="0 0 1"><joint type="hinge" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 .5 0 0" size=".03"/></body>
 <body name="b" pos="1 0 1"><joint type="hinge" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 -.5 0 0" size=".03"/></body>
</worldbody><equality><connect body1="a" body2="b" anchor=".5 0 0"/></equality></mujoco>"""


def _settled(shown, *, seed=3):
    """Put the robot into some pose with some speed."""
    model, data = shown.scene.model, shown.scene.data
    rng = np.random.default_rng(seed)
    qpos = rng.normal(size=model.nq) * 0.4
    qpos[3:7] /= np.linalg.norm(qpos[3:7])
    data.qpos[:], data.qvel[:] = qpos, rng.normal(size=model.nv)
    data.ctrl[:] = [0.7, -0.4, 0.15]


def test_centres_of_mass_and_their_trees_are_mujocos(engine_view):
    shown = engine_view(ROBOT)
    _settled(shown)
    shown.set(com=True, subtree_com=True)
    model = shown.scene.model
    data = mujoco.MjData(model)
    data.qpos[:] = shown.scene.data.qpos
    mujoco.mj_forward(model, data)
    subject = shown.picture.subject
    np.testing.assert_allclose(subject.centers_of_mass, data.xipos, atol=1e-9)
    roots, centers = tree_centers(subject.facts.bodies, subject.centers_of_mass)
    assert roots.tolist() == [1]
    np.testing.assert_allclose(centers[0], data.subtree_com[1], atol=1e-9)


def test_an_inertia_box_of_a_box_is_that_box(engine_view):
    shown = engine_view(ROBOT)
    bodies = shown.picture.subject.facts.bodies
    half = inertia_sizes(bodies, ellipsoids=False, water=False)
    # Principal axes are sorted by inertia: the longest side comes first or last.
    assert sorted(half[1]) == pytest.approx([0.1, 0.2, 0.3])
    water = inertia_sizes(bodies, ellipsoids=False, water=True)
    assert 8.0 * water[1].prod() * 1000.0 == pytest.approx(3.0)
    ellipsoid = inertia_sizes(bodies, ellipsoids=True, water=True)
    assert 4.0 / 3.0 * np.pi * ellipsoid[1].prod() * 1000.0 == pytest.approx(3.0)


@pytest.mark.parametrize(("ellipsoids", "edges"), [(False, 12), (True, 48)])
def test_inertias_are_outlined_at_their_size_and_nearly_clear(engine_view, ellipsoids, edges):
    shown = engine_view(ROBOT)
    shown.set(inertia=True, inertia_ellipsoids=ellipsoids)
    subject = shown.picture.subject
    outline, solid = mass_glyphs(subject)
    assert len(outline.texels) == 3 * edges
    assert outline.texels[0, 3, 3] > 0.8 > 0.2 > solid.texels[0, 3, 3]
    half = inertia_sizes(subject.facts.bodies, ellipsoids=ellipsoids, water=False)[1]
    away = np.linalg.norm(outline.texels[:edges, 0, :3] - subject.centers_of_mass[1], axis=1)
    assert away.max() == pytest.approx(half.max() if ellipsoids else np.linalg.norm(half))


def test_the_target_of_the_servos_is_where_mujoco_puts_the_bodies(engine_view):
    shown = engine_view(ROBOT)
    _settled(shown)
    shown.set(target_pose=True)
    model = shown.scene.model
    goal = mujoco.MjData(model)
    goal.qpos[:] = shown.scene.data.qpos
    for actuator, joint in ((0, "hip"), (1, "knee"), (2, "lift")):
        goal.qpos[model.joint(joint).qposadr[0]] = shown.scene.data.ctrl[actuator]
    mujoco.mj_forward(model, goal)
    target = shown.picture.target
    assert target.moved.tolist() == [False, False, True, True]
    np.testing.assert_allclose(target.pos, goal.xpos, atol=1e-9)
    np.testing.assert_allclose(target.mat.reshape(-1, 9), goal.xmat, atol=1e-9)


def test_velocities_are_arrows_and_rings_of_the_bodies_that_move(engine_view):
    shown = engine_view(ROBOT)
    _settled(shown)
    shown.set(velocities=True)
    velocity = shown.view._scene.value(Topic.STATE, "body_velocity")
    (arrows,) = shown.parts(Role.LINEAR_VELOCITY)
    metres = shown.picture.subject.sizes.metres_per(Amount.VELOCITY)
    assert arrows.index.tolist() == [1, 2, 3]
    np.testing.assert_allclose(
        arrows.texels[:, 1, :3], velocity[1:, :3] * metres, rtol=1e-4, atol=1e-6
    )
    (rings,) = shown.parts(Role.ANGULAR_VELOCITY)
    assert rings.shape is Shape.RING
    along = rings.texels[:, :3, 2].astype(np.float64)
    turning = velocity[1:, 3:]
    cross = np.cross(along, turning)
    assert np.linalg.norm(cross) < 1e-4 * np.linalg.norm(turning)
    assert (np.einsum("ni,ni->n", along, turning) > 0.0).all()


def test_an_opened_loop_shows_as_a_line_between_its_anchors(engine_view):
    shown = engine_view(LOOP)
    shown.scene.data.qpos[:] = [0.3, 0.0]
    shown.set(equalities=True)
    lines = [p for p in shown.parts(Role.CONSTRAINT) if p.shape is Shape.LINE]
    (line,) = lines
    start = line.texels[0, 0, :3].astype(np.float64)
    end = start + line.texels[0, 1, :3]
    found = sorted([start.tolist(), end.tolist()], key=lambda p: p[2])
    expected = [[0.5 * np.cos(0.3), 0.0, 1.0 - 0.5 * np.sin(0.3)], [0.5, 0.0, 1.0]]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_mouse_spring_runs_from_the_grabbed_point_to_the_mouse(engine_view):
    shown = engine_view(ROBOT)
    spring = Perturb(
        id=1, scene_id=1, body=1, kind=PerturbKind.FORCE, point=(0.0, 0.2, 0.3), pos=(1.0, 0.0, 1.5)
    )
    shown.view.set_perturbation(spring)
    (line,) = [p for p in shown.parts(Role.PERTURBATION) if p.shape is Shape.LINE]
    scene = shown.view._scene
    grabbed = scene.body_pos[1] + scene.body_mat[1] @ [0.0, 0.2, 0.3]
    np.testing.assert_allclose(line.texels[0, 0, :3], grabbed, atol=1e-6)
    np.testing.assert_allclose(line.texels[0, 0, :3] + line.texels[0, 1, :3], [1.0, 0.0, 1.5])
    shown.view.set_perturbation(None)
    assert not shown.parts(Role.PERTURBATION)


def test_axes_are_red_green_and_blue_along_x_y_and_z(engine_view):
    shown = engine_view(ROBOT)
    shown.set(frames=FrameMode.BODY)
    (part,) = shown.picture.parts
    assert len(part.texels) == 9
    scene = shown.view._scene
    lengths = np.linalg.norm(part.texels[:, 1, :3], axis=1)
    np.testing.assert_allclose(
        part.texels[:3, 1, :3] / lengths[:3, None], scene.body_mat[1].T, atol=1e-5
    )
    assert part.texels[:3, 3, :3].argmax(axis=1).tolist() == [0, 1, 2]
    assert part.index.tolist() == [1, 1, 1, 2, 2, 2, 3, 3, 3]


def test_connections_run_from_centre_over_joints_to_the_parents_centre(engine_view):
    shown = engine_view(ROBOT)
    facts = shown.picture.subject.facts
    count = 4
    # base: free joint; thigh: lift, then hip, then the base; shin: knee, then the thigh.
    assert facts.links.tolist() == [
        [1, count],
        [2, count + 2],
        [count + 2, count + 1],
        [count + 1, 1],
        [3, count + 3],
        [count + 3, 2],
    ]


def test_islands_and_sleep_colour_the_bodies(engine_view):
    shown = engine_view(LOOP)
    shown.set(islands=True, sleep=True)
    shown.view.set_values(
        Topic.BODIES,
        {"island": np.array([-1, 0, 1], np.int32), "awake": np.array([1, 1, 0], np.int32)},
    )
    tints = shown.picture.tints
    assert tints.shape == (2, 4)
    assert tints[0, 3] > 0.0
    np.testing.assert_allclose(tints[1, :3], Role.ASLEEP.value[:3], rtol=1e-6)
    shown.set()
    assert shown.picture.tints is None


def test_colours_of_islands_are_seen_on_the_bodies(engine_view, pixels):
    shown = engine_view(LOOP)
    before = pixels(shown.view)
    shown.set(islands=True)
    shown.view.set_values(Topic.BODIES, {"island": np.array([-1, 0, 1], np.int32)})
    after = pixels(shown.view)
    changed = np.abs(after - before).max(axis=2) > 0.1
    assert changed.sum() > 200
    left, right = after[:, :320][changed[:, :320]], after[:, 320:][changed[:, 320:]]
    assert np.abs(left.mean(axis=0) - right.mean(axis=0)).max() > 0.1
    shown.set()
    assert np.abs(pixels(shown.view) - before).max() < 0.05


def test_the_target_of_the_servos_is_drawn_as_a_ghost_and_goes_away(engine_view, pixels):
    shown = engine_view(ROBOT)
    before = pixels(shown.view)
    shown.scene.data.ctrl[:] = [1.2, -0.4, 0.3]
    shown.set(target_pose=True)
    blue = pixels(shown.view) - before
    assert (blue[..., 2] - blue[..., 0] > 0.08).sum() > 300
    shown.set()
    assert np.abs(pixels(shown.view) - before).max() < 0.05


def test_the_selection_shows_through_everything_when_asked_for(engine_view, pixels):
    shown = engine_view(
        "<mujoco><worldbody><geom type='box' size='.1 1 1' pos='1 0 1' rgba='.5 .5 .5 1'/>"
        "<body pos='-.5 0 1'><freejoint/><geom type='sphere' size='.4' rgba='0 1 0 1'/></body>"
        "</worldbody></mujoco>"
    )
    shown.view.standard_view(StandardView.FRONT)
    shown.view.set_selection(Element(ElementKind.BODY, 1))
    shown.set()
    middle = pixels(shown.view)[220:260, 300:340].mean(axis=(0, 1))
    assert abs(middle[1] - middle[0]) < 0.15
    shown.set(xray_selection=True)
    through = pixels(shown.view)[220:260, 300:340].mean(axis=(0, 1))
    assert through[1] - through[0] > 0.15
    shown.view.set_selection(None)
    again = pixels(shown.view)[220:260, 300:340].mean(axis=(0, 1))
    np.testing.assert_allclose(again, middle, atol=0.05)


def test_each_geom_has_a_colour_of_its_own_when_asked_for(engine_view, pixels):
    shown = engine_view(LOOP)
    before = pixels(shown.view)
    shown.set(segments=True)
    tints = shown.picture.tints
    assert len(tints) == len(shown.picture.subject.scene.items)
    assert len(np.unique(tints[:, :3], axis=0)) == len(tints)
    assert (np.abs(pixels(shown.view) - before).max(axis=2) > 0.1).sum() > 200
    # Islands are seen nevertheless.
    shown.set(segments=True, islands=True)
    shown.view.set_values(Topic.BODIES, {"island": np.array([-1, 0, -1], np.int32)})
    both = shown.picture.tints
    assert (both[:, 3] < 1.0).any()
    assert (both[:, 3] == 1.0).any()
    shown.set()
    assert np.abs(pixels(shown.view) - before).max() < 0.05
