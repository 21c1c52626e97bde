"""What checkpoints and rollouts have in common: a bar, a table with ghosts, a comparison beside."""

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QMenu,
    QPushButton,
    QSizePolicy,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from stroboscope.app.models.comparison import ComparisonModel
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.signal import Signal
from stroboscope.app.panels.labels import rule
from stroboscope.app.panels.style import METRICS
from stroboscope.app.panels.tables.value_table import ValueTable
from stroboscope.app.panels.travel.comparison_view import ComparisonView
from stroboscope.app.panels.travel.scene_follower import SceneFollower
from stroboscope.debugger_protocol.time_messages import GhostRef
from stroboscope.resources.themes import Palette

__all__ = ["KeptTable"]


class KeptTable(QWidget):
    """A table whose rows are things that can be ghosts, by :class:`GhostRef`.

    ``tell`` says a sentence in the status bar. GUI thread only.
    """

    TICK = "tick"
    """The column that switches ghosts."""

    def __init__(
        self, sessions: SessionsModel, palette: Palette, *, tell: Callable[[str], None]
    ) -> None:
        super().__init__()
        self.setObjectName("panel")
        self.sessions = sessions
        self.tell = tell
        self.comparison = ComparisonModel()
        self.table = ValueTable(palette)
        self.table.view.on_click = self._on_click
        self.table.view.add_actions = self._fill_menu
        self.table.view.selectionModel().selectionChanged.connect(lambda *_: self.enable())
        self.compared = ComparisonView(self.comparison, palette, again=self._compare_again)
        self._build()
        self.follower = SceneFollower(self, sessions, signals=self.signals, refresh=self.refresh)

    def close_panel(self) -> None:
        """Stop listening."""
        self.follower.close()
        self.compared.close_panel()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self.table.set_theme(palette)
        self.compared.set_theme(palette)

    # --- what subclasses say

    def signals(self, scene: SceneModel) -> Iterable[Signal[[]]]:
        """Return what the rows follow."""
        raise NotImplementedError

    def buttons(self) -> Sequence[QPushButton]:
        """Make the buttons of the bar."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Show what there is."""
        raise NotImplementedError

    def enable(self) -> None:
        """Let those buttons be used that make sense."""
        raise NotImplementedError

    def label_of(self, ref: GhostRef) -> str:
        """Return what a row is called."""
        raise NotImplementedError

    def fill_menu(self, menu: QMenu, ref: GhostRef) -> None:
        """Offer what can be done with a row."""
        raise NotImplementedError

    def delete_chosen(self) -> None:
        """Drop the selected rows."""
        raise NotImplementedError

    # --- building

    def _build(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        bar = QHBoxLayout()
        bar.setContentsMargins(METRICS.gap, 3, METRICS.gap, 3)
        bar.setSpacing(METRICS.grid)
        for button in self.buttons():
            bar.addWidget(button)
        bar.addSpacing(METRICS.grid)
        self.table.filter.setMaximumWidth(180)
        self.table.filter.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        bar.addWidget(self.table.filter, 2)
        bar.addWidget(self.table.total, 3)
        layout.addLayout(bar)
        layout.addWidget(rule())
        self.splitter = QSplitter(Qt.Orientation.Horizontal)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.addWidget(self.table)
        self.splitter.addWidget(self.compared)
        self.splitter.setStretchFactor(0, 1)
        self.splitter.setStretchFactor(1, 1)
        self.splitter.setSizes([4000, 5000])
        layout.addWidget(self.splitter, 1)

    @staticmethod
    def button(text: str, tip: str, act: Callable[[], None]) -> QPushButton:
        """Return a button of the bar."""
        made = QPushButton(text)
        made.setToolTip(tip)
        made.setProperty("ownTip", tip)
        made.setProperty("compact", True)
        made.setFixedHeight(METRICS.compact_height)
        made.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        made.clicked.connect(lambda _=False: act())
        return made

    @staticmethod
    def allow(button: QPushButton, why_not: str) -> None:
        """Let a button be used, or say in its tip why not."""
        button.setEnabled(not why_not)
        button.setToolTip(plain_text(why_not) or str(button.property("ownTip")))

    # --- rows

    @property
    def scene(self) -> SceneModel | None:
        """The scene that is shown."""
        return self.follower.scene

    def chosen(self) -> list[GhostRef]:
        """Return the selected rows from top to bottom."""
        rows = sorted(self.table.view.selectionModel().selectedRows(), key=QModelIndex.row)
        keys = (self.table.model.key_of(index) for index in rows)
        return [key for key in keys if isinstance(key, GhostRef)]

    def choose(self, *refs: GhostRef) -> None:
        """Select rows."""
        view, model = self.table.view, self.table.model
        view.clearSelection()
        for ref in refs:
            row = model.row_of_key(ref)
            if row >= 0:
                flags = view.selectionModel().SelectionFlag
                index = model.index(row, 0)
                view.selectionModel().setCurrentIndex(index, flags.Select | flags.Rows)

    def toggle_ghost(self, ref: GhostRef) -> None:
        """Show a row's ghost, or no more."""
        if self.scene is not None:
            problem = self.scene.ghosts.toggle(ref, self.label_of(ref))
            if problem:
                self.tell(problem)

    def compare(self, first: GhostRef, second: GhostRef) -> None:
        """Compare two rows; the answer appears beside the table."""
        if self.scene is not None:
            a, b = (first, self.label_of(first)), (second, self.label_of(second))
            self.comparison.compare(self.scene, a, b)

    def compare_chosen(self) -> None:
        """Compare the two selected rows; the older one, which stands below, is A."""
        refs = self.chosen()
        if len(refs) == 2:
            self.compare(refs[1], refs[0])

    def _compare_again(self) -> None:
        if self.comparison.pair is not None:
            self.compare(*self.comparison.pair)

    def _on_click(self, index: QModelIndex) -> None:
        model = self.table.model
        key = model.key_of(index)
        if model.source_row(index) < 0:
            model.show_all()
        elif isinstance(key, GhostRef) and model.columns[index.column()].key == self.TICK:
            self.toggle_ghost(key)

    def _fill_menu(self, menu: QMenu, index: QModelIndex) -> None:
        key = self.table.model.key_of(index) if index.isValid() else None
        if not isinstance(key, GhostRef):
            return
        menu.addSeparator()
        scene = self.scene
        shown = scene is not None and scene.ghosts.has(key)
        menu.addAction("Hide the ghost" if shown else "Show as a ghost").triggered.connect(
            lambda _=False: self.toggle_ghost(key)
        )
        self.fill_menu(menu, key)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Take Delete."""
        if event.key() == Qt.Key.Key_Delete and self.chosen():
            self.delete_chosen()
        else:
            super().keyPressEvent(event)
