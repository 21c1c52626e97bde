"""Gaps where rows of a file are lost: hatched between two edges, with a cross above."""

import math
from collections.abc import Sequence

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from stroboscope.app.panels.timeline.geometry import TimelineRows
from stroboscope.app.panels.timeline.lost_places import LostGap
from stroboscope.app.panels.timeline.scale import AxisScale
from stroboscope.app.panels.timeline.tones import mixed
from stroboscope.resources.themes import Palette

__all__ = ["paint_gaps"]

_HATCH_PX = 6.0
_CROSS_PX = 3.5
# Crosses that stand closer than this [px] are drawn as one.
_SPACING_PX = 9.0


def paint_gaps(
    painter: QPainter,
    gaps: Sequence[LostGap],
    scale: AxisScale,
    rows: TimelineRows,
    palette: Palette,
) -> None:
    """Paint the gaps over the lanes, which end and begin again there."""
    if not gaps:
        return
    low, high = scale.left - 1.0, scale.left + scale.width + 1.0
    edge, ground = QColor(palette.warn), QColor(palette.surface0)
    hatch = QPen(mixed(palette.warn, palette.surface0, 0.5), 1.4)
    crosses: list[float] = []
    for gap in gaps:
        top, height = rows.lane(gap.lane)
        left, right = max(gap.left, low), min(gap.right, high)
        if right <= left:
            continue
        painter.fillRect(QRectF(left, top, right - left, height), ground)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.setClipRect(QRectF(left, top, right - left, height))
        painter.setPen(hatch)
        painter.drawLines(_hatch(gap, left, right, top, height))
        painter.restore()
        for x in (gap.left, gap.right - 1.0):
            if low <= x <= high:
                painter.fillRect(QRectF(x, top, 1.0, height), edge)
        crosses.append(0.5 * (left + right))
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
    painter.setPen(QPen(edge, 1.8, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
    painter.drawLines(_crosses(crosses, rows.marks_top + 6.0))
    painter.restore()


def _hatch(gap: LostGap, left: float, right: float, top: float, height: float) -> list[QLineF]:
    """Return slanted lines that move along with the gap; none where there is room for none."""
    if gap.right - gap.left < _HATCH_PX + 1.0:
        return []
    first = left - height - math.fmod(left - height - gap.left, _HATCH_PX)
    count = int((right - first) / _HATCH_PX) + 1
    begins = (first + number * _HATCH_PX for number in range(count))
    return [QLineF(x, top + height, x + height, top) for x in begins]


def _crosses(places: Sequence[float], y: float) -> list[QLineF]:
    lines: list[QLineF] = []
    taken = -math.inf
    for x in sorted(places):
        if x - taken >= _SPACING_PX:
            taken = x
            for down in (-_CROSS_PX, _CROSS_PX):
                lines.append(QLineF(x - _CROSS_PX, y - down, x + _CROSS_PX, y + down))
    return lines
