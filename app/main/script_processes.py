"""Scripts and demos that the window itself starts: child processes that attach to it."""

import contextlib
import dataclasses
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import IO, Final

from PySide6.QtCore import QObject, QTimer

from stroboscope.engine.showing import ahead

__all__ = ["ScriptProcesses"]

_LAST_LINES = 12
_TAIL_BYTES = 16 << 10
_REFUSED = "stroboscope open: "
_NOTE = "stroboscope open: note: "
# While the window is busy with other things nothing is prepared [ms].
_SOON_MS: Final = 2000


@dataclasses.dataclass(slots=True)
class _Child:
    name: str
    process: "subprocess.Popen[bytes]"
    output: IO[bytes]
    shows: str = ""
    """The file that it was to show."""


class ScriptProcesses(QObject):
    """Starts children and reports those that end with an error. They outlive the window.

    ``report`` gets a name and a sentence with the child's last lines, ``refused`` the path of a
    file that could not be shown, and why. One process more may wait
    for a file to show: starting and importing would be most of what opening one takes. It ends
    with the window.
    """

    def __init__(
        self,
        report: Callable[[str, str], None],
        parent: QObject | None = None,
        *,
        refused: Callable[[str, str], None] = lambda _path, _why: None,
    ) -> None:
        super().__init__(parent)
        self._report = report
        self._refused = refused
        self._children: list[_Child] = []
        self._timer = QTimer(self)
        self._timer.setInterval(300)
        self._timer.timeout.connect(self._look)
        self._waiting: _Child | None = None
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(_SOON_MS)
        self._soon.timeout.connect(self.prepare)

    def start(self, name: str, arguments: list[str]) -> None:
        """Run ``stroboscope`` with ``arguments`` in this very installation."""
        command = [sys.executable, "-P", "-m", "stroboscope.app.main.cli", *arguments]
        try:
            child = _spawn(name, command)
        except OSError as error:
            self._report(name, f"{name} can't be started: {error}")
            return
        child.shows = arguments[-1] if arguments[0] == "open" else ""
        self._children.append(child)
        self._timer.start()

    def open(self, name: str, path: str) -> None:
        """Show a file, by the process that waits for one if there is one."""
        arguments = ["--", path]
        child, self._waiting = self._waiting, None
        self._soon.start()  # who opens one opens others, to compare them
        if child is None or not _tell(child, ahead.arguments_line(arguments)):
            self.start(name, ["open", *arguments])
            return
        child.name, child.shows = name, path
        self._children.append(child)
        self._timer.start()

    def prepare(self) -> None:
        """Have a process wait for a file: the user seems to be about to open one."""
        self._soon.stop()
        waiting = self._waiting
        if waiting is not None and waiting.process.poll() is None:
            return
        if waiting is not None:
            _end(waiting)
        self._waiting = None
        with contextlib.suppress(OSError):  # told when a file is opened
            self._waiting = _spawn("", ahead.command(), is_told=True)

    def prepare_soon(self) -> None:
        """Do that when nothing else has happened for a while."""
        self._soon.start()

    def prepare_only_for_files(self) -> None:
        """Don't do that by itself any more, unless it is files that are looked at."""
        if not any(child.shows for child in self._children):
            self._soon.stop()

    def close(self) -> None:
        """Stop looking after the children; they go on by themselves, but the one that waits."""
        self._timer.stop()
        self._soon.stop()
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            _end(waiting)
        for child in self._children:
            child.output.close()
        self._children.clear()

    def _look(self) -> None:
        for child in tuple(self._children):
            code = child.process.poll()
            if code is None:
                continue
            self._children.remove(child)
            if code:
                failure = _failure(child, code)
                self._report(child.name, failure)
                if child.shows:
                    self._refused(child.shows, failure)
            child.output.close()
        if not self._children:
            self._timer.stop()


def _spawn(name: str, command: list[str], *, is_told: bool = False) -> _Child:
    """Start a child; ``is_told``: it will be told on its input what to do. Raises OSError."""
    output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the child has ended
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE if is_told else subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError:
        output.close()
        raise
    return _Child(name, process, output)


def _tell(child: _Child, line: bytes) -> bool:
    """Tell a child what to do; False, and it is no more, where it has ended already."""
    pipe = child.process.stdin
    if pipe is not None and child.process.poll() is None:
        with contextlib.suppress(OSError):
            pipe.write(line)
            pipe.close()
            return True
    _end(child)
    return False


def _end(child: _Child) -> None:
    """End a child that has not been told anything."""
    child.process.kill()
    child.process.wait()
    if child.process.stdin is not None:
        child.process.stdin.close()
    child.output.close()


def _failure(child: _Child, code: int) -> str:
    """Return a sentence with the last line, which mostly names the error, then all last lines.

    What opens a file says itself what is wrong with it, and what to do: then just that.
    """
    lines = _tail(child)
    for place, line in enumerate(lines):
        if line.startswith(_REFUSED) and not line.startswith(_NOTE):
            return "\n".join([line.removeprefix(_REFUSED), *lines[place + 1 :]])
    last = f": {lines[-1].strip()}" if lines else ""
    text = f"It ended with exit code {code}{last}"
    return "\n".join([text, "It said:", *lines]) if lines else text


def _tail(child: _Child) -> list[str]:
    size = child.output.seek(0, 2)
    child.output.seek(max(0, size - _TAIL_BYTES))
    lines = child.output.read().decode("utf-8", errors="replace").splitlines()
    return [line for line in lines if line.strip()][-_LAST_LINES:]
