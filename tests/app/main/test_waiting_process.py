"""A process that waits for the next file: what is opened is shown without waiting for its start."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from event_loop import trigger
from PySide6.QtCore import QMimeData, QPoint, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent
from PySide6.QtWidgets import QFileDialog

from stroboscope.app.main.application import DesktopApplication
from stroboscope.app.main.script_processes import ScriptProcesses
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.window_link import WindowLock

pytest.importorskip("mujoco")

MODEL = """<mujoco model="from a file"><worldbody><body><joint name="hinge"/>
<geom size="0.1"/></body></worldbody></mujoco>"""
PREPARES = """
import sys
from PySide6.QtCore import QCoreApplication
from stroboscope.app.main.script_processes import ScriptProcesses
app = QCoreApplication([])
processes = ScriptProcesses(lambda name, text: None)
processes.prepare()
print(processes._waiting.process.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def the_window(qapp, own_folders):
    """The one window of this user, to which opened files attach."""
    desktop = DesktopApplication(qapp, lock=WindowLock.acquire())
    desktop.window.show()
    yield desktop
    children = [child.process for child in desktop.window.processes._children]
    desktop.window.close()
    for child in children:
        assert child.wait(60) == 0
    desktop.window.deleteLater()


@pytest.fixture
def model(own_folders) -> Path:
    path = own_folders / "model.xml"
    path.write_text(MODEL, encoding="utf-8")
    return path


def waiting_pid(desktop) -> int | None:
    waiting = desktop.window.processes._waiting
    return None if waiting is None else waiting.process.pid


def runs(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def shown_pid(desktop) -> int | None:
    shown = desktop.sessions.shown
    described = shown is not None and shown.description is not None
    return shown.session.info.pid if described and shown.session.info else None


def test_a_file_is_shown_by_the_process_that_waited_for_one(the_window, model, wait_until):
    the_window.window.processes.prepare()
    pid = waiting_pid(the_window)
    the_window.window.open_file(str(model))
    wait_until(lambda: shown_pid(the_window) is not None, 90)
    assert shown_pid(the_window) == pid
    assert the_window.sessions.shown.session.name == "model.xml"
    # And another one waits for what is opened next.
    wait_until(lambda: waiting_pid(the_window) not in (None, pid))


def test_a_process_that_was_killed_while_it_waited_keeps_no_file_from_being_shown(
    the_window, model, wait_until
):
    the_window.window.processes.prepare()
    pid = waiting_pid(the_window)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not runs(pid))
    the_window.window.open_file(str(model))
    wait_until(lambda: shown_pid(the_window) is not None, 90)
    assert shown_pid(the_window) != pid


def test_what_is_wrong_with_a_file_is_told_by_the_process_that_waited_too(
    desktop, own_folders, wait_until
):
    path = own_folders / "stranger.xml"
    path.write_text('<mujoco><include file="/etc/passwd"/></mujoco>', encoding="utf-8")
    desktop.window.processes.prepare()
    desktop.window.open_file(str(path))
    wait_until(lambda: desktop.log.counts[LogLevel.ERROR] == 1, 90)
    (line,) = [line for line in desktop.log.lines if line.level is LogLevel.ERROR]
    assert line.source == "stranger.xml"
    assert "lies outside of the folder" in line.text


def test_one_waits_as_soon_as_files_are_dragged_into_the_window(desktop, model):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(model))])
    event = QDragEnterEvent(
        QPoint(200, 200), Qt.DropAction.CopyAction, data,
        Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier,
    )  # fmt: skip
    desktop.window.drops.eventFilter(desktop.window, event)
    pid = waiting_pid(desktop)
    assert pid is not None
    desktop.window.drops.eventFilter(desktop.window, event)
    assert waiting_pid(desktop) == pid  # one is enough


def test_one_waits_while_a_file_is_chosen(desktop, monkeypatch):
    seen = []

    def choose(*_):
        seen.append(waiting_pid(desktop))
        return "", ""

    monkeypatch.setattr(QFileDialog, "getOpenFileName", choose)
    trigger(desktop.window.actions_by_name["open_file"])
    assert seen != [None]


def test_one_waits_in_a_window_that_shows_nothing(desktop, wait_until):
    soon = desktop.window.processes._soon
    assert waiting_pid(desktop) is not None or soon.isActive()
    soon.setInterval(1)  # instead of the while that the window leaves to its own start
    wait_until(lambda: waiting_pid(desktop) is not None)


def test_a_window_that_shows_a_script_has_none_wait(desktop, pendulums, wait_until):
    processes = desktop.window.processes
    processes._soon.setInterval(600_000)  # however long the script takes to come
    processes.prepare_soon()
    before = waiting_pid(desktop)
    session = desktop.sessions.open(pendulums().path)
    wait_until(lambda: session.scenes)
    assert not processes._soon.isActive()
    assert waiting_pid(desktop) == before


def test_the_one_that_waits_ends_with_the_window(qapp, own_folders):
    desktop = DesktopApplication(qapp)
    desktop.window.processes.prepare()
    pid = waiting_pid(desktop)
    assert runs(pid)
    desktop.window.close()
    assert not runs(pid)
    desktop.close()
    desktop.window.deleteLater()


def test_the_one_that_waits_ends_when_the_window_is_killed(wait_until):
    window = subprocess.Popen(
        [sys.executable, "-P", "-c", PREPARES], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with window:
        pid = int(window.stdout.readline())
        assert runs(pid)
        window.kill()
    wait_until(lambda: not runs(pid))


def test_a_process_that_cannot_be_started_is_told_when_a_file_is_opened(monkeypatch):
    told = []
    processes = ScriptProcesses(lambda name, text: told.append((name, text)))
    monkeypatch.setattr(sys, "executable", "/nothing/there")
    processes.prepare()
    assert not told
    processes.open("model.xml", "model.xml")
    assert told[0][0] == "model.xml"
    assert "can't be started" in told[0][1]
    processes.close()
