"""Timeline and plots: one part of time, one cursor, and a click in a plot goes there."""

from typing import TYPE_CHECKING

from stroboscope.app.main.plot_feed import scene_key
from stroboscope.app.models.axis_view import AxisView
from stroboscope.app.models.marks import Mark, MarkKind
from stroboscope.app.models.plot_store import SceneKey
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.session_time import SessionTime

if TYPE_CHECKING:
    from stroboscope.app.main.window import MainWindow

__all__ = ["LinkedRange", "TimelineLink"]

# What is marked in plots as it is in the timeline; replaced states have lines of their own there.
_IN_PLOTS = (MarkKind.STOP, MarkKind.CHECKPOINT, MarkKind.WARNING, MarkKind.TEXT)
# The newest of them: each is placed anew with every picture.
_MOST_EVENTS = 300


class LinkedRange:
    """What the timeline shows: the time that the plots show while linked, else its own range.

    The plots count simulated time that never goes back, the timeline counts physics steps. Plots
    of other scenes alone say nothing about the shown one: their now may be far from its own.
    """

    def __init__(self, window: "MainWindow") -> None:
        self._window = window
        self.own = AxisView()
        self.linked = True

    def _time(self) -> SessionTime | None:
        """Return the clock of the shown scene, when plots of it are what is to be shown."""
        scene = self._window.sessions.shown
        if not self.linked or scene is None:
            return None
        key = scene_key(scene)
        if all(series.scene != key for series in self._window.plots.plots.all_series()):
            return None
        known = self._window.store.scenes.get(key)
        return known.time if known is not None and known.time.now is not None else None

    @property
    def range(self) -> tuple[float, float]:
        """The axis at the left and at the right edge."""
        clock = self._time()
        if clock is None:
            return self.own.range
        start, end = self._window.plots.time_view.range
        first, last = clock.axis_at(start), clock.axis_at(end)
        return (first, last) if last > first else (first, first + 1.0)

    @property
    def follows(self) -> bool:
        """Whether now stays in sight."""
        return (self.own if self._time() is None else self._window.plots.time_view).follows

    def set_follow(self, follow: bool) -> None:
        """Follow now, or stand still."""
        (self.own if self._time() is None else self._window.plots.time_view).set_follow(follow)

    def track(self, first: int, live: int) -> None:
        """Move along with now."""
        if self._time() is None:
            self.own.track(first, live)
        elif not self._window.plots.isVisible():
            self._window.plots.track()

    def pan(self, steps: float) -> None:
        """Move by ``steps``."""
        clock = self._time()
        if clock is None:
            self.own.pan(steps)
            return
        start = self._window.plots.time_view.range[0]
        moved = clock.session_at(clock.axis_at(start) + steps) - start
        self._window.plots.time_view.pan(moved)

    def zoom(self, factor: float, about: float) -> None:
        """Show ``factor`` times as much, ``about`` this axis."""
        clock = self._time()
        if clock is None:
            self.own.zoom(factor, about)
        else:
            self._window.plots.time_view.zoom(factor, clock.session_at(about))

    def fit(self) -> None:
        """Show everything that is kept."""
        clock, scene = self._time(), self._window.sessions.shown
        if clock is None or scene is None:
            self.own.fit()
            return
        history = scene.history
        self._window.plots.time_view.fit(
            clock.session_at(history.first), clock.session_at(history.live)
        )


class TimelineLink:
    """Keeps the two together; ``close`` stops listening. GUI thread only."""

    def __init__(self, window: "MainWindow") -> None:
        self._window = window
        self._scene: SceneModel | None = None
        window.timeline.link_toggled.connect(self._on_linked)
        window.plots.time_view.changed.connect(self._on_range)
        window.plots.layout_changed.connect(self._on_range)
        window.plots.instant_chosen.connect(self._on_instant)
        window.plots.instant_left.connect(self._on_left)
        window.sessions.shown_changed.connect(self._follow)
        self._follow(window.sessions.shown)

    def close(self) -> None:
        """Stop listening."""
        self._window.plots.time_view.changed.disconnect(self._on_range)
        self._window.sessions.shown_changed.disconnect(self._follow)
        self._follow(None)

    def _on_linked(self, linked: bool) -> None:
        time_range = self._window.timeline_range
        if not linked:
            # It stays where it is, and goes its own ways from here.
            start, end = time_range.range
            time_range.own.show(start, end)
        time_range.linked = linked
        self._on_range()

    def _on_range(self) -> None:
        self._window.timeline.refresh_range()
        self._show_cursor()  # rows that have come may have told where its time is

    def _on_instant(self, key: SceneKey, axis: int, _time: float) -> None:
        for scene in self._window.sessions.all_scenes():
            if scene_key(scene) == key and not scene.is_stale and scene.history.has_rows:
                self._window.sessions.show(scene)
                self._window.commands.time.choose(axis)

    def _on_left(self) -> None:
        time, history = self._window.commands.time, self._window.commands.time.history
        if time.is_away or (history is not None and history.wanted is not None):
            time.go_live()

    def _follow(self, scene: SceneModel | None) -> None:
        if self._scene is not None:
            self._scene.history.changed.disconnect(self._show_cursor)
            self._scene.history.marks_changed.disconnect(self._window.plots.redraw)
        self._scene = scene
        if scene is not None:
            scene.history.changed.connect(self._show_cursor)
            scene.history.marks_changed.connect(self._window.plots.redraw)
        self._show_cursor()
        key = scene_key(scene) if scene is not None else None
        self._window.plots.show_events(key, self._find_events)

    def _find_events(self) -> list[Mark]:
        notable = self._scene.history.notable() if self._scene is not None else []
        return [mark for mark in notable if mark.kind in _IN_PLOTS][-_MOST_EVENTS:]

    def _show_cursor(self) -> None:
        scene = self._scene
        view = scene.history.view if scene is not None else None
        self._window.plots.time_view.set_whole(scene is not None and scene.history.is_replay)
        clock = self._window.store.scenes.get(scene_key(scene)) if scene is not None else None
        if view is None or clock is None:
            self._window.plots.show_view(None)
        else:
            self._window.plots.show_view(clock.time.session_at(view))
