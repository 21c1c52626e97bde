"""Where in the script something happens, for people: "train.py:118"."""

import os
import sys

from stroboscope.debugger_protocol.host.frames import outwards
from stroboscope.debugger_protocol.host.script_place import is_of_script

__all__ = ["script_location"]


def script_location() -> str:
    """Return the innermost line of the script that is running on this thread, "" when none is."""
    for frame in outwards(sys._getframe(1)):
        if is_of_script(frame):
            return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
    return ""
