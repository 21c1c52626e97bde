"""``stroboscope open [options] FILE``: show what is in a file, in a window.

The scene lives in this process, like that of a script that ``stroboscope run`` runs; the window is
another one that is attached to it. What a file is, its first bytes say.
"""

import dataclasses
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from stroboscope.debugger_protocol.plain_text import plain_text
from stroboscope.engine.errors import EngineError
from stroboscope.engine.files.errors import FileFormatError
from stroboscope.engine.files.kinds import FileKind, kind_of_file
from stroboscope.engine.files.suffixes import RECORDED, SCENE, found_file
from stroboscope.engine.late_imports import import_for_command
from stroboscope.engine.outside.compiler import compiler_ahead
from stroboscope.engine.showing.no_display import EXIT_NO_DISPLAY, NotShownError, require_display

if TYPE_CHECKING:
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.scene import Scene

__all__ = ["OpenOptions", "main", "parse_arguments", "show_file"]

USAGE = """\
usage: stroboscope open [options] FILE

Show a scene (.strobe), a recorded run (.mcap) or a model (MJCF, URDF, MJZ, MJB) in a window.
Nothing in the file is executed, and a model may only name files in its own folder.

options:
  --trust FOLDER   from now on, models in FOLDER may name all files of FOLDER
  --mode MODE      paused (default), playing or fast_forward: how the scene begins
  --scene NAME     of a recorded run: the scene to begin with, by name or number
                   (default: the one that stopped, else the first)
  --env N          of a recorded run: which of many environments
  --wait SECONDS   open no window; wait that long for one, or for `stroboscope ctl`
  --dialog         show what goes wrong in a dialog as well (for double clicks)
  -h, --help       this text
"""
_MODES = ("paused", "playing", "fast_forward")
_WITH_VALUE = ("--trust", "--mode", "--wait", "--scene", "--env")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OpenOptions:
    """What the command line asks for; ``wait`` in seconds, None: open a window."""

    file: str
    trust: str = ""
    mode: str = "paused"
    wait: float | None = None
    dialog: bool = False
    scene: str | None = None
    env: int | None = None


def main(argv: Sequence[str], *, complain: Callable[[str], None] | None = None) -> int:
    """Show the file that ``argv`` (without ``open``) names, until its window is closed.

    Returns 0 then, 1 when it can't be shown, 2 without a display; ``complain`` gets the reason as
    well as standard error. Raises SystemExit for arguments that make no sense.
    """
    options = parse_arguments(argv)
    try:
        return show_file(options)
    except EngineError as error:
        _note(str(error))
        if complain is not None and options.dialog:
            complain(str(error))
        return EXIT_NO_DISPLAY if isinstance(error, NotShownError) else 1
    except KeyboardInterrupt:
        return 130


def _begins_with(file: str) -> str:
    with open(file, "rb") as stream:
        return f" (it begins with {stream.read(8)!r})"


def show_file(options: OpenOptions) -> int:
    """Show a file by its kind; raises EngineError when it can't be shown."""
    file = os.fspath(found_file(Path(options.file), RECORDED, SCENE))
    options = dataclasses.replace(options, file=file)
    if options.trust:
        _trust(options)
    kind = kind_of_file(options.file)
    show = _SHOW.get(kind)
    if show is None:
        raise FileFormatError(
            options.file,
            "it is nothing that can be shown"
            + (f" ({kind})" if kind != FileKind.UNKNOWN else _begins_with(options.file)),
            "name a scene (.strobe), a model (MJCF, URDF, MJZ, MJB) or a recorded run (.mcap)",
        )
    # What compiles its model starts while everything else is imported here.
    compiler_ahead().start()
    try:
        is_run = kind is FileKind.TRAJECTORY
        import_for_command("trajectory.showing" if is_run else "scene_loading", "debugger")
        return show(options)
    finally:
        compiler_ahead().close()


def _trust(options: OpenOptions) -> None:
    from stroboscope.engine.outside.trust import trust_folder

    folder = trust_folder(options.trust)
    if not Path(os.path.realpath(options.file)).is_relative_to(folder):
        _note(f"note: {options.file} is not in {folder}")


def _note(text: str) -> None:
    sys.stderr.write(plain_text(f"stroboscope open: {text}\n"))


def _show_scene(options: OpenOptions) -> int:
    from stroboscope.engine.scene_loading import load_scene

    if options.scene is not None or options.env is not None:
        raise FileFormatError(
            options.file,
            "it is no recorded run, whose scenes and environments could be chosen",
            "leave --scene and --env out",
        )
    return _follow(load_scene(options.file), options)


def _show_trajectory(options: OpenOptions) -> int:
    from stroboscope.engine.trajectory.showing import show_trajectory

    sys.argv[:] = [os.path.abspath(options.file)]
    seconds = 5.0 if options.wait is None else options.wait
    shown = show_trajectory(
        options.file,
        launch=options.wait is None,
        timeout_seconds=seconds,
        choice=(options.scene, options.env),
        say=_note,
    )
    return 0 if shown else 1


def _follow(scene: "Scene | BatchScene", options: OpenOptions) -> int:
    """Step the scene as the window says, until it is closed."""
    from stroboscope.engine import debugger
    from stroboscope.engine.errors import SceneDestroyedError, StepFailedError

    # What the window calls this application, and where it finds the file.
    sys.argv[:] = [os.path.abspath(options.file)]
    if options.wait is None:
        require_display(options.file)
    attached = debugger.attach(
        5.0 if options.wait is None else options.wait,
        launch=options.wait is None,
        mode=options.mode,
    )
    if not attached:
        # The reason is logged by attach; a display that refuses us is one of its own.
        if options.wait is None:
            require_display(options.file, asks=True)
        return 1
    while debugger.is_attached():
        try:
            scene.step()
        except StepFailedError as error:
            scene.pause(str(error))
        except SceneDestroyedError:
            break
    return 0


# Who shows what; each takes the options and returns the exit code.
_SHOW: dict[FileKind, Callable[[OpenOptions], int]] = {
    FileKind.SCENE: _show_scene,
    FileKind.MJCF: _show_scene,
    FileKind.URDF: _show_scene,
    FileKind.MJZ: _show_scene,
    FileKind.MJB: _show_scene,
    FileKind.TRAJECTORY: _show_trajectory,
}


def parse_arguments(argv: Sequence[str]) -> OpenOptions:
    """Return the options; raises SystemExit: 0 for help, 2 for what makes no sense."""
    values: dict[str, str] = {}
    files: list[str] = []
    dialog = False
    rest = list(argv)
    while rest:
        name, has_value, value = rest.pop(0).partition("=")
        if name in ("-h", "--help"):
            sys.stdout.write(USAGE)
            raise SystemExit(0)
        if name == "--":
            files += rest
            break
        if name in _WITH_VALUE:
            if not has_value and not rest:
                _refuse(f"{name} needs a value")
            values[name] = value if has_value else rest.pop(0)
        elif name == "--dialog":
            dialog = True
        elif name.startswith("-") and name != "-":
            _refuse(f"unknown option {name}")
        else:
            files.append(name + has_value + value)
    if len(files) != 1:
        _refuse("which file?" if not files else f"one file, not {len(files)}")
    mode = values.get("--mode", _MODES[0])
    if mode not in _MODES:
        _refuse(f"--mode is {mode!r}; it can be {', '.join(_MODES)}")
    return OpenOptions(
        file=files[0],
        trust=values.get("--trust", ""),
        mode=mode,
        wait=_seconds(values.get("--wait")),
        dialog=dialog,
        scene=values.get("--scene"),
        env=_environment(values.get("--env")),
    )


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0.0:
        _refuse(f"--wait is {text!r}; it must be a number of seconds, 0 or more (inf: no limit)")
    return seconds


def _environment(text: str | None) -> int | None:
    if text is not None and not text.isdecimal():
        _refuse(f"--env is {text!r}; it must be the number of an environment, 0 or more")
    return None if text is None else int(text)


def _refuse(reason: str) -> NoReturn:
    sys.stderr.write(
        plain_text(f"stroboscope open: {reason} (stroboscope open --help lists all options)\n")
    )
    raise SystemExit(2)
