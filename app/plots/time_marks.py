"""Vertical lines over a plot's whole height: restores, and where the scene stands."""

from collections.abc import Sequence

from PySide6.QtCore import QLineF, QRectF
from PySide6.QtGui import QPainter, QPen
from PySide6.QtWidgets import QStyleOptionGraphicsItem, QWidget

from stroboscope.app.plots.view_item import ViewItem

__all__ = ["TimeMarks"]

# Marks closer than this many pixels are drawn as one.
_SPACING_PX = 4.0


class TimeMarks(ViewItem):
    """Vertical lines at session times [s]; costs one drawing call whatever their number."""

    def __init__(self, pen: QPen, *, z: float) -> None:
        super().__init__()
        self._pen = pen
        self._times: tuple[float, ...] = ()
        self._lines: list[QLineF] = []
        self.setZValue(z)

    def set_pen(self, pen: QPen) -> None:
        """Draw with another pen."""
        self._pen = pen
        self.update()

    def set_times(self, times: Sequence[float]) -> None:
        """Draw lines at ``times`` [s], rising."""
        if tuple(times) != self._times:
            self._times = tuple(times)
            self._rebuild()

    @property
    def times(self) -> tuple[float, ...]:
        """Where lines are."""
        return self._times

    def viewRangeChanged(self) -> None:
        """Reach over the whole height again."""
        self._rebuild()

    def paint(
        self, painter: QPainter, option: QStyleOptionGraphicsItem, widget: QWidget | None = None
    ) -> None:
        """Draw all lines at once."""
        if not self._lines:
            return
        # In pixels: Qt loses the dashes of lines that are thousands of units long.
        transform = painter.worldTransform()
        lines = [transform.map(line) for line in self._lines]
        painter.save()
        painter.resetTransform()
        painter.setPen(self._pen)
        painter.drawLines(lines)
        painter.restore()

    def _rebuild(self) -> None:
        view = self.view_in_data()
        self.prepareGeometryChange()
        if view is None or not view.width():
            self._lines, self._bounds = [], QRectF()
            return
        pixel = view.width() / max(self.getViewBox().width(), 1.0)
        lines, last = [], -float("inf")
        for time in self._times:
            if view.left() <= time <= view.right() and time - last >= _SPACING_PX * pixel:
                lines.append(QLineF(time, view.top(), time, view.bottom()))
                last = time
        self._lines = lines
        left = min((line.x1() for line in lines), default=0.0) - pixel
        right = max((line.x1() for line in lines), default=0.0) + pixel
        self._bounds = QRectF(left, view.top(), right - left, view.height()) if lines else QRectF()
        self.update()
