"""Who controls, what is sent to whom, and what the window does with what it can't read."""

import pytest
from event_loop import trigger
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from samples import few

from stroboscope.app.models.sessions import Scope
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.messages import LogLevel, PlaybackMode


def test_an_observing_window_changes_nothing_until_it_takes_control(
    desktop, pendulums, click, wait_until
):
    application = pendulums()
    with DebuggerClient.connect(application.path) as other:
        desktop.sessions.open(application.path)
        wait_until(lambda: desktop.sessions.shown is not None)
        transport = desktop.window.transport
        session = desktop.sessions.shown.session
        wait_until(lambda: session.status is not None)
        assert not session.has_control
        wait_until(transport.control.isVisible)
        click(transport.buttons["play"])
        wait_until(lambda: desktop.log.counts[LogLevel.WARNING] == 1)
        assert session.mode is PlaybackMode.PAUSED

        click(transport.control)
        wait_until(lambda: session.has_control)
        wait_until(lambda: not transport.control.isVisible())
        click(transport.buttons["play"])
        wait_until(lambda: session.mode is PlaybackMode.PLAYING)
        wait_until(lambda: other.scenes()[0].mode is PlaybackMode.PLAYING)


def test_play_of_one_scene_holds_the_others_and_a_single_step_pauses_every_application(
    desktop, attached, click, wait_until
):
    # Each in a process of its own: scenes of one thread wait for each other.
    attached("--script", "a.py")
    first = desktop.sessions.shown
    attached("--script", "b.py")
    wait_until(lambda: len(desktop.sessions.all_scenes()) == 2)
    second = desktop.sessions.all_scenes()[1]
    wait_until(lambda: second.status is not None)
    # As a person chooses it: Qt hands a string back, not the enum.
    box = desktop.window.transport.scope
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Down)
    assert desktop.sessions.scope is Scope.SCENE
    assert desktop.window.transport.scope.currentText() == "This scene"
    click(desktop.window.transport.buttons["play"])
    wait_until(lambda: first.status.step_count > 5)
    assert second.status.step_count == 0
    assert second.session.mode is PlaybackMode.PAUSED
    # In the scope of all, a single step pauses whatever plays.
    desktop.sessions.set_scope(Scope.ALL)
    desktop.sessions.play()
    wait_until(lambda: second.status is not None and second.status.step_count > 5)
    click(desktop.window.transport.buttons["step"])
    wait_until(lambda: first.mode is PlaybackMode.PAUSED)
    wait_until(lambda: second.mode is PlaybackMode.PAUSED)


def test_a_scene_that_waits_for_another_offers_to_step_both(desktop, attached, click, wait_until):
    attached("--scenes", "2")
    transport = desktop.window.transport
    first = desktop.sessions.shown
    click(transport.buttons["step"])
    wait_until(lambda: first.status.step_count == 1)
    # Now their thread stands in the second scene's step: the first can't go on alone.
    click(transport.buttons["step"])
    wait_until(lambda: transport.badge.word == "WAITING")
    wait_until(lambda: "Pendulum (2)" in transport.detail.full_text)
    click(transport.dependents)
    wait_until(lambda: first.status.step_count >= 2)


def test_the_connect_dialog_lists_what_runs_and_attaches(desktop, pendulums, click, wait_until):
    from PySide6.QtCore import QTimer
    from PySide6.QtWidgets import QApplication

    from stroboscope.app.panels.connect_dialog import ConnectDialog

    pendulums("--script", "/somewhere/train.py")
    texts = []

    def use_dialog():
        dialog = QApplication.activeModalWidget()
        if not isinstance(dialog, ConnectDialog) or not dialog.list.buttons:
            QTimer.singleShot(10, use_dialog)  # the test's own time-out is its end
            return
        (button,) = dialog.list.buttons.values()
        texts.append(button.text())
        click(button)

    QTimer.singleShot(0, use_dialog)
    trigger(desktop.window.actions_by_name["connect"])
    assert texts == ["Connect"]
    wait_until(lambda: desktop.sessions.shown is not None)
    wait_until(lambda: desktop.sessions.shown.session.name == "train.py")


def test_the_welcome_page_goes_when_a_session_comes_and_returns_when_it_is_removed(
    desktop, pendulums, click, wait_until
):
    window = desktop.window
    assert window.pages.currentWidget() is window.welcome
    assert not window.transport.isVisible()
    application = pendulums()
    window.welcome.sessions.refresh()
    (button,) = window.welcome.sessions.buttons.values()
    click(button)
    wait_until(lambda: desktop.sessions.shown is not None)
    wait_until(lambda: window.pages.currentWidget() is window.scene_view)
    wait_until(window.docks["inspector"].isVisible)
    trigger(window.actions_by_name["disconnect"])
    wait_until(application.has_ended)
    wait_until(lambda: window.pages.currentWidget() is window.welcome)
    wait_until(lambda: not window.docks["inspector"].isVisible())


def test_a_connection_file_of_nobody_is_an_error_with_a_banner(desktop, own_folders, wait_until):
    path = own_folders / "runtime" / "session-1-nobody.json"
    path.write_text("{}")
    path.chmod(0o600)
    desktop.sessions.open(path)
    wait_until(lambda: desktop.log.counts[LogLevel.ERROR] == 1)
    assert any("Could not connect" in line.text for line in desktop.log.lines)
    wait_until(desktop.window.banner.isVisible)
    assert desktop.sessions.sessions == []
    path.unlink()


@pytest.mark.parametrize("name", few(["light", "dark"], 1))
def test_every_part_takes_another_theme(desktop, attached, wait_until, name):
    attached()
    desktop.window.set_theme(name)
    assert desktop.window.palette_tokens.name == name
    assert not desktop.window.banner.isVisible()
    desktop.window.set_theme("dark")


def test_panels_hide_with_one_key_come_back_as_they_were_and_float_beside_the_picture(
    desktop, attached, wait_until, qapp
):
    attached()
    docks = desktop.window.docks
    desktop.window.panels.show("log")
    wait_until(lambda: docks["plots"].in_front and docks["inspector"].in_front)
    before = {name: (dock.isHidden(), dock.in_front) for name, dock in docks.items()}
    action = desktop.window.actions_by_name["panels"]
    trigger(action)
    assert all(dock.isHidden() for dock in docks.values())
    trigger(action)
    wait_until(lambda: before == {n: (d.isHidden(), d.in_front) for n, d in docks.items()})
    # Floating and docking a panel keeps the picture.
    wait_until(lambda: desktop.sessions.shown.latest("pose") is not None)
    dock = desktop.window.docks["inspector"]
    dock.setFloating(True)
    qapp.processEvents()
    dock.setFloating(False)
    desktop.window.panels.reset()
    image = desktop.window.scene_view.viewport.grab_image()
    colors = {
        image.pixel(x, y) for x in range(0, image.width(), 37) for y in range(0, image.height(), 37)
    }
    assert len(colors) > 10


def test_a_script_that_fails_is_reported_with_its_last_lines(desktop, own_folders, wait_until):
    script = own_folders / "work" / "broken.py"
    script.write_text("raise RuntimeError('no such robot')\n")
    desktop.window.start_script(str(script))
    wait_until(lambda: desktop.log.counts[LogLevel.ERROR] == 1, 60)
    (line,) = [line for line in desktop.log.lines if line.level is LogLevel.ERROR]
    assert line.source == "broken.py"
    assert "RuntimeError: no such robot" in line.text


def test_settings_may_name_other_keys(qapp, own_folders):
    from stroboscope.app.main.application import DesktopApplication
    from stroboscope.app.models.settings import Settings, SettingsStore

    path = own_folders / "config" / "settings.json"
    SettingsStore(path).save(Settings(shortcuts={"play": "P F5", "wireframe": ""}))
    desktop = DesktopApplication(qapp, settings_path=path)
    actions = desktop.window.actions_by_name
    assert [key.toString() for key in actions["play"].shortcuts()] == ["P", "F5"]
    assert actions["wireframe"].shortcuts() == []
    assert "P" in actions["play"].toolTip()
    desktop.window.close()
    desktop.window.deleteLater()
