"""Both ways to a picture: in threads of the processor beside the event loop, or by a card."""

import dataclasses
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import Quality, ViewOptions
from stroboscope.app.view3d.camera import CameraState
from stroboscope.app.view3d.software_surface import SCALES, MovingScale
from stroboscope.resources.themes import DARK

Read = Callable[..., Any]
REFINE_SOON_MS = 150
BALL, CAPSULE = (0.0, 0.0, 0.3), (1.0, 0.0, 0.5)
FRONT = CameraState(lookat=(0.0, 0.0, 0.3), distance=5.0, azimuth=90.0, elevation=-18.0)


@pytest.fixture
def played(viewport: Any) -> Any:
    """The three shapes as they are when the processor draws and nobody chose a quality."""
    if not viewport.on_software:
        pytest.skip("a graphics card draws here")
    # Soon, for most of these wait for the fine picture; its time has a test in test_viewport.
    viewport._refine_timer.setInterval(REFINE_SOON_MS)
    viewport.options = ViewOptions(triad=False)
    viewport.set_camera(FRONT)
    return viewport


@pytest.fixture
def on_card(qapp: Any, monkeypatch: pytest.MonkeyPatch, show: Read, scene: Any, poses: Any) -> Any:
    """A viewport that takes this machine's OpenGL for a graphics card's."""
    from stroboscope.app.view3d.viewport import Viewport

    monkeypatch.setattr(Viewport, "on_software", property(lambda _self: False))
    view = Viewport(DARK)
    view.options = ViewOptions(quality=Quality.LOW, triad=False)
    view.set_description(scene, {})
    view.set_poses(*poses)
    view.set_camera(FRONT)
    show(view, 640, 480)
    return view


def test_a_moving_picture_is_coarse_and_a_standing_one_is_not(
    played: Any, poses: Any, wait_until: Read
) -> None:
    surface = played.focusProxy()
    wait_until(lambda: played._refined and not played.focusProxy().busy)
    assert (surface._image.width(), surface._image.height()) == (640, 480)
    xpos = poses[0].copy()
    xpos[2, 2] += 0.01
    frames = played.stats.frames
    played.set_poses(xpos, poses[1])
    wait_until(lambda: played.stats.frames > frames)
    assert played.stats.scale in SCALES[:-1]
    assert surface._image.width() == round(640 * played.stats.scale)
    wait_until(lambda: played._refined and not played.focusProxy().busy)
    assert surface._image.width() == 640


def test_a_chosen_quality_is_kept_while_things_move(
    played: Any, poses: Any, wait_until: Read
) -> None:
    from PySide6.QtTest import QTest

    wait_until(lambda: played._refined and not played.focusProxy().busy)
    played.set_camera(dataclasses.replace(FRONT, azimuth=89.0))  # to be drawn well in a moment
    played.options = ViewOptions(quality=Quality.LOW)
    frames = played.stats.frames
    wait_until(lambda: played.stats.frames > frames and not played.focusProxy().busy)
    assert played.stats.scale == 1.0
    frames = played.stats.frames
    QTest.qWait(2 * REFINE_SOON_MS)
    assert played.stats.frames == frames
    assert not played._refined


def test_what_is_painted_is_what_was_drawn_coarse_or_not(played: Any, wait_until: Read) -> None:
    surface = played.focusProxy()
    for coarse in (True, False):
        if coarse:
            played.set_camera(dataclasses.replace(FRONT, azimuth=90.5))
            wait_until(lambda: played.stats.scale < 1.0)
        else:
            wait_until(lambda: played._refined and not played.focusProxy().busy)
        x, y, _ = played.view().project(np.array(BALL), width=640, height=480)[0]
        color = surface.grab().toImage().pixelColor(round(x), round(y))
        assert color.greenF() > 0.35
        assert color.greenF() > 1.8 * max(color.redF(), color.blueF())
        # Nothing of the picture is cut off or upside down: the sky is up, the floor is not.
        image = surface.grab().toImage()
        assert image.pixelColor(5, 5) != image.pixelColor(5, 470)


def test_picking_and_screenshots_do_not_know_of_coarse_pictures(
    played: Any, wait_until: Read
) -> None:
    wait_until(lambda: played.stats.frames > 0 and not played.focusProxy().busy)
    played.set_camera(dataclasses.replace(FRONT, azimuth=89.5))
    for index, point in ((2, BALL), (3, CAPSULE)):
        x, y, _ = played.view().project(np.array(point), width=640, height=480)[0]
        hit = played.pick_at(x, y)
        assert hit is not None
        assert hit.element == Element(ElementKind.GEOM, index)
    assert played.grab_image().width() == 640


def test_a_picture_of_the_window_shows_the_present_state(
    played: Any, poses: Any, wait_until: Read
) -> None:
    wait_until(lambda: played._refined and not played.focusProxy().busy)
    xpos = poses[0].copy()
    xpos[2] = (0.0, 1.2, 0.3)  # the ball steps back
    played.set_poses(xpos, poses[1])
    played.draw_now()
    x, y, _ = played.view().project(xpos[2], width=640, height=480)[0]
    color = played.grab().toImage().pixelColor(round(x), round(y))
    assert color.greenF() > 1.8 * max(color.redF(), color.blueF())
    assert played.focusProxy()._image.width() == 640


def test_a_dense_screen_gets_all_of_its_pixels(played: Any, wait_until: Read) -> None:
    surface = played.focusProxy()
    for widget in (played, surface):
        widget.devicePixelRatioF = lambda: 1.5
    played.set_camera(dataclasses.replace(FRONT, azimuth=89.0))
    wait_until(lambda: played._refined and not played.focusProxy().busy)
    wait_until(lambda: surface._image.width() == 960)
    assert surface._image.height() == 720
    x, y, _ = played.view().project(np.array(BALL), width=640, height=480)[0]
    hit = played.pick_at(x, y)
    assert hit is not None
    assert hit.element == Element(ElementKind.GEOM, 2)


def test_what_people_do_comes_before_the_picture(qapp: Any, played: Any, wait_until: Read) -> None:
    from PySide6.QtCore import QCoreApplication, QEvent, QObject

    happened: list[str] = []

    class Person(QObject):
        def event(self, event: QEvent) -> bool:
            if event.type() is QEvent.Type.User:
                happened.append("click")
            return super().event(event)

    person = Person()
    wait_until(lambda: played._refined and not played.focusProxy().busy)
    surface = played.focusProxy()
    surface.started.connect(lambda: happened.append("begun"))
    surface.drawn.connect(lambda: happened.append("drawn"))
    played.set_camera(dataclasses.replace(FRONT, azimuth=89.0))
    QCoreApplication.postEvent(person, QEvent(QEvent.Type.User))
    wait_until(lambda: "begun" in happened)
    # The picture is in the making: whoever clicks now doesn't wait for its end either.
    if "drawn" not in happened:
        QCoreApplication.postEvent(person, QEvent(QEvent.Type.User))
    wait_until(lambda: "drawn" in happened)
    assert happened[0] == "click"
    assert happened.index("begun") < happened.index("drawn")


def test_wishes_during_one_picture_lead_to_one_more(
    qapp: Any, played: Any, poses: Any, wait_until: Read
) -> None:
    played.options = ViewOptions(quality=Quality.LOW)
    surface = played.focusProxy()
    wait_until(lambda: played.stats.frames > 0 and not surface.busy)
    frames, azimuth = played.stats.frames, 80.0

    def ask() -> None:
        nonlocal azimuth
        azimuth += 1.0
        played.set_camera(dataclasses.replace(FRONT, azimuth=azimuth))

    ask()
    wait_until(lambda: surface._begun is not None or played.stats.frames > frames)
    for _ in range(5):
        ask()
    wait_until(lambda: not surface.busy)
    assert played.stats.frames - frames == 2


def test_another_scene_may_come_while_a_picture_is_in_the_making(
    played: Any, scene: Any, poses: Any, wait_until: Read
) -> None:
    surface = played.focusProxy()

    def blue() -> float:
        x, y, _ = played.view().project(np.array(CAPSULE), width=640, height=480)[0]
        return float(surface.grab().toImage().pixelColor(round(x), round(y)).blueF())

    wait_until(lambda: played._refined and not surface.busy)
    assert blue() > 0.4
    played.set_selection(Element(ElementKind.GEOM, 3))
    xpos = poses[0].copy()
    xpos[2, 2] += 0.01
    played.set_poses(xpos, poses[1])
    surface._begin()  # as its timer does; the shadow map is being drawn now
    assert surface._begun is not None
    assert surface._begun.target is None
    smaller = msgspec.structs.replace(
        scene, scene_id=7, name="less", bodies=scene.bodies[:3], geoms=scene.geoms[:3]
    )
    played.set_description(smaller, {})
    played.set_poses(poses[0][:3], poses[1][:3])
    played.set_camera(FRONT)
    wait_until(lambda: played._refined and not surface.busy)
    assert not surface.drawing.error
    assert blue() < 0.35  # the sky, no capsule any more


def test_poses_that_come_while_a_picture_is_in_the_making_are_drawn_after_it(
    viewport: Any, poses: Any, wait_until: Read
) -> None:
    if not viewport.on_software:
        pytest.skip("a graphics card draws here")
    surface = viewport.focusProxy()
    viewport.set_frame_limit(5.0)
    wait_until(lambda: viewport.stats.frames > 0 and not surface.busy)
    xpos = poses[0].copy()
    xpos[2, 2] += 0.01
    viewport._scene.set_poses(xpos, poses[1])
    surface._begin()  # as its timer does
    xpos[2, 2] += 0.01
    viewport.set_poses(xpos, poses[1])
    assert surface.busy
    last = viewport._scene.pose_revision
    wait_until(lambda: surface.drawing.renderer.buffers.pose_revision == last)


def test_the_shadow_of_a_coarse_picture_lies_where_that_of_a_fine_one_does(
    played: Any, poses: Any, wait_until: Read
) -> None:
    from stroboscope.app.view3d.light_rig import LightRig

    surface = played.focusProxy()
    to_lamp = -LightRig.of(DARK).lamps[0].direction
    shadow = np.array(BALL) - to_lamp * (BALL[2] / to_lamp[2])
    played.set_camera(dataclasses.replace(FRONT, elevation=-89.0))

    def darkness() -> float:
        x, y, _ = played.view().project(shadow, width=640, height=480)[0]
        at = surface.grab().toImage().pixelColor(round(x), round(y))
        return at.lightnessF()

    wait_until(lambda: played.stats.scale < 1.0)
    coarse = darkness()
    wait_until(lambda: played._refined and not surface.busy)
    assert coarse == pytest.approx(darkness(), abs=0.03)


def test_moving_pictures_find_a_resolution_and_stay_with_it() -> None:
    for cost, expected in ((0.2, 0.5), (0.05, 0.71), (0.005, 1.0)):
        scale, seen = MovingScale(), []
        for _ in range(40):
            seen.append(scale.value)
            scale.note(0.004 + cost * scale.value**2)
        assert seen[-1] == expected
        assert set(seen[-20:]) == {expected}


def test_a_card_draws_and_picks_into_its_own_widget(on_card: Any, at: Read) -> None:
    from stroboscope.app.view3d.gl_surface import GlSurface

    assert isinstance(on_card.focusProxy(), GlSurface)
    assert at(on_card, BALL)[1] > 0.35
    x, y, _ = on_card.view().project(np.array(BALL), width=640, height=480)[0]
    hit = on_card.pick_at(x, y)
    assert hit is not None
    assert hit.element == Element(ElementKind.GEOM, 2)


def test_a_cards_picture_survives_a_move_into_another_window(
    show: Read, on_card: Any, at: Read
) -> None:
    from PySide6.QtWidgets import QMainWindow

    window = QMainWindow()
    window.setCentralWidget(on_card)
    show(window, 640, 480)
    assert at(on_card, BALL)[1] > 0.35
    on_card.setParent(None)
    show(on_card, 640, 480)
    assert at(on_card, BALL)[1] > 0.35


def test_the_mouse_turns_a_cards_picture(on_card: Any) -> None:
    from PySide6.QtCore import QPoint, Qt
    from PySide6.QtTest import QTest

    picked: list[Any] = []
    on_card.picked.connect(picked.append)
    x, y, _ = on_card.view().project(np.array(BALL), width=640, height=480)[0]
    QTest.mouseDClick(
        on_card.focusProxy(),
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
        QPoint(round(x), round(y)),
    )
    assert picked == [Element(ElementKind.GEOM, 2)]


def test_a_closed_view_gives_its_opengl_objects_back_and_draws_again_when_shown(
    viewport: Any, pixels: Read
) -> None:
    before = pixels(viewport)
    surface = viewport.focusProxy()
    parser = surface.drawing.renderer._canvas.context.shared.parser
    assert parser._objects
    viewport.close()
    if viewport.on_software:
        assert surface.drawing.renderer is None
        assert not parser._objects
    viewport.show()
    assert np.abs(pixels(viewport) - before).mean() < 0.01
