"""The environments of a grid in a real window: which is which, and one is chosen by the mouse."""

import dataclasses

import numpy as np
import pytest
from event_loop import trigger
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from samples import few
from view_pixels import image_pixels, view_pixels

from stroboscope.app.main.view_grid import Arrangement
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.session_finder import find_sessions
from stroboscope.app.view3d.environment_numbers import numbers_of
from stroboscope.app.view3d.still import Still
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco.batch")

SCRIPT = """
import numpy as np
import stroboscope.engine as physics

CART = '''<mujoco><option timestep=".005"/><worldbody><geom type="plane" size="0 0 .1"/>
<body name="cart" pos="0 0 .1"><joint name="rail" type="slide" axis="1 0 0"/>
<geom type="box" size=".15 .1 .06"/><body name="pole">
<joint name="pole" type="hinge" axis="0 1 0"/>
<geom type="capsule" size=".03" fromto="0 0 0 0 0 .6"/></body></body></worldbody>
<actuator><motor name="push" joint="rail" ctrlrange="-5 5"/></actuator></mujoco>'''
scene = physics.create_scene("Carts", model=CART, n_envs=64)
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        if scene.total_steps == 5:
            scene.qvel[[2, 6], 1] = np.nan
        scene.step()
"""
POLE = Element(ElementKind.GEOM, 2)


@pytest.fixture
def carts(desktop, run_script, wait_until):
    """The shown scene of 64 carts, paused before its first step."""
    run_script(SCRIPT)
    desktop.window.resize(1280, 800)
    scene = desktop.sessions.shown
    wait_until(lambda: scene.environments.count == 64)
    wait_until(lambda: scene.session.has_control)
    wait_until(lambda: scene.latest(Topic.POSE) is not None)
    return scene


@pytest.fixture
def show(desktop, carts, wait_until):
    """``show(16)``: draw so many, and wait until they are on the screen; the view."""

    def show(size):
        carts.environments.show_grid(size)
        view = desktop.window.scene_view.viewport
        wait_until(lambda: len(view._scene.others) == size - 1)
        if size > 1:
            wait_until(lambda: len(view._scene.environments.numbers) == size)
        view.draw_now()
        wait_until(lambda: bool(written(view)) == (size > 1))
        return view

    return show


def written(view):
    """The numbers that are on the screen."""
    return view._overlay.numbers.shown


def pixels_of_poles(view):
    """Where the middle of each environment's pole is in the picture, by number."""
    grid = view._scene.environments
    found = {}
    for number, offset in zip(grid.numbers, grid.offsets, strict=True):
        point = view._scene.item_pos[2] + offset
        x, y, _ = view.view().project(point, width=view.width(), height=view.height())[0]
        found[number] = np.array([x, y])
    return found


def double_click(view, at):
    surface = view.focusProxy()
    point = QPoint(*(round(float(each)) for each in at))
    QTest.mouseDClick(surface, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, point)


def has_color(pixels, color):
    """How many pixels have the hue of a colour, as lit lines have."""
    wanted = np.array(color[:3])
    length = np.linalg.norm(pixels, axis=2)
    cosine = (pixels.astype(float) @ wanted) / np.maximum(length * np.linalg.norm(wanted), 1.0)
    return int((cosine[length > 60.0] > 0.995).sum())


def test_one_environment_has_no_number_and_several_have_and_a_frame_is_around_the_chosen_one(
    desktop, carts, show, wait_until
):
    view = desktop.window.scene_view.viewport
    assert view._scene.environments is None
    assert written(view) == []
    view = show(4)
    assert sorted(number.number for number in written(view)) == [0, 1, 2, 3]
    assert [number.number for number in written(view) if number.is_selected] == [0]
    # A frame is around the one that is looked at.
    accent = view._scene.environments.colors[0]
    with_frame = has_color(view_pixels(view), accent)
    trigger(desktop.window.actions_by_name["environment_marks"])
    wait_until(lambda: not view.options.environment_marks)
    assert with_frame > has_color(view_pixels(view), accent) + 50
    view.draw_now()
    wait_until(lambda: written(view) == [])
    # A picture without overlays has neither, a picture with them has both.
    trigger(desktop.window.actions_by_name["environment_marks"])
    wait_until(lambda: view.options.environment_marks)
    bare = has_color(image_pixels(view.still(Still(overlays=False, labels=False))), accent)
    assert has_color(image_pixels(view.still(Still())), accent) > bare + 50
    # The mouse says which environment it is on.
    surface = view.focusProxy()
    place = pixels_of_poles(view)[3]
    QTest.mouseMove(surface, QPoint(round(float(place[0])), round(float(place[1]))))
    wait_until(lambda: "environment 3" in surface.toolTip())
    own = pixels_of_poles(view)[0] - (0, 30)  # its tip: the rest is behind another one
    QTest.mouseMove(surface, QPoint(round(float(own[0])), round(float(own[1]))))
    wait_until(lambda: surface.toolTip() and "environment" not in surface.toolTip())
    show(1)
    assert view._scene.environments is None
    assert written(view) == []


@pytest.mark.parametrize("theme", few(["light", "dark"], 1))
def test_those_that_failed_are_marked_by_more_than_a_colour(
    desktop, carts, show, wait_until, theme
):
    if theme == "light":
        trigger(desktop.window.actions_by_name["theme"])
    desktop.sessions.fast_forward()
    wait_until(lambda: carts.stops.standing is not None)
    wait_until(lambda: carts.environments.told.failed_count == 2)
    view = show(16)
    wait_until(lambda: {n.number for n in written(view) if n.has_failed} == {2, 6})
    failed = [number for number in written(view) if number.has_failed]
    assert {number.text for number in failed} == {"▲ 2", "▲ 6"}
    palette = view._palette
    assert palette.name == theme
    warn = np.array([int(palette.warn[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    for number in failed:
        assert np.allclose(number.color[:3], warn, atol=0.01)


def test_all_of_a_grid_are_in_the_picture_and_a_double_click_on_a_number_or_beside_a_pole_finds_one(
    desktop, carts, show, wait_until
):
    view = desktop.window.scene_view.viewport
    alone = view.camera
    show(64)
    size = (float(view.width()), float(view.height()))
    for number in numbers_of(view._overlay_picture(), view=view.view(), size=size):
        assert 0.0 < number.x < size[0]
        assert 0.0 < number.y < size[1]
    poles = np.array(list(pixels_of_poles(view).values()))
    # It fills what there is: one that is too far away would not.
    assert np.ptp(poles[:, 1]) > 0.25 * size[1]
    show(1)
    wait_until(lambda: view.camera.distance == pytest.approx(alone.distance, rel=0.05))
    # A double click on a number, or beside a thin pole, finds its environment.
    view = show(64)
    box, number = next(
        (box, number) for box, number in view._overlay.numbers._boxes if number.number > 40
    )
    double_click(view, (box.center().x(), box.center().y()))
    wait_until(lambda: carts.environments.told.selected == number.number)
    wait_until(lambda: view._scene.environments.selected == number.number)
    view.draw_now()
    other = 7
    beside = pixels_of_poles(view)[other] + (3.0, 0.0)
    hit = view.pick_at(*beside)
    assert hit.env == other
    # What is a good deal away is the floor.
    assert view.pick_at(8.0, view.height() - 60.0).env == -1


def test_a_double_click_looks_at_an_environment_and_nothing_moves(desktop, carts, show, wait_until):
    view = show(16)
    before = pixels_of_poles(view)
    double_click(view, before[3])
    wait_until(lambda: carts.environments.told.selected == 3)
    wait_until(lambda: view._scene.environments.selected == 3)
    assert desktop.sessions.selection.element == POLE
    after = pixels_of_poles(view)
    for number, place in before.items():
        assert after[number] == pytest.approx(place, abs=1.0)
    # The one that is looked at is no other: its pole is selected, and it stays.
    double_click(view, after[3])
    assert carts.environments.selected == 3


def test_marks_and_the_table_say_whose_a_stop_is_and_numbers_of_failed_ones_come_first(
    desktop, carts, show, wait_until
):
    window = desktop.window
    desktop.sessions.fast_forward()
    wait_until(lambda: carts.stops.standing is not None)
    wait_until(lambda: [stop.env for stop in carts.stops.stops] == [2, 6])
    strip = window.timeline.strip
    # Both stand in the same place, so both are told there.
    wait_until(lambda: "▲ stop: environment 2: " in strip.text_at(strip.scale.x(5)))
    assert "▲ stop: environment 6: " in strip.text_at(strip.scale.x(5))
    window.panels.show("stops")
    table = window.stops.table
    wait_until(lambda: table.table.tips)
    assert [tip.split("\n")[0] for tip in table.table.tips] == ["environment 6", "environment 2"]
    # Numbers never stand on each other; the chosen and the failed come first.
    carts.environments.select(40)
    wait_until(lambda: carts.environments.told.selected == 40)
    view = show(64)
    view.set_camera(dataclasses.replace(view.camera, distance=4.0 * view.camera.distance))
    view.draw_now()
    wait_until(lambda: 0 < len(written(view)) < 40)
    boxes = [box for box, _ in view._overlay.numbers._boxes]
    for place, box in enumerate(boxes):
        assert not any(box.intersects(other) for other in boxes[:place])
    numbers = {number.number for number in written(view)}
    assert 40 in numbers
    assert numbers & {2, 6}


def test_a_condition_is_made_for_the_environment_that_is_looked_at(
    desktop, carts, wait_until, click
):
    window = desktop.window
    carts.environments.select(9)
    wait_until(lambda: carts.environments.told.selected == 9)
    window.panels.show("stops")
    window.stops.show_conditions()
    page = window.stops.conditions
    wait_until(page.only_here.isVisible)
    wait_until(lambda: "environment 9" in page.only_here.toolTip())
    page.begin("time > 0.012")
    click(page.only_here)
    click(page.add_button)
    wait_until(lambda: len(carts.conditions.conditions) == 1)
    condition = carts.conditions.conditions[0]
    assert (condition.envs_idx, condition.where) == ((9,), "in environment 9")
    wait_until(lambda: carts.conditions.mine and carts.conditions.mine[0].envs_idx == (9,))
    assert not page.only_here.isChecked()


@pytest.mark.slow
def test_every_view_shows_the_whole_grid_and_a_camera_that_tracks_goes_on_tracking(
    desktop, carts, show, wait_until
):
    grid = desktop.window.scene_view.grid
    grid.arrange(Arrangement.SIDE_BY_SIDE)
    second = grid.views[1]
    wait_until(lambda: second.is_framed)
    grid.leader.track_body(1)
    before = second.camera
    show(9)
    assert grid.leader.camera.tracked_body == 1
    assert second.camera.distance > before.distance
    camera = grid.leader.camera
    place = pixels_of_poles(second)
    double_click(second, place[2])
    wait_until(lambda: second._scene.environments.selected == 2)
    assert pixels_of_poles(second)[7] == pytest.approx(place[7], abs=1.0)
    assert grid.leader.camera == camera


@pytest.mark.slow
def test_a_window_that_only_watches_is_told_so_and_looks_at_no_other_environment(
    desktop, carts, show, wait_until
):
    view = show(4)
    session = carts.session
    (found,) = find_sessions()[0]
    with DebuggerClient.connect(found.path) as other:
        other.request_control()
        wait_until(lambda: not session.has_control)
        warnings = desktop.log.counts[LogLevel.WARNING]
        double_click(view, pixels_of_poles(view)[3])
        assert desktop.sessions.selection.element == POLE
        wait_until(lambda: desktop.log.counts[LogLevel.WARNING] == warnings + 1)
        assert carts.environments.selected == 0
