"""Where in the script a thread is, for people: "train.py:118"."""

import sysconfig
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Final

__all__ = ["is_of_script", "script_place"]

_OURS: Final = (
    "stroboscope.debugger_protocol.",
    "stroboscope.engine.",
    "stroboscope.app.",
)
_LIBRARIES: Final = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)


def script_place(frames: Iterable[FrameType]) -> str:
    """Return the innermost line of the user's own code, or else of a library that isn't ours.

    ``frames``: those of one thread, the innermost first. Returns "" when all of them are ours.
    """
    theirs = None
    for frame in frames:
        if is_of_script(frame):
            return _place(frame)
        if not _is_ours(frame):
            theirs = theirs or frame
    return _place(theirs) if theirs is not None else ""


def is_of_script(frame: FrameType) -> bool:
    """Return whether a frame runs code of the user: neither ours nor a library's."""
    libraries = (*_LIBRARIES, "<frozen")
    return not _is_ours(frame) and not frame.f_code.co_filename.startswith(libraries)


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith(_OURS)


def _place(frame: FrameType) -> str:
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
