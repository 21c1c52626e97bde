"""Contacts of the shown scene: who touches whom, with what force, sticking or slipping."""

from PySide6.QtWidgets import QCheckBox, QHBoxLayout

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.tables.contacts import ContactTable
from stroboscope.app.models.tables.state import TableSource
from stroboscope.app.models.tables.table import Table
from stroboscope.app.panels.tables.table_panel import TablePanel
from stroboscope.debugger_protocol.scene_description import SceneDescription

__all__ = ["ContactsPanel"]


class ContactsPanel(TablePanel):
    """Contacts under the sums of their pairs of bodies, and a total of all."""

    who = "contacts table"

    def add_to_bar(self, bar: QHBoxLayout) -> None:
        """Add the switches."""
        self.sums = QCheckBox("Sums only")
        self.sums.setToolTip("One row per pair of bodies, without the single contacts.")
        self.sums.toggled.connect(lambda on: self.table.model.show_heads_only(on))
        self.other_side = QCheckBox("Other side")
        self.other_side.setToolTip(
            "Show the opposite force: on the body that does not move, or on the first of two."
        )
        self.other_side.toggled.connect(self._on_side)
        bar.addWidget(self.sums)
        bar.addWidget(self.other_side)

    def make_source(self, description: SceneDescription) -> TableSource:
        """Return the rows of contacts."""
        table = ContactTable(description)
        table.flipped = self.other_side.isChecked()
        return table

    def empty_text(self) -> str:
        """Say that nothing touches."""
        if self.follower.frames() is None:
            return "Contacts of this instant are not known yet."
        return "Nothing touches at this instant."

    def after_refresh(self, table: Table, frames: FrameSet | None) -> None:
        """Show the total."""
        total = self.source.total if isinstance(self.source, ContactTable) else None
        known = total is not None and frames is not None
        self.table.total.set_full_text(*(total.texts if known and total is not None else ("",)))

    def _on_side(self, on: bool) -> None:
        if isinstance(self.source, ContactTable):
            self.source.flipped = on
            self.follower.refresh()
