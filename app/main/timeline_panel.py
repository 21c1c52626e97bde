"""The timeline: what it needs of the window."""

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from stroboscope.app.main.timeline_link import LinkedRange
from stroboscope.app.panels.icons import Icon
from stroboscope.app.panels.timeline.panel import TimelinePanel

if TYPE_CHECKING:
    from stroboscope.app.main.window import MainWindow

__all__ = ["TIMELINE_HEIGHT", "make_timeline"]

TIMELINE_HEIGHT = 76
"""Of the timeline at first [px]."""


def make_timeline(window: "MainWindow") -> QWidget:
    """Return the timeline; it shows the part of time that the plots show while they are linked."""
    window.timeline_range = LinkedRange(window)
    a = window.actions_by_name
    window.timeline = TimelinePanel(
        window.sessions,
        window.palette_tokens,
        window.timeline_range,
        window.commands.time,
        events=(a["previous_event"], a["next_event"]),
    )
    window.timeline.add_button(a["link_times"], Icon.SYNC)
    window.timeline.try_wanted.connect(window.commands.travel.try_else)
    window.timeline.ghost_wanted.connect(window.commands.travel.ghost_of_what_followed)
    window.timeline.loop_chosen.connect(lambda: window.commands.time.set_loops(True))
    window.timeline.repair_wanted.connect(window.damaged_files.ask_for_repair)
    return window.timeline
