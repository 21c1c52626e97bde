"""A field over a cell: Enter commits, Escape or leaving gives up."""

from collections.abc import Callable

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from stroboscope.app.models.editing import parsed_number
from stroboscope.app.panels.style import METRICS, number_font, set_property
from stroboscope.app.panels.tips import tell

__all__ = ["CellEditor"]


class CellEditor(QLineEdit):
    """Lives from ``edit`` on until it is left. ``commit(number)`` returns a problem or nothing."""

    def __init__(
        self, parent: QWidget, value: float, *, place: QRect, commit: Callable[[float], str]
    ) -> None:
        super().__init__(repr(value), parent)
        self._commit = commit
        self.setFont(number_font())
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setStyleSheet(
            f"min-height: {METRICS.compact_height - 4}px; padding: 0 4px; border-radius: 3px;"
        )
        self.setGeometry(place)
        self.returnPressed.connect(self._finish)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.show()
        self.selectAll()
        self.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Take Escape."""
        if event.key() == Qt.Key.Key_Escape:
            self.close()
            return
        super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Give up when something else is clicked."""
        super().focusOutEvent(event)
        self.close()

    def _finish(self) -> None:
        value = parsed_number(self.text())
        problem = f"{self.text()!r} is not a number." if value is None else self._commit(value)
        if problem:
            set_property(self, "level", "stop")
            tell(self, problem)
            return
        self.close()
