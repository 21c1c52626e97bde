"""The window as a person uses it: real clicks on real widgets, a real application behind them."""

import dataclasses
import itertools

import pytest
from event_loop import trigger
from PySide6.QtCore import Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QToolTip
from view_pixels import view_pixels

from stroboscope.app.main.application import DesktopApplication
from stroboscope.app.main.plot_feed import scene_key, series_of
from stroboscope.app.main.scene_view import FAST_FORWARD_FPS
from stroboscope.app.models.plot_store import PlotSeriesId
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.panels.command_palette import CommandPalette
from stroboscope.debugger_protocol.messages import LogLevel, PlaybackMode
from stroboscope.debugger_protocol.topics import Instant, Topic

JOINT = Element(ElementKind.JOINT, 0)


def _status(desktop):
    return desktop.sessions.shown.status


def test_play_moves_time_and_picture_step_is_exactly_one_and_closing_ends_the_script(
    desktop, attached, click, wait_until
):
    application = attached()
    transport = desktop.window.transport
    wait_until(lambda: transport.badge.word == "PAUSED")
    assert _status(desktop).step_count == 0
    wait_until(lambda: desktop.window.scene_view.drawn_pose is not None)
    view = desktop.window.scene_view.viewport
    before = view_pixels(view)

    click(transport.buttons["play"])
    wait_until(lambda: transport.badge.word == "PLAYING")
    wait_until(lambda: _status(desktop).time > 0.2)
    wait_until(lambda: (view_pixels(view) != before).any())
    wait_until(lambda: transport.time.text().startswith("t "))

    click(transport.buttons["play"])
    wait_until(lambda: transport.badge.word == "PAUSED")
    wait_until(lambda: not desktop.sessions.shown.session.pending)
    stands_at = _status(desktop).step_count

    click(transport.buttons["step"])
    wait_until(lambda: _status(desktop).step_count != stands_at)
    wait_until(lambda: not desktop.sessions.shown.session.pending)
    assert _status(desktop).step_count == stands_at + 1
    shown = f"step {stands_at + 1}"
    wait_until(lambda: transport.steps.text().replace("\u202f", "") == shown)

    click(transport.buttons["restore"])
    wait_until(lambda: _status(desktop).step_count == 0)
    wait_until(lambda: _status(desktop).mode is PlaybackMode.PAUSED)
    wait_until(lambda: transport.time.text() == "t 0.000\u202fs")
    # Keys work, and sleep while a text field has the focus.
    window, viewport = desktop.window, desktop.window.scene_view.viewport
    QTest.keyClick(window, Qt.Key.Key_Space)
    wait_until(lambda: _status(desktop).mode is PlaybackMode.PLAYING)
    QTest.keyClick(window, Qt.Key.Key_Space)
    wait_until(lambda: _status(desktop).mode is PlaybackMode.PAUSED)
    window.tree.search.setFocus()
    wait_until(window.tree.search.hasFocus)
    QTest.keyClicks(window.tree.search, " c-")
    assert window.tree.search.text() == " c-"
    wait_until(lambda: not desktop.sessions.shown.session.pending)
    assert _status(desktop).mode is PlaybackMode.PAUSED
    assert desktop.sessions.shown.session.speed == 1.0
    assert not window.scene_view.viewport.options.contacts
    viewport.setFocus()
    wait_until(lambda: not window.tree.search.hasFocus())
    # Speed keys and the speed box agree.
    QTest.keyClick(desktop.window, Qt.Key.Key_Minus)
    wait_until(lambda: desktop.sessions.shown.session.speed == 0.5)
    wait_until(lambda: desktop.window.transport.speed.currentText() == "1/2×")
    QTest.keyClick(desktop.window, Qt.Key.Key_Equal)
    QTest.keyClick(desktop.window, Qt.Key.Key_Equal)
    wait_until(lambda: desktop.sessions.shown.session.speed == 2.0)
    QTest.keyClick(desktop.window, Qt.Key.Key_Minus)
    wait_until(lambda: desktop.sessions.shown.session.speed == 1.0)
    # Fast forward is faster than real time, and toggles back to play.
    assert viewport.frame_limit == 0.0
    click(transport.buttons["fast_forward"])
    wait_until(lambda: transport.badge.word == "FAST FORWARD")
    wait_until(lambda: (_status(desktop).rtf or 0) > 2.0)
    wait_until(lambda: transport.rate.text().endswith("of max"))
    # A view that the processor draws yields meanwhile, and Play lifts that.
    assert viewport.frame_limit == (FAST_FORWARD_FPS if viewport.on_software else 0.0)
    click(transport.buttons["fast_forward"])
    wait_until(lambda: transport.badge.word == "PLAYING")
    wait_until(lambda: transport.rate.text().endswith("of 1×"))
    wait_until(lambda: viewport.frame_limit == 0.0)

    desktop.window.close()
    wait_until(application.has_ended)
    assert application.process.returncode == 0


def test_the_inspector_states_one_instant_in_full_follows_the_selection_and_edits_while_paused(
    desktop, attached, click, wait_until
):
    attached()
    transport = desktop.window.transport
    inspector = desktop.window.inspector
    desktop.sessions.selection.select(JOINT)
    wait_until(lambda: inspector.row("position") is not None)
    wait_until(lambda: inspector.row("position").row.value is not None)
    assert inspector.title.full_text == "pivot"
    assert inspector.row("position").number.text() == "0.900"
    assert inspector.row("actuators").row.note == "of ±40.0"
    wait_until(lambda: inspector.instant.full_text.startswith("NOW"))
    assert "t 0.000" in inspector.moment.full_text
    current = desktop.window.tree.view.currentIndex().siblingAtColumn(0)
    assert current.data() == "pivot"
    # Labels, numbers, units and notes stand side by side in full.
    for element in (JOINT, Element(ElementKind.ACTUATOR, 0), None):
        desktop.sessions.selection.select(element)
        inspector.refresh()
        wait_until(lambda: inspector.rows and inspector.rows[0].name.isVisible())
        wait_until(lambda: inspector.rows[0].name.x() > 0)
        for row in inspector.rows:
            texts = [row.name, row.text or row.number, row.unit, row.note]
            shown = [t.geometry() for t in texts if t.text()]
            if row.spark is not None and row.spark.isVisible():
                shown.append(row.spark.geometry())
            for left, right in itertools.pairwise(shown):
                assert not left.intersects(right), row.row.label
            for label in (row.name, row.note):
                assert label.text() == label.full_text, row.row.label
    # A paused scene can show the step that was executed last.
    desktop.sessions.selection.select(JOINT)
    wait_until(lambda: inspector.row("position") is not None)
    wait_until(lambda: inspector.row("position").row.value is not None)
    executed = transport.toggle.button(Instant.EXECUTED)
    assert not executed.isEnabled()
    assert "No step was executed" in executed.toolTip()
    click(transport.buttons["step"])
    wait_until(lambda: _status(desktop).step_count == 1)
    wait_until(executed.isEnabled)
    wait_until(lambda: "step 1" in inspector.moment.full_text)
    now = inspector.row("position").row.value
    click(executed)
    wait_until(lambda: inspector.instant.full_text.startswith("EXECUTED"))
    wait_until(lambda: "step 0" in inspector.moment.full_text)
    # The executed frame is the state the step started from: one step before NOW.
    assert inspector.row("position").row.value != now
    assert inspector.row("position").row.value == 0.9
    desktop.window.view.set_instant(Instant.NOW)
    wait_until(lambda: inspector.instant.full_text.startswith("NOW"))
    # A number shows its recent past, once per instant.
    wait_until(lambda: inspector.row("position").spark is not None)
    assert inspector.row("type").spark is None
    click(desktop.window.transport.buttons["play"])
    known = len(inspector.row("position").spark.values)
    wait_until(lambda: len(inspector.row("position").spark.values) > known + 4)
    click(desktop.window.transport.buttons["play"])
    wait_until(lambda: desktop.window.transport.badge.word == "PAUSED")
    # Until NOW is there, what is shown is still one of the executed frames of the run.
    wait_until(lambda: inspector.instant.full_text.startswith("NOW"))
    row = inspector.row("position")
    wait_until(lambda: row.spark.values[-1] == row.row.value)
    known = len(row.spark.values)
    desktop.window.view.set_instant(Instant.EXECUTED)
    inspector.refresh()
    assert len(row.spark.values) == known
    desktop.window.view.set_instant(Instant.NOW)
    wait_until(lambda: inspector.instant.full_text.startswith("NOW"))
    # Editing a joint moves it while paused, and is refused while playing.
    row = inspector.row("position")
    QTest.mouseDClick(row.number, Qt.MouseButton.LeftButton)
    assert isinstance(row.field, QLineEdit)
    row.field.setText("0.25")
    QTest.keyClick(row.field, Qt.Key.Key_Return)
    wait_until(lambda: inspector.row("position").row.value == 0.25)

    click(desktop.window.transport.buttons["play"])
    wait_until(lambda: desktop.window.transport.badge.word == "PLAYING")
    row = inspector.row("position")
    QTest.mouseDClick(row.number, Qt.MouseButton.LeftButton)
    assert row.field is None
    assert QToolTip.text() == "Pause to edit."


def test_numbers_follow_with_the_last_part_of_an_instant_and_stay_until_it_has_come(
    desktop, attached, wait_until
):
    attached()
    inspector, scene = desktop.window.inspector, desktop.sessions.shown
    desktop.sessions.selection.select(JOINT)
    wait_until(lambda: inspector.row("position") is not None)
    wait_until(lambda: inspector.row("position").row.value == 0.9)
    # Nothing is due, and the last refresh is long enough ago for the next.
    turn = inspector._paced._turn
    wait_until(lambda: not inspector._paced.is_waiting and turn.wait() == 0.0)
    parts = [scene.latest(topic) for topic in (Topic.POSE, Topic.STATE)]
    for part in parts:
        scene.add_frame(dataclasses.replace(part, axis=part.axis + 1, step=part.step + 1))
    # No event was handled in between: behind a slow picture none would be for long.
    assert "step 1" in inspector.moment.full_text
    # One part alone changes nothing.
    pose = scene.latest(Topic.POSE)
    scene.add_frame(
        dataclasses.replace(pose, instant=Instant.EXECUTED, axis=pose.axis + 1, step=pose.step + 1)
    )
    inspector.refresh()
    assert inspector.row("position").row.value == 0.9
    assert inspector.instant.full_text.startswith("NOW")


def test_a_scene_is_shown_while_all_play_and_comes_back_as_it_was_when_the_script_is_started_again(
    desktop, attached, pendulums, click, wait_until
):
    first = attached("--scenes", "2", "--script", "/somewhere/train.py")
    first_scene = desktop.sessions.shown
    click(desktop.window.transport.buttons["play"])
    wait_until(lambda: first_scene.status.step_count > 5)
    QTest.keyClick(desktop.window, Qt.Key.Key_PageDown)
    wait_until(lambda: desktop.sessions.shown is not first_scene)
    second = desktop.sessions.shown
    assert second.name == "Pendulum (2)"
    wait_until(lambda: second.description is not None)
    assert second.session.mode is PlaybackMode.PLAYING
    stepped = first_scene.status.step_count
    wait_until(lambda: first_scene.status.step_count > stepped)
    viewport = desktop.window.scene_view.viewport
    wait_until(lambda: viewport.description is not None)
    assert viewport.description.name == "Pendulum (2)"
    desktop.sessions.selection.select(JOINT)
    wait_until(lambda: desktop.sessions.shown.latest("pose") is not None)
    viewport.look_through(0)
    camera = viewport.camera
    desktop.sessions.pause()
    wait_until(lambda: second.stands_still and not second.session.pending)
    wait_until(lambda: desktop.window.inspector.instant.full_text.startswith("NOW"))
    inspector = desktop.window.inspector
    wait_until(
        lambda: inspector.row("position") and inspector.row("position").row.value is not None
    )
    shown = inspector.row("position").number.text()
    first.close()
    wait_until(lambda: desktop.window.transport.badge.word == "DISCONNECTED")
    assert desktop.sessions.shown is not None
    assert desktop.window.inspector.row("position").number.text() == shown
    wait_until(lambda: "not live" in desktop.window.inspector.instant.full_text)
    wait_until(lambda: not desktop.window.actions_by_name["step"].isEnabled())
    tooltip = desktop.window.actions_by_name["step"].toolTip()
    assert "No live scene" in tooltip
    pendulums("--scenes", "2", "--script", "/somewhere/train.py")
    wait_until(lambda: desktop.window.transport.badge.word == "PAUSED")
    wait_until(lambda: desktop.sessions.shown.name == "Pendulum (2)")
    wait_until(lambda: desktop.sessions.selection.element == JOINT)
    wait_until(lambda: viewport.camera == camera)
    assert len(desktop.sessions.sessions) == 1


def test_two_applications_share_the_window_and_one_leaving_does_not_disturb_the_other(
    desktop, attached, click, wait_until
):
    first = attached("--script", "first.py")
    first_scene = desktop.sessions.shown
    second = attached("--script", "second.py")
    wait_until(lambda: len(desktop.sessions.sessions) == 2)
    click(desktop.window.transport.buttons["play"])
    wait_until(
        lambda: all(s.status and s.status.step_count > 5 for s in desktop.sessions.all_scenes())
    )
    second.process.kill()
    second.process.wait()
    wait_until(lambda: sum(s.is_connected for s in desktop.sessions.sessions) == 1)
    steps = first_scene.status.step_count
    wait_until(lambda: first_scene.status.step_count > steps + 20)
    assert not first.has_ended()


def test_sixty_four_scenes_are_listed_and_each_can_be_shown(desktop, attached, wait_until):
    attached("--scenes", "64")
    wait_until(lambda: len(desktop.sessions.all_scenes()) == 64)
    last = desktop.sessions.all_scenes()[-1]
    desktop.sessions.show(last)
    wait_until(lambda: last.description is not None)
    wait_until(lambda: last.latest("pose") is not None)
    assert last.name == "Pendulum (64)"


@pytest.mark.slow
def test_a_slow_script_is_said_to_be_busy_while_a_pause_waits_for_it(
    desktop, attached, click, wait_until
):
    attached("--busy", "1.5")
    transport = desktop.window.transport
    click(transport.buttons["play"])
    wait_until(lambda: _status(desktop).step_count >= 1)
    click(transport.buttons["play"])
    seen = []

    def says_so():
        if transport.badge.word.startswith("PAUSING"):
            seen.append(transport.detail.full_text)
        return any("busy in your code" in text for text in seen)

    wait_until(says_so)
    assert "pendulum_process.py:" in seen[-1]
    wait_until(lambda: transport.badge.word == "PAUSED")


def test_an_exception_in_a_slot_shows_a_banner(desktop, qapp, wait_until, capsys):
    def fail():
        raise RuntimeError("made to fail")

    QTimer.singleShot(0, fail)
    wait_until(desktop.window.banner.isVisible)
    assert "made to fail" in desktop.window.banner.text.text()
    assert desktop.log.counts[LogLevel.ERROR] == 1
    desktop.window.banner.copy()
    assert "Traceback" in qapp.clipboard().text()
    assert "made to fail" in capsys.readouterr().err


def test_settings_survive_the_window_and_plots_are_remembered_per_script_until_removed(
    qapp, own_folders, pendulums, wait_until
):
    def attached_window(application):
        desktop = DesktopApplication(qapp, settings_path=own_folders / "config" / "settings.json")
        desktop.window.show()
        desktop.sessions.open(application.path)
        wait_until(lambda: desktop.sessions.shown and desktop.sessions.shown.description)
        return desktop

    first = attached_window(pendulums("--script", "train.py"))
    scene = first.sessions.shown
    first.window.resize(1300, 777)
    first.window.set_theme("light")
    trigger(first.window.actions_by_name["contacts"])
    first.window.plots.add_signals(PlotSeriesId(scene_key(scene), "qvel"))
    first.sessions.play()
    columns = first.window.store.columns
    wait_until(lambda: (c := columns(scene_key(scene), "qvel")) is not None and c.count > 50)
    first.window.close()
    first.window.deleteLater()

    second = attached_window(pendulums("--script", "train.py"))
    layout = second.window.plots.plots
    try:
        assert second.window.palette_tokens.name == "light"
        assert second.window.scene_view.viewport.options.contacts
        wait_until(lambda: second.window.size().height() == 777)
        wait_until(lambda: [s.channel for s in layout.all_series()] == ["qvel"])
        layout.clear()
        second.sessions.play()
        wait_until(lambda: second.sessions.shown.status.step_count > 20)
        assert layout.all_series() == []
    finally:
        second.window.set_theme("dark")
        second.window.close()
        second.window.deleteLater()


def test_the_palette_finds_a_command_every_step_of_a_plot_arrives_and_a_small_screen_keeps_buttons(
    desktop, attached, click, wait_until, qapp
):
    attached()
    trigger(desktop.window.actions_by_name["command_palette"])
    palette = desktop.window.findChild(CommandPalette)
    wait_until(palette.isVisible)
    QTest.keyClicks(palette.field, "contact points")
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    wait_until(lambda: desktop.window.scene_view.viewport.options.contacts)
    wait_until(lambda: desktop.window.findChild(CommandPalette) is None)
    # Every step of a plotted signal arrives.
    desktop.sessions.selection.select(JOINT)
    wait_until(lambda: desktop.window.inspector.row("position") is not None)
    scene = desktop.sessions.shown
    row = desktop.window.inspector.row("position").row
    desktop.window.plot_value(scene, row)
    assert desktop.window.plots.plots.all_series() == [series_of(scene, row)]
    wait_until(lambda: not scene.session.pending)
    click(desktop.window.transport.buttons["play"])
    wait_until(lambda: scene.status.step_count > 100)
    click(desktop.window.transport.buttons["play"])
    wait_until(lambda: desktop.window.transport.badge.word == "PAUSED")
    columns = desktop.window.store.columns(scene_key(scene), "qpos")
    wait_until(lambda: columns.count == scene.status.physics_step_count)
    # On half a small screen the transport drops numbers, and keeps buttons and badge.
    window, transport = desktop.window, desktop.window.transport
    wait_until(lambda: transport.badge.word == "PAUSED")
    window.resize(640, 360)
    wait_until(lambda: (window.width(), window.height()) == (640, 360))
    wait_until(transport.rate.isHidden)
    # Two buttons are those of recorded runs only.
    buttons = [each for name, each in transport.buttons.items() if name not in ("go_first", "loop")]
    kept = [*buttons, transport.badge, transport.toggle]
    for part in kept:
        assert part.isVisible()
        assert part.width() >= part.sizeHint().width()
        assert transport.rect().contains(part.geometry())
    stands_at = _status(desktop).step_count
    click(transport.buttons["step"])
    wait_until(lambda: _status(desktop).step_count == stands_at + 1)
    window.resize(1280, 720)
    wait_until(lambda: window.width() == 1280)
    wait_until(lambda: transport.rate.isVisible() and transport.steps.isVisible())


def test_a_view_without_a_scene_says_what_will_fill_it_and_the_status_bar_who_is_attached(
    desktop, attached, pendulums, wait_until
):
    empty = pendulums("--scenes", "0")
    desktop.sessions.open(empty.path)
    view = desktop.window.scene_view
    wait_until(lambda: view.empty.isVisible())
    assert "no scene yet" in view.empty.text()
    assert view.empty.geometry() == view.rect()
    application = attached("--scenes", "2")
    wait_until(lambda: not view.empty.isVisible())
    desktop.sessions.remove(next(s for s in desktop.sessions.sessions if s.path == empty.path))
    status = desktop.window.status
    wait_until(lambda: f"(pid {application.process.pid}) · 2 scenes" in status.text.full_text)
    # Frames that newer ones replace are no loss; missing rows of plotted signals are.
    wait_until(lambda: " · 0 dropped" in status.text.full_text)
    desktop.sessions.replaced_frames = 1084
    status.refresh()
    assert "0 dropped" in status.text.full_text
    assert "1\u202f084 frames were skipped" in status.text.toolTip()
    assert not status.lost.isVisible()
    desktop.sessions.lost_rows += 12
    status.refresh()
    assert status.lost.isVisible()
    assert status.lost.text() == "12 signal rows lost"
    assert "dropped" not in status.text.full_text
    assert status.counter.text() == "Log"
    desktop.log.add(LogLevel.WARNING, "something")
    assert status.counter.text() == "Log  1"
