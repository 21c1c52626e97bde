"""How a script has ended, in words for people: said in the log and in the farewell."""

import dataclasses
import os
import sys
from types import TracebackType

from stroboscope.debugger_protocol.host.script_place import is_of_script
from stroboscope.debugger_protocol.messages import LogLevel

__all__ = ["ScriptEnd", "describe_error", "error_location", "script_end"]

_MESSAGE_CHARACTERS = 300


@dataclasses.dataclass(frozen=True, slots=True)
class ScriptEnd:
    """What is told of the end of a script."""

    level: LogLevel
    text: str


def script_end(script: str, *, exit_code: int | None = None) -> ScriptEnd:
    """Return how ``script`` has ended; to be asked while the interpreter shuts down.

    ``exit_code`` is what it ended with, if anybody saw it: the interpreter itself doesn't tell.
    """
    name = os.path.basename(script) or "the script"
    error = _uncaught()
    if error is not None:
        where = error_location(error)
        place = f" ({where})" if where else ""
        text = f"{name} ended with {describe_error(error)}{place}"
        interrupted = isinstance(error, KeyboardInterrupt)
        return ScriptEnd(LogLevel.INFO if interrupted else LogLevel.ERROR, text)
    if exit_code is None:
        return ScriptEnd(LogLevel.INFO, f"{name} ended")
    if exit_code == 0:
        return ScriptEnd(LogLevel.INFO, f"{name} ended (exit code 0)")
    return ScriptEnd(LogLevel.ERROR, f"{name} ended with exit code {exit_code}")


def describe_error(error: BaseException) -> str:
    """Return "RuntimeError: control went wrong", on one line of bounded length."""
    try:
        message = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - the script's own class may fail at anything
        message = ""
    if len(message) > _MESSAGE_CHARACTERS:
        message = f"{message[: _MESSAGE_CHARACTERS - 1]}…"
    kind = type(error).__name__
    return f"{kind}: {message}" if message else kind


def error_location(error: BaseException) -> str:
    """Return the innermost line of the script that ``error`` passed, as "train.py:118", or ""."""
    found = ""
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        if is_of_script(trace.tb_frame):
            found = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return found


def _uncaught() -> BaseException | None:
    """Return what the interpreter has printed as the end of the main thread, if anything.

    It keeps that in ``sys`` before it runs ``atexit`` functions. In an interactive process it is
    just the last error that was shown.
    """
    if sys.flags.interactive or hasattr(sys, "ps1"):
        return None
    error = getattr(sys, "last_value", None)
    return error if isinstance(error, BaseException) else None
