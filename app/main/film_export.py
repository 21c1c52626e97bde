"""``stroboscope export FILE --to mp4``: a film of a recorded run, without opening a window.

Every frame of the film is drawn, whatever that takes: nothing is left out.
"""

import argparse
import contextlib
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from PySide6.QtGui import QImage

from stroboscope.app.main.application import make_qapplication
from stroboscope.app.models.assets import asset_digests
from stroboscope.app.models.film import FilmFormat, FilmSpec, even_size, format_of
from stroboscope.app.models.film_writer import FilmWriter
from stroboscope.app.models.overlay_topics import topics_of
from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.panels.style import apply_theme, palette_named
from stroboscope.app.view3d.still import Still
from stroboscope.app.view3d.viewport import Viewport
from stroboscope.debugger_protocol.arrays import Arrays, parse_asset
from stroboscope.debugger_protocol.plain_text import plain_text
from stroboscope.debugger_protocol.scene_description import (
    BodyInfo,
    CameraInfo,
    SceneDescription,
)
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.engine.display import missing_display
from stroboscope.engine.errors import EngineError
from stroboscope.engine.files.suffixes import RECORDED, found_file
from stroboscope.engine.late_imports import import_for_command
from stroboscope.engine.trajectory.choosing import TO_SHOW, add_choice, choice_of
from stroboscope.engine.trajectory.commands import progress_bar
from stroboscope.engine.trajectory.part import add_times, frames_meant
from stroboscope.engine.trajectory.trajectory import Trajectory, load_chosen
from stroboscope.engine.trajectory.unknown_frames import UnknownFrames

__all__ = ["FILMS", "FilmExportError", "main", "wants_film", "write_film"]

FILMS: Final = {"mp4": ".mp4", "gif": ".gif"}
"""What ``--to`` may be for a film, and the suffix of its file."""

# So few pictures wait for the encoder that it need never leave one out.
_MOST_WAITING: Final = 2
_LARGEST: Final = 8192
_SAID_NAMES: Final = 20
_END_TIMEOUT_S: Final = 60.0
_EXIT_FAILED: Final = 4
_EXIT_INTERRUPTED: Final = 130


class FilmExportError(Exception):
    """There is no film; the message says why, and what to do."""


def wants_film(argv: Sequence[str]) -> bool:
    """Return whether the arguments of ``stroboscope export`` ask for a film."""
    following = [*argv[1:], ""]
    return any(
        (each == "--to" and behind in FILMS) or each in {f"--to={kind}" for kind in FILMS}
        for each, behind in zip(argv, following, strict=True)
    )


def main(argv: Sequence[str]) -> int:
    """Make the film that the arguments ask for; returns the exit code: 4 when it can't be made."""
    options = _parser().parse_args(list(argv))
    try:
        with _display():
            return _export(options)
    except (EngineError, FilmExportError, ValueError) as error:
        _note(str(error))
        return _EXIT_FAILED
    except KeyboardInterrupt:
        return _EXIT_INTERRUPTED


def _note(text: str) -> None:
    sys.stderr.write(plain_text(f"stroboscope export: {text}\n"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="stroboscope export", description="Make a film of a recorded run."
    )
    parser.add_argument("file", help="a recorded run (.mcap)")
    parser.add_argument("--to", required=True, choices=sorted(FILMS))
    parser.add_argument("-o", "--output", default=None, help="(default: beside it)")
    add_choice(parser, default=TO_SHOW)
    add_times(parser)
    parser.add_argument("--fps", type=float, default=30.0, help="of the film (default: 30)")
    parser.add_argument(
        "--speed", type=float, default=1.0, help="times real time; 0.1 is slow motion (default: 1)"
    )
    parser.add_argument("--size", default="1280x720", help="in pixels (default: 1280x720)")
    parser.add_argument("--camera", default=None, help="one of the model's own, by name")
    parser.add_argument("--track", default=None, help="a body that the view follows, by name")
    parser.add_argument("--theme", default="dark", choices=("dark", "light"))
    parser.add_argument("--fine", action="store_true", help="as beautiful as can be; takes longer")
    return parser


def _export(options: argparse.Namespace) -> int:
    source = found_file(Path(options.file), RECORDED)
    suffix = FILMS[options.to]
    target = Path(options.output or source.with_name(source.stem + suffix))
    if format_of(target) is not FilmFormat(suffix):
        target = target.with_name(target.name + suffix)
    for name in ("fps", "speed"):
        value = getattr(options, name)
        if not (value > 0.0 and math.isfinite(value)):
            raise ValueError(f"--{name} must be above 0, not {value:g}")
    spec = FilmSpec(path=target, size=_size(options.size), fps=options.fps, speed=options.speed)
    import_for_command()
    app = make_qapplication(sys.argv[:1])
    apply_theme(app, palette_named(options.theme))
    with (
        load_chosen(source, choice_of(options), say=_note) as trajectory,
        progress_bar("filming") as bar,
    ):
        frames = write_film(
            trajectory,
            spec,
            camera=options.camera,
            track=options.track,
            theme=options.theme,
            fine=options.fine,
            part=frames_meant(trajectory, options),
            progress=bar,
        )
    sys.stdout.write(f"{target}: {frames:,} frames, {frames / spec.fps:.1f} s\n")
    return 0


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().replace("×", "x").partition("x")
    if not (width.isdecimal() and height.isdecimal()):
        raise ValueError(f"--size is {text!r}; it must be like 1280x720")
    if max(int(width), int(height)) > _LARGEST:
        raise ValueError(f"--size is {text}; at most {_LARGEST}x{_LARGEST} pixels can be drawn")
    return even_size(int(width), int(height))


def write_film(
    trajectory: Trajectory,
    spec: FilmSpec,
    *,
    camera: str | None = None,
    track: str | None = None,
    theme: str = "dark",
    fine: bool = False,
    part: range | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> int:
    """Draw a recorded run into a film and return how many frames that has; GUI thread only.

    ``camera``: the name of one of the model's; None: one that sees all of the scene as it is in the
    first frame, and goes along with the body ``track``. ``part``: of these frames only.
    ``progress`` is told how much is done, 0 to 1. Until the film is whole there is no file of its
    name, and none is left when it is interrupted. Raises FilmExportError.
    """
    wanted = trajectory.frames_at(spec.speed / spec.fps)
    if part is not None:
        is_in_part = (wanted >= part.start) & (wanted < part.stop)
        wanted = wanted[is_in_part] if is_in_part.any() else np.array([part.start])
    subject = _Subject(trajectory)
    picture = _Picture(subject.description, subject.assets(), theme=theme)
    picture.show(subject.frame(int(wanted[0])))
    if camera is not None:
        picture.look_through(camera)
    elif track is not None:
        picture.track(track)
    still = Still(size=spec.size, overlays=False, labels=False, legend=False, fine=fine)
    picture.draw(still)  # compiles shaders, or says why there can't be any
    writer: FilmWriter | None = None
    try:
        writer = FilmWriter(spec)
        shown = -1
        for done, number in enumerate(wanted.tolist()):
            while writer.waiting > _MOST_WAITING and not writer.wait(0.002):
                pass
            if writer.is_over:
                break  # it has failed
            if number == shown:
                writer.repeat(1)
            else:
                picture.show(subject.frame(number))
                writer.add(picture.draw(still))
            shown = number
            progress(done / len(wanted))
        writer.finish()
        writer.wait(_END_TIMEOUT_S)
    except BaseException:
        if writer is not None:
            writer.cancel()
            writer.wait(_END_TIMEOUT_S)
        raise
    finally:
        picture.close()
    if writer.error:
        raise FilmExportError(writer.error)
    subject.unknown.tell()
    progress(1.0)
    return writer.frames


class _Subject:
    """The recorded scene as the window would be told of it."""

    def __init__(self, trajectory: Trajectory) -> None:
        # It then stands at its end, and all of the file is its past.
        trajectory.seek(trajectory.last_whole)
        self._trajectory = trajectory
        self.unknown = UnknownFrames(trajectory, instead="they are drawn as they come out now")
        scene = trajectory.scene
        self._backend = scene.link.backend
        self._machine = self._backend.time_machine()
        self.description = self._backend.describe(scene.link.scene_id, trajectory.name)
        self._topics = topics_of(ViewOptions(), self.description) | {Topic.POSE}

    def assets(self) -> dict[str, Arrays]:
        found: dict[str, Arrays] = {}
        for digest in asset_digests(self.description):
            data = self._backend.asset(digest)
            if data is not None:
                found[digest] = parse_asset(data, digest)
        return found

    def frame(self, number: int) -> dict[Topic, Arrays]:
        """Return the arrays of a frame by topic."""
        if number == len(self._trajectory) - 1 or self._machine is None:
            return dict(self._backend.frame_now(self._topics).arrays)
        past = self._machine.look_at(self._trajectory.axis(number), self._topics)
        self.unknown.has(number, past.note)
        return dict(past.frames.arrays)


class _Picture:
    """A view that nobody sees."""

    def __init__(
        self, description: SceneDescription, assets: dict[str, Arrays], *, theme: str
    ) -> None:
        self._description = description
        self._view = Viewport(palette_named(theme))
        self._view.set_description(description, assets)

    def show(self, frame: dict[Topic, Arrays]) -> None:
        """Have the bodies where they are in a frame."""
        pose = frame.pop(Topic.POSE)
        self._view.set_poses(
            np.asarray(pose["xpos"], np.float64), np.asarray(pose["xquat"], np.float64)
        )
        for topic, arrays in frame.items():
            self._view.set_values(topic, arrays)

    def look_through(self, name: str) -> None:
        """Look through a camera of the model's; raises FilmExportError when there is none."""
        self._view.look_through(_number(name, self._description.cameras, "camera"))

    def track(self, name: str) -> None:
        """Go along with a body; raises FilmExportError when there is none."""
        self._view.track_body(_number(name, self._description.bodies, "body"))

    def draw(self, still: Still) -> bytes:
        """Return the pixels: height · width · 4 bytes."""
        image = self._view.still(still)
        if image.isNull():
            raise FilmExportError(
                "a film needs OpenGL, and none could be started here: stroboscope doctor says what "
                "is missing"
            )
        return bytes(image.convertToFormat(QImage.Format.Format_RGB32).constBits())

    def close(self) -> None:
        self._view.close()
        self._view.deleteLater()


def _number(name: str, all_of_them: Sequence[CameraInfo] | Sequence[BodyInfo], what: str) -> int:
    """Return which one has that name; raises FilmExportError when none has."""
    names = [each.name for each in all_of_them]
    if name not in names:
        known = ", ".join(repr(each) for each in names[:_SAID_NAMES] if each) or "none with a name"
        more = f" and {len(names) - _SAID_NAMES} more" if len(names) > _SAID_NAMES else ""
        raise FilmExportError(f"the model has no {what} {name!r}; it has {known}{more}")
    return names.index(name)


@contextlib.contextmanager
def _display() -> Iterator[None]:
    """Have a display to draw for; on a machine without one, an Xvfb of our own.

    Raises FilmExportError where there is none either.
    """
    if sys.platform != "linux" or not missing_display():
        yield
        return
    program = shutil.which("Xvfb")
    if program is None:
        raise FilmExportError(
            "drawing needs a display, and this machine has none: install Xvfb, or make the film on "
            "another machine"
        )
    # Nothing is there. Qt without windows would draw on our display as well, but never leave it,
    # and Xlib ends the process when it is gone.
    names = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    named = {name: os.environ[name] for name in names if name in os.environ}
    reader, writer = os.pipe()
    command = [program, "-displayfd", str(writer), "-screen", "0", "640x480x24"]
    server = subprocess.Popen(
        [*command, "-nolisten", "tcp", "-noreset", "+extension", "GLX"],
        pass_fds=[writer],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl+C is for us: we end it
    )
    os.close(writer)
    try:
        with os.fdopen(reader, encoding="ascii") as answer:
            number = answer.readline().strip()
        if not number:
            raise FilmExportError(f"drawing needs a display, and {program} could not be started")
        os.environ["DISPLAY"] = f":{number}"
        for name in names[1:]:
            os.environ.pop(name, None)
        yield
    finally:
        os.environ.pop("DISPLAY", None)
        os.environ.update(named)
        server.terminate()
        server.wait()
