"""Starts :mod:`~stroboscope.app.main.trajectory_work` and hears from it, without waiting."""

import functools
import sys
from collections.abc import Callable
from typing import Final

import msgspec
from PySide6.QtCore import QObject, QProcess

__all__ = ["TrajectoryJob"]

_MODULE: Final = "stroboscope.app.main.trajectory_work"
# Whoever is asked to end is killed after this [ms].
_PATIENCE_MS: Final = 3000
_LAST_WORDS: Final = 400


class _Said(msgspec.Struct):
    """One line of the process."""

    progress: float | None = None
    result: msgspec.Raw = msgspec.Raw()
    error: str | None = None


class TrajectoryJob(QObject):
    """One such process; GUI thread only. ``cancel`` may be called at any time, also twice.

    Exactly one of ``done`` (what it has found, as JSON) and ``failed`` (a sentence) is called,
    neither when it was cancelled.
    """

    def __init__(
        self,
        *arguments: str,
        done: Callable[[bytes], object],
        failed: Callable[[str], object],
        progress: Callable[[float], object] = lambda part: None,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._done, self._failed, self._progress = done, failed, progress
        self._is_over = False
        self._process = QProcess(self)
        self._process.readyReadStandardOutput.connect(self._read)
        self._process.finished.connect(self._on_finished)
        self._process.errorOccurred.connect(self._on_error)
        self._process.start(sys.executable, ["-P", "-m", _MODULE, *arguments])

    def cancel(self) -> None:
        """Have it end, leaving nothing half done; wait for that."""
        self._is_over = True
        process = self._process
        if process.state() is QProcess.ProcessState.NotRunning:
            return
        process.closeWriteChannel()  # which it takes for a Ctrl+C
        if not process.waitForFinished(_PATIENCE_MS):
            process.kill()
            process.waitForFinished(_PATIENCE_MS)

    def _read(self) -> None:
        while self._process.canReadLine():
            line = self._process.readLine().data()
            if self._is_over:
                continue
            try:
                said = msgspec.json.decode(line, type=_Said)
            except msgspec.DecodeError:
                continue  # something else that a library has printed
            if said.progress is not None:
                self._progress(said.progress)
            elif said.error is not None:
                self._end(functools.partial(self._failed, said.error))
            elif bytes(said.result):
                self._end(functools.partial(self._done, bytes(said.result)))

    def _on_finished(self, code: int, _status: object) -> None:
        self._read()
        words = bytes(self._process.readAllStandardError().data()).decode(errors="replace").strip()
        last = f": {words[-_LAST_WORDS:]}" if words else ""
        self._end(lambda: self._failed(f"the process that does it has ended with {code}{last}"))
        self.deleteLater()

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart:
            reason = self._process.errorString()
            self._end(lambda: self._failed(f"no process can be started for it ({reason})"))

    def _end(self, tell: Callable[[], object]) -> None:
        if not self._is_over:
            self._is_over = True
            tell()
