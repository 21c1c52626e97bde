"""Small widgets that every panel needs: labels that elide, rules, buttons with an icon."""

import re

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent, QTextLayout
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from stroboscope.app.models.numbers import unbroken
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.style import METRICS
from stroboscope.resources.themes import Palette

__all__ = [
    "ClampedLabel",
    "ElidedLabel",
    "EmptyText",
    "button_row",
    "icon_button",
    "label",
    "rule",
    "vertical_rule",
]


_LEAST_WIDTH = 24  # of a text that was cut [px]
_LONGEST_LINE = 520  # that is read with ease [px]
_FEW_WORDS = 120  # [px]
_BEFORE_NUMBER = re.compile(r"(?<=[a-z=<>]) (?=[-\u2212+]?\d)")


class ElidedLabel(QLabel):
    """A label that elides names in the middle and keeps the whole text in its tooltip.

    Sentences are told from their beginning: ``mode`` says where to elide.
    """

    def __init__(
        self,
        text: str = "",
        parent: QWidget | None = None,
        *,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle,
    ) -> None:
        super().__init__(parent)
        self._full = ""
        self._mode = mode
        self._shorter: tuple[str, ...] = ()
        self._hint = ""
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.set_full_text(text)

    @property
    def full_text(self) -> str:
        """The text before eliding."""
        return self._full

    def set_full_text(self, text: str, *shorter: str) -> None:
        """Show ``text``, or the first of the ``shorter`` ones that fits, or the last one elided."""
        if text != self._full or shorter != self._shorter:
            self._full, self._shorter = text, shorter
            self._elide()

    def set_hint(self, hint: str) -> None:
        """Say ``hint`` in the tooltip, below the whole text where that is elided."""
        if hint != self._hint:
            self._hint = hint
            self._elide()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Elide again for the new width."""
        super().resizeEvent(event)
        self._elide()

    def minimumSizeHint(self) -> QSize:
        """Room for a few letters."""
        return QSize(_LEAST_WIDTH, super().minimumSizeHint().height())

    def _elide(self) -> None:
        width = self.contentsRect().width()
        metrics = self.fontMetrics()
        texts = (self._full, *self._shorter)
        shown = next((t for t in texts if metrics.horizontalAdvance(t) <= width), "")
        if not shown and width >= _LEAST_WIDTH:  # else nothing but a dot would be left
            shown = metrics.elidedText(texts[-1], self._mode, width)
        self.setText(shown)
        parts = [self._full if shown != self._full else "", self._hint]
        self.setToolTip(plain_text("\n".join(part for part in parts if part)))


class ClampedLabel(QLabel):
    """A label of at most ``lines`` lines; what is left out stands in its tooltip."""

    def __init__(self, *, lines: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines = lines
        self.setTextFormat(Qt.TextFormat.PlainText)
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def set_lines(self, lines: int) -> None:
        """Show more of it, or less."""
        if lines != self._lines:
            self._lines = lines
            self.updateGeometry()
            self.update()

    def shown_lines(self, width: int, most: int = 0) -> tuple[str, ...]:
        """Return the lines as they are drawn in that width [px]; were it ``most`` lines, if any."""
        most = most or self._lines
        text = unbroken(self.text())
        # A number alone in a line says nothing: the word before it goes along.
        kept = _BEFORE_NUMBER.sub("\u00a0", text)
        layout = QTextLayout(kept.replace("\n", "\u2028"), self.font())
        layout.beginLayout()
        ends: list[tuple[int, int]] = []
        while (line := layout.createLine()).isValid():
            line.setLineWidth(max(width, 1))
            ends.append((line.textStart(), line.textStart() + line.textLength()))
        layout.endLayout()
        shown = [text[start:end].strip() for start, end in ends[:most]]
        if len(ends) > most:
            rest = text[ends[most - 1][0] :].replace("\n", " ")
            right = Qt.TextElideMode.ElideRight
            shown[-1] = self.fontMetrics().elidedText(rest, right, width)
        return tuple(shown)

    def heightForWidth(self, width: int) -> int:
        """Return the height [px] of the lines there are."""
        return max(len(self.shown_lines(width)), 1) * self.fontMetrics().lineSpacing()

    def sizeHint(self) -> QSize:
        """Return room for one line."""
        return QSize(200, self.fontMetrics().lineSpacing())

    def minimumSizeHint(self) -> QSize:
        """Return room for a few letters."""
        return QSize(24, self.fontMetrics().lineSpacing())

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Draw the lines."""
        painter, metrics = QPainter(self), self.fontMetrics()
        painter.setPen(self.palette().color(self.foregroundRole()))
        area = self.contentsRect()
        lines = self.shown_lines(area.width())
        top = area.top() + (area.height() - len(lines) * metrics.lineSpacing()) // 2
        for place, line in enumerate(lines):
            base = top + place * metrics.lineSpacing() + metrics.ascent()
            painter.drawText(QPoint(area.left(), base), line)
        cut = any(line.endswith("…") for line in lines[-1:]) and not self.text().endswith("…")
        hint = plain_text(self.text()) if cut else ""
        if hint != self.toolTip():
            self.setToolTip(hint)


class EmptyText(QLabel):
    """Says in the middle of a panel that is empty what will fill it, in lines of some length."""

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(unbroken(text))
        self.setWordWrap(True)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setProperty("role", "muted")

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave what is too much on both sides."""
        super().resizeEvent(event)
        side = max(METRICS.padding, (self.width() - _LONGEST_LINE) // 2)
        self.setContentsMargins(side, METRICS.gap, side, METRICS.gap)

    def sizeHint(self) -> QSize:
        """Return room for a few words: what is left at the sides is no wish."""
        return QSize(_FEW_WORDS, super().sizeHint().height())

    def minimumSizeHint(self) -> QSize:
        """Return the same: who became wide must become narrow again."""
        return QSize(_FEW_WORDS, self.fontMetrics().lineSpacing())


def label(text: str, role: str = "", *, wrap: bool = False) -> QLabel:
    """Return a label in one of the stylesheet's roles; its text is never taken for markup."""
    made = QLabel()
    made.setTextFormat(Qt.TextFormat.PlainText)
    made.setText(unbroken(text) if wrap else text)
    made.setWordWrap(wrap)
    if role:
        made.setProperty("role", role)
    return made


def button_row(cancel: QPushButton, *others: QPushButton) -> QHBoxLayout:
    """Return the last line of a dialog: what gives up at its left, the others at its right.

    The last of them is what the dialog is for: it stands out, and Enter presses it.
    """
    others[-1].setProperty("primary", "true")
    others[-1].setDefault(True)
    row = QHBoxLayout()
    row.addWidget(cancel)
    row.addStretch(1)
    for button in others:
        row.addWidget(button)
    return row


def rule() -> QFrame:
    """Return a horizontal line, one pixel."""
    line = QFrame()
    line.setObjectName("rule")
    line.setFixedHeight(1)
    return line


def vertical_rule() -> QFrame:
    """Return a vertical line, one pixel."""
    line = QFrame()
    line.setObjectName("vrule")
    line.setFixedWidth(1)
    return line


def icon_button(which: Icon, palette: Palette, tooltip: str) -> QToolButton:
    """Return a flat button with an icon."""
    button = QToolButton()
    button.setIcon(icon(which, palette))
    button.setIconSize(QSize(METRICS.icon, METRICS.icon))
    button.setToolTip(tooltip)
    button.setAccessibleName(tooltip)
    button.setAutoRaise(True)
    return button
