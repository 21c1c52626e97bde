"""Constraints of the shown scene, and how the solver got along with them."""

from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.tables.constraints import ConstraintTable
from stroboscope.app.models.tables.state import TableSource
from stroboscope.app.models.tables.table import Table
from stroboscope.app.panels.icons import Icon, pixmap
from stroboscope.app.panels.labels import label
from stroboscope.app.panels.style import METRICS
from stroboscope.app.panels.tables.table_panel import TablePanel
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.resources.themes import Palette

__all__ = ["ConstraintsPanel"]


class ConstraintsPanel(TablePanel):
    """Scalar constraints by type; the solver's iterations and warnings above them."""

    who = "constraints table"

    def add_above(self, layout: QVBoxLayout) -> None:
        """Add room for a warning."""
        self._warning = QWidget()
        row = QHBoxLayout(self._warning)
        row.setContentsMargins(METRICS.padding, 0, METRICS.padding, METRICS.grid)
        row.setSpacing(METRICS.grid)
        self._mark = QLabel()
        self.warning = label("", "small", wrap=True)
        self.warning.setProperty("level", "warn")
        row.addWidget(self._mark)
        row.addWidget(self.warning, 1)
        layout.addWidget(self._warning)
        self._warning.hide()
        self._paint_mark()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        super().set_theme(palette)
        self._paint_mark()

    def _paint_mark(self) -> None:
        ratio = self.devicePixelRatioF()
        self._mark.setPixmap(pixmap(Icon.WARNING, 14, self._palette.warn, ratio=ratio))

    def make_source(self, description: SceneDescription) -> TableSource:
        """Return the rows of constraints."""
        return ConstraintTable(description)

    def empty_text(self) -> str:
        """Say that nothing constrains."""
        if self.follower.frames() is None:
            return "Constraints of this instant are not known yet."
        return "No constraints at this instant: no contacts, limits, friction or equalities."

    def after_refresh(self, table: Table, frames: FrameSet | None) -> None:
        """Show what the solver did."""
        summary = self.source.summary if isinstance(self.source, ConstraintTable) else None
        texts = summary.texts if summary is not None else ("",)
        self.table.total.set_full_text(*texts)
        warning = summary.warning if summary is not None else ""
        if self.warning.text() != warning:
            self.warning.setText(warning)
        self._warning.setVisible(bool(warning))
