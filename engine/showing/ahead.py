"""A process that will show the next file: it has started and imported everything before that.

    python -P -m stroboscope.engine.showing.ahead

It waits for one line on standard input, a JSON list: the arguments of ``stroboscope open``. From
then on it is that command. Where the input ends instead, whoever started it has gone, however that
came, and so does it.
"""

import contextlib
import gc
import importlib
import json
import os
import sys
from typing import Final

from stroboscope.engine.errors import EngineError
from stroboscope.engine.mujoco_adapter import load_mujoco
from stroboscope.engine.outside.compiler import compiler_ahead

__all__ = ["arguments_line", "command", "main"]

# What showing a file imports, the late ones too.
_MODULES: Final = (
    "stroboscope.engine.showing.opening",
    "stroboscope.engine.trajectory.showing",
    "stroboscope.engine.scene_loading",
    "stroboscope.engine.debugger",
    "defusedxml",
    "zstandard",
)


def command() -> list[str]:
    """Return how such a process is started in this very installation."""
    return [sys.executable, "-P", "-m", __name__]


def arguments_line(arguments: list[str]) -> bytes:
    """Return what it is to be told so that it shows a file; names may be anything."""
    return json.dumps(arguments).encode("ascii") + b"\n"


def main() -> int:
    """Wait for the arguments and do what they say; return the exit code."""
    compiler_ahead().start()
    for name in _MODULES:
        with contextlib.suppress(ImportError):  # told when it is needed
            importlib.import_module(name)
    with contextlib.suppress(EngineError):  # the same
        load_mujoco()
    gc.collect()
    gc.freeze()
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        return 0
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    from stroboscope.engine.showing import opening

    return opening.main(json.loads(line))


if __name__ == "__main__":
    sys.exit(main())
