"""The environments of a scene: one is looked at, many are drawn side by side."""

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from stroboscope.app.main.ghost_feed import environment_offsets
from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol.topics import Topic

HERD = Path(__file__).with_name("herd_process.py")


@pytest.fixture
def herd(desktop, pendulums, wait_until):
    """The shown scene of a hundred environments, of which 3 and 40 have failed."""
    desktop.sessions.open(pendulums(script=HERD).path)
    wait_until(lambda: desktop.sessions.shown and desktop.sessions.shown.description)
    desktop.window.resize(1280, 900)
    scene = desktop.sessions.shown
    wait_until(lambda: scene.environments.count == 100)
    wait_until(lambda: scene.session.has_control)
    wait_until(lambda: scene.latest(Topic.POSE) is not None)
    return scene


def _height(scene):
    frame = scene.latest(Topic.POSE)
    return float(frame.arrays["xpos"][1, 2]) if frame is not None else np.nan


def test_another_environment_is_chosen_by_number_by_arrows_and_by_failure(
    desktop, herd, wait_until, click
):
    bar, scene = desktop.window.travel.environments, herd
    wait_until(bar.isVisible)
    assert bar.total.text() == "of 100"
    assert bar.failed.text() == "2 failed"
    start = _height(scene)
    bar.number.setFocus()
    bar.number.selectAll()
    QTest.keyClicks(bar.number, "12")
    QTest.keyClick(bar.number, Qt.Key.Key_Return)
    wait_until(lambda: scene.environments.told.selected == 12)
    wait_until(lambda: _height(scene) == pytest.approx(start + 0.12))
    click(bar.next)
    wait_until(lambda: scene.environments.told.selected == 13)
    click(bar.failed)
    wait_until(lambda: scene.environments.told.selected == 40)
    click(bar.failed)
    wait_until(lambda: scene.environments.told.selected == 3)
    desktop.window.scene_view.viewport.setFocus()
    QTest.keyClick(desktop.window, Qt.Key.Key_PageUp, Qt.KeyboardModifier.AltModifier)
    wait_until(lambda: scene.environments.told.selected == 2)


def test_a_grid_draws_neighbours_and_the_one_that_is_looked_at_stays_in_place(
    desktop, herd, wait_until
):
    window, scene = desktop.window, herd
    bar = window.travel.environments
    wait_until(bar.isVisible)
    camera = window.scene_view.viewport.camera
    bar.grid.setCurrentIndex(bar.grid.findData(9))
    bar.grid.activated.emit(bar.grid.currentIndex())
    wait_until(lambda: scene.environments.shown == tuple(range(9)))
    drawn = window.scene_view.viewport._scene
    wait_until(lambda: len(drawn.others) == 8)
    # All of the grid is in the picture, and the view is from the same side.
    view = window.scene_view.viewport
    wait_until(lambda: view.camera.distance > 1.2 * camera.distance)
    assert (view.camera.azimuth, view.camera.elevation) == (camera.azimuth, camera.elevation)
    places = np.stack([drawn.item_pos[0], *(other.pos[0] for other in drawn.others)])
    x, y, _ = view.view().project(places, width=view.width(), height=view.height()).T
    assert (x > 0.0).all()
    assert (x < view.width()).all()
    assert (y > 0.0).all()
    assert (y < view.height()).all()
    places = np.array([other.pos[0, :2] for other in drawn.others])
    assert len({tuple(np.round(place, 6)) for place in places}) == 8
    scene.environments.select(4)
    wait_until(lambda: scene.environments.told.selected == 4)
    assert scene.environments.shown == tuple(range(9))
    scene.environments.select(90)
    wait_until(lambda: 90 in scene.environments.shown)
    scene.environments.show_grid(64, only_failed=True)
    wait_until(lambda: set(scene.environments.shown) == {90, 3, 40})
    wait_until(lambda: len(drawn.others) == 2)
    scene.environments.show_grid(1)
    wait_until(lambda: not drawn.others)


def test_the_choice_of_a_grid_says_what_a_terminal_has_chosen(desktop, herd, wait_until):
    scene, grid = herd, desktop.window.travel.environments.grid
    wait_until(grid.isVisible)

    def says():
        # What is drawn of a combo box: the current text, or the placeholder where there is none.
        return grid.currentText() if grid.currentIndex() >= 0 else grid.placeholderText()

    def choose(*words):
        assert ctl.main(["--session", str(scene.session.info.pid), "environments", *words]) == 0

    wait_until(lambda: says() == "one")
    choose("5", "--shown", "1", "2", "3")
    wait_until(lambda: scene.environments.shown == (1, 2, 3))
    wait_until(lambda: says() == "3 side by side")
    assert grid.toolTip().endswith("now: 1, 2, 3.")
    choose("5", "--shown", "1", "2", "3", "7")
    wait_until(lambda: scene.environments.shown == (1, 2, 3, 7))
    wait_until(lambda: says() == "4 side by side")
    scene.environments.show_grid(64, only_failed=True)
    wait_until(lambda: says() == "those that failed")
    wait_until(lambda: scene.environments.shown == (5, 3, 40))
    wait_until(lambda: says() == "those that failed")
    choose("5", "--shown", "1", "2")
    wait_until(lambda: scene.environments.shown == (1, 2))
    wait_until(lambda: says() == "2 side by side")
    scene.environments.show_grid(9)
    wait_until(lambda: says() == "9 side by side")
    wait_until(lambda: len(scene.environments.shown) == 9)
    wait_until(lambda: says() == "9 side by side")


def test_a_grid_stays_when_a_terminal_looks_at_another_environment(desktop, herd, wait_until):
    scene, grid = herd, desktop.window.travel.environments.grid
    wait_until(grid.isVisible)
    told = []
    scene.environments.changed.connect(lambda: told.append(scene.environments.shown))
    scene.environments.show_grid(9)
    wait_until(lambda: scene.environments.shown == tuple(range(9)))

    def look_at(number):
        pid = str(scene.session.info.pid)
        assert ctl.main(["--session", pid, "environments", str(number)]) == 0
        wait_until(lambda: scene.environments.told.selected == number)
        wait_until(lambda: not scene.session.pending)

    told.clear()
    for number in (7, 7, 2):
        look_at(number)
        assert scene.environments.shown == tuple(range(9))
    look_at(50)
    assert scene.environments.shown == tuple(range(46, 55))
    # The grid was never drawn with fewer, not even for a moment.
    assert {len(shown) for shown in told} == {9}
    assert grid.currentText() == "9 side by side"


def test_offsets_put_the_selected_one_at_the_origin_and_leave_room():
    offsets = environment_offsets((5, 6, 7, 8), 7, spacing=2.0)
    assert offsets[2].tolist() == [0.0, 0.0, 0.0]
    distances = np.linalg.norm(offsets[:, None] - offsets[None], axis=2)
    assert distances[~np.eye(4, dtype=bool)].min() == 2.0
