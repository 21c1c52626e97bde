"""What every page of the controls has: rows in a scrolling column, searched and kept up to date."""

import dataclasses
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from stroboscope.app.models.frames import SceneFrame
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.view_state import ViewState
from stroboscope.app.panels.controls.kept import PATIENCE_S
from stroboscope.app.panels.controls.value_bar import ValueBar
from stroboscope.app.panels.labels import ElidedLabel, label
from stroboscope.app.panels.style import METRICS
from stroboscope.app.panels.tables.follower import FrameFollower, Topics
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.resources.themes import Palette

__all__ = ["ControlsPage", "Row", "name_of", "split_names"]

NAME_WIDTH = 96
# Names before a slash ("left_arm/elbow") stand over their rows when so many have them in common.
_SHARED = 2
_NOT_LIVE = "This scene is over: nothing can be set any more."
_NO_CONTROL = "Another client controls this application: Session > Take control."


@dataclasses.dataclass(slots=True)
class Row:
    """One line: what it is found by, and its widgets, which hide together."""

    words: str
    widgets: tuple[QWidget, ...]
    heading: QWidget | None = None


def split_names(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return each name as what it shares with neighbours, up to a slash, and its own part."""
    places = [name.rpartition("/")[0] for name in names]
    counts = Counter(places)
    return [
        (place, name[len(place) + 1 :]) if place and counts[place] >= _SHARED else ("", name)
        for place, name in zip(places, names, strict=True)
    ]


def name_of(name: str, kind: str, index: int) -> str:
    """Return an element's name, or its kind and index when it has none."""
    return name or f"{kind} {index}"


class ControlsPage(QWidget):
    """One page; subclasses build rows from a description and fill them from frames.

    Everything people set belongs to the state as it stands, so pages show NOW whatever instant
    the rest of the window shows. GUI thread only.
    """

    name = ""
    """Who subscribes."""
    empty_text = "Nothing to set in this scene."

    def __init__(self, sessions: SessionsModel, palette: Palette) -> None:
        super().__init__()
        self.sessions = sessions
        self.colors = palette
        self.rows: list[Row] = []
        self.bars: dict[str, ValueBar] = {}
        self._filter = ""
        self._built_for: object = None
        # Edits, overrides and checkpoints come without frames.
        self._heard: SceneModel | None = None
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(0)
        self.empty = label(self.empty_text, "muted", wrap=True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setMargin(METRICS.padding)
        self.no_match = label("", "muted", wrap=True)
        self.no_match.setMargin(METRICS.padding)
        self.no_match.hide()
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._body = QWidget()
        self._scroll.setWidget(self._body)
        self.column.addWidget(self.no_match)
        self.column.addWidget(self._scroll, 1)
        self.column.addWidget(self.empty)
        self._grid = QGridLayout()
        # Looks once more when what was set should have come back, whatever it has become.
        self._look_again = QTimer(self)
        self._look_again.setSingleShot(True)
        self._look_again.setInterval(round(1100 * PATIENCE_S))
        self._look_again.timeout.connect(self._on_news)
        self._follower = FrameFollower(
            self,
            sessions,
            ViewState(),
            who=f"controls {self.name}",
            topics=self.topics,
            refresh=self.refresh,
        )

    # --- what subclasses say

    def topics(self, scene: SceneModel) -> Topics:
        """Return the topics that are needed, and those that help."""
        return (), ()

    def build(self, scene: SceneModel) -> None:
        """Make the rows of a newly shown scene."""

    def fill(self, scene: SceneModel) -> None:
        """Show the newest values."""

    # --- what they use

    @property
    def scene(self) -> SceneModel | None:
        """The scene that is shown."""
        return self._follower.scene

    def frame(self, topic: Topic) -> SceneFrame | None:
        """Return the newest frame of a topic of this page."""
        frames = self._follower.frames()
        return frames.frames.get(topic) if frames is not None else None

    def values(self, topic: Topic, name: str) -> NDArray[np.float64] | None:
        """Return the newest array of that name, flat; None while it is not known."""
        frame = self.frame(topic)
        array = frame.arrays.get(name) if frame is not None else None
        return None if array is None else np.asarray(array, np.float64).reshape(-1)

    def why_not(self, *, paused: bool = False) -> str:
        """Return why nothing can be set now, "" when it can."""
        scene = self.scene
        if scene is None or scene.is_stale:
            return _NOT_LIVE
        if not scene.session.has_control:
            return _NO_CONTROL
        if paused and scene.mode is not PlaybackMode.PAUSED:
            return "Only while the scene is paused (Space)."
        return ""

    @staticmethod
    def allow(widget: QWidget, why_not: str, *, tip: str | None = None) -> None:
        """Let a widget be used, or say in its tip why not; ``tip``: its own, if that changes."""
        if tip is not None or widget.property("ownTip") is None:
            widget.setProperty("ownTip", widget.toolTip() if tip is None else tip)
        shown = plain_text(why_not) or str(widget.property("ownTip"))
        if shown != widget.toolTip():
            widget.setToolTip(shown)
        widget.setEnabled(not why_not)

    def was_set(self, *_value: object) -> None:
        """Somebody has set something: show soon what became of it."""
        self._look_again.start()

    def add_heading(self, text: str) -> QLabel:
        """Add a heading over the rows that follow."""
        heading = label(text, "section")
        heading.setContentsMargins(0, METRICS.gap, 0, 2)
        self._grid.addWidget(heading, self._grid.rowCount(), 0, 1, 3)
        return heading

    def add_bar(
        self,
        key: str,
        text: str,
        bar: ValueBar,
        *,
        heading: QWidget | None = None,
        extra: QWidget | None = None,
        tip: str = "",
    ) -> Row:
        """Add a line with a name, a bar, and perhaps a button."""
        bar.changed.connect(self.was_set)
        self.bars[key] = bar
        return self.add_row(text, bar, extra=extra, heading=heading, tip=tip)

    def add_row(
        self,
        text: str,
        widget: QWidget,
        *,
        heading: QWidget | None = None,
        extra: QWidget | None = None,
        tip: str = "",
    ) -> Row:
        """Add a line with a name, a widget, and perhaps a button."""
        name = ElidedLabel(text)
        name.setProperty("role", "muted")
        name.setFixedHeight(METRICS.compact_height)
        name.set_hint(tip)
        line = self._grid.rowCount()
        self._grid.addWidget(name, line, 0)
        self._grid.addWidget(widget, line, 1, 1, 1 if extra is not None else 2)
        widgets: tuple[QWidget, ...] = (name, widget)
        if extra is not None:
            self._grid.addWidget(extra, line, 2)
            widgets = (*widgets, extra)
        row = Row(text.casefold(), widgets, heading)
        self.rows.append(row)
        return row

    def add_whole(self, widget: QWidget, *, words: str = "", heading: QWidget | None = None) -> Row:
        """Add a line that is one widget."""
        self._grid.addWidget(widget, self._grid.rowCount(), 0, 1, 3)
        row = Row(words.casefold(), (widget,), heading)
        self.rows.append(row)
        return row

    def add_flag(self, words: str, widget: QWidget, extra: QWidget, heading: QWidget | None) -> Row:
        """Add a line that is a switch, with a button behind it."""
        line = self._grid.rowCount()
        self._grid.addWidget(widget, line, 0, 1, 2)
        self._grid.addWidget(extra, line, 2)
        row = Row(words.casefold(), (widget, extra), heading)
        self.rows.append(row)
        return row

    def add_buttons(self, *widgets: QWidget) -> QWidget:
        """Add widgets side by side in one line, at their own sizes."""
        box = QWidget()
        line = QHBoxLayout(box)
        line.setContentsMargins(0, 2, 0, 2)
        line.setSpacing(METRICS.grid)
        for widget in widgets:
            line.addWidget(widget)
        line.addStretch(1)
        self._grid.addWidget(box, self._grid.rowCount(), 0, 1, 3)
        return box

    def rebuild(self) -> None:
        """Make the rows anew with the next refresh."""
        self._built_for = None
        self._follower.refresh()

    # --- keeping it true

    def refresh(self) -> None:
        """Show what is true now; called by the follower while somebody looks."""
        scene = self.scene
        self._hear(scene)
        description = scene.description if scene is not None else None
        if description is not self._built_for or (description is None and self.rows):
            self._clear()
            self._built_for = description
            if scene is not None and description is not None:
                self.build(scene)
                self._grid.setRowStretch(self._grid.rowCount(), 1)
                self._apply_filter()
        has_rows = bool(self.rows)
        self._scroll.setVisible(has_rows)
        self.empty.setVisible(not has_rows)
        if scene is not None and description is not None:
            self.fill(scene)

    def _hear(self, scene: SceneModel | None) -> None:
        if scene is self._heard:
            return
        if self._heard is not None:
            edits = self._heard.edits
            edits.changed.disconnect(self._on_news)
            edits.interventions_changed.disconnect(self._on_news)
            edits.checkpoints_changed.disconnect(self._on_news)
        self._heard = scene
        if scene is not None:
            scene.edits.changed.connect(self._on_news)
            scene.edits.interventions_changed.connect(self._on_news)
            scene.edits.checkpoints_changed.connect(self._on_news)

    def _on_news(self) -> None:
        self._follower.refresh()

    def set_filter(self, text: str) -> None:
        """Show only rows whose name has ``text`` in it."""
        self._filter = text.casefold().strip()
        self._apply_filter()

    def _apply_filter(self) -> None:
        shown: dict[QWidget, bool] = {}
        for row in self.rows:
            fits = not row.words or self._filter in row.words
            for widget in row.widgets:
                widget.setVisible(fits)
            if row.heading is not None:
                shown[row.heading] = shown.get(row.heading, False) or fits
        for heading, any_fits in shown.items():
            heading.setVisible(any_fits)
        named = [row.words for row in self.rows if row.words]
        self.no_match.setText(plain_text(f"Nothing on this page matches “{self._filter}”."))
        self.no_match.setVisible(bool(named) and not any(self._filter in each for each in named))

    def _clear(self) -> None:
        self.rows, self.bars = [], {}
        old = self._scroll.takeWidget()
        if old is not None:
            old.hide()
            old.deleteLater()
        self._body = QWidget()
        self._grid = QGridLayout(self._body)
        self._grid.setContentsMargins(METRICS.padding, METRICS.grid, METRICS.gap, METRICS.grid)
        self._grid.setHorizontalSpacing(METRICS.grid)
        self._grid.setVerticalSpacing(1)
        self._grid.setColumnMinimumWidth(0, NAME_WIDTH)
        self._grid.setColumnStretch(0, 4)
        self._grid.setColumnStretch(1, 5)
        self._scroll.setWidget(self._body)
        self.forget()

    def forget(self) -> None:
        """Drop what belonged to the rows of before."""

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self.colors = palette
        for bar in self.bars.values():
            bar.set_theme(palette)

    def close_page(self) -> None:
        """Stop listening."""
        self._hear(None)
        self._look_again.stop()
        self._follower.close()
