"""Actions that bring a page of a panel to the front, so that menu, palette and keys find it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.state import StateKind
from stroboscope.app.panels.controls.page import ControlsPage
from stroboscope.app.panels.tables.state_panel import StatePanel
from stroboscope.app.view3d.items import body_of

if TYPE_CHECKING:
    from stroboscope.app.main.window import MainWindow

__all__ = ["Places"]


class Places:
    """Handlers by name of action."""

    def __init__(self, window: "MainWindow") -> None:
        self._window = window

    def handlers(self) -> dict[str, Callable[[], None]]:
        """Return what each action does."""
        w = self._window
        return {
            "joint_sliders": lambda: self._controls(w.controls.joints),
            "control_sliders": lambda: self._controls(w.controls.actuators),
            "physics_options": lambda: self._controls(w.controls.physics),
            "states": lambda: self._controls(w.controls.states),
            "profiler": lambda: w.panels.show("profiler"),
            "sensors_table": lambda: self._state(StateKind.SENSORS),
            "energy_table": lambda: self._state(StateKind.ENERGY),
            "plot_signal": lambda: self._plot(""),
            "plot_expression": lambda: self._plot("= "),
            "select_parent": self.select_parent,
        }

    def _controls(self, page: ControlsPage) -> None:
        self._window.panels.show("controls")
        self._window.controls.show_page(page)

    def _state(self, kind: StateKind) -> None:
        self._window.panels.show("state")
        panel = self._window.panels["state"].content
        if isinstance(panel, StatePanel):
            panel.choose(kind)

    def _plot(self, text: str) -> None:
        self._window.panels.show("plots")
        self._window.plots.open_add_popup(text)

    def select_parent(self) -> None:
        """Select the body that what is selected belongs to, or that body's parent."""
        s = self._window.sessions
        element = s.selection.element
        description = s.shown.description if s.shown is not None else None
        if element is None or description is None:
            return
        body = body_of(element, description)
        if element.kind is ElementKind.BODY and body > 0:
            body = description.bodies[body].parent
        if body >= 0:
            s.selection.select(Element(ElementKind.BODY, body))
