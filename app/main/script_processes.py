"""Scripts and demos that the window itself starts: child processes that attach to it."""

import dataclasses
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import IO

from PySide6.QtCore import QObject, QTimer

__all__ = ["ScriptProcesses"]

_LAST_LINES = 12
_TAIL_BYTES = 16 << 10


@dataclasses.dataclass(slots=True)
class _Child:
    name: str
    process: "subprocess.Popen[bytes]"
    output: IO[bytes]


class ScriptProcesses(QObject):
    """Starts children and reports those that end with an error. They outlive the window.

    ``report`` gets a name and a sentence with the child's last lines.
    """

    def __init__(self, report: Callable[[str, str], None], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._report = report
        self._children: list[_Child] = []
        self._timer = QTimer(self)
        self._timer.setInterval(300)
        self._timer.timeout.connect(self._look)

    def start(self, name: str, arguments: list[str]) -> None:
        """Run ``stroboscope`` with ``arguments`` in this very installation."""
        command = [sys.executable, "-P", "-m", "stroboscope.app.main.cli", *arguments]
        output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the child has ended
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            output.close()
            self._report(name, f"{name} can't be started: {error}")
            return
        self._children.append(_Child(name, process, output))
        self._timer.start()

    def close(self) -> None:
        """Stop looking after the children; they go on by themselves."""
        self._timer.stop()
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
                self._report(child.name, _failure(child, code))
            child.output.close()
        if not self._children:
            self._timer.stop()


def _failure(child: _Child, code: int) -> str:
    """Return a sentence with the last line, which mostly names the error, then all last lines."""
    lines = _tail(child)
    last = f": {lines[-1].strip()}" if lines else ""
    text = f"It ended with exit code {code}{last}"
    return "\n".join([text, "It said:", *lines]) if lines else text


def _tail(child: _Child) -> list[str]:
    size = child.output.seek(0, 2)
    child.output.seek(max(0, size - _TAIL_BYTES))
    lines = child.output.read().decode("utf-8", errors="replace").splitlines()
    return [line for line in lines if line.strip()][-_LAST_LINES:]
