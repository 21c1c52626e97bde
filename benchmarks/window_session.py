"""A real window in this process, attached to a real application in another one."""

import contextlib
import mmap
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication
from subjects import humanoid_path

from stroboscope.app.main.application import DesktopApplication, make_qapplication
from stroboscope.app.models.scene import SceneModel
from stroboscope.debugger_protocol.connection_file import list_sessions

__all__ = ["WindowSession", "window_of", "window_session"]

# Notes when it was last paused where the benchmark can read them.
APPLICATION = """
import mmap, struct, sys, time
import stroboscope.engine as physics
scene = physics.create_scene("subject", sys.argv[1])
with open("stopped_at", "r+b") as file:
    notes = mmap.mmap(file.fileno(), 8)
scene.on_pause(lambda scene: struct.pack_into("d", notes, 0, time.monotonic()))
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.step()
physics.shutdown()
"""
DEADLINE = 60.0


class WindowSession:
    """The window, the scene that it shows, and a way to wait for either."""

    def __init__(self, app: QApplication, desktop: DesktopApplication, notes: mmap.mmap) -> None:
        self.app = app
        self.desktop = desktop
        self._notes = notes
        self.opened_at = 0.0
        """When the window was told to attach, on the monotonic clock [s]."""

    @property
    def scene(self) -> SceneModel:
        """The scene that is shown."""
        scene = self.desktop.sessions.shown
        if scene is None:
            raise RuntimeError("the window shows no scene")
        return scene

    def stopped_at(self) -> float:
        """Return when the application's thread last came to stand, on the monotonic clock [s]."""
        return float(struct.unpack_from("d", self._notes, 0)[0])

    def wait(self, condition: Callable[[], object], what: str) -> None:
        """Run the event loop until ``condition()``, without pausing between two looks."""
        end = time.monotonic() + DEADLINE
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"waited {DEADLINE:.0f} s in vain for {what}")
            self.app.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 5)

    def idle(self, seconds: float) -> None:
        """Run the event loop for ``seconds``, sleeping while there is nothing to do."""
        loop = QEventLoop()
        QTimer.singleShot(round(1e3 * seconds), loop.quit)
        loop.exec()


@contextlib.contextmanager
def window_session(model: Path | None = None) -> Iterator[WindowSession]:
    """Open the window attached to an application that steps the humanoid, paused."""
    with window_of(APPLICATION, str(model or humanoid_path())) as session:
        viewport = session.desktop.window.scene_view.viewport
        session.wait(lambda: viewport.stats.frames > 2, "a picture")
        session.idle(2.0)
        yield session


@contextlib.contextmanager
def window_of(application: str, *arguments: str) -> Iterator[WindowSession]:
    """Open the window attached to an application, a Python program, and wait for a scene."""
    folder = tempfile.mkdtemp()
    os.environ["STROBOSCOPE_RUNTIME_DIR"] = tempfile.mkdtemp(dir=folder)
    os.environ["XDG_CONFIG_HOME"] = folder
    Path(folder, "stopped_at").write_bytes(bytes(8))
    with Path(folder, "stopped_at").open("r+b") as file:
        notes = mmap.mmap(file.fileno(), 8)
    process = subprocess.Popen([sys.executable, "-c", application, *arguments], cwd=folder)
    app = make_qapplication(sys.argv[:1])
    desktop = DesktopApplication(app)
    desktop.window.resize(1280, 800)
    desktop.window.show()
    session = WindowSession(app, desktop, notes)
    try:
        session.wait(list_sessions, "the application's connection file")
        session.idle(0.5)
        session.opened_at = time.monotonic()
        desktop.sessions.open(list_sessions()[0][0])
        session.wait(lambda: desktop.sessions.shown is not None, "a scene")
        session.wait(lambda: session.scene.description is not None, "its description")
        yield session
    finally:
        desktop.window.close()
        desktop.close()
        process.wait(DEADLINE)
