"""``stroboscope run [options] script.py [args…]``: debug a script that doesn't know us.

The script runs as under ``python script.py``; MuJoCo's functions are wrapped the moment it imports
``mujoco``, and the window opens when it steps a simulation for the first time. Nothing heavy is
imported before the script's own code runs, so that settings it makes first keep their effect.
"""

import dataclasses
import math
import sys
from collections.abc import Sequence
from typing import NoReturn

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
  --detached            wrap MuJoCo's functions and do nothing else
  -h, --help            this text
"""

_MODES = ("paused", "playing", "fast_forward")
_DISCONNECTS = ("continue", "hold")
_WITH_VALUE = ("--mode", "--timeout", "--on-disconnect", "--wait")
_FLAGS = ("--hold-at-end", "--end-on-exception", "--no-window", "--detached")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the command line asks for. Times in seconds."""

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


def main(argv: Sequence[str]) -> int:
    """Run the script that ``argv`` (without ``run``) names, on the main thread.

    Returns 0 when it ends; whatever it raises, SystemExit included, passes through.
    """
    options = parse_arguments(argv)
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
    )


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
    sys.stderr.write(f"stroboscope run: {reason}\n\n{USAGE}")
    raise SystemExit(2)
