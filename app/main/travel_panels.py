"""Checkpoints, stops and rollouts: what their panels need of the window."""

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from stroboscope.app.panels.travel.checkpoints_panel import CheckpointsPanel
from stroboscope.app.panels.travel.rollouts_panel import RolloutsPanel
from stroboscope.app.panels.travel.stops_panel import StopsPanel

if TYPE_CHECKING:
    from stroboscope.app.main.window import MainWindow

__all__ = ["make_checkpoints", "make_rollouts", "make_stops"]


def make_checkpoints(window: "MainWindow") -> QWidget:
    """Return the checkpoints of the shown application."""
    window.checkpoints = CheckpointsPanel(
        window.sessions, window.palette_tokens, tell=window.commands.travel.tell
    )
    return window.checkpoints


def make_stops(window: "MainWindow") -> QWidget:
    """Return what stops the shown scene."""
    window.stops = StopsPanel(
        window.sessions,
        window.palette_tokens,
        go_to=window.commands.travel.go_to,
        tell=window.commands.travel.tell,
        leave=lambda: window.scene_view.setFocus(),
    )
    return window.stops


def make_rollouts(window: "MainWindow") -> QWidget:
    """Return the rollouts of the shown scene."""
    window.rollouts = RolloutsPanel(
        window.sessions,
        window.palette_tokens,
        tell=window.commands.travel.tell,
        try_else=window.commands.travel.try_else,
        scene_menu=window.commands.beside.ghost_menu,
    )
    return window.rollouts
