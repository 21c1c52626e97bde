"""Small arrows at the edge of a plot, where lines go on beyond it."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPolygonF
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from stroboscope.app.models.polyline import Polyline
from stroboscope.app.plots.view_item import ViewItem

__all__ = ["OutsideMarks"]

_SIZE_PX = 5.0
# More of them at one edge would be a row of teeth.
_MOST = 24


class OutsideMarks(ViewItem):
    """Arrows in the colours of the lines that leave the picture, where each does."""

    def __init__(self) -> None:
        super().__init__()
        self._marks: list[tuple[float, bool, QColor]] = []
        self.setZValue(8)

    @property
    def marks(self) -> tuple[tuple[float, bool], ...]:
        """Session time [s] of each arrow, and whether it points up."""
        return tuple((time, above) for time, above, _ in self._marks)

    def set_lines(
        self, lines: Iterable[tuple[Polyline, str]], between: tuple[float, float]
    ) -> None:
        """Mark where these lines, with their colours, leave the values ``between``."""
        low, high = between
        self._marks = [
            (float(line.x[at]), above, QColor(colour))
            for line, colour in lines
            for outside, above in ((line.y > high, True), (line.y < low, False))
            for at in _begins(outside)[:_MOST]
        ]
        self.update()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Draw the arrows, in pixels."""
        if not self._marks:
            return
        transform = painter.worldTransform()
        area = transform.mapRect(self._bounds)
        painter.save()
        painter.resetTransform()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        for time, above, colour in self._marks:
            x = transform.map(QPointF(time, 0.0)).x()
            edge, way = (area.top() + 1.0, 1.0) if above else (area.bottom() - 1.0, -1.0)
            base = edge + way * 1.4 * _SIZE_PX
            painter.setBrush(colour)
            painter.drawPolygon(
                QPolygonF(
                    [
                        QPointF(x, edge),
                        QPointF(x - _SIZE_PX, base),
                        QPointF(x + _SIZE_PX, base),
                    ]
                )
            )
        painter.restore()


def _begins(outside: NDArray[np.bool_]) -> list[int]:
    """Return where runs of True begin."""
    before = np.concatenate(([False], outside[:-1]))
    return [int(at) for at in np.flatnonzero(outside & ~before)]
