"""Run a command with a display of its own: an Xvfb that ends with the command.

    python packaging/with_display.py [--size 1920x1200] COMMAND [ARGUMENT...]

The server picks a free display itself, so locks that a killed one left behind don't matter and
several runs fit side by side. The exit status is the command's.
"""

import argparse
import contextlib
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from types import FrameType

_START_TIMEOUT = 30.0


@contextlib.contextmanager
def virtual_display(size: str = "1920x1200") -> Iterator[str]:
    """Start Xvfb and yield the name of its display, as in ``:99``; end it on the way out.

    Raises RuntimeError with the server's own words when it does not start.
    """
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as log:
        command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", f"{size}x24"]
        command += ["-nolisten", "tcp", "-noreset", "+extension", "GLX"]
        # In a session of its own: Ctrl+C in the terminal must not take the display away before
        # the program that draws on it has ended.
        server = subprocess.Popen(
            command, pass_fds=[writer], stderr=log, stdout=log, start_new_session=True
        )
        os.close(writer)
        try:
            number = _read_line(reader)
            if not number:
                log.seek(0)
                raise RuntimeError(f"Xvfb did not start: {log.read().decode(errors='replace')}")
            yield f":{number}"
        finally:
            os.close(reader)
            server.terminate()
            server.wait()


def display_environment(display: str) -> dict[str, str]:
    """Return this process's environment, with programs sent to ``display`` and nowhere else."""
    environment = dict(os.environ, DISPLAY=display, QT_QPA_PLATFORM="xcb")
    for name in ("WAYLAND_DISPLAY", "XAUTHORITY"):
        environment.pop(name, None)
    return environment


def _read_line(descriptor: int) -> str:
    text = b""
    while select.select([descriptor], [], [], _START_TIMEOUT)[0]:
        piece = os.read(descriptor, 64)
        text += piece
        if not piece or text.endswith(b"\n"):
            break
    return text.decode().strip()


def main() -> int:
    """Run the command of the command line; return its exit status, 128 + n after signal n."""
    parser = argparse.ArgumentParser(description="Run a command under its own Xvfb.")
    parser.add_argument("--size", default="1920x1200", help="screen size in pixels")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if not arguments.command:
        parser.error("no command given")
    children: list[subprocess.Popen[bytes]] = []
    came_before: list[int] = []

    def forward(number: int, frame: FrameType | None) -> None:
        for child in children:
            child.send_signal(number)
        if not children:
            came_before.append(number)

    # From the beginning: who ends this program early must not leave a display behind. The terminal
    # sends SIGINT to the child as well; here it must only not interrupt.
    signal.signal(signal.SIGINT, lambda number, frame: None)
    signal.signal(signal.SIGTERM, forward)
    signal.signal(signal.SIGHUP, forward)
    with virtual_display(arguments.size) as display:
        child = subprocess.Popen(arguments.command, env=display_environment(display))
        children.append(child)
        for number in came_before:
            child.send_signal(number)
        status = child.wait()
    return 128 - status if status < 0 else status


if __name__ == "__main__":
    sys.exit(main())
