"""A real window in this process, attached to a real application in another one."""

import contextlib
import os
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

__all__ = ["WindowSession", "window_session"]

APPLICATION = """
import sys
import stroboscope.engine as physics
scene = physics.create_scene("subject", sys.argv[1])
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.step()
physics.shutdown()
"""
DEADLINE = 60.0


class WindowSession:
    """The window, the scene that it shows, and a way to wait for either."""

    def __init__(self, app: QApplication, desktop: DesktopApplication) -> None:
        self.app = app
        self.desktop = desktop

    @property
    def scene(self) -> SceneModel:
        """The scene that is shown."""
        scene = self.desktop.sessions.shown
        if scene is None:
            raise RuntimeError("the window shows no scene")
        return scene

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
    folder = tempfile.mkdtemp()
    os.environ["STROBOSCOPE_RUNTIME_DIR"] = tempfile.mkdtemp(dir=folder)
    os.environ["XDG_CONFIG_HOME"] = folder
    application = subprocess.Popen(
        [sys.executable, "-c", APPLICATION, str(model or humanoid_path())], cwd=folder
    )
    app = make_qapplication(sys.argv[:1])
    desktop = DesktopApplication(app)
    desktop.window.resize(1280, 800)
    desktop.window.show()
    session = WindowSession(app, desktop)
    try:
        session.wait(list_sessions, "the application's connection file")
        desktop.sessions.open(list_sessions()[0][0])
        session.wait(lambda: desktop.sessions.shown is not None, "a scene")
        session.wait(lambda: session.scene.description is not None, "its description")
        session.wait(lambda: desktop.window.scene_view.viewport.stats.frames > 2, "a picture")
        session.idle(2.0)
        yield session
    finally:
        desktop.window.close()
        desktop.close()
        application.wait(DEADLINE)
