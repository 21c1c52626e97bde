"""The picture of the timeline: wheel zooms, drag scrubs, middle or Shift drag pans, click goes."""

from typing import Protocol

from PySide6.QtCore import QEvent, QPoint, QPointF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFont,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPixmap,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from stroboscope.app.models.file_health import LostFrames
from stroboscope.app.models.history import HistoryModel
from stroboscope.app.models.lanes import lay_out
from stroboscope.app.models.marks import Mark, MarkKind
from stroboscope.app.models.numbers import count_text, number_text, with_unit
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.panels.style import METRICS, number_font
from stroboscope.app.panels.timeline.bands import EpisodeBands
from stroboscope.app.panels.timeline.geometry import RULER_PX, TimelineRows
from stroboscope.app.panels.timeline.lost_places import LostPlaces
from stroboscope.app.panels.timeline.mark_places import MarkPlaces
from stroboscope.app.panels.timeline.painting import (
    TimelineContents,
    paint_cursor,
    paint_history,
    paint_loop,
)
from stroboscope.app.panels.timeline.ruler import ruler_labels
from stroboscope.app.panels.timeline.scale import AxisScale
from stroboscope.app.panels.timeline.stretches import LaneStretches
from stroboscope.resources.themes import Palette

__all__ = ["AxisRange", "TimelineStrip"]

_ZOOM_PER_NOTCH = 1.25
_PAN_PER_NOTCH = 0.1
_INSET_PX = METRICS.padding
_HEIGHT = 64
# A press that moves less than this [px] is a click.
_CLICK_PX = 3
_SYMBOLS = {
    MarkKind.STOP: "▲",
    MarkKind.CHECKPOINT: "◆",
    MarkKind.WARNING: "⚠",
    MarkKind.TEXT: "≡",
}
# Marks that are drawn as one and told in a tooltip one by one, besides the first.
_MOST_STOPS = 4
# The same of lost frames.
_MOST_LOST = 2
_REPAIR = "the file is damaged: Repair… (right click) writes a copy of all that can be read"


class AxisRange(Protocol):
    """Which part of the axis is shown: the timeline's own, or what the plots show."""

    @property
    def range(self) -> tuple[float, float]:
        """The axis at the left and at the right edge."""

    @property
    def follows(self) -> bool:
        """Whether now stays in sight."""

    def set_follow(self, follow: bool) -> None:
        """Follow now, or stand still."""

    def track(self, first: int, live: int) -> None:
        """Move along with now."""

    def pan(self, steps: float) -> None:
        """Move by ``steps``."""

    def zoom(self, factor: float, about: float) -> None:
        """Show ``factor`` times as much, ``about`` this axis."""

    def fit(self) -> None:
        """Show everything."""


class TimelineStrip(QWidget):
    """Paints what a :class:`HistoryModel` knows, and says what the hand does with it.

    ``chosen`` (axis): go there; ``scrubbed`` (axis): the same, and more will follow.
    """

    chosen = Signal(int)
    scrubbed = Signal(int)
    key_home = Signal()

    def __init__(self, palette: Palette, axis_range: AxisRange, parent: QWidget | None = None):
        super().__init__(parent)
        self.setObjectName("timelineStrip")
        self.setAccessibleName("Timeline")
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(TimelineRows.least_height(1))
        font = QFont(number_font())
        font.setPixelSize(METRICS.small_font_px - 1)
        self.setFont(font)
        self._palette = palette
        self._range = axis_range
        self._history: HistoryModel | None = None
        self._segments: object = None
        self._marks: object = None
        self._bands = EpisodeBands()
        self._stretches = LaneStretches()
        self._places = MarkPlaces()
        self._lost = LostPlaces()
        self._picture: QPixmap | None = None
        self._painted: tuple[object, ...] = ()
        self._pressed: QPointF | None = None
        self._panned_from: QPointF | None = None
        self._before_click: int | None = None
        self._is_looping = False

    # --- what others call

    def set_history(self, history: HistoryModel | None) -> None:
        """Show another scene's past."""
        self._history = history
        self._segments = self._marks = None
        self.refresh()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self._painted = ()
        self.update()

    def set_looping(self, looping: bool) -> None:
        """Show the part that is played again and again as in use, or as chosen only."""
        self._is_looping = looping
        self.update()

    def refresh(self) -> None:
        """Show what the model says now."""
        history = self._history
        if history is not None:
            self._range.track(history.first, history.live)
        self.update()

    @property
    def scale(self) -> AxisScale:
        """Steps to pixels, as drawn now."""
        start, end = self._range.range
        return AxisScale(start, end, max(self.width() - 2.0 * _INSET_PX, 1.0), float(_INSET_PX))

    @property
    def rows(self) -> TimelineRows:
        """Which lane stands where."""
        return TimelineRows(self.height(), self._stretches.lanes.count)

    @property
    def lanes(self) -> LaneStretches:
        """The branches, as they are drawn."""
        self._collect()
        return self._stretches

    def sizeHint(self) -> QSize:
        """Return a low strip."""
        return QSize(600, _HEIGHT)

    # --- painting

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Paint what changed with the history, then where the view stands."""
        scale, history = self.scale, self._history
        picture = self._background(scale)
        painter = QPainter(self)
        painter.drawPixmap(0, 0, picture)
        if history is not None and history.loop is not None:
            paint_loop(
                painter,
                loop=history.loop,
                in_use=self._is_looping,
                scale=scale,
                rows=self.rows,
                palette=self._palette,
            )
        axis = self._stands_at(scale)
        if history is not None and axis is not None:
            away = history.is_away or history.wanted is not None
            paint_cursor(
                painter,
                axis=axis,
                away=away and axis < history.live,
                scale=scale,
                rows=self.rows,
                palette=self._palette,
            )
        painter.end()

    def _stands_at(self, scale: AxisScale) -> int | None:
        """Return where the view stands, None where that is not in sight."""
        history = self._history
        if history is None or not (history.has_rows or history.live):
            return None
        return history.near if scale.start <= history.near <= scale.end else None

    def _background(self, scale: AxisScale) -> QPixmap:
        """Return the picture without the cursor, painted anew when it has changed."""
        self._collect()
        history = self._history
        told = history.told if history is not None else None
        live = history.live if history is not None else 0
        ratio = self.devicePixelRatioF()
        axis = self._stands_at(scale)
        labels = ruler_labels(
            scale, self.fontMetrics(), flag=None if axis is None else scale.x(axis)
        )
        key = (
            scale,
            self.size(),
            ratio,
            live,
            told.first if told is not None else 0,
            told.dense if told is not None else 0,
            id(self._bands),
            id(self._places),
            id(self._lost),
            labels,
        )
        if self._picture is not None and key == self._painted:
            return self._picture
        picture = QPixmap(self.size() * ratio)
        picture.setDevicePixelRatio(ratio)
        painter = QPainter(picture)
        contents = TimelineContents(
            first=told.first if told is not None else 0,
            dense=told.dense if told is not None else 0,
            live=live,
            bands=self._bands,
            stretches=self._stretches,
            lost=self._lost,
            marks=self._places,
            labels=labels,
        )
        paint_history(painter, contents, scale, self.rows, self._palette, self.font())
        painter.end()
        self._picture, self._painted = picture, key
        return picture

    def _collect(self) -> None:
        """Look at segments and marks again, when there are others."""
        history = self._history
        segments = history.segments if history is not None else []
        if segments is not self._segments:
            self._segments = segments
            self._bands = EpisodeBands(segments)
            self._stretches = LaneStretches(lay_out(segments))
            self.setMinimumHeight(TimelineRows.least_height(self._stretches.lanes.count))
        marks = history.marks if history is not None else ()
        if marks is not self._marks:
            self._marks = marks
            self._places = MarkPlaces(marks)
        lost = history.lost if history is not None else ()
        if lost is not self._lost.lost:
            self._lost = LostPlaces(lost)

    # --- what stands where

    def axis_at(self, x: float) -> int:
        """Return the row under a place [px], within what there is."""
        history = self._history
        axis = round(self.scale.axis(x))
        if history is None:
            return axis
        return min(max(axis, history.first), history.live)

    def _mark_lines(self, mark: Mark) -> list[str]:
        """Return what ``mark`` is about, and the others that are drawn as one with it."""
        symbol = _SYMBOLS.get(mark.kind, "")
        named = mark.text.startswith(mark.kind.value) or mark.kind is MarkKind.CHECKPOINT
        kind = "" if named or mark.kind is MarkKind.TEXT else f"{mark.kind.value}: "
        if mark.kind not in _SYMBOLS:
            return [f"{kind}{mark.text}"]
        kind = "stop: " if mark.kind is MarkKind.STOP else kind
        found = self._places.together(self.scale, mark)
        shown = found[: _MOST_STOPS + 1]
        lines = [f"{symbol} {kind}{each.text}" for each in shown]
        more = len(found) - len(shown) + sum(each.more for each in found)
        if more:
            until = max(each.until if each.more else each.axis for each in found)
            up_to = f", up to step {count_text(until)}" if any(m.more for m in found) else " here"
            plural = "" if more == 1 else "s"
            lines.append(f"{symbol} and {count_text(more)} more {mark.kind.value}{plural}{up_to}")
        return lines

    def lost_at(self, x: float) -> tuple[LostFrames, ...]:
        """Return which frames of the file are lost there."""
        self._collect()
        return self._lost.near(self.scale, x)

    def _lost_lines(self, x: float) -> list[str]:
        lost = self.lost_at(x)
        if not lost:
            return []
        lines = [f"✕ lost: {each.place}" for each in lost[: _MOST_LOST + 1]]
        more = len(lost) - len(lines)
        places = f"{count_text(more)} other place{'' if more == 1 else 's'}"
        lines += [f"✕ and more at {places} here"] if more > 0 else []
        return [*lines, _REPAIR]

    def text_at(self, x: float) -> str:
        """Return what stands there, in words."""
        history = self._history
        if history is None:
            return ""
        mark = self._places.near(self.scale, x)
        axis = min(max(round(self.scale.axis(x)), 0), history.live)
        axis = mark.axis if mark is not None else axis
        lines = self._lost_lines(x)
        if mark is not None:
            lines += self._mark_lines(mark)
        place = history.place(axis)
        if axis >= history.live:
            lines.append("live: where the scene stands")
        if place is not None:
            when = with_unit(number_text(place.time), "s")
            lines.append(f"episode {place.episode} · {history.step_text(axis)} · t {when}")
        told = history.told
        if told is not None and axis < told.first:
            lines.append("not kept any more")
        elif told is not None and axis < told.dense:
            lines.append("thinned out: it is simulated again when you look at it")
        stretch = self._stretches.lanes.at(axis)
        if stretch is not None and stretch.lane > 0:
            lines.append("left behind: the scene has continued from before")
        return "\n".join(lines)

    # --- the hand

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Begin to scrub, or to pan."""
        if self._history is None:
            return
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if event.button() is Qt.MouseButton.MiddleButton or (
            event.button() is Qt.MouseButton.LeftButton and shift
        ):
            self._panned_from = event.position()
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
        elif event.button() is Qt.MouseButton.LeftButton:
            self._pressed = event.position()
            self._before_click = self._history.view
            self._choose(event.position().x(), snap=True)
        event.accept()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Scrub or pan; else say what is there."""
        x = event.position().x()
        if self._panned_from is not None:
            self._range.pan((self._panned_from.x() - x) / self.scale.per_step)
            self._panned_from = event.position()
            self.update()
        elif self._pressed is not None:
            if abs(x - self._pressed.x()) > _CLICK_PX:
                self.scrubbed.emit(self.axis_at(x))
        else:
            self._tell(event.globalPosition().toPoint(), x)
        event.accept()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """End it."""
        if self._panned_from is not None:
            self._panned_from = None
            self.unsetCursor()
        elif self._pressed is not None:
            moved = abs(event.position().x() - self._pressed.x()) > _CLICK_PX
            self._pressed = None
            if moved:
                self._choose(event.position().x(), snap=False)
        event.accept()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Show everything."""
        if event.button() is Qt.MouseButton.LeftButton:
            self._pressed = None
            self._range.fit()
            self.refresh()
            history, before = self._history, self._before_click
            if history is not None and history.has_rows:
                # Its first click was not meant to go anywhere.
                self.chosen.emit(history.live if before is None else before)
        event.accept()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom about the pointer, or about now while following; sideways: pan."""
        delta = event.angleDelta()
        scale = self.scale
        shift = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if delta.x() or shift:
            notches = (delta.x() or delta.y()) / 120.0
            self._range.pan(-notches * _PAN_PER_NOTCH * (scale.end - scale.start))
        elif delta.y():
            factor = _ZOOM_PER_NOTCH ** (-delta.y() / 120.0)
            self._range.zoom(factor, scale.axis(event.position().x()))
        self.refresh()
        event.accept()

    def leaveEvent(self, event: QEvent) -> None:
        """The pointer left."""
        super().leaveEvent(event)
        QToolTip.hideText()

    def event(self, event: QEvent) -> bool:
        """Keep Home for the oldest row while the timeline has the focus."""
        if (
            event.type() is QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Home
            and event.modifiers() == Qt.KeyboardModifier.NoModifier
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Home goes to the oldest row; all other keys are the window's."""
        if event.key() == Qt.Key.Key_Home:
            self.key_home.emit()
            event.accept()
            return
        super().keyPressEvent(event)

    def _choose(self, x: float, *, snap: bool) -> None:
        mark = self._places.near(self.scale, x) if snap else None
        self.chosen.emit(mark.axis if mark is not None else self.axis_at(x))

    def _tell(self, at: QPoint, x: float) -> None:
        text = self.text_at(x)
        if text:
            below = QPoint(at.x(), self.mapToGlobal(QPoint(0, self.height() - RULER_PX)).y())
            QToolTip.showText(below, plain_text(text), self)
