"""The window as a person uses it: real clicks on real widgets, a real application behind them."""

import itertools

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QToolTip

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.debugger_protocol.messages import LogLevel, PlaybackMode
from stroboscope.debugger_protocol.topics import Instant

JOINT = Element(ElementKind.JOINT, 0)


def _picture(desktop):
    image = desktop.window.scene_view.viewport.grab_image()
    assert not image.isNull()
    return bytes(image.constBits())


def _status(desktop):
    return desktop.sessions.shown.status


def test_play_moves_time_and_picture_step_is_exactly_one_and_closing_ends_the_script(
    desktop, attached, click, wait_until
):
    application = attached()
    transport = desktop.window.transport
    wait_until(lambda: transport.badge.word == "PAUSED")
    assert _status(desktop).step_count == 0
    before = _picture(desktop)

    click(transport.buttons["play"])
    wait_until(lambda: transport.badge.word == "PLAYING")
    wait_until(lambda: _status(desktop).time > 0.2)
    wait_until(lambda: _picture(desktop) != before)
    assert transport.time.text().startswith("t ")

    click(transport.buttons["play"])
    wait_until(lambda: transport.badge.word == "PAUSED")
    wait_until(lambda: not desktop.sessions.shown.session.pending)
    stands_at = _status(desktop).step_count

    click(transport.buttons["step"])
    wait_until(lambda: _status(desktop).step_count != stands_at)
    wait_until(lambda: not desktop.sessions.shown.session.pending)
    assert _status(desktop).step_count == stands_at + 1
    shown = f"step {stands_at + 1}"
    wait_until(lambda: transport.steps.text().replace("\u2009", "") == shown)

    click(transport.buttons["restore"])
    wait_until(lambda: _status(desktop).step_count == 0)
    assert _status(desktop).mode is PlaybackMode.PAUSED
    wait_until(lambda: transport.time.text() == "t 0.000\u2009s")

    desktop.window.close()
    wait_until(application.has_ended)
    assert application.process.returncode == 0


def test_fast_forward_is_faster_than_real_time_and_toggles_back_to_play(
    desktop, attached, click, wait_until
):
    attached()
    transport = desktop.window.transport
    click(transport.buttons["fast_forward"])
    wait_until(lambda: transport.badge.word == "FAST FORWARD")
    wait_until(lambda: (_status(desktop).rtf or 0) > 2.0)
    assert transport.rate.text().endswith("of max")
    click(transport.buttons["fast_forward"])
    wait_until(lambda: transport.badge.word == "PLAYING")
    wait_until(lambda: transport.rate.text().endswith("of 1×"))


def test_in_fast_forward_a_view_that_the_processor_draws_yields_and_play_lifts_that(
    desktop, attached, click, wait_until
):
    from stroboscope.app.main.scene_view import FAST_FORWARD_FPS

    attached()
    viewport, transport = desktop.window.scene_view.viewport, desktop.window.transport
    assert viewport.frame_limit == 0.0
    click(transport.buttons["fast_forward"])
    wait_until(lambda: transport.badge.word == "FAST FORWARD")
    assert viewport.frame_limit == (FAST_FORWARD_FPS if viewport.on_software else 0.0)
    click(transport.buttons["play"])
    wait_until(lambda: transport.badge.word == "PAUSED")
    assert viewport.frame_limit == 0.0


def test_selecting_a_scene_shows_it_and_changes_nothing_in_playback(
    desktop, attached, click, wait_until
):
    attached("--scenes", "2")
    first = desktop.sessions.shown
    click(desktop.window.transport.buttons["play"])
    wait_until(lambda: first.status.step_count > 5)
    QTest.keyClick(desktop.window, Qt.Key.Key_PageDown)
    wait_until(lambda: desktop.sessions.shown is not first)
    second = desktop.sessions.shown
    assert second.name == "Pendulum (2)"
    wait_until(lambda: second.description is not None)
    assert second.session.mode is PlaybackMode.PLAYING
    stepped = first.status.step_count
    wait_until(lambda: first.status.step_count > stepped)
    assert desktop.window.scene_view.viewport.description.name == "Pendulum (2)"


def test_the_inspector_states_one_instant_and_follows_the_selection(desktop, attached, wait_until):
    attached()
    inspector = desktop.window.inspector
    desktop.sessions.selection.select(JOINT)
    wait_until(lambda: inspector.row("position") is not None)
    wait_until(lambda: inspector.row("position").row.value is not None)
    assert inspector.title.full_text == "pivot"
    assert inspector.row("position").number.text() == "0.900"
    assert inspector.row("actuators").row.note == "of ±40.0"
    assert inspector.instant.full_text.startswith("NOW")
    assert "t 0.000" in inspector.moment.full_text
    current = desktop.window.tree.view.currentIndex().siblingAtColumn(0)
    assert current.data() == "pivot"


def test_labels_numbers_units_and_notes_stand_side_by_side_in_full(desktop, attached, wait_until):
    attached()
    inspector = desktop.window.inspector
    for element in (JOINT, Element(ElementKind.ACTUATOR, 0), None):
        desktop.sessions.selection.select(element)
        inspector.refresh()
        wait_until(lambda: inspector.rows and inspector.rows[0].name.isVisible())
        wait_until(lambda: inspector.rows[0].name.x() > 0)
        for row in inspector.rows:
            texts = [row.name, row.text or row.number, row.unit, row.note]
            shown = [t.geometry() for t in texts if t.text()]
            if row.spark is not None:
                shown.append(row.spark.geometry())
            for left, right in itertools.pairwise(shown):
                assert not left.intersects(right), row.row.label
            for label in (row.name, row.note):
                assert label.text() == label.full_text, row.row.label


def test_numbers_stay_while_those_of_the_next_instant_come_in_parts(desktop, attached, wait_until):
    import dataclasses

    from stroboscope.debugger_protocol.topics import Topic

    attached()
    inspector, scene = desktop.window.inspector, desktop.sessions.shown
    desktop.sessions.selection.select(JOINT)
    wait_until(lambda: inspector.row("position") is not None)
    wait_until(lambda: inspector.row("position").row.value == 0.9)
    pose = scene.latest(Topic.POSE)
    scene.add_frame(
        dataclasses.replace(pose, instant=Instant.EXECUTED, axis=pose.axis + 1, step=pose.step + 1)
    )
    inspector.refresh()
    assert inspector.row("position").row.value == 0.9
    assert inspector.instant.full_text.startswith("NOW")


def test_numbers_follow_at_once_when_the_last_part_of_an_instant_has_come(
    desktop, attached, wait_until
):
    import dataclasses

    from stroboscope.debugger_protocol.topics import Topic

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


def test_a_number_shows_its_recent_past_once_per_instant(desktop, attached, click, wait_until):
    attached()
    inspector = desktop.window.inspector
    desktop.sessions.selection.select(JOINT)
    wait_until(lambda: inspector.row("position") is not None)
    wait_until(lambda: inspector.row("position").spark is not None)
    assert inspector.row("type").spark is None
    click(desktop.window.transport.buttons["play"])
    wait_until(lambda: len(inspector.row("position").spark.values) > 5)
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


def test_a_paused_scene_can_show_the_step_that_was_executed_last(
    desktop, attached, click, wait_until
):
    attached()
    transport, inspector = desktop.window.transport, desktop.window.inspector
    desktop.sessions.selection.select(JOINT)
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
    # The executed frame is the state the step started from: one step before NOW.
    assert "step 0" in inspector.moment.full_text
    assert inspector.row("position").row.value != now
    assert inspector.row("position").row.value == 0.9


def test_editing_a_joint_while_paused_moves_it_and_is_refused_while_playing(
    desktop, attached, click, wait_until
):
    attached()
    inspector = desktop.window.inspector
    desktop.sessions.selection.select(JOINT)
    wait_until(lambda: inspector.row("position") is not None)
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


def test_keys_work_and_sleep_while_a_text_field_has_the_focus(desktop, attached, wait_until):
    attached()
    window = desktop.window
    QTest.keyClick(window, Qt.Key.Key_Space)
    wait_until(lambda: _status(desktop).mode is PlaybackMode.PLAYING)
    QTest.keyClick(window, Qt.Key.Key_Space)
    wait_until(lambda: _status(desktop).mode is PlaybackMode.PAUSED)
    window.activateWindow()
    window.tree.search.setFocus()
    wait_until(window.tree.search.hasFocus)
    QTest.keyClicks(window.tree.search, " c-")
    assert window.tree.search.text() == " c-"
    assert _status(desktop).mode is PlaybackMode.PAUSED
    assert desktop.sessions.shown.session.speed == 1.0
    assert not window.scene_view.viewport.options.contacts


def test_speed_keys_and_the_speed_box_agree(desktop, attached, wait_until):
    attached()
    QTest.keyClick(desktop.window, Qt.Key.Key_Minus)
    wait_until(lambda: desktop.sessions.shown.session.speed == 0.5)
    wait_until(lambda: desktop.window.transport.speed.currentText() == "1/2×")
    QTest.keyClick(desktop.window, Qt.Key.Key_Equal)
    QTest.keyClick(desktop.window, Qt.Key.Key_Equal)
    wait_until(lambda: desktop.sessions.shown.session.speed == 2.0)


def test_a_script_that_dies_leaves_its_last_state_marked_stale(desktop, attached, wait_until):
    application = attached()
    desktop.sessions.selection.select(JOINT)
    wait_until(lambda: desktop.window.inspector.row("position") is not None)
    application.process.kill()
    wait_until(lambda: desktop.window.transport.badge.word == "DISCONNECTED")
    assert desktop.sessions.shown is not None
    assert desktop.window.inspector.row("position").number.text() == "0.900"
    wait_until(lambda: "not live" in desktop.window.inspector.instant.full_text)
    assert not desktop.window.actions_by_name["step"].isEnabled()
    tooltip = desktop.window.actions_by_name["step"].toolTip()
    assert "No live scene" in tooltip


def test_a_script_that_is_started_again_gets_scene_selection_and_camera_back(
    desktop, attached, pendulums, wait_until
):
    first = attached("--scenes", "2", "--script", "/somewhere/train.py")
    QTest.keyClick(desktop.window, Qt.Key.Key_PageDown)
    wait_until(lambda: desktop.sessions.shown.name == "Pendulum (2)")
    wait_until(lambda: desktop.sessions.shown.description is not None)
    desktop.sessions.selection.select(JOINT)
    viewport = desktop.window.scene_view.viewport
    wait_until(lambda: desktop.sessions.shown.latest("pose") is not None)
    viewport.look_through(0)
    camera = viewport.camera
    first.close()
    wait_until(lambda: desktop.window.transport.badge.word == "DISCONNECTED")
    pendulums("--scenes", "2", "--script", "/somewhere/train.py")
    wait_until(lambda: desktop.window.transport.badge.word == "PAUSED", 20)
    wait_until(lambda: desktop.sessions.shown.name == "Pendulum (2)")
    wait_until(lambda: desktop.sessions.selection.element == JOINT)
    assert viewport.camera == camera
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
    second.process.wait(10)
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


def test_a_slow_script_is_said_to_be_busy_while_a_pause_waits_for_it(
    desktop, attached, click, wait_until
):
    attached("--busy", "3")
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

    from PySide6.QtCore import QTimer

    QTimer.singleShot(0, fail)
    wait_until(desktop.window.banner.isVisible)
    assert "made to fail" in desktop.window.banner.text.text()
    assert desktop.log.counts[LogLevel.ERROR] == 1
    desktop.window.banner.copy()
    assert "Traceback" in qapp.clipboard().text()
    assert "made to fail" in capsys.readouterr().err


def test_settings_survive_the_window(qapp, own_folders, wait_until):
    from stroboscope.app.main.application import DesktopApplication

    path = own_folders / "config" / "settings.json"
    first = DesktopApplication(qapp, settings_path=path)
    first.window.show()
    first.window.resize(1300, 777)
    first.window.set_theme("light")
    first.window.actions_by_name["contacts"].trigger()
    first.window.close()
    first.window.deleteLater()
    second = DesktopApplication(qapp, settings_path=path)
    second.window.show()
    try:
        assert second.window.palette_tokens.name == "light"
        assert second.window.scene_view.viewport.options.contacts
        wait_until(lambda: second.window.size().height() == 777)
    finally:
        second.window.set_theme("dark")
        second.window.close()
        second.window.deleteLater()


def test_plots_are_remembered_per_script_and_stay_away_once_removed(
    qapp, own_folders, pendulums, wait_until
):
    from stroboscope.app.main.application import DesktopApplication
    from stroboscope.app.main.plot_feed import scene_key
    from stroboscope.app.models.plot_store import PlotSeriesId

    def attached_window(application):
        desktop = DesktopApplication(qapp, settings_path=own_folders / "config" / "settings.json")
        desktop.window.show()
        desktop.sessions.open(application.path)
        wait_until(lambda: desktop.sessions.shown and desktop.sessions.shown.description)
        return desktop

    first = attached_window(pendulums("--script", "train.py"))
    scene = first.sessions.shown
    first.window.plots.add_signals(PlotSeriesId(scene_key(scene), "qvel"))
    first.sessions.play()
    columns = first.window.store.columns
    wait_until(lambda: (c := columns(scene_key(scene), "qvel")) is not None and c.count > 50)
    first.window.close()
    first.window.deleteLater()

    second = attached_window(pendulums("--script", "train.py"))
    layout = second.window.plots.plots
    try:
        wait_until(lambda: [s.channel for s in layout.all_series()] == ["qvel"])
        layout.clear()
        second.sessions.play()
        wait_until(lambda: second.sessions.shown.status.step_count > 20)
        assert layout.all_series() == []
    finally:
        second.window.close()
        second.window.deleteLater()


def test_every_step_of_a_plotted_signal_arrives(desktop, attached, click, wait_until):
    from stroboscope.app.main.plot_feed import scene_key, series_of

    attached()
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


def test_a_view_without_a_scene_says_what_will_fill_it(desktop, attached, pendulums, wait_until):
    application = pendulums("--scenes", "0")
    desktop.sessions.open(application.path)
    view = desktop.window.scene_view
    wait_until(lambda: view.empty.isVisible())
    assert "no scene yet" in view.empty.text()
    assert view.empty.geometry() == view.rect()
    attached()
    wait_until(lambda: not view.empty.isVisible())


def test_the_status_bar_says_who_is_attached_and_counts_problems(desktop, attached, wait_until):
    application = attached("--scenes", "2")
    status = desktop.window.status
    wait_until(lambda: f"(pid {application.process.pid}) · 2 scenes" in status.text.full_text)
    # Frames that newer ones replace are no loss; missing rows of plotted signals are.
    wait_until(lambda: " · 0 dropped" in status.text.full_text)
    desktop.sessions.replaced_frames = 1084
    status.refresh()
    assert "0 dropped" in status.text.full_text
    assert "1\u2009084 frames were skipped" in status.text.toolTip()
    assert not status.lost.isVisible()
    desktop.sessions.lost_rows += 12
    status.refresh()
    assert status.lost.isVisible()
    assert status.lost.text() == "12 signal rows lost"
    assert "dropped" not in status.text.full_text
    assert status.counter.text() == "Log"
    desktop.log.add(LogLevel.WARNING, "something")
    assert status.counter.text() == "Log  1"


def test_the_command_palette_finds_and_runs_a_command(desktop, attached, wait_until, qapp):
    from stroboscope.app.panels.command_palette import CommandPalette

    attached()
    desktop.window.actions_by_name["command_palette"].trigger()
    palette = desktop.window.findChild(CommandPalette)
    wait_until(palette.isVisible)
    QTest.keyClicks(palette.field, "contact points")
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert desktop.window.scene_view.viewport.options.contacts
    wait_until(lambda: not palette.isVisible())


def test_on_half_a_small_screen_the_transport_drops_numbers_and_keeps_buttons_and_badge(
    desktop, attached, click, wait_until
):
    attached()
    window, transport = desktop.window, desktop.window.transport
    wait_until(lambda: transport.badge.word == "PAUSED")
    window.resize(640, 360)
    wait_until(lambda: (window.width(), window.height()) == (640, 360))
    kept = [*transport.buttons.values(), transport.badge, transport.toggle]
    for part in kept:
        assert part.isVisible()
        assert part.width() >= part.sizeHint().width()
        assert transport.rect().contains(part.geometry())
    assert transport.rate.isHidden()
    click(transport.buttons["step"])
    wait_until(lambda: _status(desktop).step_count == 1)
    window.resize(1280, 720)
    wait_until(lambda: window.width() == 1280)
    wait_until(lambda: transport.rate.isVisible() and transport.steps.isVisible())
