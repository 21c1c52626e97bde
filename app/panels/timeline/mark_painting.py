"""The symbols over the timeline: shapes differ, because colour alone says nothing."""

from collections.abc import Sequence

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPixmap, QPolygonF

from stroboscope.app.models.marks import MODES, MarkKind
from stroboscope.app.panels.timeline.geometry import TimelineRows
from stroboscope.app.panels.timeline.mark_places import MarkPlaces
from stroboscope.app.panels.timeline.scale import AxisScale
from stroboscope.app.panels.timeline.tones import mixed
from stroboscope.resources.themes import Palette

__all__ = ["paint_marks"]

_SIZE = 14
# Drawn last, so on top.
_ORDER = (
    MarkKind.PAUSE,
    MarkKind.PLAY,
    MarkKind.FAST_FORWARD,
    MarkKind.TEXT,
    MarkKind.EDIT,
    MarkKind.RESTORE,
    MarkKind.BRANCH,
    MarkKind.WARNING,
    MarkKind.CHECKPOINT,
    MarkKind.STOP,
)


def paint_marks(
    painter: QPainter, marks: MarkPlaces, scale: AxisScale, rows: TimelineRows, palette: Palette
) -> None:
    """Paint a symbol for each mark, and a line down to where it belongs."""
    for kind in _ORDER:
        if places := marks.visible(kind, scale):
            _paint_kind(painter, kind, places, rows, palette)


def _paint_kind(
    painter: QPainter,
    kind: MarkKind,
    places: Sequence[float],
    rows: TimelineRows,
    palette: Palette,
) -> None:
    colors = {
        MarkKind.STOP: palette.stop,
        MarkKind.CHECKPOINT: palette.ok,
        MarkKind.BRANCH: palette.accent,
        MarkKind.RESTORE: palette.difference,
        MarkKind.EDIT: palette.run_b,
        MarkKind.WARNING: palette.warn,
        MarkKind.TEXT: palette.muted,
    }
    color = colors.get(kind, palette.disabled)
    y = rows.marks_top + 6.0
    if kind not in MODES and kind is not MarkKind.TEXT:  # there may be one at every place
        painter.setPen(QPen(mixed(color, palette.surface0, 0.6), 1.0))
        bottom = rows.line_top + rows.line_height
        painter.drawLines([QLineF(round(x) + 0.5, y + 4, round(x) + 0.5, bottom) for x in places])
    # Painted once: a stamp costs a fifth of the shape.
    stamp = _stamp(kind, QColor(color), painter.device().devicePixelRatioF())
    for x in places:
        painter.drawPixmap(QPointF(round(x) + 0.5 - _SIZE / 2, y - _SIZE / 2), stamp)


def _stamp(kind: MarkKind, color: QColor, ratio: float) -> QPixmap:
    side = round(_SIZE * ratio)
    picture = QPixmap(side, side)
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    _paint_symbol(painter, kind, _SIZE / 2, _SIZE / 2)
    painter.end()
    return picture


def _paint_symbol(painter: QPainter, kind: MarkKind, x: float, y: float) -> None:
    match kind:
        case MarkKind.STOP:
            painter.drawPolygon(_polygon(x, y, (0, -5), (5.5, 4.5), (-5.5, 4.5)))
        case MarkKind.CHECKPOINT:
            painter.drawPolygon(_polygon(x, y, (0, -5), (5, 0), (0, 5), (-5, 0)))
        case MarkKind.BRANCH:
            painter.drawEllipse(QPointF(x, y), 4.0, 4.0)
        case MarkKind.RESTORE:
            painter.drawPolygon(_polygon(x, y, (-5, 0), (3, -5), (3, 5)))
        case MarkKind.EDIT:
            painter.drawRect(QRectF(x - 3.5, y - 3.5, 7, 7))
        case MarkKind.WARNING:
            painter.drawRoundedRect(QRectF(x - 1.5, y - 5, 3, 6), 1.0, 1.0)
            painter.drawEllipse(QPointF(x, y + 3.5), 1.7, 1.7)
        case MarkKind.TEXT:
            for line, width in enumerate((6, 6, 4)):
                painter.drawRect(QRectF(x - 3, y - 3.5 + 3 * line, width, 1.3))
        case MarkKind.PLAY:
            painter.drawPolygon(_polygon(x, y + 2, (-2, -3), (3, 0), (-2, 3)))
        case MarkKind.FAST_FORWARD:
            painter.drawPolygon(_polygon(x - 2, y + 2, (-2, -3), (2, 0), (-2, 3)))
            painter.drawPolygon(_polygon(x + 2, y + 2, (-2, -3), (2, 0), (-2, 3)))
        case MarkKind.PAUSE:
            painter.drawRect(QRectF(x - 2.5, y - 1, 1.5, 6))
            painter.drawRect(QRectF(x + 1, y - 1, 1.5, 6))


def _polygon(x: float, y: float, *points: tuple[float, float]) -> QPolygonF:
    return QPolygonF([QPointF(x + dx, y + dy) for dx, dy in points])
