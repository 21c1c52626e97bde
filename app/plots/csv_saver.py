"""Saving CSV in slices of the event loop: the window stays alive, the file is whole or absent."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from PySide6.QtCore import QObject, QTimer, Signal

from stroboscope.app.models.signal_csv import CsvExport

__all__ = ["CsvSaver"]


class CsvSaver(QObject):
    """Writes one export to ``path``; GUI thread only.

    Ends with exactly one of ``finished``, ``failed`` (a sentence) or ``cancelled``. The file
    appears under its name only when it is complete.
    """

    progressed = Signal(float)  # 0 … 1
    finished = Signal(str)
    failed = Signal(str)
    cancelled = Signal()

    def __init__(self, export: CsvExport, path: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._export = export
        self._path = path
        self._temporary: Path | None = None
        self._file: TextIO | None = None
        self._slices: Iterator[float] = iter(())
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._write_slice)

    def start(self) -> None:
        """Begin; returns at once."""
        try:
            descriptor, name = tempfile.mkstemp(dir=self._path.parent, suffix=".csv.part")
            self._temporary = Path(name)
            self._file = os.fdopen(descriptor, "w", encoding="utf-8", newline="")
        except OSError as error:
            self._fail(error)
            return
        self._slices = self._export.write(self._file)
        self._timer.start(0)

    def cancel(self) -> None:
        """Stop and leave nothing behind."""
        if self._file is not None:
            self._clean_up()
            self.cancelled.emit()

    def _write_slice(self) -> None:
        try:
            fraction = next(self._slices, None)
            if fraction is not None:
                self.progressed.emit(fraction)
                return
            self._complete()
        except OSError as error:
            self._fail(error)

    def _complete(self) -> None:
        self._timer.stop()
        if self._file is not None and self._temporary is not None:
            self._file.close()
            self._file = None
            # mkstemp makes files that only we may read; an export is an ordinary document.
            mask = os.umask(0)
            os.umask(mask)
            self._temporary.chmod(0o666 & ~mask)
            self._temporary.replace(self._path)
            self._temporary = None
        self.finished.emit(str(self._path))

    def _fail(self, error: OSError) -> None:
        self._clean_up()
        reason = error.strerror or str(error)
        self.failed.emit(f"{self._path} could not be written: {reason}. Choose another folder.")

    def _clean_up(self) -> None:
        self._timer.stop()
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)
            self._temporary = None
