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
                self._report(child.name, f"{child.name} ended with code {code}.{_tail(child)}")
            child.output.close()
        if not self._children:
            self._timer.stop()


def _tail(child: _Child) -> str:
    size = child.output.seek(0, 2)
    child.output.seek(max(0, size - _TAIL_BYTES))
    lines = child.output.read().decode("utf-8", errors="replace").splitlines()[-_LAST_LINES:]
    return " It said:\n" + "\n".join(lines) if lines else ""
