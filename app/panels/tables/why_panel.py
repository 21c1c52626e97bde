"""Why does it move? What accelerates the selected dof, largest first."""

from PySide6.QtWidgets import QComboBox, QHBoxLayout

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.numbers import number_text, with_unit
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.causes import CauseTable, DofChoice, dof_choices, dofs_of
from stroboscope.app.models.tables.state import TableSource
from stroboscope.app.models.tables.table import Table
from stroboscope.app.panels.tables.follower import Topics
from stroboscope.app.panels.tables.table_panel import TablePanel
from stroboscope.debugger_protocol.scene_description import SceneDescription

__all__ = ["WhyPanel"]

_NOTHING = (
    "Select a joint, an actuator or a body, or choose a dof above: this table then says what "
    "accelerates it, largest first. Click a row to go to its source."
)


class WhyPanel(TablePanel):
    """Follows the selection to a dof; a click on a source does not lose the question asked."""

    who = "why"
    total_share = 2

    def add_to_bar(self, bar: QHBoxLayout) -> None:
        """Add the choice of a dof."""
        self.dof = QComboBox()
        self.dof.setToolTip("The dof that is asked about; selecting a joint chooses it too.")
        self.dof.setMinimumContentsLength(22)
        self.dof.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.dof.currentIndexChanged.connect(lambda _index: self._on_choice())
        self.dof.setProperty("compact", True)
        bar.addWidget(self.dof)
        self._choices: tuple[DofChoice, ...] = ()
        self._clicked = False

    def make_source(self, description: SceneDescription) -> TableSource:
        """Return the sources of one dof's acceleration, for the dof of what is selected."""
        table = CauseTable(description)
        self._fill(description)
        self._follow_selection(self.sessions.selection.element, description)
        table.choice = self.choice
        return table

    @property
    def choice(self) -> DofChoice | None:
        """The dof that is asked about."""
        at = self.dof.currentIndex() - 1
        return self._choices[at] if 0 <= at < len(self._choices) else None

    def empty_text(self) -> str:
        """Say what to do, or that nothing acts."""
        if not self._choices:
            return "This model has no joints: nothing in it can move."
        if self.choice is None:
            return _NOTHING
        if self.follower.frames() is None:
            return "What accelerates it at this instant is not known yet."
        return f"Nothing accelerates {self.choice.name} at this instant."

    def after_refresh(self, table: Table, frames: FrameSet | None) -> None:
        """State the sum."""
        choice = self.choice
        total = self.source.total if isinstance(self.source, CauseTable) else None
        if choice is None or total is None:
            self.table.total.set_full_text("")
            return
        qacc = with_unit(number_text(total), choice.unit)
        self.table.total.set_full_text(f"Sum: qacc of {choice.name} = {qacc}", f"Sum: {qacc}")

    def _topics(self, scene: SceneModel) -> Topics:
        """Nothing is asked of the engine as long as nobody asks about a dof."""
        topics = super()._topics(scene)
        return topics if self.choice is not None else ((), ())

    def _fill(self, description: SceneDescription) -> None:
        before = self.choice
        self._choices = dof_choices(description)
        self.dof.blockSignals(True)
        self.dof.clear()
        self.dof.addItem("Choose a dof…")
        for choice in self._choices:
            self.dof.addItem(choice.name)
        names = [choice.name for choice in self._choices]
        if before is not None and before.name in names:
            self.dof.setCurrentIndex(1 + names.index(before.name))
        self.dof.blockSignals(False)

    def _follow_selection(self, element: Element | None, description: SceneDescription) -> None:
        dofs = dofs_of(description, element)
        now = self.choice
        if not dofs or (now is not None and now.dof in dofs):
            return
        at = next((n for n, c in enumerate(self._choices) if c.dof == dofs.start), None)
        if at is not None:
            self.dof.setCurrentIndex(1 + at)

    def _on_choice(self) -> None:
        if isinstance(self.source, CauseTable):
            self.source.choice = self.choice
            self.follower.topics_changed()

    def _select(self, element: Element) -> None:
        self._clicked = True
        try:
            super()._select(element)
        finally:
            self._clicked = False

    def _on_selection(self, element: Element | None) -> None:
        super()._on_selection(element)
        scene = self.follower.scene
        asks = element is not None and element.kind is not ElementKind.CONTACT
        if self._clicked or not asks or scene is None or scene.description is None:
            return
        self._follow_selection(element, scene.description)
