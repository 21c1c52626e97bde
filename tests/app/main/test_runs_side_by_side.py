"""Two recorded runs in one window: at the same time, one in the picture of the other."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import mujoco
import numpy as np
import pytest
from event_loop import trigger
from plain_recording import PlainRun, record_plain
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolButton
from view_pixels import view_pixels

from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.panels.tree_items import TreeNode
from stroboscope.debugger_protocol.messages import Play, PlaybackMode
from stroboscope.debugger_protocol.topics import Topic

ARM = """
<mujoco>
  <option timestep="{timestep}"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="arm" pos="0 0 .6">
      <joint name="shoulder" axis="0 1 0" damping=".05"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
      {more}
    </body>
  </worldbody>
  <actuator><position joint="shoulder" kp="8"/></actuator>
</mujoco>
"""
HAND = """<body name="hand" pos=".3 0 0"><joint name="wrist" axis="0 1 0"/>
          <geom type="box" size=".05 .05 .05" mass=".1"/></body>"""
BALL = """
<mujoco>
  <worldbody>
    <body name="ball" pos="0 0 1"><freejoint/><geom size=".1"/></body>
  </worldbody>
</mujoco>
"""
SHOW = """
from stroboscope.engine.trajectory.showing import show_trajectory

show_trajectory({path!r}, launch=False)
"""
RUNS = """
import stroboscope.engine as physics

scene = physics.create_scene("Live", '''{model}''')
if physics.debugger.attach(60, launch=False):
    while physics.debugger.is_attached():
        scene.step()
"""


def arm(*, timestep: float = 0.01, more: str = "") -> str:
    return ARM.format(timestep=timestep, more=more)


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., PlainRun]:
    """``record("a", xml, steps=60, swing=1.0)``: a run in a file."""

    def make(name: str, xml: str, *, steps: int, swing: float = 0.0, **options: Any) -> PlainRun:
        def control(step: int, data: Any) -> None:
            data.ctrl[:] = swing * math.sin(0.1 * step)

        model = mujoco.MjModel.from_xml_string(xml)
        path = tmp_path / f"{name}.mcap"
        return record_plain(path, model, steps=steps, control=control, **options)

    return make


@pytest.fixture
def opened(desktop, run_script: Callable[..., Any], wait_until) -> Callable[[PlainRun], Any]:
    """``opened(run)``: its scene in the window, in a process of its own, at its first row."""

    def show(run: PlainRun) -> Any:
        before = desktop.sessions.all_scenes()
        run_script(SHOW.format(path=str(run.path)))
        wait_until(lambda: len(desktop.sessions.all_scenes()) > len(before))
        scene = next(each for each in desktop.sessions.all_scenes() if each not in before)
        wait_until(lambda: scene.history.view == 0 and scene.history.is_replay)
        wait_until(lambda: scene.description is not None and scene.session.has_control)
        return scene

    return show


def menu_of(desktop, scene) -> dict[str, Any]:
    """Return what the tree offers for a scene, by its text."""
    menu = desktop.window.tree.menu_of(TreeNode(scene.session, scene))
    return {action.text(): action for action in menu.actions()}


def look(desktop, wait_until, axis: int) -> None:
    scene = desktop.sessions.shown
    desktop.window.commands.time.choose(axis)
    wait_until(lambda: scene.history.view == axis and not scene.session.pending)
    wait_until(lambda: (pose := scene.latest(Topic.POSE)) is not None and pose.axis == axis)


def test_another_run_is_a_ghost_at_the_same_time_and_says_when_it_is_of_another(
    desktop, record, opened, wait_until
):
    first = opened(record("first", arm(), steps=60, swing=1.0))
    other = opened(record("other", arm(timestep=0.004), steps=75, swing=-1.0))
    assert desktop.sessions.shown is first
    look(desktop, wait_until, 20)
    view = desktop.window.scene_view.viewport
    without = view_pixels(view)
    trigger(menu_of(desktop, other)[f"Show as ghost in {first.name}"])
    # 20 steps of 10 ms are 50 of 4 ms.
    wait_until(lambda: other.history.view == 50)
    wait_until(lambda: (pose := other.latest(Topic.POSE)) is not None and pose.axis == 50)
    legend = desktop.window.travel.ghosts
    wait_until(lambda: [entry.ref for entry, *_ in legend.rows] == [other])
    drawn = desktop.window.scene_view.drawn_scene
    wait_until(lambda: len(desktop.window.scene_view.viewport._scene.others) == 1)
    assert drawn is first
    with_ghost = view_pixels(view)
    assert (np.abs(with_ghost - without).max(axis=-1) > 24).sum() > 200
    look(desktop, wait_until, 10)
    wait_until(lambda: other.history.view == 25)
    legend.rows[0][2].click()
    wait_until(lambda: not desktop.window.scene_view.viewport._scene.others)
    look(desktop, wait_until, 20)
    # But for what blinks: a ghost has hundreds of pixels.
    assert (np.abs(view_pixels(view) - without).max(axis=-1) > 24).sum() < 20
    assert other.history.view == 25
    # Shown again, the legend says when it is of another time: it ends at 0.3 s.
    trigger(menu_of(desktop, other)[f"Show as ghost in {first.name}"])
    wait_until(lambda: other.history.view == 50 and not first.ghosts.scenes[0].note)
    look(desktop, wait_until, 50)
    wait_until(lambda: first.ghosts.scenes[0].note.startswith("at 0.3"))
    wait_until(lambda: legend.rows[0][0].note == first.ghosts.scenes[0].note)
    look(desktop, wait_until, 20)
    wait_until(lambda: not first.ghosts.scenes[0].note)


def test_a_ghost_of_a_run_without_the_episode_that_is_looked_at_says_of_which_it_is(
    desktop, record, opened, wait_until
):
    first = opened(record("first", arm(), steps=60, swing=1.0, resets=(30,)))
    other = opened(record("other", arm(), steps=20, swing=-1.0))
    trigger(menu_of(desktop, other)[f"Show as ghost in {first.name}"])
    wait_until(lambda: [ghost.note for ghost in first.ghosts.scenes] == [""])
    assert "first.mcap" not in first.ghosts.scenes[0].label
    begin = first.history.place(0).episode
    look(desktop, wait_until, 35)
    assert first.history.place(35).episode == begin + 1
    wait_until(lambda: first.ghosts.scenes[0].note == f"episode {begin}")
    look(desktop, wait_until, 55)
    wait_until(lambda: first.ghosts.scenes[0].note.startswith(f"episode {begin}, at 0.2"))
    look(desktop, wait_until, 10)
    wait_until(lambda: first.ghosts.scenes[0].note == "")


def test_a_right_click_on_another_run_offers_it_as_a_ghost_and_shows_it_not(
    desktop, record, opened, right_click
):
    first = opened(record("first", arm(), steps=20, swing=1.0))
    other = opened(record("other", arm(), steps=20, swing=-1.0))
    tree = desktop.window.tree

    def row(scene):
        return tree._proxy.mapFromSource(tree._scene_items[id(scene)].row.index())

    current = tree.view.currentIndex()
    entries = right_click(tree.view, row(other))
    assert desktop.sessions.shown is first
    assert tree.view.currentIndex() == current
    trigger(entries[f"Show as ghost in {first.name}"])
    assert [ghost.ref for ghost in first.ghosts.scenes] == [other]
    # Nor does the name of its application.
    assert "Disconnect" in right_click(tree.view, row(other).parent())
    assert desktop.sessions.shown is first
    # The shown one is no ghost in itself. A left click shows another one, as the keys do.
    assert not right_click(tree.view, row(first))
    tree.view.scrollTo(row(other))
    center = tree.view.visualRect(row(other)).center()
    no_keys = Qt.KeyboardModifier.NoModifier
    QTest.mouseClick(tree.view.viewport(), Qt.MouseButton.LeftButton, no_keys, center)
    assert desktop.sessions.shown is other
    tree.view.setFocus()
    QTest.keyClick(tree.view, Qt.Key.Key_Home)
    assert desktop.sessions.shown is first


def test_linked_runs_are_looked_at_at_the_same_time(desktop, record, opened, wait_until):
    link = desktop.window.actions_by_name["link_times"]
    first = opened(record("first", arm(), steps=60))
    assert not link.isVisible()
    other = opened(record("other", arm(timestep=0.004), steps=75))
    button = next(
        each
        for each in desktop.window.timeline.findChildren(QToolButton)
        if each.defaultAction() is link
    )
    wait_until(lambda: link.isVisible() and button.isVisible())
    look(desktop, wait_until, 20)
    assert other.history.view == 0
    button.click()
    wait_until(lambda: other.history.view == 50)
    look(desktop, wait_until, 8)
    wait_until(lambda: other.history.view == 20 and not other.session.pending)
    # One that is busy comes when it is free.
    told = other.history.told
    other.history.told = msgspec.structs.replace(told, busy="re-simulating step 3")
    look(desktop, wait_until, 12)
    wait_until(lambda: not first.session.pending)
    assert not other.session.pending
    other.history.receive(told)  # nothing more comes of the first
    wait_until(lambda: other.history.view == 30)
    # It ends at 0.3 s, and stays there.
    look(desktop, wait_until, 50)
    wait_until(lambda: other.history.view is None)
    assert other.status.axis == 75
    QTest.keyClick(
        desktop.window.scene_view.viewport, Qt.Key.Key_Home, Qt.KeyboardModifier.ControlModifier
    )
    wait_until(lambda: other.history.view == 0)
    QTest.keyClick(desktop.window.scene_view.viewport, Qt.Key.Key_Space)
    wait_until(lambda: first.history.view is None)
    wait_until(lambda: other.history.view is None)
    # Now the other one leads.
    desktop.sessions.show(other)
    look(desktop, wait_until, 25)
    wait_until(lambda: first.history.view == 10)
    trigger(link)
    look(desktop, wait_until, 50)
    assert first.history.view == 10


def test_a_run_of_another_model_is_refused_in_words(desktop, record, opened, wait_until):
    first = opened(record("first", arm(), steps=20))
    other = opened(record("ball", BALL, steps=20))
    trigger(menu_of(desktop, other)[f"Show as ghost in {first.name}"])
    said = desktop.window.status.currentMessage()
    assert "no body of 'Plain' (ball) has the name of one of 'Plain' (arm)" in said
    assert not first.ghosts.all
    assert other.history.view == 0


def test_bodies_that_both_models_have_are_drawn_until_one_application_is_removed(
    desktop, record, opened, wait_until
):
    first = opened(record("first", arm(more=HAND), steps=40, swing=1.0))
    other = opened(record("other", arm(), steps=40, swing=-1.0))
    look(desktop, wait_until, 30)
    trigger(menu_of(desktop, other)[f"Show as ghost in {first.name}"])
    drawn = desktop.window.scene_view.viewport._scene
    wait_until(lambda: len(drawn.others) == 1)
    items = drawn.ghost_items(drawn.others[0], ViewOptions())
    assert {int(drawn.items.body[item]) for item in items} == {1}
    assert first.ghosts.scenes[0].label == "other.mcap · Plain · 1 of 2 bodies"
    # It goes when its application is removed from the window.
    desktop.sessions.remove(other.session)
    wait_until(lambda: not drawn.others and not first.ghosts.all)


def test_a_run_in_the_picture_of_a_live_scene_follows_it(
    desktop, record, opened, run_script, wait_until
):
    run_script(RUNS.format(model=arm()))
    live = desktop.sessions.shown
    wait_until(lambda: live.status is not None)
    other = opened(record("other", arm(), steps=100, swing=1.0))
    menu = desktop.window.commands.beside.ghost_menu()
    trigger(menu.actions()[0])
    assert [ghost.ref for ghost in live.ghosts.scenes] == [other]
    desktop.sessions.step(40)
    wait_until(lambda: live.status.axis == 40 and other.history.view == 40)
    look(desktop, wait_until, 15)
    wait_until(lambda: other.history.view == 15)
    # A scene that runs goes on, whatever is looked at beside it.
    desktop.sessions.show(other)
    trigger(desktop.window.actions_by_name["link_times"])
    live.session.send(lambda i: Play(id=i, scene_id=None))
    wait_until(lambda: live.mode is PlaybackMode.PLAYING)
    before = live.status.axis
    look(desktop, wait_until, 30)
    wait_until(lambda: live.status.axis > before + 20)
    assert live.mode is PlaybackMode.PLAYING
    # In the picture of the recorded one it is seen as it runs.
    trigger(menu_of(desktop, live)[f"Show as ghost in {other.name}"])
    drawn = desktop.window.scene_view.viewport._scene
    wait_until(lambda: len(drawn.others) == 1)
    seen = drawn.others[0].mat
    wait_until(lambda: len(drawn.others) == 1 and (drawn.others[0].mat != seen).any())
    look(desktop, wait_until, 31)
    wait_until(lambda: other.ghosts.scenes[0].note == "as it runs")
    assert live.mode is PlaybackMode.PLAYING


def test_a_run_alone_is_no_ghost_in_itself_and_ends_where_it_ends_before_its_status_has_come(
    desktop, record, opened
):
    scene = opened(record("run", arm(), steps=60, resets=(30,)))
    assert not any("ghost" in text for text in menu_of(desktop, scene))
    assert not desktop.window.actions_by_name["ghost_scene"].isEnabled()
    scene.status = None
    assert scene.history.live == 60
    assert scene.history.axis_at(0.05, episode=1) == 35


def test_linked_runs_stay_as_many_episodes_apart_as_they_were(desktop, record, opened, wait_until):
    link = desktop.window.actions_by_name["link_times"]
    first = opened(record("first", arm(), steps=60, resets=(20, 40)))
    other = opened(record("other", arm(), steps=60, resets=(30,)))
    wait_until(lambda: link.isVisible())
    trigger(link)
    # The same episode of both, at 0.05 s; then one that only the first has.
    look(desktop, wait_until, 25)
    wait_until(lambda: other.history.view == 35)
    look(desktop, wait_until, 45)
    wait_until(lambda: other.history.view == 35)
    look(desktop, wait_until, 50)
    wait_until(lambda: other.history.view == 40)
    trigger(link)
    # Now the second one of the first, and the first one of the other.
    desktop.sessions.show(other)
    look(desktop, wait_until, 3)
    desktop.sessions.show(first)
    look(desktop, wait_until, 24)
    trigger(link)
    wait_until(lambda: other.history.view == 4)
    look(desktop, wait_until, 47)
    wait_until(lambda: other.history.view == 37)
