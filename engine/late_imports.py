"""What commands import late because it is slow, so that Ctrl+C meanwhile ends them as ever."""

import contextlib
import importlib

from stroboscope.debugger_protocol.quiet_start import quiet_imports
from stroboscope.engine.errors import MujocoUnavailableError
from stroboscope.engine.mujoco_adapter import load_mujoco

__all__ = ["import_for_command"]


def import_for_command(*modules: str) -> None:
    """Import modules of the engine, and MuJoCo, in a process that is a command's and no script's.

    Ctrl+C within compiled modules would be told as a MuJoCo that is broken.
    """
    with quiet_imports():
        for name in modules:
            importlib.import_module(f"stroboscope.engine.{name}")
        with contextlib.suppress(MujocoUnavailableError):  # told where it is needed
            load_mujoco()
