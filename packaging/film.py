"""The film of the README: an arm blows up, the debugger stops it, and half the timestep is tried.

    python packaging/film.py [FILE]        docs/images/five_minutes.gif if no file is named

The real window is attached to ``stroboscope demo explode`` and is played with keys and clicks; what
the screen shows meanwhile, as fast as it shows it, becomes a GIF. Pointer and keys are painted over
it, because a screen's picture has neither.
"""

import dataclasses
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import imageio_ffmpeg
from picture_stage import Picture, Stage, running_script
from with_display import display_environment, virtual_display

if TYPE_CHECKING:
    from PySide6.QtCore import QPoint, Qt
    from PySide6.QtGui import QPixmap
    from PySide6.QtWidgets import QWidget

FILM = Path(__file__).resolve().parent.parent / "docs" / "images" / "five_minutes.gif"
WINDOW: Final = (1200, 820)
WIDTH: Final = 900  # of the film [pixels]
FPS: Final = 8
MAX_BYTES: Final = 3_000_000
STEPS_BACK: Final = 12
# A pointer's outline, from its tip [pixels].
ARROW: Final = ((0, 0), (0, 21), (5, 16), (9, 25), (13, 23), (9, 15), (16, 15))


class Camera:
    """Writes what the screen shows to a film, so many frames per second of wall time."""

    def __init__(self, window: "QWidget", path: Path) -> None:
        from PySide6.QtCore import QTimer

        self.pointer: QPoint | None = None
        self.caption = ""
        self._window = window
        self._begun = time.monotonic()
        self._frames = 0
        # Encoding keeps all pictures until the last one is known: while the window is filmed that
        # would take its time and its memory.
        self._path, self._recorded = path, path.with_suffix(".mkv")
        self._encoder = subprocess.Popen(_recording(self._recorded), stdin=subprocess.PIPE)
        self._timer = QTimer()
        self._timer.timeout.connect(self._take)
        self._timer.start(1000 // (2 * FPS))

    def close(self) -> None:
        """End the film."""
        self._timer.stop()
        self._encoder.communicate()
        status = self._encoder.returncode or subprocess.call(_encoding(self._recorded, self._path))
        if status:
            raise SystemExit(f"the film was not encoded: status {status}")

    def _take(self) -> None:
        """Write a picture for every frame that is due: the newest one, where several are."""
        from PySide6.QtGui import QImage

        due = int((time.monotonic() - self._begun) * FPS) + 1 - self._frames
        if due <= 0:
            return
        picture = self._window.screen().grabWindow(0, self._window.x(), self._window.y(), *WINDOW)
        self._paint_over(picture)
        image = picture.toImage().convertToFormat(QImage.Format.Format_RGBA8888)
        assert self._encoder.stdin is not None
        for _ in range(due):
            self._encoder.stdin.write(image.constBits())
        self._frames += due

    def _paint_over(self, picture: "QPixmap") -> None:
        """Paint the pointer and the key that is pressed."""
        from PySide6.QtCore import QPoint, QRect, Qt
        from PySide6.QtGui import QColor, QPainter, QPolygon
        from PySide6.QtWidgets import QApplication

        painter = QPainter(picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.caption:
            font = QApplication.font()
            font.setPointSize(16)
            painter.setFont(font)
            wide = painter.fontMetrics().horizontalAdvance(self.caption) + 40
            box = QRect(WINDOW[0] - wide - 30, WINDOW[1] - 110, wide, 44)
            painter.setPen(QColor("#E6E9EF"))
            painter.setBrush(QColor(22, 24, 29, 230))
            painter.drawRoundedRect(box, 8, 8)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, self.caption)
        if self.pointer is not None:
            arrow = QPolygon([QPoint(x, y) for x, y in ARROW])
            painter.setPen(QColor("black"))
            painter.setBrush(QColor("white"))
            painter.drawPolygon(arrow.translated(self.pointer))
        painter.end()


class Actor:
    """Does with the window what a person does, slowly enough to be followed."""

    def __init__(self, stage: Stage, camera: Camera) -> None:
        self._stage = stage
        self._camera = camera

    def press(self, key: "Qt.Key", name: str, *, seconds: float) -> None:
        """Press a key of the window, whose name is shown, and look for so many seconds."""
        from PySide6.QtTest import QTest

        self._camera.caption = name
        self._stage.run_events(0.2)
        QTest.keyClick(self._stage.window.scene_view.viewport, key)
        self._stage.run_events(seconds)
        self._camera.caption = ""

    def click(self, widget: "QWidget", *, seconds: float) -> None:
        """Move the pointer to a button, press it, and look for so many seconds."""
        from PySide6.QtCore import QPoint, Qt
        from PySide6.QtTest import QTest

        window = self._stage.window
        goal = widget.mapTo(window, widget.rect().center())
        start = self._camera.pointer or QPoint(WINDOW[0] // 2, WINDOW[1] // 2)
        for part in range(1, 9):
            share = (1.0 - math.cos(math.pi * part / 8)) / 2.0
            self._camera.pointer = start + (goal - start) * share
            self._stage.run_events(0.08)
        self._stage.run_events(0.3)
        QTest.mouseClick(widget, Qt.MouseButton.LeftButton, pos=widget.rect().center())
        self._stage.run_events(seconds)


def _play(stage: Stage, camera: Camera) -> None:
    """Run into the stop, ask why, rewind, and try half the timestep."""
    from PySide6.QtCore import Qt

    scene, window = stage.shown(), stage.window
    assert scene.description is not None
    actor = Actor(stage, camera)
    # The arm is filmed with some air around it, for its ghost.
    view = window.scene_view.viewport
    view.set_camera(dataclasses.replace(view.camera, distance=1.15 * view.camera.distance))
    names = [joint.name for joint in scene.description.joints]
    stage.select("joint", names.index("wrist"))
    stage.run_events(1.0)
    actor.press(Qt.Key.Key_Space, "Space: play", seconds=1.0)
    stage.wait("the stop", lambda: scene.stops.standing is not None)
    stage.wait("the banner", window.travel.banner.isVisible)
    stage.run_events(2.5)
    actor.click(window.travel.banner.why_button, seconds=3.0)
    for count in range(STEPS_BACK):
        actor.press(Qt.Key.Key_Left, "← one step back", seconds=0.7 if count < 2 else 0.15)
    stage.run_events(1.0)
    (label, *_) = [label for label, _ in scene.stops.stops[-1].what_if]
    if "timestep" not in label:
        raise SystemExit(f"the stop offers {label!r} first, not another timestep")
    actor.click(window.travel.banner.try_button, seconds=1.0)
    stage.wait("the rollout", lambda: scene.rollouts.rollouts)
    stage.run_events(1.5)
    for count in range(STEPS_BACK):
        actor.press(
            Qt.Key.Key_Right, "→ forward, with the ghost", seconds=0.5 if count < 2 else 0.25
        )
    stage.run_events(3.0)


def _recording(path: Path) -> list[str]:
    """Return the command that writes raw pictures down as they are, with little work."""
    return [
        *(imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-y"),
        *("-f", "rawvideo", "-pix_fmt", "rgba", "-s", f"{WINDOW[0]}x{WINDOW[1]}"),
        *("-r", str(FPS), "-i", "-"),
        *("-c:v", "libx264rgb", "-preset", "ultrafast", "-qp", "0", str(path)),
    ]


def _encoding(recorded: Path, path: Path) -> list[str]:
    """Return the command that makes a GIF of what was recorded, with colours of its own."""
    filters = (
        f"scale={WIDTH}:-1:flags=lanczos,split[a][b];"
        "[a]palettegen=max_colors=256:stats_mode=full[p];[b][p]paletteuse=dither=none:diff_mode=rectangle"
    )
    return [
        *(imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-y", "-i", str(recorded)),
        *("-vf", filters, "-loop", "0", str(path)),
    ]


@contextmanager
def _stage(folder: Path) -> Iterator[Stage]:
    from stroboscope.app.main.application import DesktopApplication, make_qapplication

    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700)
    os.environ["STROBOSCOPE_RUNTIME_DIR"] = str(runtime)
    picture = Picture(
        name="film", script="demo explode", scenes=1, size=WINDOW, prepare=lambda _stage: None
    )
    with running_script(picture, folder) as script:
        app = make_qapplication(["stroboscope"])
        desktop = DesktopApplication(app, settings_path=folder / "settings.json")
        desktop.window.set_theme(picture.theme)
        desktop.window.resize(*picture.size)
        desktop.window.show()
        stage = Stage(picture, desktop, script)
        try:
            stage.attach()
            yield stage
        finally:
            desktop.window.close()
            desktop.close()
            app.processEvents()


def take(path: Path) -> None:
    """Film it; the display must be there already."""
    from PySide6.QtTest import QTest

    with tempfile.TemporaryDirectory() as name, _stage(Path(name)) as stage:
        stage.window.move(0, 0)
        stage.window.activateWindow()
        if not QTest.qWaitForWindowActive(stage.window, 10_000):
            raise SystemExit("the window did not become the active one, so keys would go nowhere")
        stage.run_events(2.0)
        film = Path(name) / path.name
        camera = Camera(stage.window, film)
        try:
            _play(stage, camera)
        finally:
            camera.close()
        size = film.stat().st_size
        if size > MAX_BYTES:
            raise SystemExit(f"the film has {size:,} bytes, at most {MAX_BYTES:,} are wanted")
        path.write_bytes(film.read_bytes())
    print(path, flush=True)


def main() -> int:
    """Film under a display of its own; return the exit status."""
    path = Path(sys.argv[1]).absolute() if len(sys.argv) > 1 else FILM
    if os.environ.get("STROBOSCOPE_FILMS") == "1":
        take(path)
        return 0
    with virtual_display(f"{WINDOW[0]}x{WINDOW[1]}") as display:
        environment = display_environment(display)
        environment["STROBOSCOPE_FILMS"] = "1"
        return subprocess.call([sys.executable, __file__, str(path)], env=environment, timeout=600)


if __name__ == "__main__":
    sys.exit(main())
