"""Which session ``stroboscope ctl`` is for, and waiting for one that begins."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from stroboscope.debugger_protocol.connection_file import (
    ConnectionInfo,
    find_session,
    list_sessions,
    read_connection_file,
)
from stroboscope.debugger_protocol.exceptions import NoSessionError
from stroboscope.debugger_protocol.plain_text import plain_line

__all__ = ["chosen_session", "wait_for_session"]

# A session that begins writes a file: nobody can be asked to tell of it.
_LOOK_S: Final = 0.1


def chosen_session(chosen: str) -> ConnectionInfo:
    """Return the running session that ``--session`` names, without it the only one there is.

    Raises NoSessionError, with those that are running, or ConnectionFileError.
    """
    found = _found(chosen)
    if len(found) > 1:
        which = f"run {chosen!r}" if chosen else "are running"
        lines = "".join(f"\n  {i.session_id}  pid {i.pid}  {plain_line(i.script)}" for i in found)
        raise NoSessionError(
            f"{len(found)} sessions {which}; choose one with --session and its id or pid:{lines}"
        )
    if found:
        return found[0]
    # A recorded run that somebody has open goes by its name, also in the folder of the file.
    if chosen and not chosen.endswith(".py") and Path(chosen).is_file():
        return read_connection_file(chosen)
    return find_session(chosen)


def wait_for_session(
    chosen: str, seconds: float, *, tell: Callable[[str], object]
) -> ConnectionInfo:
    """Return :func:`chosen_session`, waiting for so long where nothing that is meant runs yet."""
    end = time.monotonic() + seconds
    is_told = False
    while True:
        try:
            return chosen_session(chosen)
        except NoSessionError:
            # Of several that run none is the right one by waiting.
            if _found(chosen) or time.monotonic() >= end:
                raise
        if not is_told:
            tell("no such session is running yet: waiting for it to begin")
            is_told = True
        threading.Event().wait(_LOOK_S)


def _found(chosen: str) -> list[ConnectionInfo]:
    """Return the running sessions that are meant."""
    sessions = [info for _, info in list_sessions()]
    if not chosen:
        return sessions
    return [
        info for info in sessions if info.session_id.startswith(chosen) or str(info.pid) == chosen
    ] or [info for info in sessions if chosen in (info.script, Path(info.script).name)]
