"""What the colours in the picture mean and how long its arrows are, in a corner of the view."""

import dataclasses
import math

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from stroboscope.app.models.numbers import THIN_SPACE
from stroboscope.app.models.overlay_words import Amount, Role
from stroboscope.app.models.overlays import active_overlays
from stroboscope.app.models.view_options import RenderMode
from stroboscope.app.view3d.camera import View
from stroboscope.app.view3d.items import ItemKind
from stroboscope.app.view3d.measured import depth_range
from stroboscope.app.view3d.overlays.picture import OverlayPicture
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.app.view3d.overlays.taxels import largest_pressure, taxels
from stroboscope.app.view3d.overlays.tints import island_color
from stroboscope.app.view3d.overlays.trees import MOST_BOXES, tree_boxes
from stroboscope.app.view3d.scene_buffers import LIMIT_COLOR
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.resources.themes import Metrics, Palette

__all__ = ["LegendOverlay", "LegendRow", "legend_rows", "scale_text"]

# Switched on from the start: they are not worth a line while there is nothing of them.
_QUIET = frozenset({"rangefinders", "drawings", "perturbation", "plugin_drawings", "slider_cranks"})
# Drawn by the scene itself, so no glyph of theirs says whether there are any.
_DRAWN_ELSEWHERE = frozenset({Role.TARGET, Role.ASLEEP})
_TREES = ("body_trees", "mesh_trees", "flex_trees")
_ISLANDS = 4  # more of them are told in one line
_ABSENT = "none now"
_SHARE = 0.45  # of the picture's height: more than this it may not cover
_ROW, _SWATCH, _PADDING, _MARGIN = 18.0, 9.0, 8.0, 8


@dataclasses.dataclass(frozen=True, slots=True)
class LegendRow:
    """One line: a colour, what it means, how long one unit is; ``present``: is any in sight.

    Without a colour it is only words. ``broken``: arrows with a gap, which are not to scale.
    """

    color: tuple[float, float, float, float] | None
    text: str
    scale: str = ""
    is_arrow: bool = False
    present: bool = True
    broken: bool = False


def scale_text(metres_per_unit: float, unit: str) -> str:
    """Return for instance ``1 cm = 20 N``: a round length with a number people can read."""
    if not metres_per_unit > 0.0:
        return ""
    lengths = ((0.01, "1 cm"), (0.1, "10 cm"), (1.0, "1 m"), (0.001, "1 mm"))
    fitting = [each for each in lengths if 1.0 <= each[0] / metres_per_unit < 1000.0]
    shortest = metres_per_unit < lengths[-1][0]  # even a millimetre is more than a thousand
    length, name = fitting[0] if fitting else lengths[3 if shortest else 2]
    number = _two_digits(length / metres_per_unit)
    return f"{name.replace(' ', THIN_SPACE)} = {number}{THIN_SPACE}{unit}"


def _two_digits(amount: float) -> str:
    rounded = round(amount, 1 - math.floor(math.log10(amount)))
    return f"{rounded:.0f}" if rounded >= 10.0 else f"{rounded:.2g}"


def legend_rows(picture: OverlayPicture, view: View | None = None) -> tuple[LegendRow, ...]:
    """Return a line for each colour that is switched on, those in sight and those that are not.

    ``view`` is who looks, for what depends on that.
    """
    subject, present = picture.subject, picture.roles
    rows = _measured_rows(subject, view)
    rows += _tree_rows(subject)
    for overlay in active_overlays(subject.options):
        if overlay.name in _TREES:
            continue
        if overlay.name == "islands":
            rows += _island_rows(subject)
            continue
        if overlay.name == "rangefinders" and subject.facts.rays.left_out:
            rows.append(LegendRow(None, f"{subject.facts.rays.left_out} more rays are left out"))
        if overlay.name == "taxels":
            rows += _taxel_rows(subject)
            continue
        if overlay.name == "tendons":
            rows += _tendon_rows(subject)
            continue
        here = [
            entry
            for entry in overlay.legend
            if entry.role in present
            or (entry.role in _DRAWN_ELSEWHERE and _is_drawn(picture, entry.role))
        ]
        quiet = here or overlay.name in _QUIET
        for entry in here if quiet else overlay.legend[:1]:
            amount = entry.amount
            rings = amount in (Amount.ANGULAR_VELOCITY, Amount.ANGULAR_ACCELERATION, Amount.TORQUE)
            scale = ""
            if amount is not None and not rings:
                scale = scale_text(subject.sizes.metres_per(amount), amount.value)
            rows.append(
                LegendRow(
                    entry.role.value, entry.text, scale, amount is not None, present=bool(here)
                )
            )
            if amount is not None and not rings and _has_broken(picture, entry.role):
                most = subject.sizes.largest_to_scale(amount)
                text = f"over{THIN_SPACE}{_two_digits(most)}{THIN_SPACE}{amount.value}"
                rows.append(
                    LegendRow(entry.role.value, "not to scale", text, is_arrow=True, broken=True)
                )
    return tuple(rows)


def _tree_rows(subject: Subject) -> list[LegendRow]:
    """Return one line for the boxes of all trees that are switched on."""
    if not any(getattr(subject.options, name) for name in _TREES):
        return []
    trees = tree_boxes(subject)
    counts = [len(boxes.pos) for boxes in trees]
    drawn = sum(min(count, MOST_BOXES) for count in counts)
    if not drawn:
        return [LegendRow(Role.TREE.value, "bounding volume", present=False)]
    rows = [LegendRow(Role.TREE.value, "bounding volume", str(sum(counts)))]
    searched = sum(int(boxes.searched.sum()) for boxes in trees)
    if searched:
        rows.append(LegendRow(Role.SEARCHED.value, "searched for contacts", str(searched)))
    if drawn < sum(counts):
        rows.append(LegendRow(None, f"{sum(counts) - drawn} more are left out"))
    return rows


def _measured_rows(subject: Subject, view: View | None) -> list[LegendRow]:
    """Return what the colours of a picture of ids or depths mean."""
    options = subject.options
    if options.render is RenderMode.IDS:
        return [LegendRow(None, "a colour per element")]
    if options.render is not RenderMode.DEPTH or view is None:
        return []
    low, high = depth_range(subject.scene, options, view)
    ends = ((0.0, "depth up to", low), (1.0, "depth from", high))
    return [
        LegendRow((grey, grey, grey, 1.0), text, f"{depth:.3g}{THIN_SPACE}m")
        for grey, text, depth in ends
    ]


def _has_broken(picture: OverlayPicture, role: Role) -> bool:
    return any(role in part.roles and part.any_broken for part in picture.parts)


def _island_rows(subject: Subject) -> list[LegendRow]:
    """Return a line per island, or one for all of them where they are many."""
    island = subject.value(Topic.BODIES, "island", len(subject.scene.body_pos))
    numbers = np.unique(island[island >= 0]).astype(int).tolist() if island is not None else []
    if not numbers:
        return [LegendRow((*island_color(0), 1.0), "island", present=False)]
    if len(numbers) > _ISLANDS:
        return [LegendRow(None, f"{len(numbers)} islands, a colour each")]
    return [LegendRow((*island_color(number), 1.0), f"island {number}") for number in numbers]


def _taxel_rows(subject: Subject) -> list[LegendRow]:
    """Return a line for taxels, and one for the largest pressure that they feel."""
    sensors = taxels(subject)
    rows = [LegendRow(Role.TAXEL.value, "taxel", present=bool(sensors))]
    most = largest_pressure(sensors)
    if most > 0.0:
        rows.append(LegendRow(Role.TAXEL_PRESSED.value, "largest pressure", _two_digits(most)))
    return rows


def _tendon_rows(subject: Subject) -> list[LegendRow]:
    """Return a line for tendons in their own colour, if they share one, and one for limits."""
    items, drawn = subject.scene.items, subject.facts.description.tendons
    first = items.first[ItemKind.TENDON]
    at_limit = set(subject.scene.at_limit().tolist())
    free = [first + n for n, t in enumerate(drawn) if t.spatial and first + n not in at_limit]
    rows = []
    if free:
        colors = np.unique(np.round(items.material[free, 0, :3], 3), axis=0)
        own = tuple(float(v) for v in colors[0])
        rows.append(LegendRow((*own, 1.0) if len(colors) == 1 else None, "tendon"))  # type: ignore[arg-type]
    if at_limit:
        rows.append(LegendRow((*LIMIT_COLOR, 1.0), "tendon at its limit"))
    return rows


def _is_drawn(picture: OverlayPicture, role: Role) -> bool:
    if role is Role.TARGET:
        return picture.target is not None
    if picture.tints is None:
        return False
    # Islands and geoms may colour bodies, too.
    return bool(np.isclose(picture.tints[:, :3], role.value[:3]).all(axis=1).any())


class LegendOverlay(QWidget):
    """Paints the rows into the lower right corner, or above what lies there; no mouse events."""

    def __init__(self, palette: Palette, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground)
        self._palette = palette
        self._font = QFont(self.font())
        self._font.setPixelSize(Metrics().small_font_px)
        self._metrics = QFontMetricsF(self._font)
        self.rows: tuple[LegendRow, ...] = ()
        self._all_rows: tuple[LegendRow, ...] = ()
        self._above = 0
        self.hide()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self.update()

    def show_rows(self, rows: tuple[LegendRow, ...], *, above: int = 0) -> None:
        """Show these rows from now on, ``above`` pixels higher than the corner.

        Nothing is painted again while they stay the same.
        """
        if (rows, above) != (self._all_rows, self._above):
            self._all_rows, self._above = rows, above
            self.place()

    def place(self) -> None:
        """Stand in the corner of the parent with the rows that leave the picture enough room."""
        parent = self.parentWidget()
        height = max(parent.height() - self._above, 0) if parent is not None else 0
        room = max(int(_SHARE * height / _ROW), 2)
        rows = self._all_rows
        if len(rows) > room:
            # What is in sight matters more than what is not.
            rows = (*(r for r in rows if r.present), *(r for r in rows if not r.present))
            rows = (*rows[: room - 1], LegendRow(None, f"+{len(rows) - room + 1} more"))
        self.rows = rows
        self.setVisible(bool(rows))
        self.resize(self.sizeHint())
        if parent is not None:
            self.move(parent.width() - self.width() - _MARGIN, height - self.height() - _MARGIN)
        self.update()

    def sizeHint(self) -> QSize:
        """Return the size that holds all rows."""
        text = max((self._metrics.horizontalAdvance(r.text) for r in self.rows), default=0.0)
        scales = [row.scale if row.present else _ABSENT for row in self.rows]
        scale = max((self._metrics.horizontalAdvance(s) for s in scales), default=0.0)
        width = 2.0 * _PADDING + _SWATCH + 8.0 + text + (16.0 + scale if scale else 0.0)
        return QSize(math.ceil(width), math.ceil(len(self.rows) * _ROW + 2.0 * 5.0))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint the rows; called by Qt."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self._font)
        back = QColor(self._palette.surface1)
        back.setAlphaF(0.86)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(back)
        painter.drawRoundedRect(QRectF(self.rect()), 5.0, 5.0)
        for index, row in enumerate(self.rows):
            top = 5.0 + index * _ROW
            self._paint_swatch(painter, row, QPointF(_PADDING, top + 0.5 * _ROW))
            ink = self._palette.text if row.present else self._palette.muted
            painter.setPen(QColor(ink))
            left = _PADDING + _SWATCH + 8.0
            box = QRectF(left, top, self.width() - left - _PADDING, _ROW)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, row.text)
            painter.setPen(QColor(self._palette.muted))
            scale = row.scale if row.present else _ABSENT
            painter.drawText(
                box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, scale
            )
        painter.end()

    def _paint_swatch(self, painter: QPainter, row: LegendRow, middle: QPointF) -> None:
        if row.color is None:
            return
        color = QColor.fromRgbF(*row.color[:3])
        if not row.present:
            color.setAlphaF(0.45)
        # Pale colours on a pale panel: an edge keeps them apart from it.
        edge = QColor(self._palette.muted)
        edge.setAlphaF(0.6)
        if not row.is_arrow:
            painter.setPen(QPen(edge, 1.0))
            painter.setBrush(color)
            painter.drawEllipse(middle + QPointF(0.5 * _SWATCH, 0.0), 4.5, 4.5)
            return
        tip = middle + QPointF(_SWATCH + 2.0, 0.0)
        start, gap = middle - QPointF(1.0, 0.0), QPointF(1.6, 0.0)
        half = start + (tip - start) * 0.42
        shafts = ((start, half - gap), (half + gap, tip)) if row.broken else ((start, tip),)
        for ink, width in ((edge, 4.0), (color, 2.2)):
            pen = QPen(ink, width)
            flat = Qt.PenCapStyle.FlatCap if row.broken else Qt.PenCapStyle.RoundCap
            pen.setCapStyle(flat)
            painter.setPen(pen)
            for shaft in shafts:
                painter.drawLine(*shaft)
            for side in (-3.2, 3.2):
                painter.drawLine(tip, tip + QPointF(-3.6, side))
