"""``stroboscope run [options] script.py [args…]``: debug a script that doesn't know us.

The script runs as under ``python script.py``; MuJoCo's functions are wrapped the moment it imports
``mujoco``, and the window opens when it steps a simulation for the first time. Nothing heavy is
imported before the script's own code runs, so that settings it makes first keep their effect.
"""

import dataclasses
import importlib.util
import math
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from stroboscope.debugger_protocol.quiet_start import hand_over_interrupts
from stroboscope.engine.instrument.import_hook import after_import
from stroboscope.engine.instrument.script import run_module, run_script

__all__ = ["RunOptions", "main", "parse_arguments"]

USAGE = """\
usage: stroboscope run [options] script.py [arguments of the script]
       stroboscope run [options] -m module [arguments of the module]

Run a MuJoCo script under the debugger, unchanged. The window opens beside it at the first
simulation step; if it can't, the script runs on and the reason is printed.

options:
  --mode MODE           paused (default), playing or fast_forward: how the simulation begins
  --timeout SECONDS     how long the window may stay silent while it starts (default 5)
  --on-disconnect WHAT  continue (default) or hold: what happens when the window goes away
  --hold-at-end         when the script is over, hold its last scene until Play, to look back
  --end-on-exception    don't stop at an exception that ends the script while a debugger is there
  --no-window           open no window; run at once, clients may join (stroboscope ctl)
  --wait SECONDS        open no window; wait that long for a client before the first step
  --record FILE         record every physics step into FILE (.mcap), other scenes than the first
                        into FILE.NAME.mcap; look at it with stroboscope open FILE
  --keep-last SECONDS   … only the last seconds of simulation time, when the script ends
  --save-on-stop        … only when a simulation stops by itself, or an exception or SIGTERM ends it
  --detached            wrap MuJoCo's functions and do nothing else
  -h, --help            this text
"""

_MODES = ("paused", "playing", "fast_forward")
_DISCONNECTS = ("continue", "hold")
_WITH_VALUE = ("--mode", "--timeout", "--on-disconnect", "--wait", "--record", "--keep-last")
_FLAGS = ("--hold-at-end", "--end-on-exception", "--no-window", "--detached", "--save-on-stop")
_RECORDED = ".mcap"
_NEEDED_TO_RECORD = ("zstandard", "xxhash")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the command line asks for. Times in seconds; ``record``: an absolute path."""

    target: str
    is_module: bool
    args: tuple[str, ...]
    mode: str = "paused"
    timeout: float = 5.0
    on_disconnect: str = "continue"
    hold_on_exception: bool = True
    hold_at_end: bool = False
    window: bool = True
    wait: float | None = None
    detached: bool = False
    record: str | None = None
    keep_last: float | None = None
    save_on_stop: bool = False


def main(argv: Sequence[str]) -> int:
    """Run the script that ``argv`` (without ``run``) names, on the main thread.

    Returns 0 when it ends; whatever it raises, SystemExit included, passes through.
    """
    options = parse_arguments(argv)
    hand_over_interrupts()  # from here on Ctrl+C is the script's
    after_import("mujoco", lambda module: _mujoco_is_there(options))
    try:
        if options.is_module:
            run_module(options.target, options.args)
        else:
            run_script(options.target, options.args)
    except SystemExit as ending:
        _note_exit_code(ending.code)
        _call_debugger("hold_at_end")
        raise
    except Exception as error:
        if options.hold_on_exception:
            _call_debugger("hold_at_exception", error)
        raise
    finally:
        if options.record is not None and "mujoco" not in sys.modules:
            sys.stderr.write("stroboscope: nothing was recorded: the script imports no mujoco\n")
    _note_exit_code(0)
    _call_debugger("hold_at_end")
    return 0


def _note_exit_code(code: object) -> None:
    # Only a script that has imported MuJoCo has a session that could tell it.
    debugger = sys.modules.get("stroboscope.engine.debugger")
    if debugger is not None:
        number = 0 if code is None else code if isinstance(code, int) else 1
        debugger.the_session().note_exit_code(number)


def _call_debugger(function: str, *arguments: object) -> None:
    # Only a script that has imported MuJoCo can have one.
    debugger = sys.modules.get("stroboscope.engine.debugger")
    if debugger is not None:
        getattr(debugger, function)(*arguments)


def _mujoco_is_there(options: RunOptions) -> None:
    """Wrap the functions of the ``mujoco`` that the script is importing."""
    from stroboscope.engine.errors import MujocoUnavailableError
    from stroboscope.engine.instrument.first_step import attach_at_first_step

    try:
        attach_at_first_step(options)
    except MujocoUnavailableError as error:
        sys.stderr.write(f"stroboscope: running without the debugger: {error}\n")


def parse_arguments(argv: Sequence[str]) -> RunOptions:
    """Return the options; everything behind the script's name is the script's own.

    Raises SystemExit: 0 for help, 2 for arguments that make no sense.
    """
    values: dict[str, str] = {}
    flags: set[str] = set()
    rest = list(argv)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        name, has_value, value = rest.pop(0).partition("=")
        if name in ("-h", "--help"):
            sys.stdout.write(USAGE)
            raise SystemExit(0)
        if name == "-m":
            flags.add(name)
            break
        if name in _WITH_VALUE:
            if not has_value and not rest:
                _refuse(f"{name} needs a value")
            values[name] = value if has_value else rest.pop(0)
        elif name in _FLAGS and not has_value:
            flags.add(name)
        else:
            _refuse(f"unknown option {name}")
    if not rest:
        _refuse("which module?" if "-m" in flags else "which script?")
    record, keep_last = _recorded(values, flags)
    return RunOptions(
        target=rest[0],
        is_module="-m" in flags,
        args=tuple(rest[1:]),
        mode=_one_of("--mode", values, _MODES),
        timeout=_seconds("--timeout", values, default=5.0),
        on_disconnect=_one_of("--on-disconnect", values, _DISCONNECTS),
        hold_on_exception="--end-on-exception" not in flags,
        hold_at_end="--hold-at-end" in flags,
        window="--no-window" not in flags and "--wait" not in values,
        wait=_seconds("--wait", values, default=0.0) if "--wait" in values else None,
        detached="--detached" in flags,
        record=record,
        keep_last=keep_last,
        save_on_stop="--save-on-stop" in flags,
    )


def _recorded(values: dict[str, str], flags: set[str]) -> tuple[str | None, float | None]:
    """Return the file to record into, and how much of the past is kept [s]; None: all of it.

    Refuses now what would be found out when hours are over.
    """
    file = values.get("--record")
    if file is None:
        for name in ("--keep-last", "--save-on-stop"):
            if name in values or name in flags:
                _refuse(f"{name} needs --record FILE: where it is to be written")
        return None, None
    missing = [name for name in _NEEDED_TO_RECORD if importlib.util.find_spec(name) is None]
    if missing:
        _refuse(
            f"--record needs the packages {', '.join(missing)}, which are not installed: "
            'pip install "stroboscope[files]"'
        )
    if "--detached" in flags:
        _refuse("--detached does nothing else: leave it out, or --record")
    if "--save-on-stop" in flags and "--keep-last" not in values:
        _refuse("--save-on-stop needs --keep-last SECONDS: how much of what led there is written")
    keep_last = None
    if "--keep-last" in values:
        keep_last = _seconds("--keep-last", values, default=0.0)
        if not 0.0 < keep_last < math.inf:
            _refuse(f"--keep-last is {values['--keep-last']!r}; it must be above 0, and finite")
    return _checked_file(file), keep_last


def _checked_file(file: str) -> str:
    path = os.path.abspath(file)
    folder, name = os.path.split(path)
    if not name or os.path.splitext(name)[1] not in ("", _RECORDED):
        _refuse(f"--record is {file!r}; it must name a file of recorded runs, NAME{_RECORDED}")
    if os.path.isdir(path):
        _refuse(f"--record is {file!r}, which is a folder; name a file in it")
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        _refuse(f"--record is {file!r}; there is no folder {folder} where that may be written")
    return path


def _one_of(name: str, values: dict[str, str], allowed: tuple[str, ...]) -> str:
    value = values.get(name, allowed[0])
    if value not in allowed:
        _refuse(f"{name} is {value!r}; it can be {', '.join(allowed)}")
    return value


def _seconds(name: str, values: dict[str, str], *, default: float) -> float:
    text = values.get(name)
    if text is None:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0.0:
        _refuse(f"{name} is {text!r}; it must be a number of seconds, 0 or more (inf: no limit)")
    return seconds


def _refuse(reason: str) -> NoReturn:
    sys.stderr.write(f"stroboscope run: {reason} (stroboscope run --help lists all options)\n")
    raise SystemExit(2)
