"""The searchable list of everything that can be plotted."""

import dataclasses

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPoint,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFontDatabase, QKeyEvent
from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QListView, QVBoxLayout, QWidget

from stroboscope.app.models.expressions import expression_problem, fit_problem
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.plot_layout import PlotLayout
from stroboscope.app.models.plot_store import (
    PlotSeriesId,
    PlotStore,
    SceneKey,
    component_label,
    component_unit,
)
from stroboscope.app.plots.plot_style import METRICS, PlotIcon, plot_icon
from stroboscope.debugger_protocol.expressions import (
    expression_channel,
    expression_text,
    is_expression,
)
from stroboscope.debugger_protocol.scene_description import ChannelKind
from stroboscope.resources.themes import Palette

__all__ = ["AddSignalPopup"]

# Entries offered at most; the line below the list says how many there are beyond it.
_LIMIT = 2000
_Index = QModelIndex | QPersistentModelIndex


@dataclasses.dataclass(frozen=True, slots=True)
class _Entry:
    series: PlotSeriesId
    text: str
    search: str


class _Entries(QAbstractListModel):
    """The entries that match; those already plotted have a tick."""

    def __init__(self, layout: PlotLayout, palette: Palette, parent: QObject) -> None:
        super().__init__(parent)
        self._layout = layout
        self._tick = plot_icon(PlotIcon.CHECK, palette, color=palette.accent)
        self._blank = plot_icon(PlotIcon.CHECK, palette, color="#00000000")
        self.entries: list[_Entry] = []

    def show_entries(self, entries: list[_Entry]) -> None:
        self.beginResetModel()
        self.entries = entries
        self.endResetModel()

    def rowCount(self, parent: _Index | None = None) -> int:
        return len(self.entries)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        entry = self.entries[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return entry.text
        if role == Qt.ItemDataRole.ToolTipRole:
            return plain_text(entry.text)
        if role == Qt.ItemDataRole.DecorationRole:
            return self._tick if self._layout.is_plotted(entry.series) else self._blank
        return None

    def refresh(self) -> None:
        if self.entries:
            self.dataChanged.emit(self.index(0), self.index(len(self.entries) - 1))


class AddSignalPopup(QFrame):
    """Type to search, Enter or click to add (again to remove), Esc to close.

    ``toggled`` carries the series that was chosen.
    """

    toggled = Signal(object)  # PlotSeriesId

    def __init__(
        self,
        layout: PlotLayout,
        palette: Palette,
        *,
        first: SceneKey | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._layout = layout
        self._store, self._scene = layout.store, first
        self._all = _entries(layout.store, first)
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search: qpos knee, reward … or compute: = norm(qvel)")
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._filter)
        self.search.installEventFilter(self)
        self.view = QListView()
        self.view.setUniformItemSizes(True)
        self.view.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.view.setIconSize(QSize(METRICS.icon, METRICS.icon))
        self.view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._model = _Entries(layout, palette, self)
        self.view.setModel(self._model)
        self.view.clicked.connect(self._toggle)
        self.note = QLabel()
        self.note.setWordWrap(True)
        self.note.setTextFormat(Qt.TextFormat.PlainText)
        self.note.setStyleSheet(f"color: {palette.muted}; padding: 2px 4px;")
        box = QVBoxLayout(self)
        box.setContentsMargins(8, 8, 8, 8)
        box.setSpacing(4)
        for widget in (self.search, self.view, self.note):
            box.addWidget(widget)
        self.setFocusProxy(self.search)
        self.resize(380, 320)
        self._filter("")

    def open_at(self, position: QPoint) -> None:
        """Show at a global position, kept on the screen."""
        screen = self.screen().availableGeometry()
        x = min(max(position.x(), screen.left()), screen.right() - self.width())
        y = min(max(position.y(), screen.top()), screen.bottom() - self.height())
        self.move(x, y)
        self.show()
        self.search.setFocus()

    def texts(self) -> list[str]:
        """Return the entries that are listed."""
        return [entry.text for entry in self._model.entries]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Move in the list and choose while the search field keeps the focus."""
        is_press = event.type() == QEvent.Type.KeyPress and watched is self.search
        if is_press and isinstance(event, QKeyEvent):
            return self._on_key(event.key())
        return super().eventFilter(watched, event)

    def _on_key(self, key: int) -> bool:
        row = self.view.currentIndex().row()
        moves = {
            Qt.Key.Key_Down: 1,
            Qt.Key.Key_Up: -1,
            Qt.Key.Key_PageDown: 10,
            Qt.Key.Key_PageUp: -10,
        }
        if key in moves:
            count = self._model.rowCount()
            row = min(max(row + moves[Qt.Key(key)], 0), count - 1)
            self.view.setCurrentIndex(self._model.index(row))
            return True
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._toggle(self.view.currentIndex())
            return True
        return False

    def _toggle(self, index: QModelIndex) -> None:
        if index.isValid():
            self.toggled.emit(self._model.entries[index.row()].series)
            self._model.refresh()

    def _filter(self, text: str) -> None:
        if is_expression(text.strip()):
            self._offer_expression(expression_text(text.strip()))
            return
        self.note.setFont(self.font())
        words = text.lower().split()
        matches = [e for e in self._all if all(word in e.search for word in words)]
        self._model.show_entries(matches[:_LIMIT])
        if matches:
            self.view.setCurrentIndex(self._model.index(0))
        if not self._all:
            self.note.setText("No scene has announced a signal yet. Attach to a running script.")
        elif not matches:
            self.note.setText(
                f"Nothing matches “{text}”. What a script logs is found once it has logged it."
            )
        elif len(matches) > _LIMIT:
            self.note.setText(f"+{len(matches) - _LIMIT} more: type to narrow the search.")
        else:
            self.note.setText(
                "Enter or click adds a signal, once more removes it. Begin with = to compute one."
            )

    def _offer_expression(self, text: str) -> None:
        """List the expression's values, or say what is wrong with it."""
        scene = self._store.scenes.get(self._scene) if self._scene is not None else None
        channel = expression_channel(text)
        info = self._store.info(scene.key, channel) if scene is not None else None
        entries = []
        if scene is not None and info is not None:
            for component in range(info.width):
                unit = component_unit(info, component)
                label = component_label(info, component)
                series = PlotSeriesId(scene.key, channel, component)
                entries.append(_Entry(series, f"{label}   [{unit}]" if unit else label, ""))
        self._model.show_entries(entries)
        if entries:
            self.view.setCurrentIndex(self._model.index(0))
            self.note.setFont(self.font())
            self.note.setText("Enter or click plots it: computed at every physics step.")
        else:
            # The carets stand under their place only where all letters are as wide.
            self.note.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
            table = scene.table if scene is not None else None
            problem = expression_problem(text, table) if text else "= and an expression."
            letter = self.note.fontMetrics().horizontalAdvance("0")
            self.note.setText(fit_problem(problem, self.note.width() // max(letter, 1) - 2))


def _entries(store: PlotStore, first: SceneKey | None) -> list[_Entry]:
    """Return every signal of every live scene, those of the shown scene first.

    In each scene what the script logs itself comes before what the engine knows.
    """
    scenes = [scene for scene in store.scenes.values() if not scene.stale]
    scenes.sort(key=lambda scene: scene.key != first)
    entries = []
    for scene in scenes:
        channels = sorted(
            scene.channels.values(), key=lambda channel: channel.kind is ChannelKind.ENGINE
        )
        for channel in channels:
            for component in range(channel.width):
                label = component_label(channel, component)
                unit = component_unit(channel, component)
                text = f"{label}   [{unit}]" if unit else label
                if len(scenes) > 1:
                    text = f"{scene.name} › {text}"
                series = PlotSeriesId(scene.key, channel.name, component)
                entries.append(_Entry(series, text, f"{scene.name} {text}".lower()))
    return entries
