"""Panels around the plots: what they need of the window."""

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from stroboscope.app.main.convergence_panel import ConvergencePanel
from stroboscope.app.main.plot_feed import mime_of_expression, scene_key
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.panels.watch import WatchPanel
from stroboscope.app.plots.plot_panel import PlotPanel
from stroboscope.debugger_protocol.messages import LogLevel

if TYPE_CHECKING:
    from stroboscope.app.main.window import MainWindow

__all__ = ["make_convergence", "make_plots", "make_watch", "plot_expression"]


def make_plots(window: "MainWindow") -> QWidget:
    """Return the plots, with the arrangements that the settings keep."""
    window.plots = PlotPanel(
        window.store,
        window.palette_tokens,
        named_layouts=window.settings.plot_layouts,
        refreshes=window.sessions.refreshes,
    )
    return window.plots


def make_convergence(window: "MainWindow") -> QWidget:
    """Return the solver's convergence in the step that is shown."""
    return ConvergencePanel(window.sessions, window.view, window.palette_tokens)


def make_watch(window: "MainWindow") -> QWidget:
    """Return the Watch panel; each script has its own expressions."""
    nameless: list[str] = []

    def watches_of(scene: SceneModel) -> list[str]:
        script = scene.session.identity
        return window.settings.script(script).watches if script else nameless

    return WatchPanel(
        window.sessions,
        window.view,
        window.palette_tokens,
        watches_of=watches_of,
        want_signals=lambda scene, names: window.plot_feed.want(
            scene_key(scene), names, who="watch"
        ),
        plot=lambda scene, text: plot_expression(window, scene, text),
        make_mime=mime_of_expression,
        make_spark=window.make_spark,
    )


def plot_expression(window: "MainWindow", scene: SceneModel, text: str) -> None:
    """Plot every physics step of an expression."""
    window.panels.show("plots")
    problem = window.plots.plot_expression(scene_key(scene), text)
    if problem:
        window.sessions.log.add(LogLevel.WARNING, problem, source=scene.name)
