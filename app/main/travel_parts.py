"""What time travel puts over the picture: the stop, ghosts and environments; and what it keeps."""

from typing import TYPE_CHECKING

from stroboscope.app.main.condition_keeper import ConditionKeeper
from stroboscope.app.main.ghost_feed import GhostFeed
from stroboscope.app.main.plot_feed import scene_key
from stroboscope.app.main.rollout_feed import RolloutFeed
from stroboscope.app.models.plot_store import SceneKey
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.signal import Signal
from stroboscope.app.panels.travel.environment_bar import EnvironmentBar
from stroboscope.app.panels.travel.ghost_legend import GhostLegend
from stroboscope.app.panels.travel.stop_banner import StopBanner
from stroboscope.debugger_protocol.time_messages import StopInfo
from stroboscope.resources.themes import Palette

if TYPE_CHECKING:
    from stroboscope.app.main.window import MainWindow

__all__ = ["TravelParts"]


class TravelParts:
    """Made when the window has its panels; ``close_panel`` stops everything. GUI thread only."""

    def __init__(self, window: "MainWindow") -> None:
        self._window = window
        area, sessions, palette = window.scene_view, window.sessions, window.palette_tokens
        self.keeper = ConditionKeeper(sessions, window.settings)
        self.banner = StopBanner(
            area,
            sessions,
            palette,
            why=window.commands.travel.show_stop,
            shown=self._on_stop_shown,
            tell=window.commands.travel.tell,
            room=self._room,
            right=lambda: window.view_buttons.width(),
        )
        self.ghosts = GhostLegend(area, sessions, palette)
        self.environments = EnvironmentBar(
            area, sessions, palette, covers=area.grid.keep_legend_above
        )
        self.ghost_feed = GhostFeed(sessions, window.view, area, palette)
        self.rollout_feed = RolloutFeed(window)
        window.plots.condition_wanted.connect(self._on_condition)
        self._scene: SceneModel | None = None
        sessions.shown_changed.connect(self._follow)
        self._follow(sessions.shown)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        for part in (self.banner, self.ghosts, self.environments, self.ghost_feed):
            part.set_theme(palette)
        dialog = self._window.commands.travel.try_dialog
        if dialog is not None:
            dialog.set_theme(palette)

    def close_panel(self) -> None:
        """Stop listening."""
        self._window.sessions.shown_changed.disconnect(self._follow)
        self._follow(None)
        self._window.commands.travel.close()
        self.keeper.close()
        self.rollout_feed.close()
        self._window.plots.condition_wanted.disconnect(self._on_condition)
        for part in (self.banner, self.ghosts, self.environments, self.ghost_feed):
            part.close_panel()

    def _on_condition(self, key: SceneKey, expression: str) -> None:
        """Show the scene that a plot is about, and begin a condition."""
        for scene in self._window.sessions.all_scenes():
            if scene_key(scene) == key:
                self._window.sessions.show(scene)
                self._window.commands.travel.begin_condition(expression)

    def says(self, text: str) -> bool:
        """Return whether the stop that is shown over the picture says this already."""
        stop = self.banner.stop
        return stop is not None and self.banner.isVisible() and text.startswith(stop.message)

    def _on_stop_shown(self, stop: StopInfo) -> None:
        """Take the same sentence away from over the window."""
        if stop.message[:60] in self._window.banner.text.text():
            self._window.banner.dismiss()

    def _room(self) -> int:
        """Return how much is taken at the top left [px]."""
        parts = (self._window.info, self._window.commands.pictures.bar)
        return max((part.geometry().bottom() + 1 for part in parts if part.isVisible()), default=0)

    def _follow(self, scene: SceneModel | None) -> None:
        if self._scene is not None:
            for signal in self._signals(self._scene):
                signal.disconnect(self._on_news)
        self._scene = scene
        if scene is not None:
            for signal in self._signals(scene):
                signal.connect(self._on_news)
        self._count()

    @staticmethod
    def _signals(scene: SceneModel) -> tuple[Signal[[]], ...]:
        return (
            scene.stops.changed,
            scene.rollouts.changed,
            scene.ghosts.changed,
            scene.environments.changed,
        )

    def _on_news(self) -> None:
        self._count()
        self._window.commands.travel.refresh()

    def _count(self) -> None:
        """Say behind the titles of panels how much there is in them."""
        scene, panels = self._scene, self._window.panels
        panels.count("stops", scene.stops.told.count if scene is not None else 0)
        panels.count("rollouts", len(scene.rollouts.rollouts) if scene is not None else 0)
