"""What can be done with a file where no window can be shown: on a cluster, in a container."""

import os
import shlex
from collections.abc import Iterator
from typing import Final

from stroboscope.debugger_protocol.exceptions import ProtocolError
from stroboscope.debugger_protocol.window_link import find_window
from stroboscope.engine.files.kinds import FileKind, kind_of_file
from stroboscope.engine.launch import LaunchError, NoDisplayError, check_display

__all__ = ["EXIT_NO_DISPLAY", "NotShownError", "require_display"]

EXIT_NO_DISPLAY: Final = 2
"""The exit code of commands that can't show a file there."""


class NotShownError(LaunchError):
    """A file can't be shown here; the message says why, and what can be done with it instead."""


def require_display(file: str | os.PathLike[str], *, asks: bool = False) -> None:
    """Raise NotShownError where no window can be opened for a file, and none is open.

    An open window may be anywhere. ``asks``: as :func:`check_display` does, where none came.
    """
    try:
        check_display(asks=asks)
    except NoDisplayError as error:
        reason = error.reason
    else:
        return
    try:
        find_window()
    except ProtocolError:
        raise NotShownError("\n".join([f"{reason}.", *_ways(file)])) from None


def _ways(file: str | os.PathLike[str]) -> Iterator[str]:
    kind, name = kind_of_file(file), shlex.quote(os.fspath(file))
    yield "  copy the file to a computer with a screen, and open it there; or here:"
    if kind in (FileKind.TRAJECTORY, FileKind.SCENE):
        yield f"  stroboscope info {name}    # says what is in it"
    if kind is FileKind.TRAJECTORY:
        yield f"  stroboscope export {name} --to csv    # makes a table; npz: arrays, mp4: a film"
    yield f"  stroboscope open --wait 60 {name}    # lets `stroboscope ctl` look at it"
    yield (
        f"  xvfb-run -a stroboscope open {name}    # lets `stroboscope screenshot` take its picture"
    )
