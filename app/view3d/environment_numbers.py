"""The number at each environment of a grid, left out where it would stand on another."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen

from stroboscope.app.view3d.camera import View
from stroboscope.app.view3d.environments import base_height
from stroboscope.app.view3d.overlays.picture import OverlayPicture

__all__ = ["EnvironmentNumber", "EnvironmentNumbers", "numbers_of"]

_BELOW, _APART = 4.0, 3.0  # how far below its point, and from the next number [px]
_PIXELS = 11


@dataclasses.dataclass(frozen=True, slots=True)
class EnvironmentNumber:
    """A number and the pixel under which it stands."""

    number: int
    x: float
    y: float
    color: tuple[float, float, float, float]
    is_selected: bool = False
    has_failed: bool = False

    @property
    def text(self) -> str:
        """What is written: a failure is more than a colour."""
        return f"▲ {self.number}" if self.has_failed else str(self.number)


def numbers_of(
    picture: OverlayPicture | None, *, view: View, size: tuple[float, float]
) -> list[EnvironmentNumber]:
    """Return the numbers in a picture of ``size`` [px]: the selected one, failed ones, near ones.

    In the order in which they get their places.
    """
    scene = picture.subject.scene if picture is not None else None
    grid = scene.environments if scene is not None else None
    if picture is None or scene is None or grid is None:
        return []
    if not picture.subject.options.environment_marks:
        return []
    points = np.array(grid.pos)
    points[:, 2] = base_height(scene)
    usable = np.asarray(np.isfinite(points).all(axis=1))
    seen = view.project(np.where(usable[:, None], points, 0.0), width=size[0], height=size[1])
    x, y, depth = seen.T
    inside = np.asarray(usable & (depth > view.near))
    inside &= (x >= 0.0) & (x < size[0]) & (y >= 0.0) & (y < size[1])
    found = [
        EnvironmentNumber(
            number=number,
            x=float(x[index]),
            y=float(y[index]),
            color=grid.color(number),
            is_selected=number == grid.selected,
            has_failed=number in grid.failed,
        )
        for index, number in enumerate(grid.numbers)
        if inside[index]
    ]
    rank = {number: float(depth[index]) for index, number in enumerate(grid.numbers)}
    return sorted(found, key=lambda n: (not n.is_selected, not n.has_failed, rank[n.number]))


class EnvironmentNumbers:
    """Those of one view, with the place that each has found."""

    def __init__(self) -> None:
        self._plain, self._bold = QFont(), QFont()
        for font in (self._plain, self._bold):
            font.setPixelSize(_PIXELS)
        self._bold.setBold(True)
        self._boxes: list[tuple[QRectF, EnvironmentNumber]] = []

    @property
    def shown(self) -> list[EnvironmentNumber]:
        """Those that found a place."""
        return [number for _, number in self._boxes]

    def place(self, numbers: Sequence[EnvironmentNumber], *, taken: Sequence[QRectF]) -> None:
        """Show these from now on, but none that would touch another or something ``taken``."""
        self._boxes = []
        if not numbers:
            return
        boxes = list(taken)
        for each in numbers:
            measure = QFontMetricsF(self._font(each))
            width, height = measure.horizontalAdvance(each.text), measure.height()
            box = QRectF(each.x - 0.5 * width, each.y + _BELOW, width, height)
            room = box.adjusted(-_APART, -1.0, _APART, 1.0)
            if any(room.intersects(other) for other in boxes):
                continue
            boxes.append(box)
            self._boxes.append((box, each))

    def at(self, x: float, y: float) -> int:
        """Return the environment whose number is at a pixel, -1: none is."""
        for box, each in self._boxes:
            if box.adjusted(-2.0, -2.0, 2.0, 2.0).contains(x, y):
                return each.number
        return -1

    def paint(self, painter: QPainter, *, bright: bool) -> None:
        """Write them, with a halo that parts them from whatever is behind."""
        halo = QColor(255, 255, 255, 210) if bright else QColor(10, 14, 20, 190)
        pen = QPen(halo, 3.0)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        for box, each in self._boxes:
            font = self._font(each)
            path = QPainterPath()
            baseline = box.top() + QFontMetricsF(font).ascent()
            path.addText(QPointF(box.left(), baseline), font, each.text)
            painter.strokePath(path, pen)
            painter.fillPath(path, QColor.fromRgbF(*each.color))

    def _font(self, number: EnvironmentNumber) -> QFont:
        return self._bold if number.is_selected or number.has_failed else self._plain
