"""A real window on a real display, and applications for it in processes of their own."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip, QWidget
from warm_process import Script, WarmProcess

from stroboscope.app.main.application import DesktopApplication
from stroboscope.app.models.session_finder import find_sessions
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.topics import Instant, Topic

SCRIPT = Path(__file__).with_name("pendulum_process.py")
REMEMBERING = Path(__file__).with_name("remembering_process.py")
Key, NO_KEYS, LEFT = Qt.Key, Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton


class Pendulums:
    """A running application; ``path`` is its connection file."""

    def __init__(self, warm: WarmProcess, *arguments: str, script: Path = SCRIPT) -> None:
        self.process = warm.run(script, *arguments, output=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.path = Path(json.loads(line)["file"])

    def has_ended(self) -> bool:
        """Whether the script is over."""
        return self.process.poll() is not None

    def close(self) -> None:
        """End it, however it is."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture
def pendulums(own_folders: Path, warm_process: WarmProcess) -> Iterator[Callable[..., Pendulums]]:
    """``pendulums("--scenes", "3")``: start an application."""
    started: list[Pendulums] = []

    def start(*arguments: str, script: Path = SCRIPT) -> Pendulums:
        started.append(Pendulums(warm_process, *arguments, script=script))
        return started[-1]

    yield start
    for each in started:
        each.close()
    folder = own_folders / "runtime"
    for path in folder.glob("session-*.json"):
        path.unlink()


@pytest.fixture
def desktop(qapp: QApplication, own_folders: Path) -> Iterator[DesktopApplication]:
    """The window, open, with settings of its own, of somebody who has plots and log open."""
    desktop = DesktopApplication(qapp, settings_path=own_folders / "config" / "settings.json")
    desktop.window.panels.remember("", [], folded=False)
    desktop.window.resize(1280, 800)  # of the first start it is by the screen
    desktop.window.show()
    assert QTest.qWaitForWindowExposed(desktop.window, 60_000)
    desktop.window.activateWindow()
    assert QTest.qWaitForWindowActive(desktop.window, 60_000)
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
def click_fixture(wait_until: Callable[..., None]) -> Callable[[QWidget], None]:
    """``click(widget)``: what a person does, who waits until it can be clicked."""

    def wait_and_click(widget: QWidget) -> None:
        # Asked first: in a dialog no event should run that needs not.
        if not (widget.isVisible() and widget.isEnabled()):
            wait_until(lambda: widget.isVisible() and widget.isEnabled())
        click(widget)

    return wait_and_click


@pytest.fixture
def right_click(qapp: QApplication) -> Callable[..., dict[str, Any]]:
    """``right_click(view, index)``: what the menu offers that a row's right click opens, by text.

    The press goes the way of a real one, through the window: that is where menus are asked for.
    """

    def press(view: Any, index: Any) -> dict[str, Any]:
        seen = view.viewport().rect()
        if not view.visualRect(index).intersects(seen):
            view.scrollTo(index)
        window, rect = view.window(), view.visualRect(index).intersected(seen)
        at = view.viewport().mapTo(window, rect.center())
        for do in (QTest.mousePress, QTest.mouseRelease):
            do(window.windowHandle(), Qt.MouseButton.RightButton, NO_KEYS, at)
        menu = QApplication.activePopupWidget()
        if menu is None:
            return {}
        entries = {action.text(): action for action in menu.actions()}
        QTest.keyClick(menu, Qt.Key.Key_Escape)
        return entries

    return press


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
def play_on(desktop: DesktopApplication, wait_until: Callable[..., None]) -> Callable[[int], None]:
    """``play_on(40)``: play the scene in view for at least so many physics steps, and pause.

    How many more it takes until it stands is nobody's to say: never count from an earlier number.
    """

    def play(steps: int) -> None:
        scene = desktop.sessions.shown
        assert scene is not None
        begin = scene.status.axis
        desktop.sessions.play()
        wait_until(lambda: scene.status.axis >= begin + steps)
        desktop.sessions.pause()
        wait_until(lambda: scene.mode is PlaybackMode.PAUSED)
        wait_until(lambda: scene.stands_still and scene.history.has_rows)

    return play


@pytest.fixture
def run_script(
    desktop: DesktopApplication,
    own_folders: Path,
    warm_process: WarmProcess,
    wait_until: Callable[..., None],
) -> Iterator[Callable[..., Script]]:
    """``run_script(text)``: run it as ``script.py`` and attach the window to it."""
    path = own_folders / "script.py"
    started: list[Script] = []

    def start(text: str, *, open_it: bool = True) -> Script:
        path.write_text(text, encoding="utf-8")
        known = {found.path for found in find_sessions()[0]}
        started.append(warm_process.run(path))
        if open_it:
            new = None

            def is_found() -> bool:
                nonlocal new
                assert started[-1].poll() is None, "the script has ended"
                new = next((f.path for f in find_sessions()[0] if f.path not in known), None)
                return new is not None

            wait_until(is_found, 60)
            assert new is not None
            desktop.sessions.open(new)
            wait_until(lambda: desktop.sessions.shown and desktop.sessions.shown.description, 60)
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()
    for left in (own_folders / "runtime").glob("session-*.json"):
        left.unlink()


# --- the past


class Traveller:
    """What a person does with the window, and what can be seen of it."""

    def __init__(self, desktop, wait_until) -> None:
        self.desktop, self.window, self.wait = desktop, desktop.window, wait_until

    @property
    def scene(self):
        return self.desktop.sessions.shown

    @property
    def history(self):
        return self.scene.history

    @property
    def strip(self):
        return self.window.timeline.strip

    @property
    def badge(self) -> str:
        return self.window.transport.badge.word

    def press(self, key, modifier=NO_KEYS) -> None:
        QTest.keyClick(self.window.scene_view.viewport, key, modifier)

    def settle(self) -> None:
        self.wait(lambda: not self.scene.session.pending)

    def play_on(self, steps: int) -> None:
        """Play for at least so many physics steps, and pause; how many more there are is open."""
        begin = self.scene.status.axis
        self.press(Key.Key_Space)
        self.wait(lambda: self.scene.status.axis >= begin + steps)
        self.press(Key.Key_Space)
        self.wait(lambda: self.scene.mode is PlaybackMode.PAUSED)
        self.settle()
        self.wait(lambda: self.history.has_rows and self.badge.startswith("PAUSED"))
        self.wait(lambda: self.scene.stands_still)

    def step(self, steps: int) -> None:
        """Take exactly so many application steps, each one physics step."""
        end = self.scene.status.axis + steps
        self.desktop.sessions.step(steps)
        self.wait(lambda: self.scene.status.axis == end)
        self.settle()

    def at(self, axis: int) -> QPoint:
        return QPoint(round(self.strip.scale.x(axis)), self.strip.height() - 8)

    def shown(self):
        """Return the instant and the frames that panels and picture have."""
        return self.scene.frame_set((Topic.POSE, Topic.STATE), self.window.view.instant)

    def looks_at(self, axis: int) -> bool:
        frames = self.shown()
        return (
            self.history.view == axis
            and frames is not None
            and frames.instant is Instant.PAST
            and frames.axis == axis
        )

    def drag(self, *axes: int) -> None:
        """Press at the first, move over all of them, let go at the last."""
        QTest.mousePress(self.strip, LEFT, NO_KEYS, self.at(axes[0]))
        for axis in axes[1:]:
            self._move(self.at(axis), LEFT)
        QTest.mouseRelease(self.strip, LEFT, NO_KEYS, self.at(axes[-1]))

    def _move(self, at: QPoint, button) -> None:
        point = QPointF(at)
        event = QMouseEvent(
            QEvent.Type.MouseMove,
            point,
            QPointF(self.strip.mapToGlobal(at)),
            Qt.MouseButton.NoButton,
            button,
            NO_KEYS,
        )
        QApplication.sendEvent(self.strip, event)

    def double_click(self, at: QPoint) -> None:
        """Send all that a mouse sends: a click, and a second one that is a double click."""
        QTest.mouseClick(self.strip, LEFT, NO_KEYS, at)
        QTest.mouseDClick(self.strip, LEFT, NO_KEYS, at)
        QTest.mouseRelease(self.strip, LEFT, NO_KEYS, at)

    def hover(self, at: QPoint) -> str:
        self._move(at, Qt.MouseButton.NoButton)
        return QToolTip.text()

    def wheel(self, notches: int, at: QPoint) -> None:
        event = QWheelEvent(
            QPointF(at),
            QPointF(self.strip.mapToGlobal(at)),
            QPoint(),
            QPoint(0, 120 * notches),
            Qt.MouseButton.NoButton,
            NO_KEYS,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(self.strip, event)


@pytest.fixture
def traveller(desktop, wait_until) -> Traveller:
    """The window as it is, with whatever it shows."""
    return Traveller(desktop, wait_until)


@pytest.fixture
def travel(desktop, pendulums, wait_until):
    """``travel("--nstep", "2")``: the window attached to something that remembers."""

    def attach(*arguments: str) -> Traveller:
        application = pendulums(*arguments, script=REMEMBERING)
        desktop.sessions.open(application.path)
        wait_until(lambda: desktop.sessions.shown is not None)
        wait_until(lambda: desktop.sessions.shown.description is not None)
        wait_until(lambda: desktop.sessions.shown.status is not None)
        traveller = Traveller(desktop, wait_until)
        traveller.application = application
        return traveller

    return attach
