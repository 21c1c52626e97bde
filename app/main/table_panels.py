"""Panels with tables: what they need of the window."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from stroboscope.app.main.plot_feed import mime_of, scene_key
from stroboscope.app.panels.tables.findings_panel import FindingsPanel
from stroboscope.app.panels.tables.profiler_panel import ProfilerPanel
from stroboscope.app.panels.tables.table_panel import TablePanel

if TYPE_CHECKING:
    from stroboscope.app.main.window import MainWindow

__all__ = ["make_findings", "make_profiler", "make_table"]


def make_table(kind: type[TablePanel]) -> "Callable[[MainWindow], QWidget]":
    """Return what makes a table whose numbers go to the plots."""

    def make(window: "MainWindow") -> QWidget:
        panel = kind(
            window.sessions,
            window.view,
            window.palette_tokens,
            plot=window.plot_value,
            make_mime=mime_of,
        )
        view = panel.table.view
        view.kept = window.settings.tables
        view.add_actions = partial(window.commands.travel.fill_value_menu, view)
        return panel

    return make


def make_profiler(window: "MainWindow") -> QWidget:
    """Return the profiler."""
    return ProfilerPanel(
        window.sessions,
        window.view,
        window.palette_tokens,
        want_channels=lambda scene, names: window.plot_feed.want(
            scene_key(scene), names, who="profiler"
        ),
    )


def make_findings(window: "MainWindow") -> QWidget:
    """Return what looking over the scene found."""
    return FindingsPanel(window.sessions, window.view, window.palette_tokens)
