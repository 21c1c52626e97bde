"""Looking at the past as a person does it: keys, the timeline, a plot; a real process behind it."""

import time
from pathlib import Path

import numpy as np
import pytest
from event_loop import trigger
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolTip

from stroboscope.app.main.plot_feed import scene_key
from stroboscope.app.models.plot_store import PlotSeriesId
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol.messages import Done, EditField, PlaybackMode
from stroboscope.debugger_protocol.time_messages import BreakWhen
from stroboscope.debugger_protocol.topics import Instant, Topic

REMEMBERING = Path(__file__).with_name("remembering_process.py")
Key, NO_KEYS, LEFT = Qt.Key, Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton


def test_left_looks_back_while_it_runs_too_right_comes_forward_to_live_and_then_steps(
    travel, click, wait_until
):
    t = travel()
    button = t.window.transport.buttons["step_back"]
    wait_until(lambda: "nothing to go back to" in button.toolTip())
    assert not button.isEnabled()
    wait_until(lambda: t.window.timeline.where.full_text.startswith("No steps yet"))
    t.play_on(60)
    live = t.scene.status.axis
    for back in (1, 2, 3):
        t.press(Key.Key_Left)
        wait_until(lambda back=back: t.looks_at(live - back))
        wait_until(lambda back=back: t.badge == f"PAUSED \u2212{back}")
    assert t.scene.status.axis == live  # looking is not moving
    for back in (2, 1):
        t.press(Key.Key_Right)
        wait_until(lambda back=back: t.looks_at(live - back))
    t.press(Key.Key_Right)
    wait_until(lambda: t.history.view is None and t.badge == "PAUSED")
    wait_until(lambda: t.shown() is not None and t.shown().instant is Instant.NOW)
    t.settle()
    assert t.scene.status.axis == live
    t.press(Key.Key_Right)
    wait_until(lambda: t.scene.status.axis == live + 1)
    t.settle()
    for key in (Key.Key_Escape, Key.Key_End):
        t.press(Key.Key_Left)
        wait_until(lambda: t.history.is_away)
        t.settle()
        t.press(key)
        wait_until(lambda: t.history.view is None)
        t.settle()
    wait_until(button.isEnabled)
    click(button)
    wait_until(lambda: t.looks_at(t.scene.status.axis - 1))
    # While it runs, left pauses it first.
    t.settle()
    t.press(Key.Key_End)
    wait_until(lambda: t.history.view is None)
    t.settle()
    begin = t.scene.status.axis
    t.press(Key.Key_Space)
    wait_until(lambda: t.scene.status.axis > begin + 30)
    wait_until(t.window.transport.buttons["step_back"].isEnabled)
    t.press(Key.Key_Left)
    wait_until(lambda: t.history.is_away)
    wait_until(lambda: t.scene.mode is PlaybackMode.PAUSED)


def test_shift_left_goes_a_physics_step_back_and_left_a_whole_one(travel, wait_until):
    t = travel("--nstep", "4")
    t.play_on(40)
    live = t.scene.status.axis
    t.press(Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
    wait_until(lambda: t.looks_at(live - 1))
    t.press(Key.Key_Left)
    wait_until(lambda: t.history.view is not None and t.history.view < live - 1)
    wait_until(lambda: t.history.view % 4 == 0)
    t.press(Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    wait_until(lambda: t.history.view is not None and t.history.view % 4 == 1)


def test_every_panel_is_of_the_row_in_view_and_space_plays_the_view_forward_to_live(
    travel, wait_until
):
    t = travel()
    t.desktop.sessions.selection.select(Element(ElementKind.JOINT, 0))
    t.play_on(150)
    live, inspector = t.scene.status.axis, t.window.inspector
    wait_until(lambda: t.shown() is not None and t.shown().instant is Instant.NOW)
    now = t.shown()
    wait_until(lambda: inspector.row("position") is not None)
    t.press(Key.Key_Home, Qt.KeyboardModifier.ControlModifier)
    first = t.history.first
    wait_until(lambda: t.looks_at(first))
    past = t.shown()
    q = float(past.array(Topic.STATE, "qpos")[0])
    assert q == 1.0  # where the oscillator began
    assert q != float(now.array(Topic.STATE, "qpos")[0])
    assert past.array(Topic.POSE, "xpos")[1, 2] == q
    wait_until(
        lambda: (
            inspector.row("position").number.text()
            == "1.0000"[: len(inspector.row("position").number.text())]
        )
    )
    wait_until(lambda: inspector.instant.full_text.startswith("PAST"))
    drawn = t.window.scene_view
    wait_until(lambda: drawn.drawn_pose is not None and drawn.drawn_pose.axis == first)
    wait_until(lambda: t.window.transport.time.text() == "t 0.000\u202fs")
    assert not t.window.transport.toggle.isVisible()
    # The view plays by itself, stands when told to, and is live at the end.
    t.settle()
    t.press(Key.Key_Space)
    wait_until(lambda: t.badge.startswith("PLAYING \u2212"))
    wait_until(lambda: t.history.view is not None and t.history.view > first + 5)
    t.press(Key.Key_Space)
    wait_until(lambda: not t.history.is_playing)
    t.settle()
    if t.history.is_away:  # a busy machine may have come to the end meanwhile
        t.press(Key.Key_Space)
    wait_until(lambda: t.history.view is None)
    wait_until(lambda: not t.history.is_playing)
    assert t.scene.mode is PlaybackMode.PAUSED
    assert t.scene.status.axis == live
    wait_until(lambda: inspector.instant.full_text.startswith("NOW"))
    wait_until(lambda: drawn.drawn_pose.instant is Instant.NOW)


def test_a_click_in_the_timeline_goes_there_a_drag_scrubs_and_the_wheel_zooms(travel, wait_until):
    t = travel()
    scene = t.scene
    scene.session.send(
        lambda i: BreakWhen(id=i, scene_id=scene.scene_id, expression="qpos < 0.5", once=True)
    )
    t.settle()
    t.press(Key.Key_Space)
    wait_until(lambda: bool(t.history.stops))
    wait_until(lambda: scene.mode is PlaybackMode.PAUSED)
    t.settle()
    stop = t.history.stops[0].axis
    t.play_on(300)
    live = scene.status.axis
    # A stop is marked, and a click near it goes exactly there.
    wait_until(lambda: "stop" in t.hover(t.at(stop) + QPoint(2, 0)))
    QTest.mouseClick(t.strip, LEFT, NO_KEYS, t.at(stop) + QPoint(2, 0))
    wait_until(lambda: t.looks_at(stop))
    t.settle()
    place = stop + 120
    QTest.mouseClick(t.strip, LEFT, NO_KEYS, t.at(place))
    wait_until(lambda: abs(t.history.view - place) <= 1 / t.strip.scale.per_step + 1)
    t.settle()
    wait_until(lambda: t.looks_at(t.history.view))
    t.drag(*(stop + by for by in (150, 160, 180, 200, 220)))
    wait_until(lambda: abs(t.history.view - stop - 220) <= 2)
    wait_until(lambda: t.looks_at(t.history.view))
    t.settle()
    # However much it is dragged, at most 30 places a second are sent, and the last one counts.
    sent = []
    transmit = scene.session._transmit
    scene.session._transmit = lambda s, m: (sent.append(m), transmit(s, m))
    places = [50 + n % 300 for n in range(0, 900, 3)]
    began = time.monotonic()
    t.drag(*places)
    wait_until(lambda: t.history.is_away and abs(t.history.view - places[-1]) <= 2)
    t.settle()
    assert 1 <= len(sent) <= 2 + 30 * (time.monotonic() - began) < len(places)
    assert t.history.wanted is None
    scene.session._transmit = transmit
    # Beyond the end is live.
    t.drag(200, live + 40)
    wait_until(lambda: t.history.view is None)
    t.settle()
    # The wheel zooms about the pointer, a double click shows everything.
    before = t.strip.scale
    t.wheel(3, t.at(100))
    assert t.strip.scale.per_step > 1.9 * before.per_step
    # The first of the two clicks goes nowhere in the end.
    t.double_click(t.at(150))
    wait_until(lambda: t.strip.scale.start <= 0 and t.strip.scale.end >= t.history.live)
    wait_until(lambda: t.history.view is None and t.history.wanted is None)
    t.settle()
    t.press(Key.Key_Left)
    wait_until(lambda: t.history.is_away)
    t.settle()
    at = t.history.view
    t.double_click(t.at(80))
    wait_until(lambda: t.history.wanted is None and not scene.session.pending)
    wait_until(lambda: t.looks_at(at))


def test_enter_asks_once_when_the_script_has_registered_nothing_then_branches(
    travel, click, wait_until
):
    t = travel()
    t.play_on(200)
    live = t.scene.status.axis
    QTest.mouseClick(t.strip, LEFT, NO_KEYS, t.at(100))
    wait_until(lambda: t.history.is_away and t.looks_at(t.history.view))
    t.settle()
    at = t.history.view
    t.press(Key.Key_Return)
    assert t.window.timeline.asks
    where = t.window.timeline.where
    assert "registered no state" in where.full_text
    wait_until(lambda: where.text().endswith("."))
    assert "…" not in where.text(), "nobody can answer half a question"
    t.press(Key.Key_Escape)
    assert not t.window.timeline.asks
    assert t.history.is_away  # the sentence is gone, the view stays
    t.press(Key.Key_Return)
    t.press(Key.Key_Return)
    wait_until(lambda: t.history.view is None and t.history.branch is not None)
    branch = t.history.branch
    assert (branch.parent_axis, branch.begin) == (at, live)
    wait_until(lambda: t.badge == "PAUSED · BRANCH")
    wait_until(lambda: t.strip.lanes.lanes.count == 2)
    assert [(s.begin, s.end, s.lane) for s in t.strip.lanes.lanes.stretches] == [
        (t.history.segments[0].begin, at, 0),
        (at, live, 1),
        (live, None, 0),
    ]
    # Not asked a second time.
    t.play_on(50)
    t.press(Key.Key_Left)
    wait_until(lambda: t.history.is_away)
    t.settle()
    t.press(Key.Key_Enter)
    assert not t.window.timeline.asks
    wait_until(lambda: len([s for s in t.history.segments if s.kind == "branch"]) == 2)
    wait_until(lambda: t.history.view is None)
    t.settle()
    # Continued with the inputs that were recorded, it stands where it stood.
    t.play_on(30)
    wait_until(lambda: t.shown() is not None and t.shown().instant is Instant.NOW)
    stands_at, stood = t.scene.status.axis, t.shown().array(Topic.STATE, "qpos")[0]
    for _ in range(10):
        t.press(Key.Key_Left)
    wait_until(lambda: t.history.view == stands_at - 10)
    t.settle()
    wait_until(t.window.timeline.continue_here.isVisible)
    trigger(t.window.timeline.continue_menu.actions()[1])
    wait_until(lambda: len([s for s in t.history.segments if s.kind == "branch"]) == 3)
    wait_until(lambda: t.history.view is None)
    t.settle()
    wait_until(lambda: t.shown() is not None and t.shown().instant is Instant.NOW)
    wait_until(lambda: t.shown().array(Topic.STATE, "qpos")[0] == stood)


@pytest.mark.slow
def test_enter_does_not_ask_when_the_script_goes_back_with_the_scene(travel, wait_until):
    t = travel("--registered")
    t.play_on(40)
    t.press(Key.Key_Left)
    wait_until(lambda: t.history.is_away)
    t.settle()
    t.press(Key.Key_Return)
    assert not t.window.timeline.asks
    wait_until(lambda: t.history.branch is not None)


def test_an_edit_in_the_past_says_that_the_view_went_live_first(travel, wait_until):
    t = travel()
    t.play_on(40)
    session, status = t.scene.session, t.window.status
    receive = session.receive
    for value, answered_first in ((0.5, True), (0.6, False)):
        held = []

        def later(message, held=held):
            (held.append if isinstance(message, Done) else receive)(message)

        if not answered_first:
            session.receive = later
        t.press(Key.Key_Left)
        wait_until(lambda: t.history.is_away)
        session.receive = receive
        for message in held:
            receive(message)
        t.settle()
        assert "went live first" not in status.currentMessage()
        t.scene.edits.set_state(EditField.QPOS, 0, (value,))
        wait_until(lambda: t.history.view is None)
        wait_until(lambda: "went live first" in status.currentMessage())
        t.settle()
        status.clearMessage()
    wait_until(lambda: any(m.kind == "edit" for m in t.history.marks))


def test_a_view_that_somebody_else_makes_live_is_not_taken_for_an_edit(travel, wait_until):
    t = travel()
    t.play_on(40)
    pid, status = t.scene.session.info.pid, t.window.status
    said = []
    status.messageChanged.connect(said.append)
    for words in (["live"], ["continue"]):
        for back in (["step-back", "-n", "3"], words):
            assert ctl.main(["--session", str(pid), *back]) == 0
            wait_until(lambda away=back is not words: t.history.is_away is away)
    assert not any("went live first" in text for text in said)
    t.settle()
    t.press(Key.Key_Left)
    wait_until(lambda: t.history.is_away)
    t.settle()
    t.scene.edits.set_state(EditField.QPOS, 0, (0.5,))
    wait_until(lambda: any("went live first" in text for text in said))


def test_the_field_takes_places_the_pointer_reads_them_and_control_arrows_find_events(
    travel, wait_until
):
    t = travel("--episode", "100")
    t.play_on(350)
    wait_until(lambda: len(t.history.segments) >= 4)
    if t.scene.status.axis == t.history.segments[-1].begin:
        t.step(1)  # where it stands begins an episode, of which there is no row yet
    field = t.window.timeline.field

    def type_(text: str) -> None:
        t.press(Key.Key_J, Qt.KeyboardModifier.ControlModifier)
        wait_until(field.hasFocus)
        QTest.keyClicks(field, text)
        QTest.keyClick(field, Key.Key_Return)

    type_("120")
    wait_until(lambda: t.looks_at(120))
    # The keys are the scene's again.
    assert not field.hasFocus()
    QTest.keyClick(t.window.focusWidget(), Key.Key_Left)
    wait_until(lambda: t.looks_at(119))
    type_("e3 20")
    wait_until(lambda: t.looks_at(220))
    type_("e2 0.1 s")
    wait_until(lambda: t.looks_at(150))
    type_("3.2")
    assert "Write 3.2 s" in QToolTip.text()
    assert field.property("problem")
    assert field.hasFocus()
    type_("yesterday")
    assert "no place on the time axis" in QToolTip.text()
    type_("e77")
    wait_until(lambda: "episode 77" in QToolTip.text() and field.hasFocus())
    assert t.history.view == 150
    for ahead in ("99999", f"e{t.history.segments[-1].episode} 99 s"):
        type_(ahead)
        wait_until(lambda: "lies ahead" in QToolTip.text())
        type_("yesterday")
    t.settle()
    assert t.history.view == 150
    type_("live")
    wait_until(lambda: t.history.view is None)
    QTest.keyClick(field, Key.Key_Escape)
    wait_until(lambda: not field.hasFocus())
    t.settle()
    # The pointer reads episode, step and time.
    text = t.hover(t.at(250))
    assert "episode 3" in text
    assert "t 0.1" in text
    # Control and the arrows go from event to event, and at last to live.
    control = Qt.KeyboardModifier.ControlModifier
    newest = t.history.segments[-1].begin
    t.press(Key.Key_Left, control)
    wait_until(lambda: t.looks_at(newest))
    t.settle()
    t.press(Key.Key_Left, control)
    wait_until(lambda: t.looks_at(newest - 100))
    t.settle()
    t.press(Key.Key_Right, control)
    wait_until(lambda: t.looks_at(newest))
    t.settle()
    t.press(Key.Key_Right, control)
    wait_until(lambda: t.history.view is None)


def test_a_click_in_a_plot_goes_there_the_cursor_stands_there_and_again_is_live(travel, wait_until):
    t = travel()
    t.window.plots.add_signals(PlotSeriesId(scene_key(t.scene), "qpos", 0))
    wait_until(lambda: t.window.plots.cells and t.window.plots.isVisible())
    t.settle()
    t.play_on(300)
    (cell,) = t.window.plots.cells
    columns = t.window.store.columns(scene_key(t.scene), "qpos")
    wait_until(lambda: columns.count and columns.axis[-1] == t.scene.status.axis - 1)
    row = len(columns.axis) // 2
    session_time = float(columns.session_time[row])
    view = cell.view
    wait_until(lambda: view.time_range == t.window.plots.time_view.range)

    def place(when: float) -> QPoint:
        box = view.getPlotItem().getViewBox()
        y = sum(view.value_range) / 2
        return view.mapFromScene(box.mapViewToScene(QPointF(when, y)))

    QTest.mouseClick(view.viewport(), LEFT, NO_KEYS, place(session_time))
    wait_until(lambda: t.history.is_away)
    t.settle()
    wait_until(lambda: t.looks_at(t.history.view))
    at = t.history.view
    index = int(np.searchsorted(columns.axis, at))
    assert abs(float(columns.session_time[index]) - session_time) < 0.02
    # What the plot has of that step and what the panels show of that row are one number.
    assert t.shown().array(Topic.STATE, "qpos")[0] == columns.values(0)[index]
    wait_until(
        lambda: any(
            abs(when - float(columns.session_time[index])) < 1e-6 for when in view.view_line.times
        )
    )
    wait_until(lambda: t.window.plots.toolbar.readout.text().startswith("PAST"))
    # Plot and timeline show the same part of time.
    start, end = t.strip.scale.start, t.strip.scale.end
    clock = t.window.store.scenes[scene_key(t.scene)].time
    assert np.allclose(
        (clock.session_at(start), clock.session_at(end)), t.window.plots.time_view.range, atol=1e-6
    )
    t.wheel(2, t.at(150))
    assert t.strip.scale.end - t.strip.scale.start < 0.8 * (end - start)
    wait_until(lambda: view.time_range == t.window.plots.time_view.range)
    QTest.mouseClick(view.viewport(), LEFT, NO_KEYS, place(float(columns.session_time[index])))
    wait_until(lambda: t.history.view is None)
    wait_until(lambda: not view.view_line.times)
    t.settle()
    # A double click shows everything and goes nowhere.
    t.wheel(4, t.at(150))  # how many steps there are is open: not all of them, however many
    wait_until(lambda: view.time_range == t.window.plots.time_view.range)
    assert view.time_range[0] > float(columns.session_time[0])
    there = place(sum(view.time_range) / 2)
    QTest.mouseClick(view.viewport(), LEFT, NO_KEYS, there)
    QTest.mouseDClick(view.viewport(), LEFT, NO_KEYS, there)
    QTest.mouseRelease(view.viewport(), LEFT, NO_KEYS, there)
    wait_until(lambda: view.time_range[0] <= float(columns.session_time[0]))
    wait_until(lambda: t.history.view is None and t.history.wanted is None)
    t.settle()
    assert t.history.view is None


def test_a_plot_of_another_scene_does_not_move_the_timeline_away(
    travel, pendulums, desktop, wait_until
):
    t = travel("--script", "first.py")
    first = t.scene
    t.window.plots.add_signals(PlotSeriesId(scene_key(first), "qpos", 0))
    wait_until(lambda: t.window.plots.cells and t.window.plots.isVisible())
    t.settle()
    t.play_on(600)
    wait_until(lambda: t.strip.scale.end > 600)
    second = pendulums("--script", "second.py", script=REMEMBERING)
    desktop.sessions.open(second.path)
    wait_until(lambda: len(desktop.sessions.all_scenes()) == 2)
    (other,) = (scene for scene in desktop.sessions.all_scenes() if scene is not first)
    wait_until(lambda: other.description is not None and other.status is not None)
    desktop.sessions.show(other)
    t.step(20)
    wait_until(lambda: t.strip.scale.start <= 0 and t.history.live <= t.strip.scale.end)
    assert t.strip.scale.end < 600
    t.wheel(2, t.at(10))
    assert t.window.plots.time_view.follows, "the plot of the other scene was zoomed"
    desktop.sessions.show(first)
    clock = t.window.store.scenes[scene_key(first)].time
    wait_until(
        lambda: np.allclose(
            (clock.session_at(t.strip.scale.start), clock.session_at(t.strip.scale.end)),
            t.window.plots.time_view.range,
            atol=1e-6,
        )
    )


def test_a_script_that_is_started_again_begins_a_new_timeline(
    travel, pendulums, desktop, wait_until
):
    t = travel("--script", "train.py")
    t.play_on(80)
    t.press(Key.Key_Left)
    wait_until(lambda: t.history.is_away)
    t.application.process.kill()
    wait_until(lambda: t.scene.is_stale)
    wait_until(lambda: t.badge == "DISCONNECTED")
    wait_until(lambda: not t.window.actions_by_name["go_live"].isEnabled())
    again = pendulums("--script", "train.py", script=REMEMBERING)
    before = t.scene
    desktop.sessions.open(again.path)
    wait_until(lambda: t.scene is not before and t.scene.description is not None)
    wait_until(lambda: t.badge == "PAUSED")
    wait_until(lambda: t.history.live == 0)
    assert not t.history.is_away
    t.play_on(20)
    t.press(Key.Key_Left)
    wait_until(lambda: t.looks_at(t.scene.status.axis - 1))
