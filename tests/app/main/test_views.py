"""Up to four views of a scene: own cameras, one of them active, remembered."""

from pathlib import Path

import numpy as np
import pytest
from event_loop import trigger
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from stroboscope.app.main.application import DesktopApplication
from stroboscope.app.main.view_grid import Arrangement
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.settings import SettingsStore
from stroboscope.app.view3d.camera import ViewMode
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco")

WORKSHOP = Path(__file__).with_name("workshop_process.py")
CONTROL_ALT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


@pytest.fixture
def workshop(desktop, run_script, wait_until):
    """The window on the paused workshop."""
    run_script(WORKSHOP.read_text())
    wait_until(lambda: desktop.sessions.shown.latest(Topic.POSE) is not None)
    wait_until(lambda: desktop.window.scene_view.drawn_scene is not None)
    desktop.window.scene_view.viewport.setFocus()
    return desktop.window


@pytest.fixture
def four(workshop, wait_until):
    """The workshop from four sides, by the key."""
    QTest.keyClick(workshop, Qt.Key.Key_4, CONTROL_ALT)
    wait_until(lambda: len(workshop.scene_view.grid.views) == 4)
    views = workshop.scene_view.grid.views
    wait_until(lambda: all(view.stats.frames > 0 for view in views))
    wait_until(lambda: not workshop.scene_view.cover.isVisible())
    return workshop


def accent_around(window, view) -> bool:
    """Whether the line around a view is the accent colour, on the screen."""
    window.scene_view.viewport.draw_now()
    image = window.scene_view.grab().toImage()
    ratio = image.devicePixelRatio()
    x = round((view.x() - 1) * ratio)
    y = round((view.y() + view.height() / 2) * ratio)
    return image.pixelColor(x, y).name() == window.palette_tokens.accent.lower()


def click_in(view):
    QTest.mouseClick(
        view.focusProxy(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier,
        view.focusProxy().rect().center(),
    )  # fmt: skip


def test_views_share_the_place_and_show_other_sides(workshop, wait_until):
    grid = workshop.scene_view.grid
    for key, arrangement in (
        (Qt.Key.Key_2, Arrangement.SIDE_BY_SIDE),
        (Qt.Key.Key_3, Arrangement.STACKED),
        (Qt.Key.Key_4, Arrangement.FOUR),
    ):
        QTest.keyClick(workshop, key, CONTROL_ALT)
        columns, rows = arrangement.shape
        wait_until(lambda count=columns * rows: len(grid.views) == count)
        assert workshop.actions_by_name[f"views_{arrangement.name.lower()}"].isChecked()
        wait_until(lambda: all(view.stats.frames > 0 for view in grid.views))
        for view in grid.views:
            assert abs(view.width() - grid.width() / columns) <= 5
            assert abs(view.height() - grid.height() / rows) <= 5
            assert grid.rect().contains(view.geometry())
        sides = {(view.camera.azimuth, view.camera.elevation) for view in grid.views}
        assert len(sides) == len(grid.views)
        QTest.keyClick(workshop, Qt.Key.Key_1, CONTROL_ALT)
        wait_until(lambda: grid.views == [grid.leader])
        wait_until(lambda: grid.leader.size() == grid.size())


def test_keys_and_menus_act_on_the_view_that_was_clicked_and_what_is_drawn_is_drawn_in_all(
    four, wait_until
):
    grid, shown, selection = four.scene_view.grid, four.sessions.shown, four.sessions.selection
    cameras = [view.camera for view in grid.views]
    click_in(grid.views[2])
    assert grid.active is grid.views[2]
    assert accent_around(four, grid.views[2])
    assert not accent_around(four, grid.views[1])
    QTest.keyClick(four, Qt.Key.Key_O)
    wait_until(lambda: grid.views[2].camera.orthographic)
    assert four.actions_by_name["orthographic"].isChecked()
    for index in (0, 1, 3):
        assert grid.views[index].camera == cameras[index]
    QTest.keyClick(four, Qt.Key.Key_Tab, Qt.KeyboardModifier.ControlModifier)
    wait_until(lambda: grid.active is grid.views[3])
    assert not four.actions_by_name["orthographic"].isChecked()
    # A double click in any view selects for all.
    view = grid.views[3]
    selection.select(None)
    crate = np.array([1.0, 0.0, 0.0])
    width, height = view.width(), view.height()
    x, y, _ = view.view().project(crate, width=width, height=height)[0]
    surface = view.focusProxy()
    point = surface.rect().topLeft()
    point.setX(round(x))
    point.setY(round(y))
    QTest.mouseDClick(
        surface, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, point
    )  # fmt: skip
    wait_until(lambda: selection.element is not None)
    assert selection.element.kind in (ElementKind.GEOM, ElementKind.BODY)
    assert all(each._selection == selection.element for each in grid.views)
    # What is drawn is drawn in all views, and asked for once.
    click_in(grid.leader)
    QTest.keyClick(four, Qt.Key.Key_C)
    wait_until(lambda: all(view.options.contacts for view in grid.views))
    wait_until(lambda: shown.latest(Topic.CONTACTS) is not None)
    assert [who for who in shown._wanted if "view" in who] == ["3d view"]
    # The active view has the legend, and lengths mean the same in all.
    wait_until(lambda: grid.leader._legend.isVisible())
    click_in(grid.views[3])
    wait_until(lambda: grid.views[3]._legend.isVisible() and not grid.leader._legend.isVisible())
    assert len({view._scene_extent() for view in grid.views}) == 1
    # All views move with the scene.
    trigger(four.actions_by_name["play"])
    frames = [view.stats.frames for view in grid.views]
    wait_until(
        lambda: all(
            view.stats.frames > before + 2 for view, before in zip(grid.views, frames, strict=True)
        )
    )
    trigger(four.actions_by_name["play"])


def test_views_and_their_cameras_come_back_and_tracking_in_one_leaves_the_others_alone(
    four, own_folders, wait_until
):
    grid = four.scene_view.grid
    chosen = grid.views[1].camera
    grid.views[1].set_camera(
        type(chosen)(lookat=(0.1, 0.2, 0.3), distance=3.0, azimuth=12.0, elevation=-34.0)
    )
    trigger(four.actions_by_name["views_one"])
    trigger(four.actions_by_name["views_side_by_side"])
    assert grid.views[1].camera.azimuth == 12.0
    path = own_folders / "config" / "settings.json"

    def kept():
        settings = SettingsStore(path).load()
        cameras = [memory.other_cameras.get("Workshop") for memory in settings.scripts.values()]
        return settings.views == "side by side" and any(
            each and each[0]["azimuth"] == 12.0 for each in cameras
        )

    wait_until(kept)
    # Tracking in one view leaves the others alone.
    trigger(four.actions_by_name["views_four"])
    wait_until(lambda: len(grid.views) == 4)
    four.sessions.selection.select(Element(ElementKind.BODY, 2))
    click_in(grid.views[1])
    trigger(four.actions_by_name["track"])
    modes = [view.camera.mode for view in grid.views]
    assert modes == [ViewMode.FREE, ViewMode.TRACKING, ViewMode.FREE, ViewMode.FREE]
    # With one view there is the first.
    trigger(four.actions_by_name["views_one"])
    assert four.scene_view.viewport is grid.leader


def test_the_window_opens_with_the_views_of_before(qapp, own_folders, wait_until):
    path = own_folders / "config" / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"version": 1, "views": "stacked"}')
    desktop = DesktopApplication(qapp, settings_path=path)
    desktop.window.show()
    assert len(desktop.window.scene_view.grid.views) == 2
    assert desktop.window.actions_by_name["views_stacked"].isChecked()
    desktop.window.close()
    desktop.close()
    desktop.window.deleteLater()
