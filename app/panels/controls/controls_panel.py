"""The controls of the shown scene: joints, actuators, physics, states, edits, one page each."""

from PySide6.QtWidgets import QLineEdit, QStackedWidget, QTabBar, QVBoxLayout, QWidget

from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.panels.controls.actuators_page import ActuatorsPage
from stroboscope.app.panels.controls.edits_page import EditsPage
from stroboscope.app.panels.controls.joints_page import JointsPage
from stroboscope.app.panels.controls.page import ControlsPage
from stroboscope.app.panels.controls.physics_page import PhysicsPage
from stroboscope.app.panels.controls.states_page import StatesPage
from stroboscope.app.panels.style import METRICS
from stroboscope.resources.themes import Palette

__all__ = ["ControlsPanel"]


class ControlsPanel(QWidget):
    """A search field over pages; only the page that is seen asks for anything."""

    def __init__(self, sessions: SessionsModel, palette: Palette) -> None:
        super().__init__()
        self.setObjectName("panel")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self.joints = JointsPage(sessions, palette)
        self.actuators = ActuatorsPage(sessions, palette)
        self.physics = PhysicsPage(sessions, palette)
        self.states = StatesPage(sessions, palette)
        self.edits = EditsPage(sessions, palette)
        self._pages: dict[str, ControlsPage] = {
            "Joints": self.joints,
            "Actuators": self.actuators,
            "Physics": self.physics,
            "States": self.states,
            "Edits": self.edits,
        }
        self.tabs = QTabBar()
        self.tabs.setObjectName("innerTabs")
        self.tabs.setDrawBase(False)
        self.tabs.setExpanding(True)
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search joints, actuators, options")
        self.search.setClearButtonEnabled(True)
        self.stack = QStackedWidget()
        for title, page in self._pages.items():
            self.tabs.addTab(title)
            self.stack.addWidget(page)
        self.tabs.currentChanged.connect(self.stack.setCurrentIndex)
        self.search.textChanged.connect(self._on_search)
        field = QWidget()
        row = QVBoxLayout(field)
        row.setContentsMargins(METRICS.gap, METRICS.grid, METRICS.gap, METRICS.grid)
        row.addWidget(self.search)
        column.addWidget(self.tabs)
        column.addWidget(field)
        column.addWidget(self.stack, 1)

    def show_page(self, page: ControlsPage) -> None:
        """Bring a page to the front."""
        self.tabs.setCurrentIndex(self.stack.indexOf(page))

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        for page in self._pages.values():
            page.set_theme(palette)

    def close_panel(self) -> None:
        """Stop listening."""
        for page in self._pages.values():
            page.close_page()

    def _on_search(self, text: str) -> None:
        for page in self._pages.values():
            page.set_filter(text)
