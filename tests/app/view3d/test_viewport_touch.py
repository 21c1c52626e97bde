"""What a person does in the 3D view: pointing, dragging, looking from elsewhere."""

from typing import Any

import msgspec
import numpy as np
import pytest
from front_view import BALL, BOX, CAPSULE, Read, looking, replace_options

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import (
    Quality,
)
from stroboscope.app.view3d.camera import CameraState, StandardView, ViewMode
from stroboscope.debugger_protocol.scene_description import (
    CameraInfo,
    SceneDescription,
)


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
