"""A real display, one QApplication, and a check after each test that nothing was left behind."""

import contextlib
import gc
import os
import re
import selectors
import shutil
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from event_loop import DEADLINE_S, wait_in_loop

LEAK_DEADLINE_S = 30.0
XVFB_START_S = 60.0


def _read_display_number(pipe: int, process: subprocess.Popen[bytes]) -> str:
    """Return the display that Xvfb announces on ``pipe`` once it accepts connections."""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        if not selector.select(XVFB_START_S):
            raise RuntimeError(f"Xvfb (pid {process.pid}) was silent for {XVFB_START_S} s")
    number = os.read(pipe, 32).decode().strip()
    if not number:
        raise RuntimeError(f"Xvfb ended with code {process.wait()} before it opened a display")
    return f":{number}"


@contextlib.contextmanager
def _virtual_display() -> Iterator[str]:
    """Run an X server of our own: the `offscreen` platform has no GL, so it proves too little."""
    executable = shutil.which("Xvfb")
    if executable is None:
        pytest.fail("GUI tests need a display: set DISPLAY, or install the package 'xvfb'")
    read_end, write_end = os.pipe()
    command = [executable, "-displayfd", str(write_end), "-screen", "0", "1920x1200x24"]
    command += ["-nolisten", "tcp", "-noreset", "+extension", "GLX"]
    process = subprocess.Popen(command, pass_fds=[write_end], stderr=subprocess.DEVNULL)
    os.close(write_end)
    try:
        yield _read_display_number(read_end, process)
    finally:
        os.close(read_end)
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def display() -> Iterator[None]:
    """A display with GL: the one there is, or Xvfb.

    Of several workers each has its own: on one screen they would take the focus from each other.
    """
    shared = "PYTEST_XDIST_WORKER" in os.environ
    if not sys.platform.startswith("linux") or (os.environ.get("DISPLAY") and not shared):
        yield
        return
    before = {name: os.environ.get(name) for name in ("DISPLAY", "QT_QPA_PLATFORM")}
    with _virtual_display() as name:
        os.environ["DISPLAY"] = name
        os.environ["QT_QPA_PLATFORM"] = "xcb"
        try:
            yield
        finally:
            for key, value in before.items():
                if value is None:
                    os.environ.pop(key, None)
                else:
                    os.environ[key] = value


class _BetweenTests:
    """Collects garbage after every test: those that run no event loop make some as well."""

    def __init__(self, collector: Any) -> None:
        self._collector = collector

    def pytest_runtest_logfinish(self) -> None:
        self._collector.collect_if_due()


@pytest.fixture(scope="session")
def qt_application(display: None, pytestconfig: pytest.Config) -> Iterator[Any]:
    """The one QApplication of the test run, set up like the real one; use ``qapp`` in tests."""
    from PySide6.QtCore import QCoreApplication, QEvent, Qt
    from PySide6.QtWidgets import QApplication

    from stroboscope.app.main.garbage import GarbageCollector

    QCoreApplication.setAttribute(Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    application = QApplication(["stroboscope-tests"])
    application.setStyle("Fusion")
    application.setQuitOnLastWindowClosed(False)
    gc.collect()
    pytestconfig.pluginmanager.register(_BetweenTests(GarbageCollector(application)))
    yield application
    for widget in application.topLevelWidgets():
        widget.close()
    application.processEvents()
    application.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    application.shutdown()


class _Timers:
    """Every Python-made QTimer that was started during one test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from PySide6.QtCore import QTimer

        self._started: list[tuple[weakref.ref[Any], str]] = []
        original = QTimer.start

        def start(timer: Any, *args: Any, **kwargs: Any) -> None:
            caller = sys._getframe(1)
            where = f"{caller.f_code.co_filename}:{caller.f_lineno}"
            self._started.append((weakref.ref(timer), where))
            original(timer, *args, **kwargs)

        monkeypatch.setattr(QTimer, "start", start)

    def running(self) -> list[str]:
        """Return where the timers that still run were started."""
        import shiboken6

        places = []
        for reference, where in self._started:
            timer = reference()
            if timer is not None and shiboken6.isValid(timer) and timer.isActive():
                places.append(where)
        return places


@pytest.fixture
def wait_until(qapp: Any) -> Callable[..., None]:
    """``wait_until(condition, deadline_s=60)``: run the event loop until the condition holds."""

    def wait(condition: Callable[[], object], deadline_s: float = DEADLINE_S) -> None:
        if not wait_in_loop(condition, qapp, deadline_s):
            pytest.fail(f"still false after {deadline_s} s: {condition}")

    return wait


@pytest.fixture
def qapp(qt_application: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The QApplication; the test fails when it leaves a window, a thread or a timer behind."""
    threads = set(threading.enumerate())
    widgets = set(qt_application.topLevelWidgets())
    timers = _Timers(monkeypatch)
    yield qt_application

    def visible() -> list[Any]:
        return [
            widget
            for widget in qt_application.topLevelWidgets()
            if widget not in widgets and widget.isVisible()
        ]

    def new_threads() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread not in threads]

    leaks = []
    if not wait_in_loop(lambda: not visible(), qt_application, LEAK_DEADLINE_S):
        leaks.append(f"open windows: {[type(w).__name__ for w in visible()]}")
        for widget in visible():
            widget.close()
    if not wait_in_loop(lambda: not new_threads(), qt_application, LEAK_DEADLINE_S):
        leaks.append(f"running threads: {new_threads()}")
    if not wait_in_loop(lambda: not timers.running(), qt_application, LEAK_DEADLINE_S):
        leaks.append(f"running timers, started at: {timers.running()}")
    if leaks:
        pytest.fail("the test left behind " + "; ".join(leaks))


@pytest.fixture
def show(qapp: Any) -> Iterator[Callable[..., Any]]:
    """``show(widget, width, height)``: show a widget and wait until it is on screen.

    The widget is closed and deleted when the test ends.
    """
    from PySide6.QtTest import QTest

    shown = []

    def show_widget(widget: Any, width: int = 800, height: int = 600) -> Any:
        widget.resize(width, height)
        widget.show()
        shown.append(widget)
        if not QTest.qWaitForWindowExposed(widget, int(DEADLINE_S * 1000)):
            pytest.fail(f"{type(widget).__name__} was not exposed within {DEADLINE_S} s")
        return widget

    yield show_widget
    for widget in reversed(shown):
        widget.close()
        widget.deleteLater()


@pytest.fixture
def decode() -> Callable[[Path], tuple[dict[str, Any], list[np.ndarray]]]:
    """``decode(film)``: its facts (size, fps, codec) and its frames (height, width, 3)."""
    ffmpeg = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()

    def read(path: Path) -> tuple[dict[str, Any], list[np.ndarray]]:
        command = [ffmpeg, "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
        done = subprocess.run(command, capture_output=True, check=True, timeout=60)
        (line,) = re.findall(r"Stream #0.*Video: .*", done.stderr.decode().split("Output #0")[0])
        width, height = map(int, re.findall(r" (\d+)x(\d+)[, ]", line)[0])
        facts = {
            "size": (width, height),
            "fps": float(re.findall(r"([\d.]+) fps", line)[0]),
            "codec": re.findall(r"Video: (\w+)", line)[0],
        }
        frames = np.frombuffer(done.stdout, np.uint8).reshape(-1, height, width, 3)
        return facts, list(frames)

    return read
