"""All lines of one plot in one item: painted in pixels, with one call per line."""

import dataclasses
import itertools
from collections.abc import Mapping

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QTransform
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from stroboscope.app.models.plot_store import PlotSeriesId
from stroboscope.app.models.polyline import Polyline
from stroboscope.app.plots.plot_style import line_pen
from stroboscope.app.plots.view_item import ViewItem

__all__ = ["Curves"]

_DOT_PX = 4.0
_FAR_PX = 20_000.0
# A line in more pieces than this is given to Qt as one path.
_MANY_RUNS = 32


@dataclasses.dataclass(slots=True)
class _Curve:
    line: Polyline
    colour: str
    pen: QPen


class Curves(ViewItem):
    """Draws polylines in session time [s] and values; costs little beside the drawing itself.

    Twenty of pyqtgraph's own curve items take three times as long: each keeps a path, bounds and
    padding of its own.
    """

    def __init__(self, style: Qt.PenStyle = Qt.PenStyle.SolidLine) -> None:
        super().__init__()
        self._style = style
        self._curves: dict[PlotSeriesId, _Curve] = {}

    @property
    def keys(self) -> tuple[PlotSeriesId, ...]:
        """Whose lines are drawn, in this order."""
        return tuple(self._curves)

    def set_lines(
        self, lines: Mapping[PlotSeriesId, Polyline], colours: Mapping[PlotSeriesId, str]
    ) -> None:
        """Draw these lines and no others, in these colours (``#rrggbb``)."""
        kept = self._curves
        self._curves = {}
        for key, line in lines.items():
            known = kept.get(key)
            if known is not None and known.colour == colours[key]:
                pen = known.pen
            else:
                pen = line_pen(colours[key], style=self._style)
            self._curves[key] = _Curve(line, colours[key], pen)
        self.update()

    def line(self, key: PlotSeriesId) -> Polyline | None:
        """Return what is drawn for ``key``."""
        curve = self._curves.get(key)
        return curve.line if curve is not None else None

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Draw every line, and dots where a point has no line."""
        transform = painter.worldTransform()
        painter.save()
        painter.resetTransform()
        for curve in self._curves.values():
            line = curve.line
            if not len(line.x):
                continue
            x, y = _pixels(line.x, line.y, transform)
            painter.setPen(curve.pen)
            _draw_runs(painter, x, y, line.connect)
            for dot in line.dots[:2000]:
                corner = QPointF(x[dot] - 0.5 * _DOT_PX, y[dot] - 0.5 * _DOT_PX)
                area = QRectF(corner.x(), corner.y(), _DOT_PX, _DOT_PX)
                painter.fillRect(area, QColor(curve.colour))
        painter.restore()


def _pixels(
    x: NDArray[np.float64], y: NDArray[np.float64], transform: QTransform
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points in pixels; the view neither turns nor shears."""
    px = transform.m11() * x + transform.dx()
    py = transform.m22() * y + transform.dy()
    if len(px) > 1:
        # Only the outermost rows lie beyond the picture, far beyond it when it is a tiny part.
        _cut(px, py, end=0, inner=1, at=-_FAR_PX)
        _cut(px, py, end=-1, inner=-2, at=_FAR_PX)
    # Qt's rasteriser clips lines itself, but not at any distance.
    return px, np.clip(py, -1e6, 1e6)


def _cut(
    px: NDArray[np.float64], py: NDArray[np.float64], *, end: int, inner: int, at: float
) -> None:
    """Bring an outermost point nearer, along its line."""
    beyond = px[end] < at if at < 0.0 else px[end] > at
    if beyond and px[inner] != px[end]:
        part = (at - px[end]) / (px[inner] - px[end])
        py[end] += part * (py[inner] - py[end])
        px[end] = at


def _draw_runs(
    painter: QPainter,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    connect: NDArray[np.bool_],
) -> None:
    breaks = np.flatnonzero(~connect[:-1]) + 1
    if len(breaks) > _MANY_RUNS:
        # pyqtgraph's order: entry i says whether point i leads to point i + 1.
        painter.drawPath(pg.functions.arrayToQPath(x, y, connect.astype(np.int32)))
        return
    edges = [0, *breaks.tolist(), len(x)]
    for start, end in itertools.pairwise(edges):
        if end - start > 1:
            painter.drawPolyline(pg.functions.arrayToQPolygonF(x[start:end], y[start:end]))
