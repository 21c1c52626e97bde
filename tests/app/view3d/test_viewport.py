"""What a person sees and does in the 3D view: real pixels, real mouse events."""

import dataclasses
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import (
    FloorStyle,
    FrameMode,
    LabelMode,
    Quality,
    ViewOptions,
)
from stroboscope.app.view3d.camera import CameraState, StandardView, ViewMode
from stroboscope.debugger_protocol.scene_description import (
    BodyInfo,
    CameraInfo,
    GeomInfo,
    GeomType,
    HeightFieldInfo,
    MeshInfo,
    SceneDescription,
    SiteInfo,
)
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.resources.themes import LIGHT

Read = Callable[..., Any]
BOX, BALL, CAPSULE = (-1.0, 0.0, 0.3), (0.0, 0.0, 0.3), (1.0, 0.0, 0.5)


def looking(**changes: Any) -> CameraState:
    """From the front and above, everything side by side: x to the right."""
    state = CameraState(lookat=(0.0, 0.0, 0.3), distance=5.0, azimuth=90.0, elevation=-18.0)
    return dataclasses.replace(state, **changes)


@pytest.fixture
def front(viewport: Any) -> Any:
    viewport.set_camera(looking())
    return viewport


def replace_options(viewport: Any, **changes: Any) -> None:
    viewport.options = dataclasses.replace(viewport.options, **changes)


def test_every_shape_wears_its_colour(front: Any, at: Read) -> None:
    for point, channel in ((BOX, 0), (BALL, 1), (CAPSULE, 2)):
        color = at(front, point)
        others = [c for i, c in enumerate(color) if i != channel]
        assert color[channel] > 0.35
        assert color[channel] > 1.8 * max(others)


def test_shapes_move_with_their_poses(front: Any, poses: Any, at: Read) -> None:
    assert at(front, BALL)[1] > 0.35
    xpos = poses[0].copy()
    xpos[2] = (0.0, 1.2, 0.3)
    front.set_poses(xpos, poses[1])
    assert at(front, (0.0, 1.2, 0.3))[1] > 0.35
    floor = at(front, (0.0, -1.0, 0.0))
    assert at(front, BALL) == pytest.approx(floor, abs=0.15)


def test_a_shadow_is_darker_than_the_floor_beside_it(
    front: Any, scene: SceneDescription, poses: Any, at: Read
) -> None:
    # One colour all over, so that only the light differs.
    plain = msgspec.structs.replace(scene.geoms[0], rgba=(0.6, 0.6, 0.61, 1.0))
    front.set_description(msgspec.structs.replace(scene, geoms=(plain, *scene.geoms[1:])), {})
    front.set_poses(*poses)
    front.set_camera(looking(elevation=-89.0))
    from stroboscope.app.view3d.light_rig import LightRig
    from stroboscope.resources.themes import DARK

    to_lamp = -LightRig.of(DARK).lamps[0].direction
    top_of_capsule = np.array([1.0, 0.0, 0.9])
    shadow = top_of_capsule - to_lamp * (top_of_capsule[2] / to_lamp[2])
    shaded, sunny = at(front, shadow), at(front, (1.7, -0.7, 0.0))
    assert shaded.mean() < 0.8 * sunny.mean()
    replace_options(front, shadows=False)
    assert at(front, shadow).mean() == pytest.approx(sunny.mean(), abs=0.05)


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


@pytest.mark.parametrize("quality", [Quality.LOW, Quality.HIGH])
def test_picking_returns_what_is_seen(front: Any, quality: Quality) -> None:
    replace_options(front, quality=quality)
    for index, point in ((1, BOX), (2, BALL), (3, CAPSULE), (0, (0.5, -1.0, 0.0))):
        x, y, _ = front.view().project(np.array(point), width=640, height=480)[0]
        hit = front.pick_at(x, y)
        assert hit is not None
        assert hit.element == Element(ElementKind.GEOM, index)
        origin, direction = front.view().ray(x, y, width=640, height=480)
        off = hit.point - origin
        assert np.linalg.norm(off - (off @ direction) * direction) < 0.02
    assert front.pick_at(320, 2) is None


@pytest.mark.parametrize("orthographic", [False, True])
def test_from_below_one_points_through_the_floor(front: Any, orthographic: bool) -> None:
    front.set_camera(looking(elevation=30.0, distance=4.0, orthographic=orthographic))
    x, y, _ = front.view().project(np.array(BALL), width=640, height=480)[0]
    hit = front.pick_at(x, y)
    assert hit is not None
    assert hit.element == Element(ElementKind.GEOM, 2)


def test_picking_works_in_an_orthographic_view_too(front: Any) -> None:
    front.set_camera(looking(orthographic=True, distance=0.2, fovy=170.0))
    x, y, _ = front.view().project(np.array(BALL), width=640, height=480)[0]
    hit = front.pick_at(x, y)
    assert hit is not None
    assert hit.element == Element(ElementKind.GEOM, 2)


def test_hidden_things_are_not_picked(front: Any, scene: SceneDescription, poses: Any) -> None:
    geoms = tuple(
        msgspec.structs.replace(g, group=4) if g.name == "ball" else g for g in scene.geoms
    )
    front.set_description(msgspec.structs.replace(scene, geoms=geoms), {})
    front.set_poses(*poses)
    x, y, _ = front.view().project(np.array(BALL), width=640, height=480)[0]
    hit = front.pick_at(x, y)
    assert hit is not None
    assert hit.element == Element(ElementKind.GEOM, 0)


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


def test_nothing_is_drawn_while_nothing_changes(front: Any, qapp: Any, wait_until: Read) -> None:
    from PySide6.QtTest import QTest

    # Where the processor draws, the picture may still be in the making.
    wait_until(lambda: front.stats.frames > 0 and not getattr(front._surface, "busy", False))
    QTest.qWait(100)
    frames = front.stats.frames
    QTest.qWait(400)
    assert front.stats.frames == frames
    front.set_selection(None)  # not a change
    front.set_stale(False)
    front.options = front.options
    front.set_camera(front.camera)
    QTest.qWait(100)
    assert front.stats.frames == frames


def test_on_software_gl_a_still_picture_is_refined_once(
    front: Any, wait_until: Read, pixels: Read
) -> None:
    from PySide6.QtTest import QTest

    from stroboscope.app.view3d.gl_canvas import gl_renderer_name, is_software

    if not is_software(gl_renderer_name()):
        pytest.skip("this machine's GL has multisampling at no cost")
    replace_options(front, quality=Quality.AUTO)
    wait_until(lambda: front._refined and not front._surface.busy)
    frames = front.stats.frames
    QTest.qWait(900)
    assert front.stats.frames == frames
    smooth = pixels(front)
    front.set_camera(looking(azimuth=90.01))
    rough = pixels(front)
    # Antialiasing leaves fewer jumps between neighbours.
    jumps = [(np.abs(np.diff(p, axis=1)).max(axis=2) > 0.25).sum() for p in (smooth, rough)]
    assert jumps[0] < jumps[1]


def test_a_scene_is_framed_when_its_first_poses_arrive(
    viewport: Any, scene: SceneDescription, poses: Any
) -> None:
    moved = poses[0] + [30.0, 0.0, 0.0]
    viewport.set_description(msgspec.structs.replace(scene, scene_id=2), {})
    viewport.set_poses(moved, poses[1])
    assert viewport.camera.lookat[0] == pytest.approx(30.0, abs=0.3)
    where = viewport.view().project(moved[1:], width=640, height=480)
    assert ((where[:, :2] > 0) & (where[:, :2] < [640, 480])).all()
    camera = viewport.camera
    viewport.set_poses(poses[0], poses[1])
    assert viewport.camera == camera


def test_what_hangs_above_its_floor_is_framed_with_the_floor_below(viewport: Any) -> None:
    ball = SceneDescription(
        scene_id=5,
        name="ball",
        bodies=(BodyInfo(name="world", parent=0), BodyInfo(name="ball", parent=0, mass=1.0)),
        geoms=(
            GeomInfo(name="floor", body=0, type=GeomType.PLANE, size=(2.0, 2.0, 0.1)),
            GeomInfo(name="ball", body=1, type=GeomType.SPHERE, size=(0.1, 0.0, 0.0)),
        ),
    )
    quat = np.tile([1.0, 0.0, 0.0, 0.0], (2, 1))
    viewport.set_description(ball, {})
    viewport.set_poses(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), quat)
    fallen = np.array([[0.0, 0.0, 1.1], [0.0, 0.0, 0.0], [0.1, 0.1, 0.0]])
    where = viewport.view().project(fallen, width=640, height=480)
    assert ((where[:, :2] > 0) & (where[:, :2] < [640, 480])).all()


def test_a_new_revision_keeps_camera_and_selection(
    front: Any, scene: SceneDescription, poses: Any, at: Read
) -> None:
    front.set_selection(Element(ElementKind.GEOM, 1))
    camera = front.camera
    geoms = tuple(
        msgspec.structs.replace(g, rgba=(0.9, 0.9, 0.1, 1.0)) if g.name == "ball" else g
        for g in scene.geoms
    )
    front.set_description(msgspec.structs.replace(scene, geoms=geoms, revision=1), {})
    front.set_poses(*poses)
    assert front.camera == camera
    color = at(front, BALL)
    assert color[0] > 0.35
    assert color[1] > 0.35


def test_dragging_and_the_wheel_move_the_camera(front: Any) -> None:
    from PySide6.QtCore import QPoint, QPointF, Qt
    from PySide6.QtGui import QWheelEvent
    from PySide6.QtTest import QTest
    from PySide6.QtWidgets import QApplication

    surface = front.focusProxy()
    seen: list[CameraState] = []
    front.camera_changed.connect(seen.append)

    def drag(button: Any, by: QPoint, modifier: Any = Qt.KeyboardModifier.NoModifier) -> None:
        QTest.mousePress(surface, button, modifier, QPoint(300, 200))
        # QTest's moves carry no button: send the event a real mouse would.
        from PySide6.QtCore import QEvent
        from PySide6.QtGui import QMouseEvent

        at = QPointF(QPoint(300, 200) + by)
        move = QMouseEvent(
            QEvent.Type.MouseMove, at, surface.mapToGlobal(at), button, button, modifier
        )
        QApplication.sendEvent(surface, move)
        QTest.mouseRelease(surface, button, modifier, QPoint(300, 200) + by)

    drag(Qt.MouseButton.LeftButton, QPoint(48, 48))
    assert front.camera.azimuth == pytest.approx(90.0 - 18.0)
    assert front.camera.elevation == pytest.approx(-18.0 - 18.0)
    drag(Qt.MouseButton.LeftButton, QPoint(0, 48), Qt.KeyboardModifier.ShiftModifier)
    assert front.camera.elevation == pytest.approx(-18.0 - 18.0)
    before = front.camera
    drag(Qt.MouseButton.RightButton, QPoint(0, 48))
    assert front.camera.lookat[2] > before.lookat[2]
    before = front.camera
    drag(Qt.MouseButton.RightButton, QPoint(0, 48), Qt.KeyboardModifier.ShiftModifier)
    assert front.camera.lookat[2] == before.lookat[2]
    assert front.camera.lookat[:2] != before.lookat[:2]
    before = front.camera
    drag(Qt.MouseButton.MiddleButton, QPoint(0, 30))
    assert front.camera.distance < before.distance
    before = front.camera
    wheel = QWheelEvent(
        QPointF(300, 200),
        surface.mapToGlobal(QPointF(300, 200)),
        QPoint(0, 0),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(surface, wheel)
    assert front.camera.distance < before.distance
    assert seen[-1] == front.camera


def test_double_clicks_select_look_at_and_track(front: Any) -> None:
    from PySide6.QtCore import QPoint, Qt
    from PySide6.QtTest import QTest

    surface = front.focusProxy()
    picked: list[Element | None] = []
    front.picked.connect(picked.append)

    def pixel(point: Any) -> QPoint:
        x, y, _ = front.view().project(np.array(point), width=640, height=480)[0]
        return QPoint(int(x), int(y))

    none = Qt.KeyboardModifier.NoModifier
    QTest.mouseDClick(surface, Qt.MouseButton.LeftButton, none, pixel(BALL))
    assert picked == [Element(ElementKind.GEOM, 2)]
    QTest.mouseDClick(surface, Qt.MouseButton.LeftButton, none, QPoint(320, 2))
    assert picked[-1] is None

    QTest.mouseDClick(surface, Qt.MouseButton.RightButton, none, pixel(BOX))
    assert np.linalg.norm(np.array(front.camera.lookat) - BOX) < 0.6
    assert front.camera.mode is ViewMode.FREE

    control = Qt.KeyboardModifier.ControlModifier
    QTest.mouseDClick(surface, Qt.MouseButton.RightButton, control, pixel(CAPSULE))
    assert front.camera.mode is ViewMode.TRACKING
    assert front.camera.tracked_body == 3


def test_a_tracking_camera_follows_its_body(front: Any, poses: Any) -> None:
    front.track_body(1)
    xpos = poses[0].copy()
    xpos[1] = (4.0, 5.0, 6.0)
    front.set_poses(xpos, poses[1])
    x, y, _ = front.view().project(xpos[1], width=640, height=480)[0]
    assert (x, y) == pytest.approx((320.0, 240.0))
    front.free_camera()
    assert front.camera.mode is ViewMode.FREE
    assert front.camera.lookat == pytest.approx((4.0, 5.0, 6.0))


def test_a_models_camera_sees_what_it_should(
    front: Any, scene: SceneDescription, poses: Any, at: Read
) -> None:
    # Rides on the box, two metres above it, and looks straight down.
    camera = CameraInfo(name="top", body=1, pos=(0.0, 0.0, 2.0), quat=(1.0, 0.0, 0.0, 0.0))
    front.set_description(msgspec.structs.replace(scene, cameras=(camera,)), {})
    front.set_poses(*poses)
    front.look_through(0)
    view = front.view()
    assert view.eye == pytest.approx([-1.0, 0.0, 2.3])
    assert view.forward == pytest.approx([0.0, 0.0, -1.0])
    assert at(front, BOX)[0] > 0.35


def test_standard_views_look_along_the_axes(viewport: Any) -> None:
    viewport.standard_view(StandardView.FRONT)
    assert viewport.view().forward == pytest.approx([-1.0, 0.0, 0.0], abs=1e-9)
    viewport.standard_view(StandardView.TOP)
    assert viewport.view().forward == pytest.approx([0.0, 0.0, -1.0], abs=1e-9)


def test_framing_the_selection_brings_it_close(front: Any) -> None:
    front.set_selection(Element(ElementKind.BODY, 3))
    front.frame_selection()
    assert front.camera.lookat == pytest.approx((1.0, 0.0, 0.5))
    assert front.camera.distance < 4.0


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


def test_the_picture_survives_a_move_into_another_window(
    qapp: Any, show: Read, front: Any, at: Read
) -> None:
    from PySide6.QtWidgets import QMainWindow

    contexts = front.stats.contexts
    window = QMainWindow()
    window.setCentralWidget(front)
    show(window, 640, 480)
    assert at(front, BALL)[1] > 0.35
    front.setParent(None)
    show(front, 640, 480)
    assert at(front, BOX)[0] > 0.35
    assert front.stats.contexts >= contexts


def test_two_viewports_draw_different_scenes(
    qapp: Any, show: Read, front: Any, scene: SceneDescription, poses: Any, at: Read
) -> None:
    from stroboscope.app.view3d.viewport import Viewport
    from stroboscope.resources.themes import DARK

    other = Viewport(DARK)
    geoms = tuple(
        msgspec.structs.replace(g, rgba=(0.1, 0.2, 0.9, 1.0)) if g.name == "ball" else g
        for g in scene.geoms
    )
    other.set_description(msgspec.structs.replace(scene, geoms=geoms), {})
    other.set_poses(*poses)
    other.set_camera(looking())
    show(other, 500, 400)
    for _ in range(2):
        assert at(other, BALL)[2] > 0.35
        assert at(front, BALL)[1] > 0.35


def test_no_scene_and_an_empty_scene_are_drawn_too(front: Any, pixels: Read, caplog: Any) -> None:
    with caplog.at_level(logging.WARNING):
        front.set_description(None, {})
        assert pixels(front).std() < 0.2
        front.set_description(SceneDescription(scene_id=9, name="empty"), {})
        front.set_poses(np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]))
        pixels(front)
    assert not caplog.records


def test_labels_name_the_bodies_in_the_picture(front: Any) -> None:
    from stroboscope.app.view3d.labels import labels_of

    replace_options(front, labels=LabelMode.BODY)
    labels, missing = labels_of(front._overlay_picture(), view=front.view(), size=(640.0, 480.0))
    assert {label.text for label in labels} == {"box", "ball", "capsule"}
    assert missing == 0
    ball = next(label for label in labels if label.text == "ball")
    x, y, _ = front.view().project(np.array(BALL), width=640, height=480)[0]
    assert (ball.x, ball.y) == pytest.approx((x, y))


def test_flying_needs_the_right_button(front: Any, wait_until: Read) -> None:
    from PySide6.QtCore import QPoint, Qt
    from PySide6.QtTest import QTest

    surface = front.focusProxy()
    surface.setFocus()
    start = front.camera
    QTest.keyPress(surface, Qt.Key.Key_W)
    QTest.keyRelease(surface, Qt.Key.Key_W)
    assert front.camera == start
    none = Qt.KeyboardModifier.NoModifier
    QTest.mousePress(surface, Qt.MouseButton.RightButton, none, QPoint(300, 200))
    QTest.keyPress(surface, Qt.Key.Key_W)
    forward = front.view().forward
    wait_until(lambda: np.dot(np.array(front.camera.lookat) - start.lookat, forward) > 0.05)
    QTest.keyRelease(surface, Qt.Key.Key_W)
    QTest.mouseRelease(surface, Qt.MouseButton.RightButton, none, QPoint(300, 200))
    assert front.camera.distance == start.distance


def test_poses_that_pour_in_are_drawn_at_the_set_rate(
    front: Any, poses: Any, wait_until: Read
) -> None:
    import time

    front.set_frame_limit(10.0)
    wait_until(lambda: front.stats.frames > 0)
    frames, updates = front.stats.frames, 0
    end = time.monotonic() + 0.8

    def pour() -> bool:
        nonlocal updates
        xpos = poses[0].copy()
        xpos[2, 2] += 0.001 * updates
        front.set_poses(xpos, poses[1])
        updates += 1
        return time.monotonic() > end

    wait_until(pour)
    drawn = front.stats.frames - frames
    assert 1 <= drawn <= 9
    assert updates > drawn
    # The last of them is drawn too, without another call.
    wait_until(lambda: not front._due_timer.isActive())
    last = front._scene.pose_revision
    wait_until(lambda: front._surface.drawing.renderer.buffers.pose_revision == last)


def test_a_new_revision_keeps_its_poses_until_others_come(
    front: Any, scene: SceneDescription, at: Read
) -> None:
    front.set_description(msgspec.structs.replace(scene, revision=1), {})
    assert at(front, BALL)[1] > 0.35


def test_what_moves_is_hidden_until_its_first_poses(front: Any, scene: SceneDescription) -> None:
    front.set_description(msgspec.structs.replace(scene, scene_id=5), {})
    assert front._scene.visible(front.options).tolist() == [True, False, False, False]


def test_a_selected_plane_is_tinted(front: Any, at: Read) -> None:
    before = at(front, (0.4, -0.9, 0.0))
    front.set_selection(Element(ElementKind.GEOM, 0))
    after = at(front, (0.4, -0.9, 0.0))
    assert after[0] - after[2] > before[0] - before[2] + 0.1


def test_damaged_assets_leave_the_rest_of_the_scene_drawn(
    front: Any, scene: SceneDescription, poses: Any, at: Read, caplog: Any
) -> None:
    broken = GeomInfo(name="m", body=0, type=GeomType.MESH, size=(1.0, 1.0, 1.0), mesh=0)
    field = GeomInfo(name="h", body=0, type=GeomType.HFIELD, size=(0.0, 0.0, 0.0), hfield=0)
    description = msgspec.structs.replace(
        scene,
        scene_id=3,
        geoms=(*scene.geoms, broken, field),
        meshes=(MeshInfo(name="m", digest="m", nvert=4, nface=4),),
        hfields=(HeightFieldInfo(name="h", digest="h", nrow=5, ncol=5, size=(1.0, 1.0, 1.0, 0.1)),),
    )
    front.set_description(description, {"h": {"data": np.zeros(7, dtype=np.float32)}})
    front.set_poses(*poses)
    front.set_camera(looking())
    front.set_asset("m", {"faces": np.zeros((1, 3), dtype=np.int32)})
    with caplog.at_level(logging.WARNING):
        assert at(front, BALL)[1] > 0.35
    assert "damaged" in caplog.text
    assert "25" in caplog.text or "5 × 5" in caplog.text


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


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads have no niceness here")
def test_threads_that_draw_for_want_of_a_graphics_card_step_back(viewport: Any) -> None:
    if not viewport.on_software:
        pytest.skip("a graphics card draws here")
    drawing = [
        int(task.name)
        for task in Path("/proc/self/task").iterdir()
        if (task / "comm").read_text().startswith("llvmpipe")
    ]
    own = os.getpriority(os.PRIO_PROCESS, 0)
    for thread in drawing:
        assert os.getpriority(os.PRIO_PROCESS, thread) > own
