"""The plot panel: plots one below the other over one time axis."""

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint, QPointF, Qt, QTimer, Signal
from PySide6.QtGui import (
    QCloseEvent,
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QHideEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QMenu, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from stroboscope.app.models.conditions import threshold_expression
from stroboscope.app.models.expressions import expression_problem
from stroboscope.app.models.marks import Mark
from stroboscope.app.models.plot_layout import Plot, PlotLayout
from stroboscope.app.models.plot_store import (
    SIGNAL_MIME_TYPE,
    PlotSeriesId,
    PlotStore,
    SceneKey,
    decode_signals,
)
from stroboscope.app.models.refreshes import MOST_RATE, Refreshes
from stroboscope.app.models.rollout_curves import RolloutCurves
from stroboscope.app.models.session_time import Moment
from stroboscope.app.models.signal_names import signal_reference
from stroboscope.app.models.time_view import TimeView
from stroboscope.app.plots.add_signal_popup import AddSignalPopup
from stroboscope.app.plots.csv_saver import CsvSaver
from stroboscope.app.plots.empty_plots import EmptyPlots
from stroboscope.app.plots.layout_menu import LayoutMenu
from stroboscope.app.plots.plot_cell import PlotCell
from stroboscope.app.plots.plot_contents import PlotContents
from stroboscope.app.plots.plot_exports import ExportKind, PlotExports
from stroboscope.app.plots.plot_menu import MenuActions, StopWhen, fill_plot_menu
from stroboscope.app.plots.plot_toolbar import PlotToolbar
from stroboscope.app.plots.time_strip import TimeStrip
from stroboscope.debugger_protocol.expressions import expression_channel
from stroboscope.resources.themes import Palette

__all__ = ["PlotPanel"]

# What people change shows so soon: several changes at once are drawn once [ms].
_REFRESH_MS = 10
_MARKS = 2000  # restores looked at per picture; they are thinned to one per few pixels anyway


class PlotPanel(QWidget):
    """Shows what the layout says from what the store holds; GUI thread only.

    Draws only while visible and only after something has changed, at the pace of ``refreshes``.
    ``subscriptions_changed`` (SceneKey, tuple of channel names) tells which channels of a scene
    are plotted now. ``instant_chosen`` (SceneKey, physics step, time [s]): somebody clicked a plot
    and wants to go there; ``instant_left``: once more there, it is over. ``condition_wanted``
    (SceneKey, expression): that scene is to stop when it becomes true. ``message`` carries
    sentences for the log or the status bar.
    """

    subscriptions_changed = Signal(object, tuple)
    layout_changed = Signal()
    message = Signal(str)
    instant_chosen = Signal(object, int, float)
    condition_wanted = Signal(object, str)
    instant_left = Signal()

    def __init__(
        self,
        store: PlotStore,
        palette: Palette,
        *,
        layout: PlotLayout | None = None,
        named_layouts: dict[str, dict[str, Any]] | None = None,
        refreshes: Refreshes | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.store = store
        # Shared with the other panels, where there are any.
        self._turn = (refreshes or Refreshes()).join(rate=MOST_RATE, favoured=self.underMouse)
        self.plots = layout if layout is not None else PlotLayout(store)
        self.time_view = TimeView()
        self._contents = PlotContents(store, self.plots)
        self._palette = palette
        self._cells: dict[int, PlotCell] = {}
        self._cursor: float | None = None
        self._shown_scene: SceneKey | None = None
        self._chosen: float | None = None
        self._view_at: float | None = None
        self._before_click: float | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._go_on)
        self.setAcceptDrops(True)
        self._build(palette)
        self.exports = PlotExports(
            self.plots,
            self.toolbar,
            get_range=lambda: self.time_view.range,
            get_picture=lambda: self._picture,
            parent=self,
        )
        self.exports.ended.connect(self._tell)
        self.layouts = LayoutMenu(
            named_layouts if named_layouts is not None else {},
            get=self.state,
            load=self.load_layout,
            changed=self.layout_changed.emit,
            parent=self,
        )
        store.changed.connect(self._schedule)
        self.rollouts.changed.connect(self._schedule)
        store.scenes_changed.connect(self._on_scenes_changed)
        self.plots.changed.connect(self._on_layout_changed)
        self.plots.subscriptions_changed.connect(self._on_subscriptions_changed)
        self.time_view.changed.connect(self._on_time_view_changed)
        self._closed = False
        self._on_layout_changed()
        self._on_time_view_changed()

    # --- what others call

    @property
    def cells(self) -> tuple[PlotCell, ...]:
        """The plots from top to bottom."""
        return tuple(self._cells.values())

    def add_signals(self, *series: PlotSeriesId, plot_id: int | None = None) -> None:
        """Plot signals; what does not fit a plot gets another, and the toolbar says why."""
        problem = self.plots.add_all(series, plot_id=plot_id)
        if problem:
            self.toolbar.show_progress(problem)
            self.message.emit(problem)

    def set_shown_scene(self, key: SceneKey | None) -> None:
        """List this scene's signals first when a signal is added; name the others in legends."""
        self._shown_scene = key
        self._schedule()

    def set_theme(self, palette: Palette) -> None:
        """Take the colours of a palette."""
        self._palette = palette
        self.toolbar.set_theme(palette)
        self._empty.set_theme(palette)
        self._strip.set_theme(palette)
        self._dress(palette)
        for cell in self._cells.values():
            cell.set_theme(palette)
        self.refresh()

    def state(self) -> dict[str, Any]:
        """Return layout and view as plain data for the settings."""
        return {
            **self.plots.to_dict(),
            "span": self.time_view.span,
            "follow": self.time_view.follows,
        }

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """Take a layout remembered by :meth:`state`; nonsense in it is left out."""
        self._take_span(state)
        self.plots.restore(state)

    def _take_span(self, state: Mapping[str, Any]) -> None:
        span = state.get("span")
        if isinstance(span, int | float) and math.isfinite(span) and span > 0.0:
            self.time_view.choose_span(float(span))

    def export_csv(self, path: Path) -> CsvSaver | None:
        """Start to save everything plotted to ``path``; None when nothing is plotted."""
        return self.exports.save(ExportKind.CSV, path)

    def load_layout(self, state: Mapping[str, Any]) -> None:
        """Take a named layout; what belonged to a scene that is not there, the shown one gets."""
        self._take_span(state)
        self.plots.restore(state, otherwise=self._shown_scene)

    def plot_expression(self, key: SceneKey, text: str) -> str:
        """Plot an expression about a scene; return what is wrong with it, "" when nothing is."""
        channel = expression_channel(text)
        info = self.store.info(key, channel)
        if info is None:
            scene = self.store.scenes.get(key)
            return expression_problem(text, scene.table if scene is not None else None)
        self.add_signals(*(PlotSeriesId(key, channel, n) for n in range(min(info.width, 8))))
        return ""

    def refresh(self) -> None:
        """Draw everything as it is now."""
        self._run(paint=False)

    def _run(self, *, paint: bool) -> None:
        self._timer.stop()
        if self.isVisible():
            self._turn.run(self._refresh, paint=paint)

    def _refresh(self) -> None:
        first, now = self._contents.extent()
        self.time_view.track(first, now)
        start, end = self.time_view.range
        self._contents.prefer_scene_names(self._shown_scene)
        for plot in self.plots.plots:
            cell = self._cells[plot.plot_id]
            cell.set_wide_legend(self._contents.names_owners or self.rollouts.any_of(plot.series))
            self._draw(plot, cell, start, end)
        self._show_time_labels()
        self._show_values()
        for cell in self._cells.values():
            cell.view.settle()
        text, tooltip = self._contents.missing_note()
        self.toolbar.show_note(text, tooltip)

    # --- building

    def _build(self, palette: Palette) -> None:
        self.toolbar = PlotToolbar(palette)
        self.toolbar.add.clicked.connect(lambda: self.open_add_popup())
        self.toolbar.follow.toggled.connect(self.time_view.set_follow)
        self.toolbar.fit.clicked.connect(self.fit)
        self.toolbar.layouts.clicked.connect(
            lambda: self.layouts.open_at(_below(self.toolbar.layouts))
        )
        self.toolbar.export.clicked.connect(
            lambda: self.exports.open_menu(_below(self.toolbar.export))
        )
        self.toolbar.clear.clicked.connect(self.store.clear)
        self.toolbar.cancel_export.connect(lambda: self.exports.cancel())
        self._empty = EmptyPlots(palette)
        self._empty.add_requested.connect(lambda: self.open_add_popup())
        self._stack_of_plots = QWidget()
        self._column = QVBoxLayout(self._stack_of_plots)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(1)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QScrollArea.Shape.NoFrame)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(self._stack_of_plots)
        self._scroll.setAcceptDrops(False)
        self._pages = QStackedWidget()
        self._pages.addWidget(self._empty)
        self._strip = TimeStrip(palette)
        page = QWidget()
        rows = QVBoxLayout(page)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(0)
        rows.addWidget(self._scroll, 1)
        rows.addWidget(self._strip)
        self._picture = page
        self._pages.addWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.toolbar)
        column.addWidget(self._pages, 1)
        self._dress(palette)

    def _dress(self, palette: Palette) -> None:
        # The spacing between plots shows through as a line.
        self._stack_of_plots.setStyleSheet(f"background: {palette.line};")

    def _make_cell(self, plot_id: int) -> PlotCell:
        cell = PlotCell(plot_id, self._palette)
        view = cell.view
        view.time_panned.connect(self.time_view.pan)
        view.time_zoomed.connect(self.time_view.zoom)
        view.fit_requested.connect(self._on_double_click)
        view.cursor_moved.connect(self._on_cursor_moved)
        view.time_clicked.connect(self.choose_instant)
        view.automatic_values_changed.connect(lambda _: self._schedule())
        cell.legend.removed.connect(self._on_removed)
        cell.menu_requested.connect(self._open_menu)
        return cell

    # --- reactions

    @property
    def rollouts(self) -> RolloutCurves:
        """Curves of rollouts beside those of the scenes."""
        return self._contents.rollouts

    def _on_removed(self, series: PlotSeriesId) -> None:
        if not self.rollouts.remove(series):
            self.plots.remove(series)

    def _schedule(self) -> None:
        if not self._timer.isActive() and self.isVisible() and not self._closed:
            self._timer.start(max(_REFRESH_MS, math.ceil(1000.0 * self._turn.wait())))

    def _go_on(self) -> None:
        """Draw now, or when the other panels leave time for it."""
        wait = self._turn.wait()
        if wait > 0.0:
            self._timer.start(math.ceil(1000.0 * wait))
        else:
            self._run(paint=True)

    def _on_scenes_changed(self) -> None:
        self.plots.resolve()
        self._schedule()

    def _on_layout_changed(self) -> None:
        wanted = [plot.plot_id for plot in self.plots.plots]
        for gone in [plot_id for plot_id in self._cells if plot_id not in wanted]:
            cell = self._cells.pop(gone)
            self._column.removeWidget(cell)
            cell.hide()
            cell.deleteLater()
        for plot_id in wanted:
            if plot_id not in self._cells:
                self._cells[plot_id] = self._make_cell(plot_id)
                self._column.addWidget(self._cells[plot_id], 1)
        self._pages.setCurrentIndex(1 if self._cells else 0)
        self.toolbar.set_any_plotted(bool(self.plots.all_series()))
        self._schedule()
        self.layout_changed.emit()

    def _on_subscriptions_changed(self, key: SceneKey, channels: tuple[str, ...]) -> None:
        self.subscriptions_changed.emit(key, channels)

    def _on_time_view_changed(self) -> None:
        self.toolbar.follow.setChecked(self.time_view.follows)
        self._schedule()

    def choose_instant(self, session_time: float) -> None:
        """Mark an instant and tell where it is; choosing the same one again takes the mark away."""
        self._before_click = self._view_at
        again = self._chosen is not None and abs(session_time - self._chosen) < 4 * self._pixel()
        found = None if again else self._contents.moment_of(session_time)
        self._chosen = None if found is None else found[1].session_time
        self._show_values()
        if found is not None:
            key, moment = found
            self.instant_chosen.emit(key, moment.axis, moment.episode_time)
        elif again:
            self.instant_left.emit()

    def show_events(self, key: SceneKey | None, find: Callable[[], Sequence[Mark]]) -> None:
        """Mark what happened in one of the scenes, which ``find`` is asked for; in no other."""
        self._contents.set_events(key, find)
        self.redraw()

    def redraw(self) -> None:
        """Draw what is there by now, soon."""
        self._schedule()

    def show_view(self, session_time: float | None) -> None:
        """Mark where the past is looked at [s], in place of a chosen instant; None: live."""
        if session_time == self._view_at:
            return
        self._view_at = self._chosen = session_time
        if self.isVisible():
            self._show_values()

    def track(self) -> None:
        """Move along with now, also while nobody sees the plots."""
        self.time_view.track(*self._contents.extent())

    @property
    def chosen_instant(self) -> float | None:
        """Session time [s] of the marked instant."""
        return self._chosen

    def _on_cursor_moved(self, session_time: float | None) -> None:
        if session_time != self._cursor:
            self._cursor = session_time
            self._show_values()

    # --- drawing

    def _draw(self, plot: Plot, cell: PlotCell, start: float, end: float) -> None:
        cell.view.set_time_range(start, end)
        lines = self._contents.lines(plot, start=start, end=end, pixels=cell.view.columns)
        colours = {each: self._colour(each) for each in plot.series}
        cell.view.value_axis.set_unit(self.plots.unit(plot))
        dashed = self._contents.dashed(plot, start=start, end=end, pixels=cell.view.columns)
        colours |= self._contents.dashed_colours(plot, self._palette)
        cell.view.set_lines(lines, colours, dashed=dashed)
        restores, now = self._contents.marks(plot, start=start, end=end, limit=_MARKS)
        cell.view.restores.set_times(restores)
        stops, events = self._contents.events(plot, start=start, end=end)
        cell.view.stops.set_times(sorted(stops))
        cell.view.events.set_times(sorted(events))
        cell.view.now_line.set_times(now)

    def _show_time_labels(self) -> None:
        if self._cells:
            view = self.cells[0].view
            offset = view.mapTo(self, QPoint(0, 0)).x() - self._strip.mapTo(self, QPoint(0, 0)).x()
            self._strip.set_labels([(offset + x, text) for x, text in view.time_labels()])

    def _colour(self, series: PlotSeriesId) -> str:
        return self._palette.plot[self.plots.colours.assign(series)]

    def _show_values(self) -> None:
        """Legends and readout: the values at the cursor, else the newest ones."""
        cursor = self._cursor if self._cursor is not None else self._chosen
        moment = self._contents.moment(cursor)
        snapped = moment.session_time if moment is not None and cursor is not None else None
        for plot in self.plots.plots:
            cell = self._cells[plot.plot_id]
            chosen = self._chosen if self._chosen != self._view_at else None
            at_view = snapped is not None and self._cursor is None and self._view_at is not None
            lines = {each for each in (None if at_view else snapped, chosen) if each is not None}
            cell.view.cursor_line.set_times(sorted(lines))
            cell.view.view_line.set_times([] if self._view_at is None else [self._view_at])
            low, high = cell.view.value_range
            rows = self._contents.legend(plot, snapped, span=high - low, palette=self._palette)
            cell.legend.set_rows(rows)
        self._show_moment(moment)

    def _show_moment(self, moment: Moment | None) -> None:
        prefix = "cursor: " if self._cursor is not None else "EXECUTED: "
        if self._cursor is None and self._chosen is not None:
            prefix = "chosen: " if self._view_at is None else "PAST: "
        elif self._cursor is None and (restored := self._contents.restored()) is not None:
            prefix, moment = "NOW, no step since: ", restored
        if self._cursor is not None:
            reason = self._contents.told_near(self._cursor, self._pixel())
            prefix = f"{reason} · " if reason else prefix
        self.toolbar.show_moment(moment, prefix=prefix)

    def _pixel(self) -> float:
        start, end = self.time_view.range
        columns = self.cells[0].view.columns if self._cells else 1
        return (end - start) / columns

    # --- actions

    def fit(self) -> None:
        """Show everything there is, values too."""
        self._chosen = self._view_at
        for cell in self._cells.values():
            cell.view.show_all_values()
        self.time_view.fit(*self._contents.extent())

    def _on_double_click(self) -> None:
        """Show everything; the first of the two clicks was not meant to go anywhere."""
        before = self._before_click
        self._chosen = None
        if before is None:
            self.instant_left.emit()
        elif (found := self._contents.moment_of(before)) is not None:
            key, moment = found
            self.instant_chosen.emit(key, moment.axis, moment.episode_time)
        self.fit()

    def open_add_popup(self, text: str = "") -> AddSignalPopup:
        """Open the searchable list of signals below the toolbar; "= …" is an expression."""
        popup = AddSignalPopup(self.plots, self._palette, first=self._shown_scene, parent=self)
        popup.toggled.connect(self._toggle)
        popup.open_at(_below(self.toolbar.add))
        if text:
            popup.search.setText(text)
        return popup

    def _toggle(self, series: PlotSeriesId) -> None:
        if self.plots.is_plotted(series):
            self.plots.remove(series)
        else:
            self.add_signals(series)

    def _open_menu(self, plot_id: int, position: QPoint) -> None:
        cell, plot = self._cells[plot_id], self.plots.plot(plot_id)
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fill_plot_menu(
            menu,
            plot,
            self.plots,
            MenuActions(
                self.open_add_popup,
                self.open_add_popup,
                self.add_signals,
                self._stop_when(cell.view.value_at(QPointF(cell.view.mapFromGlobal(position)))),
            ),
        )
        automatic = menu.addAction("Automatic value range")
        automatic.setCheckable(True)
        automatic.setChecked(cell.view.automatic_values)
        automatic.toggled.connect(cell.view.set_automatic_values)
        menu.addAction("Show everything").triggered.connect(self.fit)
        menu.addSeparator()
        menu.addAction("Remove this plot").triggered.connect(
            lambda: self.plots.remove_plot(plot_id)
        )
        menu.popup(position)

    def _stop_when(self, value: float) -> StopWhen:
        """Return what makes a condition of a signal and the height that was clicked."""

        def expression(series: PlotSeriesId, above: bool) -> str:
            info = self.store.info(series.scene, series.channel)
            reference = signal_reference(series.channel, info, series.component)
            return threshold_expression(reference, value, above=above) if reference else ""

        return StopWhen(
            expression, lambda series, text: self.condition_wanted.emit(series.scene, text)
        )

    def _tell(self, text: str) -> None:
        self.toolbar.show_progress(text)
        self.message.emit(text)

    # --- drag and drop

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """Take signals."""
        if event.mimeData().hasFormat(SIGNAL_MIME_TYPE):
            event.acceptProposedAction()

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        """Mark where the signal would go."""
        target = self._cell_at(event.position().toPoint())
        for cell in self._cells.values():
            cell.set_drop_target(cell is target)
        event.acceptProposedAction()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        """The drag went elsewhere."""
        self._unmark()
        super().dragLeaveEvent(event)

    def dropEvent(self, event: QDropEvent) -> None:
        """Plot what was dropped, in the plot under the pointer."""
        self._unmark()
        try:
            series = decode_signals(bytes(event.mimeData().data(SIGNAL_MIME_TYPE).data()))
        except ValueError as error:
            self.message.emit(f"What was dropped is {error}.")
            return
        known = [each for each in series if each.scene in self.store.scenes]
        cell = self._cell_at(event.position().toPoint())
        self.add_signals(*known, plot_id=cell.plot_id if cell is not None else None)
        event.acceptProposedAction()

    def _unmark(self) -> None:
        for cell in self._cells.values():
            cell.set_drop_target(False)

    def _cell_at(self, position: QPoint) -> PlotCell | None:
        for cell in self._cells.values():
            if cell.isVisible() and cell.rect().contains(cell.mapFrom(self, position)):
                return cell
        return None

    # --- life

    def showEvent(self, event: QShowEvent) -> None:
        """Draw what came while the panel was hidden."""
        super().showEvent(event)
        self._schedule()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Draw for the new number of pixels."""
        super().resizeEvent(event)
        self._schedule()

    def hideEvent(self, event: QHideEvent) -> None:
        """Draw nothing while hidden."""
        super().hideEvent(event)
        self._timer.stop()
        self._turn.forget()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Let go of the models."""
        if not self._closed:
            self._closed = True
            self._timer.stop()
            self._turn.leave()
            self.exports.cancel()
            self.store.changed.disconnect(self._schedule)
            self.rollouts.changed.disconnect(self._schedule)
            self.store.scenes_changed.disconnect(self._on_scenes_changed)
            self.plots.changed.disconnect(self._on_layout_changed)
            self.plots.subscriptions_changed.disconnect(self._on_subscriptions_changed)
            self.time_view.changed.disconnect(self._on_time_view_changed)
        super().closeEvent(event)


def _below(button: QWidget) -> QPoint:
    return button.mapToGlobal(QPoint(0, button.height() + 2))
