"""Files opened from the window: by its menu, by dropping, by a double click."""

import pytest
from event_loop import trigger
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDropEvent
from PySide6.QtWidgets import QFileDialog, QMessageBox

from stroboscope.app.main import cli
from stroboscope.app.main.application import DesktopApplication
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.window_link import WindowLock
from stroboscope.engine.outside.trust import trusted_folders

pytest.importorskip("mujoco")

MODEL = """<mujoco model="from a file"><worldbody><body><joint name="hinge"/>
<geom size="0.1"/></body></worldbody></mujoco>"""
OUTSIDE = '<mujoco><include file="/etc/passwd"/></mujoco>'


def drop(window, *paths):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    event = QDropEvent(
        QPoint(200, 200), Qt.DropAction.CopyAction, data,
        Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    window.drops.eventFilter(window, event)
    return event.isAccepted()


@pytest.fixture
def the_window(qapp, own_folders, wait_until):
    """The one window of this user, to which opened files attach."""
    lock = WindowLock.acquire()
    desktop = DesktopApplication(qapp, lock=lock)
    desktop.window.show()
    yield desktop
    children = [child.process for child in desktop.window.processes._children]
    desktop.window.close()
    # Whoever shows a file ends with its window.
    for child in children:
        assert child.wait(60) == 0
    desktop.window.deleteLater()


def test_a_model_that_is_chosen_in_the_menu_stands_paused_in_the_window(
    the_window, own_folders, wait_until, monkeypatch
):
    path = own_folders / "model.xml"
    path.write_text(MODEL, encoding="utf-8")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    trigger(the_window.window.actions_by_name["open_file"])
    sessions = the_window.sessions
    wait_until(lambda: sessions.shown is not None and sessions.shown.description is not None, 90)
    scene = sessions.shown
    assert scene.name == "from a file"
    assert scene.session.name == "model.xml"
    wait_until(lambda: scene.session.has_control)
    assert scene.status.step_count == 0


def test_a_file_that_is_dropped_beside_a_live_scene_is_shown_at_once(
    the_window, own_folders, pendulums, wait_until
):
    sessions = the_window.sessions
    sessions.open(pendulums("--script", "/x/first.py").path)
    wait_until(lambda: sessions.shown is not None and sessions.shown.description is not None)
    live = sessions.shown
    path = own_folders / "model.xml"
    path.write_text(MODEL, encoding="utf-8")
    assert drop(the_window.window, path)
    wait_until(lambda: sessions.shown is not live, 90)
    assert sessions.shown.session.identity == str(path)
    assert not the_window.window.status.joined.isVisible()
    sessions.show(live)
    assert drop(the_window.window, path)  # another look at the same file
    wait_until(lambda: sessions.shown is not live, 90)
    assert live in sessions.all_scenes()


def test_a_dropped_file_that_wants_others_is_refused_in_the_window(
    desktop, own_folders, wait_until
):
    path = own_folders / "stranger.xml"
    path.write_text(OUTSIDE, encoding="utf-8")
    assert drop(desktop.window, path)
    wait_until(lambda: desktop.log.counts[LogLevel.ERROR] == 1, 90)
    (line,) = [line for line in desktop.log.lines if line.level is LogLevel.ERROR]
    assert line.source == "stranger.xml"
    assert "lies outside of the folder" in line.text
    wait_until(lambda: "stranger.xml" in desktop.window.banner.text.text())


def test_a_folder_is_trusted_by_a_click_and_the_file_that_names_others_in_it_opens(
    the_window, own_folders, wait_until, monkeypatch, click
):
    window = the_window.window
    for place, name, text in (
        ("shared", "part.xml", "<mujocoinclude><worldbody><body name='part'/></worldbody>"),
        ("robot", "model.xml", '<mujoco><include file="../shared/part.xml"/>'),
    ):
        (own_folders / place).mkdir()
        ending = "</mujocoinclude>" if name == "part.xml" else "</mujoco>"
        (own_folders / place / name).write_text(text + ending, encoding="utf-8")
    path = own_folders / "robot" / "model.xml"
    chosen = [str(own_folders / "shared"), ""]
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: chosen.pop(0))
    assert drop(window, path)
    for _ in range(2):  # one that does not hold the model, and none: neither is of any use
        wait_until(lambda: window.trust.dialog is not None, 90)
        assert "part.xml" in window.trust.why.text()
        click(window.trust.choose)
    assert trusted_folders() == ()
    wait_until(lambda: window.trust.dialog is not None)
    chosen.append(str(own_folders))
    click(window.trust.choose)
    assert trusted_folders() == (own_folders.resolve(),)
    sessions = the_window.sessions
    wait_until(lambda: sessions.shown is not None and sessions.shown.description is not None, 90)
    assert "part" in [body.name for body in sessions.shown.description.bodies]
    assert window.trust.dialog is None


def test_a_dropped_script_is_not_run(desktop, own_folders, wait_until):
    path = own_folders / "script.py"
    path.write_text(f"open({str(own_folders / 'was run')!r}, 'w')", encoding="utf-8")
    assert drop(desktop.window, path)
    wait_until(lambda: desktop.log.counts[LogLevel.WARNING] == 1)
    assert "Run script" in desktop.log.lines[-1].text
    assert not (own_folders / "was run").exists()


def test_what_is_no_file_is_not_taken(desktop, own_folders):
    assert not drop(desktop.window, own_folders)
    assert not drop(desktop.window, own_folders / "nothing there")
    assert not drop(desktop.window)


def test_a_double_click_that_fails_says_why_in_a_dialog(own_folders, qapp, monkeypatch, capsys):
    shown = []
    monkeypatch.setattr(QMessageBox, "critical", lambda *words: shown.append(words[-1]))
    path = own_folders / "stranger.xml"
    path.write_text(OUTSIDE, encoding="utf-8")
    assert cli.main(["open", "--dialog", str(path)]) == 1
    assert len(shown) == 1
    assert "stranger.xml" in shown[0]
    assert "lies outside of the folder" in shown[0]
    assert cli.main(["open", str(path)]) == 1
    assert len(shown) == 1
    assert capsys.readouterr().err.count("lies outside of the folder") == 2
