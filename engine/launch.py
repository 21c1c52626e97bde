"""Start the debugger's window as a process of its own and follow how it comes up.

The window outlives the script, so its standard error goes to a file in the runtime directory, not
to a pipe that would break with us. The file is also its sign of life: whatever it prints extends
the wait; while it says that it is starting (``stroboscope: starting …``) it is alive as long as its
process is, since importing what it needs takes a slow machine longer than anybody would be silent;
and its last lines say why it died.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

from stroboscope.debugger_protocol.runtime_directory import find_runtime_directory
from stroboscope.engine.display import missing_display
from stroboscope.engine.errors import EngineError

__all__ = [
    "EXECUTABLE_VARIABLE",
    "SCRIPT_VARIABLE",
    "LaunchError",
    "NoDisplayError",
    "WindowProcess",
    "check_display",
    "window_command",
]

EXECUTABLE_VARIABLE = "STROBOSCOPE_DEBUGGER"
"""Names another executable for the window."""

SCRIPT_VARIABLE = "STROBOSCOPE_OPENED_BY"
"""Tells the window the name of the script that has opened it."""

_STARTING = "stroboscope: starting"
_APP_MODULES = ("PySide6", "vispy", "pyqtgraph")
# Qt platforms that draw without a display server.
_PLATFORMS_WITHOUT_DISPLAY = ("offscreen", "minimal", "vnc", "linuxfb", "eglfs")
_LAST_LINES = 12
_TAIL_BYTES = 16 << 10


class LaunchError(EngineError):
    """The window can't be opened; the message says why and what to do."""


class NoDisplayError(LaunchError):
    """There is nowhere to open a window; ``reason`` says so without what to do."""

    def __init__(self, missing: str) -> None:
        self.reason = f"there is no display for the window ({missing})"
        super().__init__(
            f"{self.reason}: log in with `ssh -X`, or look with `stroboscope ctl` from another "
            "terminal, for which `stroboscope run --wait 60` waits, and "
            "debugger.attach(launch=False, timeout_seconds=60) in a script; `run --no-window` and "
            "debugger.listen() let it join at any time"
        )


def window_command(session_id: str) -> list[str]:
    """Return the command that opens a window connected to ``session_id``.

    Raises LaunchError when no executable can be found, or no display that it could appear on.
    """
    command = [*_executable(), "--session", session_id]
    check_display()
    return command


def _executable() -> list[str]:
    chosen = os.environ.get(EXECUTABLE_VARIABLE)
    if chosen:
        found = shutil.which(chosen)
        if found is None:
            raise LaunchError(
                f"{EXECUTABLE_VARIABLE} names {chosen!r}, which is no executable file; "
                "correct it, or unset it to use the installed `stroboscope`"
            )
        return [found]
    missing = [name for name in _APP_MODULES if importlib.util.find_spec(name) is None]
    if not missing and importlib.util.find_spec("stroboscope.app") is not None:
        # This very installation, whatever PATH says. -P: a script's own modules stay out of it.
        return [sys.executable, "-P", "-m", "stroboscope.app.main.cli"]
    found = shutil.which("stroboscope")
    if found is not None and not _is_ours(found):
        return [found]
    raise LaunchError(
        f"the window is not installed here ({', '.join(missing) or 'stroboscope.app'} missing): "
        '`pip install "stroboscope[app]"`, '
        f"or let {EXECUTABLE_VARIABLE} name a `stroboscope` that is installed elsewhere"
    )


def _is_ours(executable: str) -> bool:
    """Return whether ``executable`` runs in this environment, which lacks what it needs."""
    return Path(executable).resolve().parent == Path(sys.executable).parent.resolve()


def check_display(*, asks: bool = False) -> None:
    """Raise NoDisplayError when a window has nowhere to be shown.

    ``asks``: the display, whether it lets this user in; for where a window has failed.
    """
    platform = os.environ.get("QT_QPA_PLATFORM", "").partition(":")[0]
    if platform in _PLATFORMS_WITHOUT_DISPLAY:
        return
    # What another executable makes of a display is not known here.
    only_named = bool(os.environ.get(EXECUTABLE_VARIABLE))
    if missing := missing_display(only_named=only_named, asks=asks):
        raise NoDisplayError(missing)


class WindowProcess:
    """The window as a child process. Any thread; it is never killed and may outlive us."""

    def __init__(self, session_id: str, *, script: str = "") -> None:
        """Start it for a session of ``script``; raises LaunchError when that is not possible."""
        command = window_command(session_id)
        self._log_path = find_runtime_directory() / f"window-{os.getpid()}-{session_id}.log"
        try:
            with _open_private(self._log_path) as log:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    close_fds=True,
                    env={**os.environ, SCRIPT_VARIABLE: os.path.basename(script)},
                    # Ctrl+C in the script's terminal is meant for the script.
                    start_new_session=True,
                )
        except OSError as error:
            self._log_path.unlink(missing_ok=True)
            raise LaunchError(f"{command[0]} can't be started: {error}") from error
        self._seen = 0
        self._is_starting = False
        # Waits for the child, so that it does not stay a zombie; asleep until it ends.
        self._reaper = threading.Thread(
            target=self._process.wait, name="stroboscope-window", daemon=True
        )
        self._reaper.start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def has_printed_more(self) -> bool:
        """Return whether it has printed anything since the last call."""
        size = self._log_size()
        more, self._seen = size > self._seen, size
        if more:
            last = self.last_lines()[-1:]
            self._is_starting = bool(last) and last[0].startswith(_STARTING)
        return more

    @property
    def is_starting(self) -> bool:
        """Whether it lives, and the last that :meth:`has_printed_more` saw is that it starts."""
        return self._is_starting and self._process.returncode is None

    def failure(self) -> str:
        """Return why it died, with its last lines, or an empty string.

        A window that ends with 0 has handed over to one that was open already.
        """
        code = self._process.returncode
        if not code:
            return ""
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        lines = self.last_lines()
        said = "\n  ".join(["; it said:", *lines]) if lines else " and said nothing"
        return f"the window (pid {self.pid}) {how}{said}"

    def last_lines(self) -> list[str]:
        """Return the last lines that it printed."""
        try:
            with self._log_path.open("rb") as log:
                log.seek(max(0, self._log_size() - _TAIL_BYTES))
                text = log.read().decode("utf-8", errors="replace")
        except OSError:
            return []
        return text.splitlines()[-_LAST_LINES:]

    def forget_log(self) -> None:
        """Remove the log's name; the window may go on writing."""
        self._log_path.unlink(missing_ok=True)

    def _log_size(self) -> int:
        try:
            return self._log_path.stat().st_size
        except OSError:
            return self._seen


def _open_private(path: Path) -> IO[bytes]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    return os.fdopen(os.open(path, flags, 0o600), "ab")
