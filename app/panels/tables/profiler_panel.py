"""The profiler: where the time of a step goes, how long steps take, and what looking costs."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.numbers import count_text, number_text
from stroboscope.app.models.plot_store import PlotStore, SceneKey
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.shown_state import rate_text
from stroboscope.app.models.tables.profile import StageTable, duration_text, step_times
from stroboscope.app.models.tables.state import TableSource
from stroboscope.app.models.tables.table import Table
from stroboscope.app.models.view_state import ViewState
from stroboscope.app.panels.labels import ElidedLabel, label
from stroboscope.app.panels.style import METRICS, number_font
from stroboscope.app.panels.tables.profile_charts import CountHistory, StackedBar, StepHistogram
from stroboscope.app.panels.tables.table_panel import TablePanel
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


class ProfilerPanel(TablePanel):
    """Stages as a stacked bar and a tree; distribution of steps and counts over time.

    ``want_channels(scene, names)`` subscribes to exactly these, ``key_of`` says how the ``store``
    of signals calls a scene.
    """

    who = "profiler"

    def __init__(
        self,
        sessions: SessionsModel,
        view: ViewState,
        palette: Palette,
        *,
        store: PlotStore,
        key_of: Callable[[SceneModel], SceneKey],
        want_channels: Callable[[SceneModel, frozenset[str]], None],
    ) -> None:
        self._store = store
        self._key_of = key_of
        self._want_channels = want_channels
        self._wanted_of: SceneModel | None = None
        super().__init__(sessions, view, palette)
        self.table.filter.hide()

    def close_panel(self) -> None:
        """Stop listening."""
        self._want_signals(None)
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
        bar.addWidget(self.summary, 6)

    def add_above(self, layout: QVBoxLayout) -> None:
        """Add the stacked bar."""
        box = QVBoxLayout()
        box.setContentsMargins(METRICS.padding, 0, METRICS.padding, METRICS.grid)
        self.bar_chart = StackedBar(self._palette)
        box.addWidget(self.bar_chart)
        layout.addLayout(box)

    def add_rows(self, layout: QVBoxLayout) -> None:
        """Place the stages on the left, the drawings on the right."""
        self.histogram = StepHistogram(self._palette)
        self.times = label("", "small")
        self.times.setFont(number_font())
        self.iterations = CountHistory(self._palette, "solver iterations", 0)
        self.constraints = CountHistory(self._palette, "constraints", 1)
        self.contacts = CountHistory(self._palette, "contacts", 2)
        self._charts = (
            self.bar_chart,
            self.histogram,
            self.iterations,
            self.constraints,
            self.contacts,
        )
        side = QWidget()
        side.setObjectName("panel")
        column = QVBoxLayout(side)
        column.setContentsMargins(METRICS.padding, METRICS.gap, METRICS.padding, METRICS.gap)
        column.setSpacing(METRICS.gap)
        column.addWidget(label("Time per physics step", "section"))
        column.addWidget(self.times)
        column.addWidget(self.histogram, 2)
        for chart in (self.iterations, self.constraints, self.contacts):
            column.addWidget(chart, 1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setWidget(side)
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self.table, 1)
        row.addWidget(scroll, 1)
        layout.addLayout(row, 1)

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
        self.bar_chart.show_parts(source.parts)
        times = step_times(self._newest(scene, _STEP))
        self.histogram.show_times(times)
        self.times.setText(times.text if times is not None else "")
        self.iterations.show_values(self._newest(scene, _ITERATIONS))
        self.constraints.show_values(self._newest(scene, _CONSTRAINTS))
        self.contacts.show_values(self._newest(scene, _CONTACTS))
        self.summary.set_full_text(self._summary(scene, source))

    def _newest(self, scene: SceneModel, channel: str) -> NDArray[np.float64]:
        columns = self._store.columns(self._key_of(scene), channel)
        if columns is None or not columns.count:
            return np.empty(0)
        return columns.values(0)[-_STEPS:].copy()

    def _summary(self, scene: SceneModel, source: StageTable) -> str:
        parts = [rate_text(scene)]
        if source.step is not None:
            parts.append(f"step {duration_text(source.step)}")
        if source.publish is not None:
            share = ""
            if source.step is not None:
                share = f" ({number_text(100 * source.publish / source.step, 1)}\u2009%)"
            parts.append(f"publishing {duration_text(source.publish)} per step{share}")
        sessions = self.sessions
        parts.append(f"{count_text(sessions.replaced_frames)} frames skipped")
        parts.append(f"{count_text(sessions.lost_rows)} signal rows lost")
        return " · ".join(part for part in parts if part)
