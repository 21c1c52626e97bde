"""How a line of the log is drawn: in three columns, where it is narrow below time and source."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QIcon, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTreeWidget

from stroboscope.app.models.log import LogLine
from stroboscope.app.panels.style import METRICS, number_font
from stroboscope.resources.themes import Palette

__all__ = ["LINE_ROLE", "TEXT", "MessageDelegate"]

LINE_ROLE = Qt.ItemDataRole.UserRole + 1
TEXT = 2
"""The column of the message, after time and source."""
# One message must not push all others out of sight: it has two lines until it is chosen, then more,
# and the tooltip has it all.
# Findings, which have a panel of their own, have one.
_LINES, _LINES_CHOSEN = 2, 12
_PLAIN = QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver

_Index = QModelIndex | QPersistentModelIndex


class MessageDelegate(QStyledItemDelegate):
    """Gives a message a second line where it needs one, and more while it is chosen.

    ``narrow``: time and source stand over the message, which has the whole width then; their
    columns are not shown.
    """

    def __init__(self, view: QTreeWidget, palette: Palette) -> None:
        super().__init__(view)
        self.narrow = False
        self._view = view
        self._small: QFont = number_font()
        self._small.setPixelSize(METRICS.small_font_px)
        self.set_theme(palette)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._muted = QColor(palette.muted)

    def initStyleOption(self, option: QStyleOptionViewItem, index: _Index) -> None:
        """Break no line where there is only one."""
        super().initStyleOption(option, index)
        if self._most_lines(index) == 1:
            option.features &= ~QStyleOptionViewItem.ViewItemFeature.WrapText

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        """Draw the message, in a narrow view below what else is told of it."""
        if not self.narrow:
            super().paint(painter, option, index)
            return
        shown, style = QStyleOptionViewItem(option), self._view.style()
        self.initStyleOption(shown, index)
        text, shown.text = shown.text, ""
        style.drawControl(
            QStyle.ControlElement.CE_ItemViewItem, shown, painter, self._view
        )  # what lies behind it
        place = option.rect.adjusted(self._gutter, self._head_height, 0, 0)
        head = QRect(place.left() + 5, option.rect.top() + 3, place.width() - 8, self._head_height)
        self._paint_head(painter, index, head=head)
        shown.rect, shown.text = place, text
        shown.state &= ~_PLAIN
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, shown, painter, self._view)

    def _paint_head(self, painter: QPainter, index: _Index, *, head: QRect) -> None:
        clock, source = (index.sibling(index.row(), column) for column in (0, 1))
        image = clock.data(Qt.ItemDataRole.DecorationRole)
        if isinstance(image, QIcon):
            top = head.top() + (head.height() - METRICS.icon) // 2
            image.paint(
                painter, QRect(head.left() - METRICS.icon - 9, top, METRICS.icon, METRICS.icon)
            )
        painter.save()
        painter.setFont(self._small)
        painter.setPen(self._muted)
        metrics = QFontMetrics(self._small)
        text = "  ".join(part for part in (str(clock.data()), str(source.data())) if part)
        text = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, head.width())
        painter.drawText(head, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, text)
        painter.restore()

    @property
    def _gutter(self) -> int:
        return METRICS.gap + METRICS.icon + 4 if self.narrow else 0

    @property
    def _head_height(self) -> int:
        return QFontMetrics(self._small).lineSpacing() if self.narrow else 0

    def _most_lines(self, index: _Index) -> int:
        if self._view.selectionModel().isRowSelected(index.row()):
            return _LINES_CHOSEN
        line = index.sibling(index.row(), 0).data(LINE_ROLE)
        return 1 if isinstance(line, LogLine) and line.found else _LINES

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        """Return the size of the wrapped text, and of what stands over it."""
        hint = super().sizeHint(option, index)
        text, metrics = str(index.data()), self._view.fontMetrics()
        margin = 2 * (self._view.style().pixelMetric(QStyle.PixelMetric.PM_FocusFrameHMargin) + 3)
        width = max(self._view.columnWidth(TEXT) - self._gutter - margin, 40)
        lines = 1
        if metrics.horizontalAdvance(text) > width:
            box = metrics.boundingRect(QRect(0, 0, width, 10_000), Qt.TextFlag.TextWordWrap, text)
            lines = min(round(box.height() / metrics.lineSpacing()), self._most_lines(index))
        height = self._head_height + lines * metrics.lineSpacing() + 6
        return QSize(hint.width(), max(height, METRICS.compact_height))
