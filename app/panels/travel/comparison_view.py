"""What differs between two states or rollouts, the most different values first."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from stroboscope.app.models.comparison import (
    ComparisonModel,
    comparison_table,
    first_steps_text,
)
from stroboscope.app.models.editing import parsed_number
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.labels import ElidedLabel, icon_button, label, rule
from stroboscope.app.panels.style import METRICS, set_property
from stroboscope.app.panels.tables.value_table import ValueTable
from stroboscope.resources.themes import Palette

__all__ = ["ComparisonView"]


class ComparisonView(QWidget):
    """Shows a :class:`ComparisonModel`; hidden while nothing is compared. GUI thread only.

    ``again`` compares the same two once more, with another tolerance.
    """

    def __init__(
        self, model: ComparisonModel, palette: Palette, *, again: Callable[[], None]
    ) -> None:
        super().__init__()
        self._model = model
        self._again = again
        self.table = ValueTable(palette)
        self.titles = (ElidedLabel(), ElidedLabel())
        for title in self.titles:
            title.setProperty("role", "heading")
        self.facts = ElidedLabel()
        self.facts.setProperty("role", "small")
        self.tolerance = QLineEdit()
        self.tolerance.setProperty("compact", True)
        self.tolerance.setFixedWidth(72)
        self.tolerance.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.tolerance.setToolTip("How much two values may differ without counting as different.")
        self.tolerance.setAccessibleName("tolerance")
        self.tolerance.editingFinished.connect(self._on_tolerance)
        self._close = icon_button(Icon.CLOSE, palette, "Close the comparison")
        self._close.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._close.clicked.connect(model.clear)
        self._build()
        model.changed.connect(self.refresh)
        self.refresh()

    def close_panel(self) -> None:
        """Stop listening."""
        self._model.changed.disconnect(self.refresh)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self.table.set_theme(palette)
        self._close.setIcon(icon(Icon.CLOSE, palette))

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        head = QHBoxLayout()
        head.setContentsMargins(METRICS.gap, 3, METRICS.grid, 3)
        head.setSpacing(METRICS.gap)
        for title in self.titles:
            head.addWidget(title, 1)
        self._tolerance_label = label("tolerance", "muted")
        head.addWidget(self._close)
        column.addLayout(head)
        facts = QHBoxLayout()
        facts.setContentsMargins(METRICS.gap, 0, METRICS.gap, 3)
        facts.setSpacing(METRICS.gap)
        facts.addWidget(self.facts, 1)
        facts.addWidget(self._tolerance_label)
        facts.addWidget(self.tolerance)
        column.addLayout(facts)
        column.addWidget(rule())
        column.addWidget(self.table, 1)

    def refresh(self) -> None:
        """Show the newest answer."""
        model = self._model
        self.setVisible(model.pair is not None)
        if model.pair is None:
            return
        for title, letter, name in zip(self.titles, "AB", model.labels, strict=True):
            title.set_full_text(f"{letter}: {name}")
        if not self.tolerance.hasFocus():
            self.tolerance.setText(f"{model.tolerance:g}")
        rollouts = model.with_steps
        self.tolerance.setVisible(rollouts)
        self._tolerance_label.setVisible(rollouts)
        set_property(self.facts, "level", "warn" if model.problem else "")
        result = model.result
        if result is None:
            self.facts.set_full_text(model.problem or ("Comparing…" if model.is_waiting else ""))
            self.table.say(plain_text(model.problem))
            return
        texts = first_steps_text(result, tolerance=model.tolerance, with_steps=rollouts) or ("",)
        self.facts.set_full_text(*texts)
        self.facts.set_hint(texts[0] if len(texts) > 1 else "")
        self.table.show_table(comparison_table(result, with_steps=rollouts), empty=texts[0])

    def _on_tolerance(self) -> None:
        value = parsed_number(self.tolerance.text())
        if value is None or not 0.0 <= value < float("inf"):
            self.tolerance.setText(f"{self._model.tolerance:g}")
        elif value != self._model.tolerance:
            self._model.tolerance = value
            self._again()
