"""Whether there is a display that a window could appear on, asked before Qt aborts over it."""

import contextlib
import os
import re
import socket
import sys
from pathlib import Path
from typing import Final

from stroboscope.engine.x_authority import refusal_of

__all__ = ["missing_display"]

# [host][/unix]:display[.screen]
_X_NAME: Final = re.compile(r"(?P<host>[^:/]*)(?:/unix)?:(?P<number>\d{1,5})(?:\.\d+)?")
_X_PORT: Final = 6000
_HERE: Final = ("localhost", "127.0.0.1")
# A display of this machine answers at once, or not at all.
_ANSWERS_WITHIN_S: Final = 2.0
_COOKIES: Final = "; XAUTHORITY names the file with its cookies, see `xauth list`"


def missing_display(*, only_named: bool = False, asks: bool = False) -> str:
    """Return why nothing can be shown on this machine, in a few words; empty where it can.

    Where displays have names, one has to be named, and to answer: it is connected to, and left at
    once. One of another machine is believed to be there, and with ``only_named`` any. ``asks``:
    whether it lets this user in, too, for where something has failed: an X server that nobody else
    uses begins anew when who has asked has left.
    """
    if sys.platform in ("win32", "darwin"):
        return ""
    x_display, wayland = os.environ.get("DISPLAY", ""), os.environ.get("WAYLAND_DISPLAY", "")
    if not x_display and not wayland:
        return "DISPLAY and WAYLAND_DISPLAY are not set"
    if only_named or (wayland and _wayland_answers(wayland)):
        return ""
    if x_display and (answer := _x_answer(x_display, asks=asks)) is not None:
        return answer and f"DISPLAY={x_display} refuses this user: {answer}{_COOKIES}"
    named = [("DISPLAY", x_display), ("WAYLAND_DISPLAY", wayland)]
    told = " and ".join(f"{name}={value}" for name, value in named if value)
    return f"nothing answers at {told}"


def _x_answer(display: str, *, asks: bool) -> str | None:
    """Return why a display refuses us, empty where it doesn't; None where nothing answers."""
    name = _X_NAME.fullmatch(display)
    if name is None or name["host"] not in ("", "unix", *_HERE):
        return ""
    number = int(name["number"])
    addresses: list[tuple[socket.AddressFamily, str | tuple[str, int]]] = []
    if name["host"] in ("", "unix"):
        path = f"/tmp/.X11-unix/X{number}"  # noqa: S108 - where X has it
        addresses += [(socket.AF_UNIX, path), (socket.AF_UNIX, f"\0{path}")]
    addresses.append((socket.AF_INET, ("127.0.0.1", _X_PORT + number)))
    for family, address in addresses:
        with contextlib.suppress(OSError, OverflowError), socket.socket(family) as end:
            is_idle = _is_connected(end, address)
            return refusal_of(end, number) if is_idle and asks else ""
    return None


def _wayland_answers(name: str) -> bool:
    path = Path(os.environ.get("XDG_RUNTIME_DIR", "")) / name
    return not path.is_absolute() or _connects(socket.AF_UNIX, str(path))


def _connects(family: socket.AddressFamily, address: str) -> bool:
    with contextlib.suppress(OSError), socket.socket(family) as end:
        _is_connected(end, address)
        return True
    return False


def _is_connected(end: socket.socket, address: "str | tuple[str, int]") -> bool:
    """Connect; False where it is there and busy. Raises OSError where nothing is."""
    end.settimeout(_ANSWERS_WITHIN_S)
    try:
        end.connect(address)
    except TimeoutError:
        return False
    return True
