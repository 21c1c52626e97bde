"""The profiler: where the time of a step goes, how long steps take, and what looking costs."""

from collections.abc import Callable

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.numbers import count_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.shown_state import rate_text
from stroboscope.app.models.tables.profile import (
    PublishingCost,
    StageTable,
    duration_text,
    step_times,
)
from stroboscope.app.models.tables.recent_signals import RecentSignals
from stroboscope.app.models.tables.state import TableSource
from stroboscope.app.models.tables.table import Table
from stroboscope.app.models.view_state import ViewState
from stroboscope.app.panels.labels import ElidedLabel, rule, vertical_rule
from stroboscope.app.panels.style import METRICS, number_font
from stroboscope.app.panels.tables.profile_charts import CountHistory, StackedBar, StepHistogram
from stroboscope.app.panels.tables.table_panel import TablePanel
from stroboscope.debugger_protocol.messages import Frame
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.resources.themes import Palette

__all__ = ["ProfilerPanel"]

_STEP, _ITERATIONS, _CONSTRAINTS, _CONTACTS = (
    "timing.step",
    "solver.iterations",
    "constraint.count",
    "contact.count",
)
_CHANNELS = frozenset((_STEP, _ITERATIONS, _CONSTRAINTS, _CONTACTS))
# So many newest physics steps are looked at.
_STEPS = 5000
_HINT = (
    "Publishing is what this window costs the script: the mean over all steps since this panel\n"
    "was opened, and how large it is beside the time that the engine takes for a step.\n"
    "Single steps cost most, because each of them is shown."
)


class ProfilerPanel(TablePanel):
    """Stages as a stacked bar and a tree; distribution of steps and counts over time.

    ``want_channels(scene, names)`` subscribes to exactly these signals.
    """

    who = "profiler"

    def __init__(
        self,
        sessions: SessionsModel,
        view: ViewState,
        palette: Palette,
        *,
        want_channels: Callable[[SceneModel, frozenset[str]], None],
    ) -> None:
        self._signals = RecentSignals(_CHANNELS, limit=_STEPS)
        self._want_channels = want_channels
        self._wanted_of: SceneModel | None = None
        self._publishing = PublishingCost()
        super().__init__(sessions, view, palette)
        self.table.filter.hide()
        sessions.signals_arrived.connect(self._on_signals)

    def close_panel(self) -> None:
        """Stop listening."""
        self._want_signals(None)
        self.sessions.signals_arrived.disconnect(self._on_signals)
        super().close_panel()

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        super().set_theme(palette)
        for chart in self._charts:
            chart.set_theme(palette)

    # --- building

    def add_to_bar(self, bar: QHBoxLayout) -> None:
        """Add the line that says it all."""
        self.summary = ElidedLabel()
        self.summary.setFont(number_font())
        self.summary.set_hint(_HINT)
        bar.addWidget(self.summary, 6)

    def add_rows(self, layout: QVBoxLayout) -> None:
        """Place the stages on the left, the drawings on the right."""
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addLayout(self._stages(), 1)
        row.addWidget(vertical_rule())
        row.addLayout(self._drawings(), 1)
        layout.addLayout(row, 1)

    def _stages(self) -> QVBoxLayout:
        self.bar_chart = StackedBar(self._palette)
        self.bar_chart.setContentsMargins(METRICS.padding, 0, METRICS.padding, 0)
        column = QVBoxLayout()
        column.setContentsMargins(0, METRICS.gap, 0, 0)
        column.setSpacing(METRICS.grid)
        column.addWidget(self.bar_chart)
        column.addWidget(rule())
        column.addWidget(self.table, 1)
        return column

    def _drawings(self) -> QGridLayout:
        self.histogram = StepHistogram(self._palette)
        self.iterations = CountHistory(self._palette, "iterations", 0)
        self.constraints = CountHistory(self._palette, "constraints", 1)
        self.contacts = CountHistory(self._palette, "contacts", 2)
        self._charts = (
            self.bar_chart,
            self.histogram,
            self.iterations,
            self.constraints,
            self.contacts,
        )
        grid = QGridLayout()
        grid.setContentsMargins(METRICS.padding, METRICS.gap, METRICS.padding, METRICS.gap)
        grid.setHorizontalSpacing(METRICS.padding)
        grid.setVerticalSpacing(METRICS.gap)
        grid.addWidget(self.histogram, 0, 0, 1, 3)
        for place, chart in enumerate((self.iterations, self.constraints, self.contacts)):
            grid.addWidget(chart, 1, place)
            grid.setColumnStretch(place, 1)
        grid.setRowStretch(0, 3)
        grid.setRowStretch(1, 2)
        return grid

    def make_source(self, description: SceneDescription) -> TableSource:
        """Return the stages of the engine."""
        return StageTable(description)

    def empty_text(self) -> str:
        """Say that there is nothing to time."""
        return "This engine does not time its stages."

    # --- showing

    def event(self, event: QEvent) -> bool:
        """Steps are timed only while somebody looks."""
        if event.type() == QEvent.Type.Hide:
            self._want_signals(None)
        return super().event(event)

    def _want_signals(self, scene: SceneModel | None) -> None:
        before, self._wanted_of = self._wanted_of, scene
        if before is scene:
            return
        self._signals.clear()
        self._publishing = PublishingCost()
        if before is not None:
            self._want_channels(before, frozenset())
        if scene is not None:
            self._want_channels(scene, _CHANNELS)

    def after_refresh(self, table: Table, frames: FrameSet | None) -> None:
        """Show everything beside the stages."""
        scene = self.follower.scene
        source = self.source
        if scene is None or not isinstance(source, StageTable):
            return
        if self.isVisible():
            self._want_signals(scene)
            if frames is not None:
                self._publishing.take(frames.axis, publish=source.publish, step=source.step)
        self.bar_chart.show_parts(source.parts)
        self.histogram.show_times(step_times(self._signals.values(_STEP)))
        self.iterations.show_values(self._signals.values(_ITERATIONS))
        self.constraints.show_values(self._signals.values(_CONSTRAINTS))
        self.contacts.show_values(self._signals.values(_CONTACTS))
        self.summary.set_full_text(*self._summary(scene, source))
        if frames is not None:
            # Times are of no instant.
            self.instant.set_full_text("means per physics step")

    def _on_signals(self, scene: SceneModel, frame: Frame) -> None:
        if scene is self._wanted_of:
            self._signals.take(frame)

    def _summary(self, scene: SceneModel, source: StageTable) -> tuple[str, ...]:
        """Return the line that says it all, then shorter ones without what matters least."""
        step = f"step {duration_text(source.step)}" if source.step is not None else ""
        rate, cost, sessions = rate_text(scene), self._publishing.text, self.sessions
        skipped = f"{count_text(sessions.replaced_frames)} frames skipped"
        lost = f"{count_text(sessions.lost_rows)} signal rows lost"
        lines: list[tuple[str, ...]] = [(rate, step, cost, skipped, lost)]
        if cost:
            kept = lost if sessions.lost_rows else ""
            lines += [(rate, step, cost, kept), (step, cost, kept)]
        return tuple(" · ".join(part for part in line if part) for line in lines)
