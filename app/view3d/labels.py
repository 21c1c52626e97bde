"""Names beside things: a transparent child widget, painted without redrawing the scene."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRect, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from stroboscope.app.view3d.camera import View
from stroboscope.app.view3d.environment_numbers import EnvironmentNumber, EnvironmentNumbers
from stroboscope.app.view3d.overlays.anchors import anchors_of
from stroboscope.app.view3d.overlays.drawings import drawing_texts
from stroboscope.app.view3d.overlays.frames import AXIS_COLORS
from stroboscope.app.view3d.overlays.picture import OverlayPicture
from stroboscope.app.view3d.overlays.triad import TRIAD_PIXELS, triad_matrix

__all__ = ["Label", "LabelOverlay", "labels_of"]

# More than this nobody reads, and painting them would hold up the picture.
MAX_LABELS = 150
# How far from the triad's centre its letters stay, in halves of its size.
_TRIAD_CLEAR = 0.45
_PADDING, _LEADER = 6.0, 22.0
# Where a script's words begin, right of and above their point [px].
_WORDS_ASIDE, _WORDS_ABOVE = 8.0, 4.0
# Where a label may stand beside its point: how far up or down, in heights of a line.
_STEPS = tuple((n + 1) // 2 * (1.0 if n % 2 else -1.0) for n in range(13))


@dataclasses.dataclass(frozen=True, slots=True)
class Label:
    """Some words and the pixel they point at; ``color`` for the script's own, without a box."""

    text: str
    x: float
    y: float
    color: tuple[float, float, float, float] | None = None


def labels_of(
    picture: OverlayPicture | None, *, view: View, size: tuple[float, float]
) -> tuple[list[Label], int]:
    """Return the labels in a picture of ``size`` [px], nearest first, and how many are too many."""
    if picture is None:
        return [], 0
    anchors = anchors_of(picture.subject)
    found = []
    where = _seen(anchors.pos, view=view, size=size)
    for index, x, y in where[:MAX_LABELS]:
        found.append(Label(anchors.texts[index], x, y))
    texts = drawing_texts(picture.subject)
    for index, x, y in _seen(np.array([t.pos for t in texts]), view=view, size=size):
        found.append(Label(texts[index].text, x, y, texts[index].rgba))
    return found, max(len(where) - MAX_LABELS, 0)


def _seen(
    pos: NDArray[np.float64], *, view: View, size: tuple[float, float]
) -> list[tuple[int, float, float]]:
    """Return which points are in the picture and at which pixels, nearest first."""
    if not len(pos):
        return []
    usable = np.asarray(np.isfinite(pos).all(axis=1))
    points = view.project(np.where(usable[:, None], pos, 0.0), width=size[0], height=size[1])
    x, y, depth = points.T
    inside = usable & (depth > view.near) & (x >= 0.0) & (x < size[0]) & (y >= 0.0) & (y < size[1])
    order = np.argsort(depth)
    order = order[inside[order]]
    return list(zip(order.tolist(), x[order].tolist(), y[order].tolist(), strict=True))


class LabelOverlay(QWidget):
    """Paints labels and the letters of the triad over the picture; takes no mouse events."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self._labels: list[Label] = []
        self._boxes: list[tuple[QRectF, Label]] = []
        self._missing = 0
        self._notes: tuple[str, ...] = ()
        self._view: View | None = None
        self._bright = False
        self._font = QFont(self.font())
        self._font.setPixelSize(12)
        self._metrics = QFontMetricsF(self._font)
        self._widths: dict[str, float] = {}
        self.numbers = EnvironmentNumbers()

    @property
    def shown(self) -> list[Label]:
        """The labels that found a place."""
        return [label for _, label in self._boxes]

    def set_bright(self, bright: bool) -> None:
        """Tell whether the picture is bright, so that letters stand out."""
        self._bright = bright
        self.update()

    def show_labels(
        self,
        labels: list[Label],
        *,
        missing: int,
        triad: View | None,
        notes: tuple[str, ...] = (),
        numbers: Sequence[EnvironmentNumber] = (),
        kept_free: QRect | None = None,
    ) -> None:
        """Paint these labels from now on; ``triad`` is None when the corner is empty.

        ``notes`` are sentences at the lower edge about what the picture does not show;
        ``numbers`` are those of environments; ``kept_free`` is a place where something else stands.
        """
        self._labels, self._missing, self._view, self._notes = labels, missing, triad, notes
        self._boxes, hidden = self._placed(labels, kept_free)
        self._missing += hidden
        taken = [box for box, _ in self._boxes]
        if kept_free is not None:
            taken.append(QRectF(kept_free))
        self.numbers.place(numbers, taken=taken)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint everything; called by Qt."""
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._font)
        self.numbers.paint(painter, bright=self._bright)
        if self._labels:
            self._paint_labels(painter)
        self._paint_notes(painter)
        if self._view is not None and min(self.width(), self.height()) > TRIAD_PIXELS:
            self._paint_triad(painter, self._view)
        painter.end()

    def _paint_labels(self, painter: QPainter) -> None:
        boxed = [(box, label) for box, label in self._boxes if label.color is None]
        halo = QColor(16, 20, 26, 110)
        for width, ink in ((3.0, halo), (1.0, QColor(255, 255, 255, 190))):
            painter.setPen(QPen(ink, width))
            for box, label in boxed:
                side = box.left() if box.left() >= label.x else box.right()
                painter.drawLine(QPointF(label.x, label.y), QPointF(side, box.center().y()))
        painter.setPen(QPen(halo, 1.0))
        painter.setBrush(QColor(255, 255, 255))
        for _, label in boxed:
            painter.drawEllipse(QPointF(label.x, label.y), 2.2, 2.2)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(22, 26, 33, 226))
        for box, _ in boxed:
            painter.drawRoundedRect(box, 4.0, 4.0)
        painter.setPen(QColor(236, 240, 246))
        for box, label in boxed:
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, label.text)
        for box, label in self._boxes:
            if label.color is not None:
                self._paint_words(painter, box, label)

    def _paint_words(self, painter: QPainter, box: QRectF, label: Label) -> None:
        """Paint the script's own words in its colour, with a halo instead of a box."""
        path = QPainterPath()
        path.addText(box.left(), box.bottom() - 5.0, self._font, label.text)
        pen = QPen(QColor(10, 14, 20, 190), 3.0)
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        painter.strokePath(path, pen)
        painter.fillPath(path, QColor.fromRgbF(*(label.color or (1.0, 1.0, 1.0, 1.0))))

    def _paint_notes(self, painter: QPainter) -> None:
        notes = list(self._notes)
        if self._missing:
            notes.append(f"+{self._missing} more names")
        y = self.height() - 10.0
        for note in reversed(notes):
            width = self._metrics.horizontalAdvance(note) + 2.0 * _PADDING
            height = self._metrics.height() + 4.0
            box = QRectF(TRIAD_PIXELS + 8.0, y - height + 4.0, width, height)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(22, 26, 33, 200))
            painter.drawRoundedRect(box, 4.0, 4.0)
            painter.setPen(QColor(227, 179, 65) if note in self._notes else QColor(236, 240, 246))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, note)
            y -= height + 4.0

    def _placed(
        self, labels: list[Label], kept_free: QRect | None
    ) -> tuple[list[tuple[QRectF, Label]], int]:
        """Return boxes that cover no other, as near to their points as can be, and how many not.

        Nearest things come first: what is hidden is far away.
        """
        height = self._metrics.height() + 4.0
        line = height + 2.0
        taken = np.zeros((len(labels) + 1, 4))
        if kept_free is not None:
            taken[-1] = (kept_free.left(), kept_free.top(), kept_free.right(), kept_free.bottom())
        boxes: list[tuple[QRectF, Label]] = []
        steps = np.array(_STEPS) * line
        for label in labels:
            width = self._width(label.text)
            if label.color is not None:
                # Beside the point, so that what the words name is seen.
                top = label.y - _WORDS_ABOVE - height
                boxes.append((QRectF(label.x + _WORDS_ASIDE, top, width, height), label))
                continue
            right, left = label.x + _LEADER, label.x - _LEADER - width
            x = np.repeat(
                [right, left] if right + width < self.width() else [left, right], len(steps)
            )
            y = np.tile(label.y - 0.5 * height + steps, 2)
            inside = (x >= 0.0) & (x + width <= self.width())
            inside &= (y >= 0.0) & (y + height <= self.height())
            others = taken[[*range(len(boxes)), -1]]
            clash = (
                (x[:, None] < others[:, 2])
                & (x[:, None] + width > others[:, 0])
                & (y[:, None] < others[:, 3])
                & (y[:, None] + height > others[:, 1])
            ).any(axis=1)
            free = np.flatnonzero(inside & ~clash)
            if not len(free):
                continue
            place = int(free[np.argmin(np.abs(np.tile(steps, 2)[free]))])
            taken[len(boxes)] = (x[place], y[place], x[place] + width, y[place] + height)
            boxes.append((QRectF(x[place], y[place], width, height), label))
        return boxes, len(labels) - len(boxes)

    def _width(self, text: str) -> float:
        width = self._widths.get(text)
        if width is None:
            if len(self._widths) > 5000:  # numbers are new words all the time
                self._widths.clear()
            width = math.ceil(self._metrics.horizontalAdvance(text)) + 2.0 * _PADDING
            self._widths[text] = width
        return width

    def _paint_triad(self, painter: QPainter, view: View) -> None:
        matrix = triad_matrix(view)
        half = TRIAD_PIXELS / 2.0
        font = QFont(self._font)
        font.setPixelSize(11)
        font.setBold(True)
        painter.setFont(font)
        for axis, letter in enumerate("XYZ"):
            x, y, _ = matrix[:3, axis] * 1.3
            # A letter of an axis that points at us stands beside the others, not on them.
            short = _TRIAD_CLEAR / max(float(np.hypot(x, y)), 1e-6)
            x, y = (x * short, y * short) if short > 1.0 else (x, y)
            color = AXIS_COLORS[axis]
            ink = QColor.fromRgbF(color[0], color[1], color[2])
            center = QPointF(half + x * half, self.height() - half - y * half)
            path = QPainterPath()
            path.addText(QPointF(0.0, 0.0), font, letter)
            path.translate(center - path.boundingRect().center())
            halo = QColor(255, 255, 255, 200) if self._bright else QColor(10, 14, 20, 170)
            pen = QPen(halo, 3.0)
            pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
            painter.strokePath(path, pen)
            painter.fillPath(path, ink.darker(170) if self._bright else ink)
