"""What was changed by hand, newest first, and the way back."""

from functools import partial

from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from stroboscope.app.models.edits import EditEntry
from stroboscope.app.models.numbers import number_text, with_unit
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.panels.controls.page import ControlsPage
from stroboscope.app.panels.labels import ElidedLabel, label
from stroboscope.app.panels.style import METRICS, set_property

__all__ = ["EditsPage"]

_SHOWN = 60


class _Line(QWidget):
    """One edit: when, what, and a button that undoes it."""

    def __init__(self) -> None:
        super().__init__()
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 1, 0, 1)
        row.setSpacing(METRICS.gap)
        self.text = ElidedLabel()
        self.when = label("", "small")
        self.revert = QPushButton("Revert")
        self.revert.setFixedHeight(METRICS.compact_height)
        self.revert.setProperty("compact", True)
        row.addWidget(self.text, 1)
        row.addWidget(self.when)
        row.addWidget(self.revert)

    def show_entry(self, entry: EditEntry, why_not: str) -> None:
        """Show what is known of it now."""
        self.text.set_full_text(entry.text)
        set_property(self.text, "role", "muted" if entry.reverted else "")
        self.when.setText(with_unit(number_text(entry.time), "s"))
        self.revert.setText("Reverted" if entry.reverted else "Revert")
        self.revert.setEnabled(not entry.reverted and not why_not)
        self.revert.setToolTip(why_not or "Put back what was there before this edit.")


class EditsPage(ControlsPage):
    """The list of edits of the shown scene."""

    name = "edits"
    empty_text = "Nothing was changed by hand. What you set here or drag in the picture is listed."

    def __init__(self, *arguments: object) -> None:
        self.lines: dict[int, _Line] = {}
        self._ids: tuple[int, ...] = ()
        super().__init__(*arguments)  # type: ignore[arg-type]

    def forget(self) -> None:
        """Drop the rows of before."""
        self.lines = {}

    def build(self, scene: SceneModel) -> None:
        """Make a line per edit."""
        entries = scene.edits.entries
        self._ids = tuple(entry.edit_id for entry in entries)
        for entry in reversed(entries[-_SHOWN:]):
            line = _Line()
            line.revert.clicked.connect(partial(self._revert, entry.edit_id))
            self.lines[entry.edit_id] = line
            self.add_whole(line, words=entry.text)
        if len(entries) > _SHOWN:
            self.add_whole(label(f"+{len(entries) - _SHOWN} older ones", "small"))

    def fill(self, scene: SceneModel) -> None:
        """Follow the list."""
        if tuple(entry.edit_id for entry in scene.edits.entries) != self._ids:
            self.rebuild()
            return
        why_not = self.why_not()
        for entry in scene.edits.entries:
            if (line := self.lines.get(entry.edit_id)) is not None:
                line.show_entry(entry, why_not)

    def _revert(self, edit_id: int) -> None:
        if self.scene is not None:
            self.scene.edits.revert(edit_id)
