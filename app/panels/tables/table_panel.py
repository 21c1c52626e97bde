"""What every panel with a table has: a bar, the instant it shows, and rows tied to the scene."""

import time
from collections.abc import Callable

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from stroboscope.app.models.editing import why_not_editable
from stroboscope.app.models.element_values import EditTarget, ValueRow
from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.moment import moment_of
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.selection import Element
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.tables.state import TableSource
from stroboscope.app.models.tables.table import Table
from stroboscope.app.models.view_state import ViewState
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.labels import ElidedLabel, icon_button, rule
from stroboscope.app.panels.style import METRICS, number_font, set_property
from stroboscope.app.panels.tables.follower import FrameFollower, Topics
from stroboscope.app.panels.tables.value_table import ValueTable
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.resources.themes import Palette

__all__ = ["MakeMime", "Plot", "TablePanel"]

Plot = Callable[[SceneModel, ValueRow], None]
MakeMime = Callable[[SceneModel, ValueRow], QMimeData | None]

# While a scene runs, rows sorted by a value change places this often [s].
_REORDER_S = 1.0


class TablePanel(QWidget):
    """A table of the shown scene, at one stated instant. ``plot`` and ``make_mime``: the plots'.

    Subclasses make the source of rows for a description, and may add to the bar and after a
    refresh.
    """

    who = "table"
    total_share = 5
    """Of the bar, for the line about all rows; the instant has three parts."""

    def __init__(
        self,
        sessions: SessionsModel,
        view: ViewState,
        palette: Palette,
        *,
        plot: Plot | None = None,
        make_mime: MakeMime | None = None,
    ) -> None:
        super().__init__()
        self.setObjectName("panel")
        self.sessions = sessions
        self._palette = palette
        self._plot = plot
        self._make_mime = make_mime
        self._described: SceneDescription | None = None
        self._reordered = 0.0
        self.source: TableSource | None = None
        self.table = ValueTable(
            palette, select=self._select, plot=self._on_plot, make_mime=self._mime
        )
        self.table.view.on_edit = self._commit
        self._build()
        self.follower = FrameFollower(
            self, sessions, view, who=self.who, topics=self._topics, refresh=self.refresh
        )
        sessions.selection.changed.connect(self._on_selection)

    def close_panel(self) -> None:
        """Stop listening."""
        self.sessions.selection.changed.disconnect(self._on_selection)
        self.follower.close()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self.copy_button.setIcon(icon(Icon.COPY, palette))
        self.columns_button.setIcon(icon(Icon.COLUMNS, palette))
        self.table.set_theme(palette)

    # --- what subclasses say

    def make_source(self, description: SceneDescription) -> TableSource:
        """Return what fills the rows of a description."""
        raise NotImplementedError

    def add_to_bar(self, bar: QHBoxLayout) -> None:
        """Add what stands before the filter."""

    def empty_text(self) -> str:
        """Return what to say when there are no rows."""
        return "Nothing here."

    def after_refresh(self, table: Table, frames: FrameSet | None) -> None:
        """Show what is not in the rows."""

    # --- building

    def _build(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        self.bar = QHBoxLayout()
        self.bar.setContentsMargins(METRICS.gap, 3, METRICS.gap, 3)
        self.bar.setSpacing(METRICS.gap)
        self.add_to_bar(self.bar)
        self.table.filter.setMaximumWidth(180)
        self.table.filter.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.bar.addWidget(self.table.filter, 2)
        self.bar.addWidget(self.table.total, self.total_share)
        self.instant = ElidedLabel()
        self.instant.setProperty("role", "small")
        self.instant.setFont(number_font())
        self.instant.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.bar.addWidget(self.instant, 3)
        self.columns_button = icon_button(Icon.COLUMNS, self._palette, "Choose columns")
        self.columns_button.clicked.connect(
            lambda _=False: self.table.view.choose_columns(
                self.columns_button.mapToGlobal(self.columns_button.rect().bottomLeft())
            )
        )
        self.copy_button = icon_button(
            Icon.COPY, self._palette, "Copy all rows, to paste into a spreadsheet"
        )
        for button in (self.columns_button, self.copy_button):
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            button.setFixedSize(METRICS.compact_height, METRICS.compact_height)
            button.setProperty("compact", True)
            self.bar.addWidget(button)
        self.copy_button.clicked.connect(lambda _=False: self.table.view.on_copy(True))
        layout.addLayout(self.bar)
        self.add_above(layout)
        layout.addWidget(rule())
        self.add_rows(layout)

    def add_above(self, layout: QVBoxLayout) -> None:
        """Add what stands between the bar and the rows."""

    def add_rows(self, layout: QVBoxLayout) -> None:
        """Add the rows, and what stands beside them."""
        layout.addWidget(self.table, 1)

    # --- showing

    def source_changed(self) -> None:
        """Make the source of rows anew, because something else is to be shown."""
        self._described = None
        self.follower.topics_changed()

    def _source_for(self, scene: SceneModel) -> TableSource | None:
        if scene.description is not self._described:
            self._described = scene.description
            self.source = None
            if scene.description is not None:
                self.source = self.make_source(scene.description)
        return self.source

    def _topics(self, scene: SceneModel) -> Topics:
        source = self._source_for(scene)
        return ((), ()) if source is None else (source.topics, source.optional)

    def refresh(self) -> None:
        """Show the newest instant at which everything in the rows is known."""
        scene = self.follower.scene
        if scene is None:
            has_session = self.sessions.active_session is not None
            self.instant.set_full_text("")
            self.table.say(
                "The application has no scene yet. It appears here when it is created."
                if has_session
                else "Connect to an application to see its scenes."
            )
            return
        source = self._source_for(scene)
        if source is None:
            self.instant.set_full_text("")
            self.table.say("Waiting for the scene's description.")
            return
        frames = self.follower.frames()
        table = source.table(frames)
        still = scene.mode is PlaybackMode.PAUSED or scene.is_stale
        now = time.monotonic()
        reorder = still or now - self._reordered > _REORDER_S
        if reorder:
            self._reordered = now
        self.table.show_table(table, empty=self.empty_text(), reorder=reorder)
        moment = moment_of(scene, frames)
        self.instant.set_full_text(*moment.lines)
        self.instant.set_hint("\n".join(moment.notes))
        set_property(self.instant, "level", moment.level)
        self.after_refresh(table, frames)
        self.table.total.setVisible(bool(self.table.total.full_text))

    # --- selection and plots

    def _select(self, element: Element) -> None:
        self.sessions.selection.select(element)

    def _on_selection(self, element: Element | None) -> None:
        if self.isVisible():
            self.table.mark(element)

    def _on_plot(self, row: ValueRow) -> None:
        if self._plot is not None and self.follower.scene is not None:
            self._plot(self.follower.scene, row)

    def _commit(self, target: EditTarget, value: float) -> str:
        problem = why_not_editable(self.follower.scene)
        if not problem:
            self.sessions.edit(target.field, target.index, (value,))
        return problem

    def _mime(self, row: ValueRow) -> QMimeData | None:
        if self._make_mime is None or self.follower.scene is None:
            return None
        return self._make_mime(self.follower.scene, row)
