"""One row of the plot panel: a plot and its legend."""

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from stroboscope.app.plots.plot_legend import LEGEND_WIDTH, WIDE_LEGEND, PlotLegend
from stroboscope.app.plots.plot_view import PlotView
from stroboscope.resources.themes import Palette

__all__ = ["MINIMUM_CELL_HEIGHT", "PlotCell"]

MINIMUM_CELL_HEIGHT = 60


class PlotCell(QWidget):
    """A plot with its legend; the plot's id ties it to the model."""

    menu_requested = Signal(int, QPoint)  # plot id, global position

    def __init__(self, plot_id: int, palette: Palette, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.plot_id = plot_id
        self._wide = False
        self.view = PlotView(palette)
        self.legend = PlotLegend(palette)
        # Drops and menus are the panel's business; a graphics view would swallow them.
        self.view.setAcceptDrops(False)
        self.view.viewport().setAcceptDrops(False)
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.view, 1)
        row.addWidget(self.legend)
        self.setMinimumHeight(MINIMUM_CELL_HEIGHT)
        self._target = QFrame(self)
        self._target.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._target.hide()
        self.set_theme(palette)

    def set_drop_target(self, target: bool) -> None:
        """Mark the plot that a dragged signal would go to."""
        self._target.setGeometry(self.rect())
        self._target.setVisible(target)
        self._target.raise_()

    def set_theme(self, palette: Palette) -> None:
        """Take the colours of a palette."""
        self.view.set_theme(palette)
        self.legend.set_theme(palette)
        self._target.setStyleSheet(f"border: 2px solid {palette.accent};")

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave most of the width to the plot."""
        super().resizeEvent(event)
        self._share_width()

    def set_wide_legend(self, wide: bool) -> None:
        """Give the legend room for the names of scripts and scenes, or take it back."""
        if wide != self._wide:
            self._wide = wide
            self._share_width()

    def _share_width(self) -> None:
        most, part = (WIDE_LEGEND, 0.5) if self._wide else (LEGEND_WIDTH, 1 / 3)
        self.legend.setFixedWidth(min(most, max(140, int(self.width() * part))))
        # At once: the labels of the time axis go by where the plot ends.
        layout = self.layout()
        if layout is not None:
            layout.activate()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Ask the panel for the plot's menu."""
        self.menu_requested.emit(self.plot_id, event.globalPos())
        event.accept()
