"""The real window with every panel open, attached to a real robot that another process steps."""

import contextlib
import dataclasses
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtWidgets import QApplication

from stroboscope.app.main.application import DesktopApplication, make_qapplication
from stroboscope.app.main.plot_feed import scene_key
from stroboscope.app.main.window import MainWindow
from stroboscope.app.models.plot_store import PlotSeriesId
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.debugger_protocol.connection_file import list_sessions

__all__ = ["Moment", "RobotSession", "robot_session"]

FOLDER = Path(__file__).resolve().parent
SIZE = 1900, 1180
DEADLINE = 120.0

# Left to right, each in rows from top to bottom; what isn't named stands in for nothing.
_SIDES = {
    Qt.DockWidgetArea.LeftDockWidgetArea: (("sessions", "view", "watch"),),
    Qt.DockWidgetArea.RightDockWidgetArea: (("inspector", "controls", "convergence"),),
    Qt.DockWidgetArea.BottomDockWidgetArea: (
        ("plots", "profiler"),
        ("state", "constraints"),
        ("contacts", "findings"),
        ("why", "log"),
        ("stops", "checkpoints", "rollouts"),
    ),
}


@dataclasses.dataclass(frozen=True, slots=True)
class Moment:
    """When a picture was done, and what the window had used of the processor until then [s]."""

    time: float
    main_thread: float
    process: float

    @classmethod
    def now(cls) -> "Moment":
        """Return the present; GUI thread."""
        return cls(time.monotonic(), time.thread_time(), time.process_time())


class RobotSession:
    """The window and the robot's process; GUI thread."""

    def __init__(self, app: QApplication, desktop: DesktopApplication, folder: Path) -> None:
        self.app = app
        self.desktop = desktop
        self.window: MainWindow = desktop.window
        self._folder = folder
        self.drawn: list[Moment] = []

    @property
    def scene(self) -> SceneModel:
        """The scene that is shown."""
        scene = self.desktop.sessions.shown
        if scene is None:
            raise RuntimeError("the window shows no scene")
        return scene

    def watch_drawing(self) -> None:
        """Note every finished picture from now on."""
        surface = self.window.scene_view.viewport._surface
        if surface is None:
            raise RuntimeError("there is no OpenGL")
        surface.drawn.connect(lambda: self.drawn.append(Moment.now()))

    def wait(self, condition: Callable[[], object], what: str) -> None:
        """Run the event loop until ``condition()``, looking a hundred times a second."""
        end = time.monotonic() + DEADLINE
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"waited {DEADLINE:.0f} s in vain for {what}")
            self.idle(0.01)

    def idle(self, seconds: float) -> None:
        """Run the event loop for ``seconds``, sleeping while there is nothing to do."""
        loop = QEventLoop()
        QTimer.singleShot(round(1e3 * seconds), loop.quit)
        loop.exec()

    def measure_rates(self, *, rounds: int, seconds: float) -> dict[str, list[list[float]]]:
        """Let bare steps, the free scene and the shown one take turns in the robot's process.

        Returns by arm: begin and end [s, monotonic], steps, and seconds without the processor.
        """
        answer = self._folder / "rates"
        wish = self._folder / "wish"
        wish.with_suffix(".new").write_text(json.dumps([rounds, seconds]), encoding="utf-8")
        wish.with_suffix(".new").rename(wish)
        self.wait(answer.exists, "the rates")
        rates: dict[str, list[list[float]]] = json.loads(answer.read_text(encoding="utf-8"))
        answer.unlink()
        return rates


def open_everything(session: RobotSession) -> None:
    """Open every panel beside the others, none behind another, and give each something to do."""
    window, scene = session.window, session.scene
    panels = window.panels
    for dock in panels.docks.values():
        dock.hide()
        window.removeDockWidget(dock)
    for area, columns in _SIDES.items():
        previous = None
        for column in ([name for name in names if name in panels.docks] for names in columns):
            if not column:
                continue
            first = panels[column[0]]
            if previous is None:
                window.addDockWidget(area, first)
            else:
                window.splitDockWidget(previous, first, Qt.Orientation.Horizontal)
            previous = first
            for above, below in itertools.pairwise(column):
                window.splitDockWidget(panels[above], panels[below], Qt.Orientation.Vertical)
    for dock in panels.docks.values():
        dock.show()
    session.idle(0.5)
    sides = [panels[name] for name in ("sessions", "inspector")]
    window.resizeDocks(sides, [290, 330], Qt.Orientation.Horizontal)
    bottom = [panels["plots"], panels["profiler"]]
    window.resizeDocks(bottom, [250, 250], Qt.Orientation.Vertical)

    key = scene_key(scene)
    channels = {channel.name: channel for channel in scene.channels}
    curves = [("qpos", 2), ("qvel", 2), ("qacc", 2), ("qvel", 8)]
    curves += [("contact.count", 0), ("solver.iterations", 0)]
    series = (PlotSeriesId(key, name, min(i, channels[name].width - 1)) for name, i in curves)
    window.plots.add_signals(*series)
    watch = panels["watch"].content
    for text in ("norm(qvel)", "energy.total", "contact.force / 9.81"):
        watch.add(text)  # type: ignore[attr-defined]
    session.desktop.sessions.selection.select(Element(ElementKind.JOINT, 2))
    options = window.scene_view.grid.options
    overlays = {"contacts": True, "contact_forces": True, "com": True}
    window.set_view_options(dataclasses.replace(options, **overlays))
    session.idle(1.0)
    hidden = [name for name, dock in panels.docks.items() if not dock.in_front]
    if hidden:
        raise RuntimeError(f"not every panel can be seen: {hidden}")


@contextlib.contextmanager
def robot_session(robot: str) -> Iterator[RobotSession]:
    """Open the window, attached to a process that steps ``robot``, paused, everything open."""
    folder = Path(tempfile.mkdtemp())
    os.environ["STROBOSCOPE_RUNTIME_DIR"] = tempfile.mkdtemp(dir=folder)
    os.environ["XDG_CONFIG_HOME"] = str(folder)
    script = [sys.executable, str(FOLDER / "robot_process.py"), robot]
    process = subprocess.Popen(script, cwd=folder)
    app = make_qapplication(sys.argv[:1])
    desktop = DesktopApplication(app)
    desktop.window.resize(*SIZE)
    desktop.window.show()
    session = RobotSession(app, desktop, folder)
    try:
        session.wait(list_sessions, "the robot's connection file")
        desktop.sessions.open(list_sessions()[0][0])
        session.wait(lambda: desktop.sessions.shown is not None, "a scene")
        session.wait(lambda: session.scene.description is not None, "its description")
        session.wait(lambda: desktop.window.scene_view.viewport.stats.frames > 2, "a picture")
        session.watch_drawing()
        session.idle(2.0)
        open_everything(session)
        yield session
    finally:
        desktop.window.close()
        desktop.close()
        process.wait(DEADLINE)
