"""A real window on a real display, and applications for it in processes of their own."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from stroboscope.app.main.application import DesktopApplication
from stroboscope.app.models.session_finder import find_sessions

SCRIPT = Path(__file__).with_name("pendulum_process.py")


class Pendulums:
    """A running application; ``path`` is its connection file."""

    def __init__(self, *arguments: str, script: Path = SCRIPT) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(script), *arguments], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.path = Path(json.loads(line)["file"])

    def has_ended(self) -> bool:
        """Whether the script is over."""
        return self.process.poll() is not None

    def close(self) -> None:
        """End it, however it is."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture
def pendulums(own_folders: Path) -> Iterator[Callable[..., Pendulums]]:
    """``pendulums("--scenes", "3")``: start an application."""
    started: list[Pendulums] = []

    def start(*arguments: str, script: Path = SCRIPT) -> Pendulums:
        started.append(Pendulums(*arguments, script=script))
        return started[-1]

    yield start
    for each in started:
        each.close()
    folder = own_folders / "runtime"
    for path in folder.glob("session-*.json"):
        path.unlink()


@pytest.fixture
def desktop(qapp: QApplication, own_folders: Path) -> Iterator[DesktopApplication]:
    """The window, open, with settings of its own."""
    desktop = DesktopApplication(qapp, settings_path=own_folders / "config" / "settings.json")
    desktop.window.show()
    assert QTest.qWaitForWindowExposed(desktop.window, 10_000)
    desktop.window.activateWindow()
    assert QTest.qWaitForWindowActive(desktop.window, 10_000)
    yield desktop
    desktop.window.close()
    desktop.close()
    desktop.window.deleteLater()


def click(widget: QWidget) -> None:
    """Press and release the left mouse button in the middle of a widget that can be seen."""
    assert widget.isVisible(), f"{widget} is not visible"
    assert widget.isEnabled(), f"{widget} is not enabled"
    center = QPoint(widget.width() // 2, widget.height() // 2)
    QTest.mouseClick(widget, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, center)


@pytest.fixture(name="click")
def click_fixture() -> Callable[[QWidget], None]:
    """``click(widget)``: what a person does."""
    return click


@pytest.fixture
def attached(
    desktop: DesktopApplication,
    pendulums: Callable[..., Pendulums],
    wait_until: Callable[..., None],
) -> Callable[..., Pendulums]:
    """``attached("--scenes", "2")``: an application whose first scene the window shows."""

    def attach(*arguments: str) -> Pendulums:
        application = pendulums(*arguments)
        before = len(desktop.sessions.all_scenes())
        desktop.sessions.open(application.path)
        wait_until(lambda: len(desktop.sessions.all_scenes()) > before)
        wait_until(lambda: desktop.sessions.shown is not None)
        wait_until(lambda: desktop.sessions.shown.description is not None)
        wait_until(lambda: desktop.sessions.shown.status is not None)
        return application

    return attach


@pytest.fixture
def run_script(
    desktop, own_folders: Path, wait_until: Callable[..., None]
) -> Iterator[Callable[[str], "subprocess.Popen[bytes]"]]:
    """``run_script(text)``: run it as ``script.py`` and attach the window to it."""
    path = own_folders / "script.py"
    started: list[subprocess.Popen[bytes]] = []

    def start(text: str, *, open_it: bool = True) -> "subprocess.Popen[bytes]":
        path.write_text(text, encoding="utf-8")
        known = {found.path for found in find_sessions()[0]}
        process = subprocess.Popen([sys.executable, "-P", str(path)], stderr=subprocess.DEVNULL)
        started.append(process)
        if open_it:
            wait_until(lambda: {f.path for f in find_sessions()[0]} - known, 30)
            (new,) = {f.path for f in find_sessions()[0]} - known
            desktop.sessions.open(new)
            wait_until(lambda: desktop.sessions.shown and desktop.sessions.shown.description, 30)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait(10)
    for left in (own_folders / "runtime").glob("session-*.json"):
        left.unlink()
