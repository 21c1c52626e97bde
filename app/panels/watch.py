"""The Watch panel: expressions over the shown scene's signals, all of one instant."""

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.moment import moment_of
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.view_state import ViewState
from stroboscope.app.models.watch import LoggedRows, Watch, WatchList, all_signals, all_topics
from stroboscope.app.panels.expression_field import ExpressionField
from stroboscope.app.panels.labels import ElidedLabel, label, rule
from stroboscope.app.panels.style import METRICS, number_font, set_property
from stroboscope.app.panels.tables.follower import FrameFollower
from stroboscope.app.panels.watch_row import WatchRow
from stroboscope.debugger_protocol.arrays import unpack_arrays
from stroboscope.debugger_protocol.expressions import SignalTable
from stroboscope.debugger_protocol.messages import Frame
from stroboscope.debugger_protocol.topics import Topic
from stroboscope.resources.themes import Palette

__all__ = ["WatchPanel"]

_RATE = 15.0
_EMPTY = (
    "Watch anything: a signal, or what you compute from signals.\n\n"
    "qpos['knee'] - ctrl['knee']\nnorm(contact['foot','floor'].force)\n"
    "energy.total      reward      xpos['hand'][2]"
)


class WatchPanel(QWidget):
    """Follows the shown scene; GUI thread only.

    ``watches_of`` returns the list of texts of a scene's script, which is changed in place.
    ``want_signals`` replaces the channels that come as rows of SIGNALS. ``plot`` and ``make_mime``
    take an expression to the plots, ``make_spark`` draws a value's recent past.
    ``watches_changed``: there is something new to remember.
    """

    watches_changed = Signal()

    def __init__(
        self,
        sessions: SessionsModel,
        view: ViewState,
        palette: Palette,
        *,
        watches_of: Callable[[SceneModel], list[str]],
        want_signals: Callable[[SceneModel, frozenset[str]], None],
        plot: Callable[[SceneModel, str], None] | None = None,
        make_mime: Callable[[SceneModel, str, int], QMimeData | None] | None = None,
        make_spark: Callable[[], QWidget] | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self._sessions = sessions
        self._palette = palette
        self._watches_of = watches_of
        self._want_signals = want_signals
        self._plot = plot
        self._make_mime = make_mime
        self._make_spark = make_spark
        self._scene: SceneModel | None = None
        self._table: SignalTable | None = None
        self._watches: list[Watch] = []
        self._logged = LoggedRows()
        self.list = WatchList([])
        self.rows: list[WatchRow] = []
        self._build()
        sessions.signals_arrived.connect(self._on_signals)
        sessions.shown_changed.connect(self._on_shown)
        self._follower = FrameFollower(
            self,
            sessions,
            view,
            who="watch",
            topics=lambda _scene: (self._topics(), ()),
            refresh=self._refresh,
            rate=_RATE,
        )
        self._on_shown(sessions.shown)

    def close_panel(self) -> None:
        """Stop listening."""
        self._sessions.signals_arrived.disconnect(self._on_signals)
        self._sessions.shown_changed.disconnect(self._on_shown)
        self._leave()
        self._follower.close()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self._make_rows(anew=True)
        self._follower.refresh()

    def add(self, text: str) -> None:
        """Watch an expression."""
        self.list.add(text)

    # --- building

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        header = QWidget()
        head = QVBoxLayout(header)
        head.setContentsMargins(METRICS.padding, METRICS.gap, METRICS.padding, METRICS.gap)
        head.setSpacing(2)
        self.instant = ElidedLabel()
        self.instant.setProperty("role", "small")
        self.moment = ElidedLabel()
        self.moment.setFont(number_font())
        self.moment.setProperty("role", "small")
        head.addWidget(self.instant)
        head.addWidget(self.moment)
        column.addWidget(header)
        column.addWidget(rule())
        self._content = QWidget()
        self._content.setObjectName("panel")
        self._column = QVBoxLayout(self._content)
        self._column.setContentsMargins(0, METRICS.grid, 0, METRICS.grid)
        self._column.setSpacing(0)
        self._empty = label(_EMPTY, "muted", wrap=True)
        self._empty.setContentsMargins(METRICS.padding, METRICS.grid, METRICS.padding, 0)
        self._empty.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._column.addWidget(self._empty)
        self._column.addStretch(1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(self._content)
        column.addWidget(scroll, 1)
        column.addWidget(rule())
        self.field = ExpressionField(lambda: self._table, placeholder="Watch an expression…")
        self.field.entered.connect(self._on_entered)
        self.field.cancelled.connect(lambda: self.field.set_text(""))
        foot = QWidget()
        line = QVBoxLayout(foot)
        line.setContentsMargins(METRICS.padding, METRICS.grid, METRICS.padding, METRICS.grid)
        line.addWidget(self.field)
        column.addWidget(foot)

    def _make_rows(self, *, anew: bool = False) -> None:
        """Show a row per expression; those that stay keep their recent past and the focus."""
        texts = self.list.texts
        kept = {} if anew else {row.text.full_text: row for row in self.rows}
        for row in self.rows:
            if kept.get(row.text.full_text) is not row or row.text.full_text not in texts:
                self._column.removeWidget(row)
                row.hide()
                row.deleteLater()
        self.rows = [kept.get(text) or self._make_row(text) for text in texts]
        for index, row in enumerate(self.rows):
            if self._column.indexOf(row) != index:
                self._column.insertWidget(index, row)
                row.show()
        self._empty.setVisible(not self.rows)

    def _make_row(self, text: str) -> WatchRow:
        row = WatchRow(
            text,
            self._palette,
            get_table=lambda: self._table,
            make_mime=self._mime,
            make_spark=self._make_spark,
        )
        row.changed.connect(lambda new: self.list.change(self.rows.index(row), new))
        row.removed.connect(lambda: self._remove(self.rows.index(row)))
        row.moved.connect(lambda by: self._move(self.rows.index(row), by))
        row.plotted.connect(lambda: self._on_plot(text))
        return row

    # --- following

    def _on_shown(self, scene: SceneModel | None) -> None:
        self._leave()
        for row in self.rows:
            row.forget_past()
        self._scene = scene
        self.list = WatchList(self._watches_of(scene) if scene is not None else [])
        self.list.changed.connect(self._on_list)
        if scene is not None:
            scene.described.connect(self._on_described)
            scene.channels_changed.connect(self._on_described)
            scene.restored.connect(self._on_restored)
        self._on_list()

    def _leave(self) -> None:
        scene = self._scene
        if len(self.list.changed):
            self.list.changed.disconnect(self._on_list)
        self._logged.clear()
        if scene is not None:
            scene.described.disconnect(self._on_described)
            scene.channels_changed.disconnect(self._on_described)
            scene.restored.disconnect(self._on_restored)
            self._want_signals(scene, frozenset())
        self._scene = None

    def _on_list(self) -> None:
        self._make_rows()
        self._compile()
        self.watches_changed.emit()

    def _on_described(self) -> None:
        self._compile()

    def _on_restored(self, _reason: str) -> None:
        self._logged.clear()
        for row in self.rows:
            row.forget_past()

    def _compile(self) -> None:
        """Check everything anew: texts, or what there is to name, have changed."""
        scene = self._scene
        known = scene is not None and scene.description is not None
        self._table = scene.signal_table() if scene is not None and known else None
        self._watches = [Watch(text, self._table) for text in self.list.texts]
        if scene is not None:
            self._want_signals(scene, all_signals(self._watches))
        self._follower.topics_changed()

    def _topics(self) -> tuple[Topic, ...]:
        if not self._watches:
            return ()
        # Even numbers alone are of some instant.
        return tuple(sorted(all_topics(self._watches) | {Topic.POSE}))

    def _on_signals(self, scene: SceneModel, frame: Frame) -> None:
        if scene is not self._scene:
            return
        wanted = all_signals(self._watches)
        if not any(entry.name in wanted for entry in frame.arrays):
            return
        arrays = unpack_arrays(frame.arrays, frame.blob)
        axis = np.asarray(arrays["axis"], np.int64)
        for name in wanted & set(arrays):
            self._logged.append(name, axis, np.asarray(arrays[name], np.float64))
        self._follower.request()

    # --- showing

    def _refresh(self) -> None:
        scene = self._scene
        frames = self._follower.frames() if self._watches else None
        self._show_instant(scene, frames)
        if scene is None or scene.description is None:
            return
        for row, watch in zip(self.rows, self._watches, strict=True):
            value = watch.value(frames, scene.description, self._logged)
            row.show_value(value, axis=frames.axis if frames is not None else None)

    def _show_instant(self, scene: SceneModel | None, frames: FrameSet | None) -> None:
        stale = scene is not None and scene.is_stale
        set_property(self.instant, "level", "stop" if stale else "")
        if scene is None or frames is None:
            waits = scene is not None and bool(self._watches)
            self.instant.set_full_text("waiting for values…" if waits else "")
            self.moment.set_full_text("")
            return
        moment = moment_of(scene, frames)
        self.instant.set_full_text(moment.word)
        self.moment.set_full_text(moment.text)

    # --- what the user does

    def _on_entered(self, text: str) -> None:
        self.field.set_text("")
        self.list.add(text)

    def _remove(self, index: int) -> None:
        self.list.remove(index)
        if self.rows:
            self.rows[min(index, len(self.rows) - 1)].setFocus()

    def _move(self, index: int, by: int) -> None:
        to = self.list.move(index, by)
        self.rows[to].setFocus()

    def _on_plot(self, text: str) -> None:
        if self._plot is not None and self._scene is not None:
            self._plot(self._scene, text)

    def _mime(self, text: str) -> QMimeData | None:
        scene = self._scene
        watch = next((each for each in self._watches if each.text == text), None)
        if scene is None or watch is None or not watch.is_valid or self._make_mime is None:
            return None
        return self._make_mime(scene, text, watch.width)
