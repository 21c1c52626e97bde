"""A number that is set by dragging in a bar, or by typing after a double click."""

import math

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QLineEdit, QSizePolicy, QWidget

from stroboscope.app.models.numbers import THIN_SPACE, number_text
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.panels.controls.kept import Kept
from stroboscope.app.panels.style import METRICS, number_font
from stroboscope.app.panels.tips import tell
from stroboscope.resources.themes import Palette

__all__ = ["ValueBar", "number_of"]

_DRAG_PX = 3
# Without a range, dragging by this many pixels changes the number by one.
_PX_PER_UNIT = 100.0
_MARGIN = 6.0
# A bar shorter than this [px] says nothing: the number then has all the room.
_LEAST_BAR = 24.0
_KEY_STEPS = 100


def number_of(text: str) -> float | None:
    """Return the number that somebody has typed, None when it is none."""
    try:
        value = float(text.strip().replace("\u2212", "-").replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


class ValueBar(QWidget):
    """A bar for where a value is in its range, and the number beside it.

    ``changed`` carries what people set it to. While it is dragged it follows the mouse, not what
    arrives. ``why_not`` is why it can't be set now, "" when it can. Without a range there is no
    bar; on the number, dragging counts from where it began.
    """

    changed = Signal(float)

    def __init__(
        self,
        palette: Palette,
        *,
        name: str,
        low: float | None = None,
        high: float | None = None,
        unit: str = "",
        decimals: int = 3,
    ) -> None:
        super().__init__()
        self._palette = palette
        self._name = name
        self._low, self._high = low, high
        self._unit = unit
        self._decimals = decimals
        self._value: float | None = None
        self._kept = Kept()
        self._text = ""
        self._why_not = ""
        self._marked = False
        self._pressed: QPointF | None = None
        self._start = 0.0
        self._dragging = False
        self._hovered = False
        self._field: QLineEdit | None = None
        self.setFont(number_font())
        self.setFixedHeight(METRICS.compact_height - 2)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setAccessibleName(name)
        self._hint()

    # --- what it shows

    @property
    def value(self) -> float | None:
        """The number that stands there."""
        return self._value

    @property
    def text(self) -> str:
        """The number as it is written."""
        return self._text

    @property
    def field(self) -> QLineEdit | None:
        """The field, while a number is being typed."""
        return self._field

    def set_value(self, value: float | None) -> None:
        """Take what has arrived; ignored while somebody drags."""
        if not self._dragging and not self._kept.outdates(value):
            self._show(value)

    def set_why_not(self, why_not: str) -> None:
        """Say why it can't be set now, "" when it can."""
        if why_not != self._why_not:
            self._why_not = why_not
            if why_not:
                self._let_go()
            self._hint()
            self.update()

    def set_marked(self, marked: bool) -> None:
        """Show that people hold this value against the script."""
        if marked != self._marked:
            self._marked = marked
            self.update()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self.update()

    def sizeHint(self) -> QSize:
        """Return room for a bar and a number."""
        return QSize(150, METRICS.compact_height - 2)

    def minimumSizeHint(self) -> QSize:
        """Return room for the number."""
        return QSize(76, METRICS.compact_height - 2)

    def _show(self, value: float | None) -> None:
        text = "—" if value is None else number_text(value, self._decimals)
        if value == self._value and text == self._text:
            return
        before, self._value = self._part(), value
        moved = abs(self._part() - before) * self.bar_width >= 0.5
        if text != self._text or moved:
            self._text = text
            self.update()

    @property
    def bar_width(self) -> float:
        """How much room [px] the bar has, left of the number; 0 without a range."""
        if self._low is None or self._high is None:
            return 0.0
        metrics = self.fontMetrics()
        ends = (number_text(end, self._decimals) for end in (self._low, self._high))
        number = max(metrics.horizontalAdvance(end) for end in ends)
        unit = metrics.horizontalAdvance(THIN_SPACE + self._unit) + 1 if self._unit else 0
        # A number that is typed may lie outside, a sign included.
        number += metrics.horizontalAdvance("\u2212") if self._low >= 0.0 else 0
        left = self.width() - number - unit - 3.0 * _MARGIN
        return left if left >= _LEAST_BAR else 0.0

    def _part(self) -> float:
        if self._value is None or self._low is None or self._high is None:
            return 0.0
        span = self._high - self._low
        if not span > 0.0 or math.isnan(self._value):
            return 0.0
        return min(max((self._value - self._low) / span, 0.0), 1.0)

    def _hint(self) -> None:
        lines = [self._name]
        if self._low is not None and self._high is not None:
            low, high = (number_text(v, self._decimals) for v in (self._low, self._high))
            lines[0] += f"   {low} … {high}{THIN_SPACE}{self._unit}"
        lines.append(self._why_not or "Drag to set; double-click to type.")
        self.setToolTip(plain_text("\n".join(lines)))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw bar, handle and number."""
        p, painter = self._palette, QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        able = not self._why_not
        area = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        edge = p.warn if self._marked else p.accent if self.hasFocus() else p.line
        painter.setPen(QPen(QColor(edge), 1.0))
        painter.setBrush(QColor(p.surface0 if able else p.surface1))
        painter.drawRoundedRect(area, 4.0, 4.0)
        if self.bar_width > 0.0:
            self._paint_bar(painter, area, able=able)
        finite = self._value is None or math.isfinite(self._value)
        ink = QColor(p.stop if not finite else p.text if able else p.muted)
        room = area.adjusted(_MARGIN, 0.0, -_MARGIN, 0.0)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if self._unit:
            width = self.fontMetrics().horizontalAdvance(THIN_SPACE + self._unit)
            painter.setPen(QColor(p.muted))
            painter.drawText(room, right, self._unit)
            room = room.adjusted(0.0, 0.0, -width - 1.0, 0.0)
        painter.setPen(ink)
        painter.drawText(room, right, self._text)

    def _paint_bar(self, painter: QPainter, area: QRectF, *, able: bool) -> None:
        p, low, high = self._palette, self._low or 0.0, self._high or 0.0
        inner = area.adjusted(1.0, 1.0, -1.0, -1.0)
        inner.setWidth(self.bar_width - 1.0)
        painter.setPen(QPen(QColor(p.line), 1.0))
        edge = round(inner.right()) + 0.5
        painter.drawLine(QPointF(edge, area.top() + 1.0), QPointF(edge, area.bottom() - 1.0))
        if self._value is None or not math.isfinite(self._value):
            return
        at = inner.left() + self._part() * inner.width()
        zero = min(max(-low / (high - low), 0.0), 1.0) if high > low else 0.0
        origin = inner.left() + zero * inner.width()
        color = QColor(p.warn if self._marked else p.accent if able else p.disabled)
        fill = QColor(color)
        fill.setAlphaF(0.28 if able else 0.16)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(fill)
        painter.drawRect(QRectF(min(at, origin), inner.top(), abs(at - origin), inner.height()))
        painter.setBrush(color)
        width = 3.0 if self._hovered and able else 2.0
        left = min(max(at - width / 2.0, inner.left()), inner.right() - width)
        painter.drawRect(QRectF(left, inner.top(), width, inner.height()))

    # --- setting it

    def nearest(self, value: float) -> float:
        """Return what of the range comes nearest to ``value``."""
        if self._low is None or self._high is None:
            return value
        return min(max(value, self._low), self._high)

    def _set(self, value: float) -> None:
        value = self.nearest(value)
        if value != self._value:
            self._show(value)
            self._kept.keep(value)
            self.changed.emit(value)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin to drag, or say why not."""
        if event.button() is not Qt.MouseButton.LeftButton:
            return
        if self._why_not or self._value is None:
            tell(self, self._why_not, at=event.globalPosition().toPoint())
            return
        self._pressed, self._start = event.position(), self._value

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Set the value under the mouse."""
        if self._pressed is None:
            return
        way = event.position().x() - self._pressed.x()
        if not self._dragging and abs(way) < _DRAG_PX:
            return
        self._dragging = True
        width = self.bar_width
        if self._low is None or self._high is None:
            self._set(self._start + way / _PX_PER_UNIT)
            return
        span = self._high - self._low
        if width > 0.0 and self._pressed.x() <= width:
            part = (event.position().x() - 1.0) / max(width - 2.0, 1.0)
            self._set(self._low + min(max(part, 0.0), 1.0) * span)
        else:
            self._set(self._start + way / max(width, _PX_PER_UNIT) * span)

    def mouseReleaseEvent(self, _event: QMouseEvent) -> None:
        """End the drag."""
        self._pressed, self._dragging = None, False

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Type a number."""
        self._pressed, self._dragging = None, False
        if event.button() is Qt.MouseButton.LeftButton:
            self.edit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Step by arrow keys, type after Enter."""
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.edit()
        elif step is not None and not self._why_not and self._value is not None:
            span = 1.0
            if self._low is not None and self._high is not None:
                span = self._high - self._low
            self._set(self._value + step * span / _KEY_STEPS)
        else:
            super().keyPressEvent(event)

    def _let_go(self) -> None:
        """End what somebody was about to set: it can't be set any more, and so they are told."""
        if self._dragging or self._field is not None:
            self._kept = Kept()
            tell(self, self._why_not)
        self._pressed, self._dragging = None, False
        self._close_field()

    def event(self, event: QEvent) -> bool:
        """Keep arrows and Enter from the window's shortcuts while this has the focus."""
        if event.type() is QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            if event.key() in (
                Qt.Key.Key_Left,
                Qt.Key.Key_Right,
                Qt.Key.Key_Return,
                Qt.Key.Key_Enter,
            ):
                event.accept()
                return True
        elif event.type() in (QEvent.Type.HoverEnter, QEvent.Type.HoverLeave):
            self._hovered = event.type() is QEvent.Type.HoverEnter
            self.update()
        return super().event(event)

    # --- typing

    def edit(self) -> None:
        """Open a field over the bar."""
        if self._field is not None or self._value is None:
            return
        if self._why_not:
            tell(self, self._why_not)
            return
        field = _Field(repr(self._value), self)
        field.setFont(number_font())
        field.setAlignment(Qt.AlignmentFlag.AlignRight)
        field.setStyleSheet("min-height: 0; padding: 0 4px; border-radius: 4px;")
        field.setGeometry(self.rect())
        field.cancelled.connect(self._close_field)
        field.returnPressed.connect(self._finish)
        self._field = field
        field.show()
        field.selectAll()
        field.setFocus()

    def _finish(self) -> None:
        field = self._field
        if field is None:
            return
        value = number_of(field.text())
        if value is None:
            text = f"{field.text()!r} is not a number."
            tell(field, text)
            field.selectAll()
            return
        self._close_field()
        # What is typed may lie outside the range: the engine decides.
        if value != self._value:
            self._show(value)
            self._kept.keep(value)
            self.changed.emit(value)

    def _close_field(self) -> None:
        field, self._field = self._field, None
        if field is not None:
            field.hide()
            field.deleteLater()


class _Field(QLineEdit):
    """A field that Escape closes, and leaving it."""

    cancelled = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Take Escape."""
        if event.key() == Qt.Key.Key_Escape:
            self.cancelled.emit()
            return
        super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Give up when something else is clicked; Enter alone may leave the field open."""
        super().focusOutEvent(event)
        self.cancelled.emit()
