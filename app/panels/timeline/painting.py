"""Paints the timeline: everything that only changes with the history, and the cursor over it."""

import bisect
import dataclasses
from collections.abc import Sequence

from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetrics, QPainter, QPen, QPolygonF

from stroboscope.app.models.lanes import Stretch
from stroboscope.app.panels.timeline.bands import Band, EpisodeBands
from stroboscope.app.panels.timeline.geometry import FLAG_PX, RULER_PX, TimelineRows
from stroboscope.app.panels.timeline.lost_painting import paint_gaps
from stroboscope.app.panels.timeline.lost_places import LostGap, LostPlaces, whole_parts
from stroboscope.app.panels.timeline.mark_painting import paint_marks
from stroboscope.app.panels.timeline.mark_places import MarkPlaces
from stroboscope.app.panels.timeline.ruler import TICK_PX, RulerLabel
from stroboscope.app.panels.timeline.scale import AxisScale
from stroboscope.app.panels.timeline.stretches import Block, LaneStretches
from stroboscope.app.panels.timeline.tones import mixed
from stroboscope.resources.themes import Palette

__all__ = ["TimelineContents", "paint_cursor", "paint_history", "paint_loop"]

# How much accent is in the scene's own line, and in what was left behind.
_OWN, _LEFT = 0.34, 0.26
_LABEL_PX = 6
_MANY = 40
# How far the ends of a bracket reach inwards.
_HOOK_PX = 4.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TimelineContents:
    """What there is to paint; rows before ``first`` are gone, before ``dense`` thinned out."""

    first: int
    dense: int
    live: int
    bands: EpisodeBands
    stretches: LaneStretches
    lost: LostPlaces
    marks: MarkPlaces
    labels: Sequence[RulerLabel]


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
    width = 2.0 * scale.left + scale.width
    painter.fillRect(QRectF(0, 0, width, rows.height), QColor(palette.surface0))
    _paint_ruler(painter, contents.labels, scale, rows, palette)
    bands = contents.bands.visible(scale, contents.live)
    stretches, blocks = contents.stretches.visible(scale, contents.live)
    _paint_connectors(painter, contents.stretches.connectors(scale), scale, rows, palette)
    _paint_blocks(painter, blocks, rows, palette)
    for stretch in stretches:
        _paint_stretch(painter, stretch, contents, bands, scale, rows, palette)
    gaps = contents.lost.visible(scale, contents.live, contents.stretches)
    paint_gaps(painter, gaps, scale, rows, palette)
    _paint_names(painter, bands, stretches, gaps, scale, rows, palette)
    paint_marks(painter, contents.marks, scale, rows, palette)


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
                QPointF(x - FLAG_PX, RULER_PX - 11),
                QPointF(x + FLAG_PX, RULER_PX - 11),
                QPointF(x + FLAG_PX, RULER_PX - 6),
                QPointF(x, RULER_PX - 1),
                QPointF(x - FLAG_PX, RULER_PX - 6),
            ]
        )
    )


def paint_loop(
    painter: QPainter,
    *,
    loop: tuple[int, int],
    in_use: bool,
    scale: AxisScale,
    rows: TimelineRows,
    palette: Palette,
) -> None:
    """Paint a bracket around the rows that are played again and again; pale while they are not."""
    low, high = scale.left, scale.left + scale.width
    begin, end = (round(scale.x(axis)) + 0.5 for axis in loop)
    if end < low or begin > high:
        return
    top, bottom = rows.line_top - 1.5, rows.line_top + rows.line_height + 0.5
    left, right = max(begin, low), min(end, high)
    lines = [QLineF(left, top, right, top)]
    for x, hook in ((begin, _HOOK_PX), (end, -_HOOK_PX)):
        if low <= x <= high:
            lines += [QLineF(x, top, x, bottom), QLineF(x, bottom, x + hook, bottom)]
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    painter.setPen(QPen(QColor(palette.text if in_use else palette.muted), 1.0))
    painter.drawLines(lines)


# --- parts


def _paint_ruler(
    painter: QPainter,
    labels: Sequence[RulerLabel],
    scale: AxisScale,
    rows: TimelineRows,
    palette: Palette,
) -> None:
    painter.setPen(QPen(QColor(palette.line), 1.0))
    grid = [round(scale.x(tick)) + 0.5 for tick in scale.ticks(TICK_PX)]
    painter.drawLines([QLineF(x, RULER_PX - 3, x, rows.height) for x in grid])
    width = 2.0 * scale.left + scale.width
    painter.drawLine(QLineF(0, RULER_PX - 0.5, width, RULER_PX - 0.5))
    painter.setPen(QColor(palette.muted))
    for label in labels:
        painter.drawText(QPointF(label.left, RULER_PX - 4.0), label.text)


def _paint_connectors(
    painter: QPainter,
    stretches: Sequence[Stretch],
    scale: AxisScale,
    rows: TimelineRows,
    palette: Palette,
) -> None:
    """Paint the lines from where stretches forked to where they begin, all of a kind at once."""
    own: list[QLineF] = []
    left_behind: list[QLineF] = []
    low, high = scale.left - 20.0, scale.left + scale.width + 20.0
    heights = [top + height / 2 for top, height in map(rows.lane, range(rows.count))]
    for stretch in stretches:
        y, from_y = heights[stretch.lane], heights[stretch.fork_lane]
        fork = round(min(max(scale.x(stretch.fork), low), high)) + 0.5
        begin = min(max(scale.x(stretch.begin), fork + 1.0), high)
        lines = own if stretch.lane == 0 else left_behind
        lines += [QLineF(fork, from_y, fork, y), QLineF(fork, y, begin, y)]
    painter.setPen(QPen(mixed(palette.muted, palette.surface0, 0.8), 1.0))
    painter.drawLines(left_behind)
    # Of many, dots can't be told apart, and cost ten times as much.
    style = Qt.PenStyle.DotLine if len(own) < _MANY else Qt.PenStyle.SolidLine
    painter.setPen(QPen(QColor(palette.accent), 1.0, style))
    painter.drawLines(own)
    dot = QColor(palette.accent)
    for line in own[::2]:
        painter.fillRect(QRectF(line.x1() - 2.0, line.y1() - 2.0, 4.0, 4.0), dot)


def _paint_blocks(
    painter: QPainter, blocks: Sequence[Block], rows: TimelineRows, palette: Palette
) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    for lane in range(rows.count):
        top, height = rows.lane(lane)
        painter.setBrush(mixed(palette.accent, palette.surface0, _OWN if lane == 0 else _LEFT))
        painter.drawRects(
            [QRectF(b.left, top, b.right - b.left, height) for b in blocks if b.lane == lane]
        )


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
    gaps: Sequence[LostGap],
    scale: AxisScale,
    rows: TimelineRows,
    palette: Palette,
) -> None:
    """Write the number of each episode that has room for it, in the lane where it begins.

    None is written over a gap: it stands behind the ones in its way.
    """
    metrics = QFontMetrics(painter.font())
    painter.setPen(QColor(palette.text))
    least = metrics.horizontalAdvance("0") + 2 * _LABEL_PX
    for band in bands:
        if band.right - band.left < least:
            continue
        axis = scale.axis(max(band.left, scale.left) + 0.5)
        at = bisect.bisect_right(stretches, axis, key=lambda each: each.begin) - 1
        stretch = stretches[at] if at >= 0 else None
        lane = stretch.lane if stretch is not None else 0
        top, height = rows.lane(lane)
        if height < metrics.ascent():
            continue
        left = max(band.left, scale.left)
        right = min(band.right, scale.left + scale.width)
        if stretch is not None and stretch.end is not None:
            right = min(right, scale.x(stretch.end))
        texts = (
            (f"{band.count} episodes", f"×{band.count}")
            if band.count > 1
            else (f"episode {band.episode}", f"{band.episode}")
        )
        parts = list(whole_parts(gaps, lane, left, right))
        for text in texts:
            need = metrics.horizontalAdvance(text) + 2 * _LABEL_PX
            begin, end = next((p for p in parts if p[1] - p[0] >= need), (0.0, 0.0))
            if end > begin:
                box = QRectF(begin + _LABEL_PX, top, end - begin - _LABEL_PX, height)
                painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, text)
                break
