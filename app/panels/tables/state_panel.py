"""The state of the shown scene as tables: joints, actuators, bodies, energy and so on."""

from PySide6.QtWidgets import QComboBox, QHBoxLayout, QPushButton

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.tables.energy import EnergyTable
from stroboscope.app.models.tables.state import (
    EMPTY_TEXTS,
    StateKind,
    TableSource,
    make_state_table,
)
from stroboscope.app.models.tables.table import Table
from stroboscope.app.models.view_state import ViewState
from stroboscope.app.panels.style import METRICS
from stroboscope.app.panels.tables.table_panel import MakeMime, Plot, TablePanel
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.resources.themes import Palette

__all__ = ["StatePanel"]


class StatePanel(TablePanel):
    """One kind of values at a time; ``kind`` is the switch."""

    who = "state"

    def __init__(
        self,
        sessions: SessionsModel,
        view: ViewState,
        palette: Palette,
        *,
        plot: Plot | None = None,
        make_mime: MakeMime | None = None,
    ) -> None:
        super().__init__(sessions, view, palette, plot=plot, make_mime=make_mime)
        self._show_controls()

    def add_to_bar(self, bar: QHBoxLayout) -> None:
        """Add the switch, and the button that starts drift anew."""
        self.kind = QComboBox()
        for kind in StateKind:
            self.kind.addItem(kind.value, kind.value)
        self.kind.setToolTip("Which values are shown.")
        self.kind.currentIndexChanged.connect(self._on_kind)
        self.kind.setMinimumWidth(104)
        self.kind.setProperty("compact", True)
        bar.addWidget(self.kind)
        self.reset = QPushButton("Reset drift")
        self.reset.setToolTip("Measure drift from the instant that is shown now.")
        self.reset.clicked.connect(self._reset_drift)
        self.reset.setProperty("compact", True)
        self.reset.setFixedHeight(METRICS.compact_height)
        bar.addWidget(self.reset)

    @property
    def shown_kind(self) -> StateKind:
        """What is shown."""
        return StateKind(self.kind.currentData())

    def choose(self, kind: StateKind) -> None:
        """Show values of that kind."""
        self.kind.setCurrentIndex(self.kind.findData(kind.value))

    def make_source(self, description: SceneDescription) -> TableSource:
        """Return the rows of the chosen kind."""
        return make_state_table(self.shown_kind, description)

    def empty_text(self) -> str:
        """Say what the model lacks."""
        return EMPTY_TEXTS[self.shown_kind]

    def after_refresh(self, table: Table, frames: FrameSet | None) -> None:
        """Say since when drift is measured."""
        start = self.source.start if isinstance(self.source, EnergyTable) else None
        self.table.total.set_full_text(start.text if start is not None else "")

    def _on_kind(self, _index: int) -> None:
        self._show_controls()
        self.table.filter.clear()
        self.source_changed()

    def _show_controls(self) -> None:
        self.reset.setVisible(self.shown_kind is StateKind.ENERGY)

    def _reset_drift(self) -> None:
        if isinstance(self.source, EnergyTable):
            self.source.reset()
            self.follower.refresh()
