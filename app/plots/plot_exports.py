"""Saving what is plotted: CSV while the window stays alive, NumPy arrays, a picture."""

import enum
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QPoint, QSize, Qt, Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from stroboscope.app.models.plot_layout import PlotLayout
from stroboscope.app.models.plot_store import PlotSeriesId
from stroboscope.app.models.signal_csv import CsvExport
from stroboscope.app.models.signal_export import TimeRange, npz_arrays, write_npz
from stroboscope.app.plots.csv_saver import CsvSaver
from stroboscope.app.plots.plot_toolbar import PlotToolbar

__all__ = ["ExportKind", "PlotExports"]

_PICTURE_SCALE = 2


class ExportKind(enum.Enum):
    """Kinds of files, with the ending and the dialog's filter."""

    CSV = ("csv", "CSV (*.csv)")
    NPZ = ("npz", "NumPy (*.npz)")
    PNG = ("png", "PNG picture (*.png)")


class PlotExports(QObject):
    """Exports of one plot panel; GUI thread only. One CSV at a time.

    ``get_range`` returns the session times [s] that are shown, ``get_picture`` the widget that a
    picture is taken of. ``ended`` carries a sentence for the toolbar and the log.
    """

    ended = Signal(str)

    def __init__(
        self,
        layout: PlotLayout,
        toolbar: PlotToolbar,
        *,
        get_range: Callable[[], TimeRange],
        get_picture: Callable[[], QWidget],
        parent: QWidget,
    ) -> None:
        super().__init__(parent)
        self._window = parent
        self._layout = layout
        self._store = layout.store
        self._toolbar = toolbar
        self._get_range = get_range
        self._get_picture = get_picture
        self._saver: CsvSaver | None = None

    def open_menu(self, position: QPoint) -> QMenu:
        """Offer what can be saved, at a global position."""
        menu = QMenu(self._window)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for text, kind, shown in (
            ("CSV: everything kept…", ExportKind.CSV, False),
            ("CSV: the time that is shown…", ExportKind.CSV, True),
            ("NumPy: everything kept…", ExportKind.NPZ, False),
            ("NumPy: the time that is shown…", ExportKind.NPZ, True),
            ("Picture of the plots…", ExportKind.PNG, False),
        ):
            action = menu.addAction(text)
            action.triggered.connect(lambda _=False, k=kind, s=shown: self._ask(k, only_shown=s))
        menu.popup(position)
        return menu

    def save(self, kind: ExportKind, path: Path, *, only_shown: bool = False) -> CsvSaver | None:
        """Save to ``path``; CSV goes on in the background and returns what writes it."""
        between = self._get_range() if only_shown else None
        if kind is ExportKind.CSV:
            return self._save_csv(path, between)
        try:
            if kind is ExportKind.NPZ:
                write_npz(path, npz_arrays(self._store, self._series(), between=between))
            else:
                self._save_picture(path)
        except OSError as error:
            reason = error.strerror or str(error)
            text = f"{path} could not be written: {reason}. Choose another folder."
            self.ended.emit(text)
        else:
            self.ended.emit(f"Saved {path.name}")
        return None

    def cancel(self) -> None:
        """Stop the CSV that is being written."""
        if self._saver is not None:
            self._saver.cancel()

    def _series(self) -> list[PlotSeriesId]:
        return [each for each in self._layout.all_series() if each.scene in self._store.scenes]

    def _save_csv(self, path: Path, between: TimeRange | None) -> CsvSaver | None:
        series = self._series()
        if not series or self._saver is not None:
            return None
        saver = CsvSaver(CsvExport(self._store, series, between=between), path, self)
        self._saver = saver
        saver.progressed.connect(
            lambda done: self._toolbar.show_progress(f"CSV {done:.0%}", can_cancel=True)
        )
        saver.finished.connect(lambda name: self._csv_ended(f"Saved {Path(name).name}"))
        saver.failed.connect(self._csv_ended)
        saver.cancelled.connect(lambda: self._csv_ended("CSV cancelled"))
        saver.start()
        return saver

    def _csv_ended(self, text: str) -> None:
        if self._saver is not None:
            self._saver.deleteLater()
            self._saver = None
        self.ended.emit(text)

    def _save_picture(self, path: Path) -> None:
        """Draw the plots at twice their size, also those that are scrolled out of sight."""
        widget = self._get_picture()
        size: QSize = widget.size() * _PICTURE_SCALE
        image = QImage(size, QImage.Format.Format_RGB32)
        image.setDevicePixelRatio(_PICTURE_SCALE)
        widget.render(image)
        if not image.save(str(path), "PNG"):  # type: ignore[call-overload]
            raise OSError("Qt can't write a picture there")

    def _ask(self, kind: ExportKind, *, only_shown: bool) -> None:
        ending, pattern = kind.value
        name, _ = QFileDialog.getSaveFileName(
            self._window, "Save plotted signals", f"signals.{ending}", pattern
        )
        if name:
            self.save(kind, Path(name), only_shown=only_shown)
