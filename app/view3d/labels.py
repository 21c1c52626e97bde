"""Names beside things: a transparent child widget, painted without redrawing the scene."""

import dataclasses

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import LabelMode, ViewOptions
from stroboscope.app.view3d.camera import View
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.overlays.frames import AXIS_COLORS
from stroboscope.app.view3d.overlays.triad import TRIAD_PIXELS, triad_matrix

__all__ = ["Label", "LabelOverlay", "labels_of"]

_KINDS = {
    LabelMode.BODY: ElementKind.BODY,
    LabelMode.GEOM: ElementKind.GEOM,
    LabelMode.JOINT: ElementKind.JOINT,
    LabelMode.SITE: ElementKind.SITE,
}
MAX_LABELS = 300
# How far from the triad's centre its letters stay, in halves of its size.
_TRIAD_CLEAR = 0.45


@dataclasses.dataclass(frozen=True, slots=True)
class Label:
    """One name with the pixel it points at."""

    text: str
    x: float
    y: float


def element_name(element: Element, scene: DrawnScene) -> str:
    """Return the name of ``element``, or its kind and number when it has none."""
    description = scene.description
    if description is None:
        return ""
    things: dict[ElementKind, tuple[object, ...]] = {
        ElementKind.BODY: description.bodies,
        ElementKind.GEOM: description.geoms,
        ElementKind.JOINT: description.joints,
        ElementKind.SITE: description.sites,
        ElementKind.ACTUATOR: description.actuators,
        ElementKind.SENSOR: description.sensors,
        ElementKind.CAMERA: description.cameras,
        ElementKind.LIGHT: description.lights,
    }
    chosen = things[element.kind]
    if not 0 <= element.index < len(chosen):
        return ""
    name = str(getattr(chosen[element.index], "name", ""))
    return name or f"{element.kind.value} {element.index}"


def labels_of(
    scene: DrawnScene,
    *,
    view: View,
    options: ViewOptions,
    selection: Element | None,
    size: tuple[float, float],
) -> tuple[list[Label], int]:
    """Return the labels in the picture, nearest first, and how many did not fit the limit."""
    elements = _labelled(scene, options, selection)
    placed = [(e, scene.element_position(e)) for e in elements]
    known = [(e, p) for e, p in placed if p is not None and np.isfinite(p).all()]
    if not known:
        return [], 0
    points = view.project(np.array([p for _, p in known]), width=size[0], height=size[1])
    order = np.argsort(points[:, 2])
    found = []
    for i in order:
        x, y, depth = points[i]
        if depth > view.near and 0.0 <= x < size[0] and 0.0 <= y < size[1]:
            found.append(Label(element_name(known[i][0], scene), float(x), float(y)))
    return found[:MAX_LABELS], max(len(found) - MAX_LABELS, 0)


def _labelled(scene: DrawnScene, options: ViewOptions, selection: Element | None) -> list[Element]:
    description = scene.description
    if description is None or options.labels is LabelMode.NONE:
        return []
    if options.labels is LabelMode.SELECTION:
        return [selection] if selection is not None else []
    kind = _KINDS[options.labels]
    counts = {
        ElementKind.BODY: len(description.bodies),
        ElementKind.GEOM: len(description.geoms),
        ElementKind.JOINT: len(description.joints),
        ElementKind.SITE: len(description.sites),
    }
    first = 1 if kind is ElementKind.BODY else 0  # the world is everywhere
    elements = [Element(kind, i) for i in range(first, counts[kind])]
    if kind in (ElementKind.GEOM, ElementKind.SITE):
        shown = scene.visible(options)
        offset = scene.items.n_geoms if kind is ElementKind.SITE else 0
        elements = [e for e in elements if shown[offset + e.index]]
    return elements


class LabelOverlay(QWidget):
    """Paints labels and the letters of the triad over the picture; takes no mouse events."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self._labels: list[Label] = []
        self._missing = 0
        self._view: View | None = None
        self._bright = False
        self._font = QFont(self.font())
        self._font.setPixelSize(12)

    def set_bright(self, bright: bool) -> None:
        """Tell whether the picture is bright, so that letters stand out."""
        self._bright = bright
        self.update()

    def show_labels(self, labels: list[Label], *, missing: int, triad: View | None) -> None:
        """Paint these labels from now on; ``triad`` is None when the corner is empty."""
        self._labels, self._missing, self._view = labels, missing, triad
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint everything; called by Qt."""
        del event
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._font)
        if self._labels:
            self._paint_labels(painter)
        if self._view is not None and min(self.width(), self.height()) > TRIAD_PIXELS:
            self._paint_triad(painter, self._view)
        painter.end()

    def _paint_labels(self, painter: QPainter) -> None:
        metrics = QFontMetricsF(self._font)
        taken: list[QRectF] = []
        boxes: list[tuple[QRectF, Label]] = []
        for label in self._labels:
            box = self._place(label, metrics, taken)
            taken.append(box)
            boxes.append((box, label))
        painter.setPen(QPen(QColor(255, 255, 255, 150), 1.0))
        for box, label in boxes:
            painter.drawLine(QPointF(label.x, label.y), QPointF(box.left(), box.center().y()))
        painter.setBrush(QColor(255, 255, 255))
        for _, label in boxes:
            painter.drawEllipse(QPointF(label.x, label.y), 1.8, 1.8)
        for box, label in boxes:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(22, 26, 33, 222))
            painter.drawRoundedRect(box, 4.0, 4.0)
            painter.setPen(QColor(236, 240, 246))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, label.text)
        if self._missing:
            painter.drawText(
                QPointF(TRIAD_PIXELS + 8.0, self.height() - 10.0), f"+{self._missing} more names"
            )

    def _place(self, label: Label, metrics: QFontMetricsF, taken: list[QRectF]) -> QRectF:
        """Return a box beside the label's point that covers no other, as near as possible."""
        width, height = metrics.horizontalAdvance(label.text) + 12.0, metrics.height() + 4.0
        x = min(label.x + 26.0, self.width() - width - 2.0)
        box = QRectF(x, label.y - height - 4.0, width, height)
        for attempt in range(24):
            step = (attempt + 1) // 2 * (height + 2.0) * (1.0 if attempt % 2 else -1.0)
            moved = box.translated(0.0, step)
            inside = moved.top() >= 0.0 and moved.bottom() <= self.height()
            if inside and not any(moved.intersects(other) for other in taken):
                return moved
        return box

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
