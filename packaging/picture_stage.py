"""A window on a display that is driven from outside, and the script it looks at."""

import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stroboscope.app.main.application import DesktopApplication
    from stroboscope.app.models.scene import SceneModel

__all__ = ["DEMO", "Picture", "Stage", "running_script"]

START_TIMEOUT = 90.0
STROBOSCOPE = [sys.executable, "-P", "-m", "stroboscope.app.main.cli"]
DEMO = "demo cross-thread"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One state of the window.

    ``script`` is a demo ("demo NAME"), the text of a script, or "" for none; ``scenes`` is how many
    it must announce. ``prepare`` does what a person would do before the picture.
    """

    name: str
    script: str = DEMO
    scenes: int = 3
    size: tuple[int, int] = (1280, 800)
    scale: float = 1.0
    theme: str = "dark"
    prepare: "Callable[[Stage], None]"


class Stage:
    """A window on a display, driven from outside; one per process."""

    def __init__(
        self,
        picture: Picture,
        desktop: "DesktopApplication",
        script: "subprocess.Popen[bytes] | None",
    ) -> None:
        self.picture = picture
        self.script = script
        self.others: list[subprocess.Popen[bytes]] = []
        self.desktop = desktop
        self.window = desktop.window
        self.sessions = desktop.sessions

    def run_events(self, seconds: float) -> None:
        """Let the window live for a while."""
        self._wait(lambda: False, seconds)

    def wait(self, what: str, condition: Callable[[], object]) -> None:
        """Let the window live until ``condition`` holds; ends the program when it does not."""
        if not self._wait(condition, START_TIMEOUT):
            raise SystemExit(f"{self.picture.name}: waited {START_TIMEOUT:.0f} s for {what}")

    def _wait(self, condition: Callable[[], object], seconds: float) -> bool:
        from PySide6.QtWidgets import QApplication

        end = time.monotonic() + seconds
        while time.monotonic() < end:
            QApplication.processEvents()
            if condition():
                return True
            time.sleep(0.005)
        return False

    def attach(self) -> None:
        """Attach to the script and wait until its scenes are there and drawn."""
        from stroboscope.app.models.session_finder import find_sessions

        def opened() -> bool:
            if self.script is not None and self.script.poll() is not None:
                raise SystemExit(f"{self.picture.name}: the script ended; see what it said above")
            return bool(find_sessions()[0])

        self.wait("the script to open a session", opened)
        self.sessions.open(find_sessions()[0][0].path)
        count = self.picture.scenes
        self.wait(f"{count} scenes", lambda: len(self.sessions.all_scenes()) >= count)
        if count:
            self.wait("a description", lambda: self.shown().description is not None)
        self.run_events(1.0)

    def join(self, text: str) -> None:
        """Run another script, which may leave files beside itself, and attach to it."""
        from stroboscope.app.models.session_finder import find_sessions

        known = {found.path for found in find_sessions()[0]}
        path = Path(os.environ["STROBOSCOPE_RUNTIME_DIR"]).parent / "second.py"
        path.write_text(text, encoding="utf-8")
        command = [sys.executable, "-P", str(path)]
        self.others.append(subprocess.Popen(command, cwd=path.parent))
        self.wait("another session", lambda: {f.path for f in find_sessions()[0]} - known)
        (new,) = {f.path for f in find_sessions()[0]} - known
        session = self.sessions.open(new)
        self.wait("its scene", lambda: session.scenes)
        self.run_events(1.5)

    def picture_png(self) -> bytes:
        """Return the window with the menu that is open, as a PNG file."""
        from PySide6.QtGui import QPainter
        from PySide6.QtWidgets import QApplication

        from stroboscope.app.main.picture_commands import png_bytes

        popup = QApplication.activePopupWidget()
        image = self.window.picture()
        if popup is not None:
            image.setDevicePixelRatio(self.window.devicePixelRatioF())
            painter = QPainter(image)
            painter.drawPixmap(self.window.mapFromGlobal(popup.pos()), popup.grab())
            painter.end()
            popup.close()
        return png_bytes(image)

    def shown(self) -> "SceneModel":
        """Return the shown scene."""
        if self.sessions.shown is None:
            self.sessions.show(self.sessions.all_scenes()[0])
        assert self.sessions.shown is not None
        return self.sessions.shown

    def show_scene(self, name: str) -> None:
        """Select a scene by name, as a click in the tree does."""
        for scene in self.sessions.all_scenes():
            if scene.name == name:
                self.sessions.show(scene)
        self.wait("a description", lambda: self.shown().description is not None)
        self.run_events(0.5)

    def plot(self, *channels: str, components: int = 2) -> None:
        """Plot the first components of the shown scene's channels."""
        from stroboscope.app.main.plot_feed import scene_key
        from stroboscope.app.models.plot_store import PlotSeriesId

        self.window.panels.show("plots")
        scene = self.shown()
        known = {channel.name: channel for channel in scene.channels}
        for name in channels:
            width = known[name].width if name in known else 0
            for component in range(min(width, components)):
                self.window.plots.add_signals(PlotSeriesId(scene_key(scene), name, component))

    def play(self, seconds: float) -> None:
        """Play for some wall time."""
        self.sessions.play()
        self.run_events(seconds)

    def play_to(self, earliest: float, latest: float) -> None:
        """Play until the shown scene's time [s] lies between the two."""
        self.sessions.play()

        def there() -> bool:
            status = self.shown().status
            return status is not None and earliest <= status.time <= latest

        self.wait(f"the scene's time to be in {earliest} … {latest} s", there)

    def pause(self) -> None:
        """Pause and wait until everything shows where the scene stands."""
        from stroboscope.debugger_protocol.messages import PlaybackMode

        self.sessions.pause()
        self.wait("a pause", lambda: self.shown().mode is PlaybackMode.PAUSED)
        self.run_events(1.5 * self.picture.scale**2)

    def select(self, kind: str, index: int) -> None:
        """Select an element, as a click in the tree does."""
        from stroboscope.app.models.selection import Element, ElementKind

        self.sessions.selection.select(Element(ElementKind(kind), index))
        self.run_events(0.5)


@contextmanager
def running_script(picture: Picture, folder: Path) -> "Iterator[subprocess.Popen[bytes] | None]":
    """Run the picture's script until the picture is taken."""
    if not picture.script:
        yield None
        return
    if picture.script.startswith("demo "):
        command = [*STROBOSCOPE, *picture.script.split(), "--no-window"]
    else:
        path = folder / "script.py"
        path.write_text(picture.script, encoding="utf-8")
        command = [sys.executable, "-P", str(path)]
    process = subprocess.Popen(command, cwd=folder)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
