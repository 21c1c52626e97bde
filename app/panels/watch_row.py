"""One watched expression: its text, value, unit and recent past, or what is wrong with it."""

import math
from collections.abc import Callable, Mapping
from typing import cast

from PySide6.QtCore import QEvent, QMimeData, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QEnterEvent, QKeyEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QGridLayout, QHBoxLayout, QMenu, QWidget

from stroboscope.app.models.expressions import fit_problem
from stroboscope.app.models.numbers import THIN_SPACE, number_text, with_unit
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.watch import WatchValue
from stroboscope.app.panels.expression_field import ExpressionField, columns_of, fixed_font
from stroboscope.app.panels.icons import Icon
from stroboscope.app.panels.inspector_rows import NumberLabel, Spark
from stroboscope.app.panels.labels import ElidedLabel, icon_button, label
from stroboscope.app.panels.style import METRICS, set_property
from stroboscope.debugger_protocol.expressions import SignalTable
from stroboscope.resources.themes import Palette

__all__ = ["WatchRow"]

_SHOWN_VALUES = 4
_UNIT_WIDTH = 44


class WatchRow(QWidget):
    """Signals name what the user wants done with the row; the panel does it."""

    changed = Signal(str)
    removed = Signal()
    moved = Signal(int)  # -1 up, 1 down
    plotted = Signal()

    def __init__(
        self,
        text: str,
        palette: Palette,
        *,
        get_table: Callable[[], SignalTable | None],
        make_mime: Callable[[str], QMimeData | None],
        make_spark: Callable[[], QWidget] | None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("watchRow")
        self.setProperty("edits", True)  # F2 is not the window's while it has the focus
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(text)
        self._get_table = get_table
        self._shown: WatchValue | None = None
        self._spark_axis: int | None = None
        self.field: ExpressionField | None = None
        self.text = ElidedLabel(text)
        self.number = NumberLabel()
        self.number.on_edit = self.edit
        self.number.on_drag = lambda: make_mime(text)
        self.unit = label("", "muted")
        self.unit.setFixedWidth(_UNIT_WIDTH)
        self.spark = make_spark() if make_spark is not None else None
        self.plot = icon_button(Icon.CHART, palette, "Plot every physics step of it")
        self.remove = icon_button(Icon.CLOSE, palette, "Watch it no longer (Del)")
        self.plot.clicked.connect(self.plotted)
        self.remove.clicked.connect(self.removed)
        for button in (self.plot, self.remove):
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            button.setFixedSize(METRICS.compact_height, METRICS.compact_height)
        self.problem = label("", "small", wrap=True)
        self.problem.setFont(fixed_font())
        self._build()
        self.set_theme(palette)

    def _build(self) -> None:
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(METRICS.padding, 1, METRICS.grid, 1)
        self._grid.setHorizontalSpacing(2)
        self._grid.setVerticalSpacing(0)
        self._grid.setColumnStretch(0, 1)
        self.text.setMinimumHeight(METRICS.compact_height)
        widest = self.number.fontMetrics().horizontalAdvance("−000.000") + METRICS.grid
        self.number.setMinimumWidth(widest)
        # What can be done stands where the recent past was, as long as the pointer is there.
        self._end = QWidget()
        end = QHBoxLayout(self._end)
        end.setContentsMargins(0, 0, 0, 0)
        end.setSpacing(0)
        end.addStretch(1)
        for widget in (self.spark, self.plot, self.remove):
            if widget is not None:
                end.addWidget(widget)
        # As high with the buttons as without: rows must not jump under the pointer.
        self._end.setFixedSize(2 * METRICS.compact_height, METRICS.compact_height)
        self._grid.addWidget(self.text, 0, 0)
        self._place_number(several=False)
        self._grid.addWidget(self._end, 0, 3)
        self._grid.addWidget(self.problem, 2, 0, 1, 4)
        self.problem.hide()
        self._show_end(hovered=False)

    def _place_number(self, *, several: bool) -> None:
        """Put one number beside the text, several below it."""
        for widget in (self.number, self.unit):
            self._grid.removeWidget(widget)
        if several:
            self._grid.addWidget(self.number, 1, 0, 1, 2)
        else:
            self._grid.addWidget(self.number, 0, 1)
        self._grid.addWidget(self.unit, 1 if several else 0, 2)

    def _show_end(self, *, hovered: bool) -> None:
        self.plot.setVisible(hovered)
        self.remove.setVisible(hovered)
        if self.spark is not None:
            shown = self._shown
            single = shown is not None and not shown.problem and len(shown.values) < 2
            self.spark.setVisible(single and not hovered)

    def enterEvent(self, event: QEnterEvent) -> None:
        """Offer what can be done."""
        super().enterEvent(event)
        self._show_end(hovered=True)

    def leaveEvent(self, event: QEvent) -> None:
        """Show the recent past again."""
        super().leaveEvent(event)
        self._show_end(hovered=False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit what is wrong into the new width."""
        super().resizeEvent(event)
        if self._shown is not None and self._shown.problem:
            self.problem.setText(fit_problem(self._shown.problem, columns_of(self)))

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self.setStyleSheet(
            f"#watchRow:hover {{ background: {palette.surface2}; }}"
            f"#watchRow:focus {{ background: {palette.surface2};"
            f" border-left: 2px solid {palette.accent}; }}"
        )

    # --- showing

    def show_value(self, value: WatchValue, *, axis: int | None) -> None:
        """Show a value; ``axis`` is the physics step of its instant, for the recent past."""
        if value.values and axis is not None:
            self._push(value.values[0], axis)
        if value == self._shown:
            return
        before, self._shown = self._shown, value
        several = len(value.values) > 1
        if several is not (before is not None and len(before.values) > 1):
            self._place_number(several=several)
        shown = [number_text(each) for each in value.values[:_SHOWN_VALUES]]
        if len(value.values) > _SHOWN_VALUES:
            shown.append(f"+{len(value.values) - _SHOWN_VALUES} more")
        self.number.setText("  ".join(shown) if shown else "—")
        self.unit.setText(f"{THIN_SPACE}{value.unit}" if value.unit else "")
        self.number.setToolTip(plain_text(_tooltip(value)))
        set_property(self.number, "level", _level(value))
        self.problem.setText(fit_problem(value.problem, columns_of(self)))
        set_property(self.problem, "level", "warn" if value.problem else "")
        self.problem.setVisible(bool(value.problem) and self.field is None)
        self.number.setVisible(not value.problem)
        self.unit.setVisible(not value.problem)
        self.plot.setEnabled(not value.problem)
        self._show_end(hovered=self.underMouse())

    def forget_past(self) -> None:
        """Another scene, or another state: the recent past begins anew."""
        self._spark_axis = None
        if self.spark is not None:
            cast(Spark, self.spark).clear()

    def _push(self, value: float, axis: int) -> None:
        if self.spark is None or (self._spark_axis is not None and axis <= self._spark_axis):
            return
        self._spark_axis = axis
        cast(Spark, self.spark).push(value)

    # --- changing

    def edit(self) -> None:
        """Open a field over the text."""
        if self.field is not None:
            return
        field = ExpressionField(self._get_table, parent=self)
        field.set_text(self.text.full_text)
        field.entered.connect(self._finish)
        field.cancelled.connect(self.close_field)
        self.field = field
        self.text.hide()
        self.problem.hide()
        self._grid.addWidget(field, 3, 0, 1, 4)
        field.line.selectAll()
        field.line.setFocus()

    def close_field(self) -> None:
        """Give up editing."""
        field, self.field = self.field, None
        if field is not None:
            field.hide()
            field.deleteLater()
            self.text.show()
            self.problem.setVisible(bool(self.problem.text()))
            self.setFocus()

    def _finish(self, text: str) -> None:
        self.close_field()
        self.changed.emit(text)

    # --- mouse and keys

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Take the focus."""
        self.setFocus()
        event.accept()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Edit."""
        self.edit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter and F2 edit, Delete removes, Alt with an arrow moves."""
        alt = bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        match event.key():
            case Qt.Key.Key_Return | Qt.Key.Key_Enter | Qt.Key.Key_F2:
                self.edit()
            case Qt.Key.Key_Delete:
                self.removed.emit()
            case Qt.Key.Key_Up if alt:
                self.moved.emit(-1)
            case Qt.Key.Key_Down if alt:
                self.moved.emit(1)
            case Qt.Key.Key_Up:
                self.focusPreviousChild()
            case Qt.Key.Key_Down:
                self.focusNextChild()
            case _:
                super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Offer everything that can be done."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        plot = menu.addAction("Plot")
        plot.triggered.connect(self.plotted)
        plot.setEnabled(self.plot.isEnabled())
        menu.addAction("Edit\tEnter").triggered.connect(self.edit)
        shown = self._shown
        if shown is not None and shown.values:
            text = ", ".join(map(repr, shown.values))
            menu.addAction("Copy value").triggered.connect(
                lambda: QApplication.clipboard().setText(text)
            )
        menu.addSeparator()
        menu.addAction("Move up\tAlt+Up").triggered.connect(lambda: self.moved.emit(-1))
        menu.addAction("Move down\tAlt+Down").triggered.connect(lambda: self.moved.emit(1))
        menu.addAction("Remove\tDel").triggered.connect(self.removed)
        menu.popup(event.globalPos())


def _tooltip(value: WatchValue) -> str:
    lines = []
    units: Mapping[int, str] = dict(enumerate(value.units))
    for place, number in enumerate(value.values[:32]):
        name = value.names[place] if place < len(value.names) else f"[{place}]"
        what = f"{name} = " if len(value.values) > 1 else ""
        lines.append(f"{what}{with_unit(repr(number), units.get(place, ''))}")
    if len(value.values) > 32:
        lines.append(f"+{len(value.values) - 32} more")
    if value.note:
        lines.append(value.note)
    if value.values:
        lines.append("Drag into a plot; double-click to change the expression.")
    return "\n".join(lines)


def _level(value: WatchValue) -> str:
    """Return how much attention numbers ask for: those that are none, most, unless it is known."""
    if all(math.isfinite(each) for each in value.values):
        return ""
    return "warn" if value.note and any(math.isnan(each) for each in value.values) else "stop"
