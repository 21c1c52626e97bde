"""Paints the timeline: everything that only changes with the history, and the cursor over it."""

import bisect
import dataclasses
from collections.abc import Sequence

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetrics, QPainter, QPen, QPolygonF

from stroboscope.app.models.history import MODES, MarkKind
from stroboscope.app.models.lanes import Stretch
from stroboscope.app.models.numbers import count_text
from stroboscope.app.panels.timeline.bands import Band, EpisodeBands
from stroboscope.app.panels.timeline.geometry import RULER_PX, TimelineRows
from stroboscope.app.panels.timeline.mark_places import MarkPlaces
from stroboscope.app.panels.timeline.scale import AxisScale
from stroboscope.app.panels.timeline.stretches import LaneStretches
from stroboscope.resources.themes import Palette

__all__ = ["TimelineContents", "paint_cursor", "paint_history"]

# How much accent is in the scene's own line, and in what was left behind.
_OWN, _LEFT = 0.34, 0.2
_TICK_PX = 84.0
_LABEL_PX = 6
# Drawn last, so on top.
_ORDER = (
    MarkKind.PAUSE,
    MarkKind.PLAY,
    MarkKind.FAST_FORWARD,
    MarkKind.EDIT,
    MarkKind.RESTORE,
    MarkKind.BRANCH,
    MarkKind.CHECKPOINT,
    MarkKind.STOP,
)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TimelineContents:
    """What there is to paint; rows before ``first`` are gone, before ``dense`` thinned out."""

    first: int
    dense: int
    live: int
    bands: EpisodeBands
    stretches: LaneStretches
    marks: MarkPlaces


def mixed(front: str, back: str, part: float) -> QColor:
    """Return ``front`` laid over ``back`` with an opacity."""
    a, b = QColor(front), QColor(back)
    return QColor.fromRgbF(
        a.redF() * part + b.redF() * (1.0 - part),
        a.greenF() * part + b.greenF() * (1.0 - part),
        a.blueF() * part + b.blueF() * (1.0 - part),
    )


def paint_history(
    painter: QPainter,
    contents: TimelineContents,
    scale: AxisScale,
    rows: TimelineRows,
    palette: Palette,
    font: QFont,
) -> None:
    """Paint everything but where the view stands."""
    painter.setFont(font)
    width = scale.left + scale.width
    painter.fillRect(QRectF(0, 0, width, rows.height), QColor(palette.surface0))
    _paint_ruler(painter, scale, rows, palette)
    bands = contents.bands.visible(scale, contents.live)
    stretches, blocks = contents.stretches.visible(scale, contents.live)
    for stretch in contents.stretches.connectors(scale):
        _paint_connector(painter, stretch, scale, rows, palette)
    for block in blocks:
        top, height = rows.lane(block.lane)
        tone = mixed(palette.accent, palette.surface0, _OWN if block.lane == 0 else _LEFT)
        painter.fillRect(QRectF(block.left, top, block.right - block.left, height), tone)
    for stretch in stretches:
        _paint_stretch(painter, stretch, contents, bands, scale, rows, palette)
    _paint_names(painter, bands, stretches, scale, rows, palette)
    _paint_marks(painter, contents.marks, scale, rows, palette)


def paint_cursor(
    painter: QPainter,
    *,
    axis: float,
    away: bool,
    scale: AxisScale,
    rows: TimelineRows,
    palette: Palette,
) -> None:
    """Paint where the view stands: a line through everything with a handle on top."""
    x = round(scale.x(axis)) + 0.5
    color = QColor(palette.warn if away else palette.accent)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setPen(QPen(color, 1.0))
    painter.drawLine(QLineF(x, RULER_PX - 8, x, rows.height))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    painter.drawPolygon(
        QPolygonF(
            [
                QPointF(x - 5, RULER_PX - 11),
                QPointF(x + 5, RULER_PX - 11),
                QPointF(x + 5, RULER_PX - 6),
                QPointF(x, RULER_PX - 1),
                QPointF(x - 5, RULER_PX - 6),
            ]
        )
    )


# --- parts


def _paint_ruler(painter: QPainter, scale: AxisScale, rows: TimelineRows, palette: Palette) -> None:
    ticks = scale.ticks(_TICK_PX)
    painter.setPen(QPen(QColor(palette.line), 1.0))
    grid = [round(scale.x(tick)) + 0.5 for tick in ticks]
    painter.drawLines([QLineF(x, RULER_PX - 3, x, rows.height) for x in grid])
    painter.drawLine(QLineF(0, RULER_PX - 0.5, scale.left + scale.width, RULER_PX - 0.5))
    painter.setPen(QColor(palette.muted))
    for tick, x in zip(ticks, grid, strict=True):
        painter.drawText(QPointF(x + 3.0, RULER_PX - 4.0), count_text(tick))


def _paint_connector(
    painter: QPainter, stretch: Stretch, scale: AxisScale, rows: TimelineRows, palette: Palette
) -> None:
    """Paint the line from where a stretch forked to where it begins."""
    if stretch.fork < 0:
        return
    top, height = rows.lane(stretch.lane)
    from_top, from_height = rows.lane(stretch.fork_lane)
    y, from_y = top + height / 2, from_top + from_height / 2
    fork, begin = scale.x(stretch.fork), scale.x(stretch.begin)
    left, right = scale.left - 20.0, scale.left + scale.width + 20.0
    fork, begin = min(max(fork, left), right), min(max(begin, left), right)
    main = stretch.lane == 0
    color = QColor(palette.accent) if main else mixed(palette.muted, palette.surface0, 0.8)
    pen = QPen(color, 1.5 if main else 1.0)
    if main:
        pen.setStyle(Qt.PenStyle.DotLine)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setPen(pen)
    painter.drawPolyline(
        QPolygonF([QPointF(fork, from_y), QPointF(fork, y), QPointF(max(begin, fork + 1.0), y)])
    )
    painter.setBrush(color)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.drawEllipse(QPointF(fork, from_y), 2.5, 2.5)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def _paint_stretch(
    painter: QPainter,
    stretch: Stretch,
    contents: TimelineContents,
    bands: Sequence[Band],
    scale: AxisScale,
    rows: TimelineRows,
    palette: Palette,
) -> None:
    end = contents.live if stretch.end is None else stretch.end
    left = max(scale.x(stretch.begin), scale.left - 1.0)
    right = min(scale.x(end), scale.left + scale.width + 1.0)
    if right <= left:
        return
    right = max(right, left + 1.0)
    top, height = rows.lane(stretch.lane)
    part = _OWN if stretch.lane == 0 else _LEFT
    even = mixed(palette.accent, palette.surface0, part)
    odd = mixed(palette.accent, palette.surface0, part * 0.62)
    many = mixed(palette.accent, palette.surface0, part * 0.8)
    pale = QColor(palette.surface0)
    edge = mixed(palette.accent, palette.surface0, 0.75)
    lines = []
    low = max(bisect.bisect_right(bands, left, key=lambda band: band.left) - 1, 0)
    high = bisect.bisect_left(bands, right, key=lambda band: band.left)
    for band in bands[low:high]:
        a, b = max(band.left, left), min(band.right, right)
        if b <= a:
            continue
        tone = many if band.count > 1 else odd if band.odd else even
        painter.fillRect(QRectF(a, top, b - a, height), tone)
        if band.left > left:
            x = round(band.left) + 0.5
            lines.append(QLineF(x, top, x, top + height))
        if band.count > 1:
            # So many that they are no more than a texture.
            painter.fillRect(
                QRectF(a, top, b - a, height), QBrush(edge, Qt.BrushStyle.Dense6Pattern)
            )
    if not bands:
        painter.fillRect(QRectF(left, top, right - left, height), even)
    painter.setPen(QPen(edge, 1.0))
    painter.drawLines(lines)
    # Thinned out: stripes of background over it. Gone: only an outline.
    thinned = min(scale.x(contents.dense), right)
    if thinned > left:
        box = QRectF(left, top, thinned - left, height)
        painter.fillRect(box, QBrush(pale, Qt.BrushStyle.FDiagPattern))
    gone = min(scale.x(contents.first), right)
    if gone > left:
        box = QRectF(left, top, gone - left, height)
        painter.fillRect(box, pale)
        painter.setPen(QPen(QColor(palette.disabled), 1.0, Qt.PenStyle.DotLine))
        painter.drawLine(QLineF(box.left(), box.center().y(), box.right(), box.center().y()))


def _paint_names(
    painter: QPainter,
    bands: Sequence[Band],
    stretches: Sequence[Stretch],
    scale: AxisScale,
    rows: TimelineRows,
    palette: Palette,
) -> None:
    """Write the number of each episode that has room for it, in the lane where it begins."""
    metrics = QFontMetrics(painter.font())
    painter.setPen(QColor(palette.text))
    for band in bands:
        axis = scale.axis(max(band.left, scale.left) + 0.5)
        at = bisect.bisect_right(stretches, axis, key=lambda each: each.begin) - 1
        stretch = stretches[at] if at >= 0 else None
        top, height = rows.lane(stretch.lane if stretch is not None else 0)
        if height < metrics.ascent():
            continue
        left = max(band.left, scale.left)
        right = min(band.right, scale.left + scale.width)
        if stretch is not None and stretch.end is not None:
            right = min(right, scale.x(stretch.end))
        right = max(right, left)
        longest, *shorter = (
            (f"{band.count} episodes", f"×{band.count}")
            if band.count > 1
            else (f"episode {band.episode}", f"e{band.episode}", f"{band.episode}")
        )
        for text in (longest, *shorter):
            if metrics.horizontalAdvance(text) + 2 * _LABEL_PX <= right - left:
                box = QRectF(left + _LABEL_PX, top, right - left - _LABEL_PX, height)
                painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, text)
                break


def _paint_marks(
    painter: QPainter, marks: MarkPlaces, scale: AxisScale, rows: TimelineRows, palette: Palette
) -> None:
    """Paint the symbols over the line; of many that would overlap, the first."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    y = rows.marks_top + 6.0
    bottom = rows.line_top + rows.line_height
    for kind in _ORDER:
        if places := marks.visible(kind, scale):
            _paint_kind(painter, kind, places, y, bottom, palette)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def _paint_kind(
    painter: QPainter,
    kind: MarkKind,
    places: Sequence[float],
    y: float,
    bottom: float,
    palette: Palette,
) -> None:
    colors = {
        MarkKind.STOP: palette.stop,
        MarkKind.CHECKPOINT: palette.ok,
        MarkKind.BRANCH: palette.accent,
        MarkKind.RESTORE: palette.difference,
        MarkKind.EDIT: palette.run_b,
    }
    color = QColor(colors.get(kind, palette.disabled))
    if kind not in MODES:
        faint = QColor(color)
        faint.setAlphaF(0.55)
        painter.setPen(QPen(faint, 1.0))
        painter.drawLines([QLineF(x, y + 4, x, bottom) for x in places])
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(color)
    for x in places:
        _paint_symbol(painter, kind, x, y)


def _paint_symbol(painter: QPainter, kind: MarkKind, x: float, y: float) -> None:
    """Paint one symbol around a point: shapes differ, colour alone says nothing."""
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
