"""One row of the inspector: label, number that can be edited and plotted, unit, note."""

from collections.abc import Callable
from typing import Protocol, cast

from PySide6.QtCore import QMimeData, QPoint, Qt
from PySide6.QtGui import QDrag, QFocusEvent, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import (
    QApplication,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QWidget,
)

from stroboscope.app.models.element_values import EditTarget, ValueRow
from stroboscope.app.models.numbers import THIN_SPACE, number_text
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.panels.labels import ElidedLabel, label
from stroboscope.app.panels.style import METRICS, number_font, set_property
from stroboscope.app.panels.tips import tell

__all__ = ["LABEL_WIDTH", "NumberLabel", "RowWidgets", "Spark"]

LABEL_WIDTH = 92

MakeMime = Callable[[ValueRow], QMimeData | None]


class Spark(Protocol):
    """What draws a value's recent past behind it; the plots have one."""

    def push(self, value: float) -> None:
        """Add the newest value."""

    def clear(self) -> None:
        """Forget everything."""


class NumberLabel(QLabel):
    """A number: double click edits it, dragging takes its signal to a plot."""

    def __init__(self) -> None:
        super().__init__()
        self.on_edit: Callable[[], None] = lambda: None
        self.on_drag: Callable[[], QMimeData | None] = lambda: None
        self._pressed: QPoint | None = None
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setFont(number_font())
        self.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Remember where a drag may begin."""
        if event.button() is Qt.MouseButton.LeftButton:
            self._pressed = event.position().toPoint()
        super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Begin to drag the signal of this number."""
        if self._pressed is None:
            return
        distance = (event.position().toPoint() - self._pressed).manhattanLength()
        if distance < QApplication.startDragDistance():
            return
        self._pressed = None
        mime = self.on_drag()
        if mime is not None:
            drag = QDrag(self)
            drag.setMimeData(mime)
            drag.exec(Qt.DropAction.CopyAction)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """No drag after all."""
        self._pressed = None
        super().mouseReleaseEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Edit."""
        if event.button() is Qt.MouseButton.LeftButton:
            self.on_edit()


class _NumberField(QLineEdit):
    """A field over a number; Escape or leaving gives up."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.on_cancel: Callable[[], None] = lambda: None
        self.setFont(number_font())
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.setStyleSheet(f"min-height: {METRICS.compact_height - 6}px; padding: 0 4px;")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Take Escape."""
        if event.key() == Qt.Key.Key_Escape:
            self.on_cancel()
            return
        super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Give up when something else is clicked; Enter alone may leave the field open."""
        super().focusOutEvent(event)
        self.on_cancel()


class RowWidgets:
    """The widgets of one row in a grid of four columns. ``commit`` takes an edited number.

    ``make_spark`` makes the widget that draws the recent past of a number that has a signal.
    """

    def __init__(
        self,
        grid: QGridLayout,
        line: int,
        row: ValueRow,
        *,
        commit: Callable[[EditTarget, float], str],
        plot: Callable[[ValueRow], None],
        make_mime: MakeMime,
        can_edit: Callable[[], str],
        make_spark: Callable[[], QWidget] | None = None,
    ) -> None:
        self._grid = grid
        self._line = line
        self._row = row
        self._commit = commit
        self._plot = plot
        self._can_edit = can_edit
        self._field: _NumberField | None = None
        self.name = ElidedLabel(row.label.strip())
        self.name.setContentsMargins(0, 0, METRICS.grid, 0)
        self.name.setProperty("role", "muted")
        self.number = NumberLabel()
        self.number.on_edit = self.edit
        self.number.on_drag = lambda: make_mime(self._row) if self._row.channel else None
        self.number.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.number.customContextMenuRequested.connect(self._menu)
        self.unit = label("", "muted")
        self.note = ElidedLabel()
        self.note.setProperty("role", "small")
        widest = self.number.fontMetrics().horizontalAdvance("−000.000") + METRICS.grid
        self.name.setFixedHeight(METRICS.compact_height - 2)
        self.text: ElidedLabel | None = None
        if row.value is None and not row.channel and not row.unit:
            self.text = ElidedLabel()
            self.text.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
            grid.addWidget(self.text, line, 1, 1, 2 if row.note else 3)
        else:
            self.number.setMinimumWidth(widest)
            grid.addWidget(self.number, line, 1)
            grid.addWidget(self.unit, line, 2)
        grid.addWidget(self.name, line, 0)
        self.spark: QWidget | None = None
        self._spark_axis: int | None = None
        if row.channel and make_spark is not None:
            self.spark = make_spark()
            rest = QHBoxLayout()  # what the one leaves, the other has
            rest.setSpacing(2)
            rest.addWidget(self.note, 1)
            rest.addWidget(self.spark, 0, Qt.AlignmentFlag.AlignVCenter)
            grid.addLayout(rest, line, 3)
        else:
            grid.addWidget(self.note, line, 3)
        self._narrow, self._shows_spark = False, True
        self._shown: ValueRow | None = None
        self.show_row(row)

    @property
    def row(self) -> ValueRow:
        """What the row shows."""
        return self._row

    def show_row(self, row: ValueRow) -> None:
        """Show new values; only what changed is touched."""
        self._row = row
        if row == self._shown:
            return
        self._shown = row
        if self.text is not None:
            self.text.set_full_text(row.text)
        elif row.value is None and not row.channel:
            self.number.setText(row.text)
        elif row.value is None:
            self.number.setText("—")
            self.number.setToolTip(plain_text(f"{row.label.strip()}: {row.text}"))
        else:
            self.number.setText(number_text(row.value, row.decimals))
        self.unit.setText(f"{THIN_SPACE}{row.unit}" if row.unit else "")
        self.note.set_full_text(row.note)
        self._share_width()
        set_property(self.number, "level", row.level)
        set_property(self.note, "level", row.level)
        if row.value is not None:
            self._hint(row)

    def set_narrow(self, narrow: bool) -> None:
        """Leave the recent past out where there is only room for that or for the note."""
        self._narrow = narrow
        self._share_width()

    def _share_width(self) -> None:
        if self.spark is None:
            return
        shows = not (self._narrow and self._row.note)
        if shows is not self._shows_spark:  # Qt calls what was never shown hidden, too
            self._shows_spark = shows
            self.spark.setHidden(not shows)

    def push(self, axis: int) -> None:
        """Add what is shown to the recent past, once per instant; looking back adds nothing."""
        value = self._row.value
        if self.spark is None or value is None:
            return
        if self._spark_axis is not None and axis <= self._spark_axis:
            return
        self._spark_axis = axis
        cast(Spark, self.spark).push(value)

    def edit(self) -> None:
        """Open a field over the number, or say why not."""
        row = self._row
        if row.edit is None or row.value is None or self._field is not None:
            return
        why_not = self._can_edit()
        if why_not:
            tell(self.number, why_not)
            return
        field = _NumberField(repr(row.value))
        field.on_cancel = self._close_field
        field.returnPressed.connect(self._finish)
        self._field = field
        field.setFixedWidth(self.number.width())
        self.number.hide()
        self._grid.addWidget(field, self._line, 1)
        field.selectAll()
        field.setFocus()

    @property
    def field(self) -> QLineEdit | None:
        """The open field, while the number is being edited."""
        return self._field

    def _finish(self) -> None:
        field, target = self._field, self._row.edit
        if field is None or target is None:
            return
        try:
            value = float(field.text().replace("\u2212", "-").replace(",", "."))
        except ValueError:
            problem = f"{field.text()!r} is not a number."
        else:
            problem = self._commit(target, value)
        if problem:
            tell(field, problem)
            field.setStyleSheet(field.styleSheet() + "border-color: #F85149;")
            return
        self._close_field()

    def _close_field(self) -> None:
        field, self._field = self._field, None
        if field is not None:
            field.hide()
            self._grid.removeWidget(field)
            field.deleteLater()
            self.number.show()

    def _hint(self, row: ValueRow) -> None:
        lines = [f"{row.label.strip()} = {row.value!r} {row.unit}".rstrip()]
        if row.edit is not None:
            lines.append("Double-click to edit while paused.")
        if row.channel:
            lines.append("Drag into a plot, or right-click.")
        self.number.setToolTip(plain_text("\n".join(lines)))

    def _menu(self, position: QPoint) -> None:
        menu = QMenu(self.number)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        row = self._row
        if row.channel:
            menu.addAction("Plot", lambda: self._plot(row))
        if row.edit is not None:
            menu.addAction("Edit", self.edit)
        if row.value is not None:
            menu.addAction("Copy value", lambda: QApplication.clipboard().setText(repr(row.value)))
        menu.exec(self.number.mapToGlobal(position))
