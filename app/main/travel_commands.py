"""Actions about checkpoints, stops, conditions, rollouts, ghosts and environments."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex
from PySide6.QtWidgets import QMenu

from stroboscope.app.models.checkpoints import capture
from stroboscope.app.models.conditions import threshold_expression
from stroboscope.app.models.editing import why_not_changeable
from stroboscope.app.models.element_values import ValueRow
from stroboscope.app.models.numbers import number_text, with_unit
from stroboscope.app.models.rollouts import rollout_ref
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.signal_names import signal_reference
from stroboscope.app.panels.tables.value_view import ValueView
from stroboscope.app.panels.travel.try_dialog import TryDialog
from stroboscope.debugger_protocol.time_messages import GhostRef, GhostSource

if TYPE_CHECKING:
    from stroboscope.app.main.window import MainWindow

__all__ = ["TravelCommands"]

_SHOWN_MS = 4000
_GAP = 12


class TravelCommands:
    """Handlers by name of action, and what panels ask the window for."""

    def __init__(self, window: "MainWindow") -> None:
        self._window = window
        self.try_dialog: TryDialog | None = None
        """Made when somebody asks for it first."""

    def handlers(self) -> dict[str, Callable[[], None]]:
        """Return what each action does."""
        return {
            "checkpoint": self.save_checkpoint,
            "why_stopped": self.show_why,
            "try_offer": self.try_offer,
            "try_else": self.try_else,
            "new_condition": self.new_condition,
            "stop_rules": self.show_rules,
            "ghost_here": self.ghost_of_view,
            "clear_ghosts": self.clear_ghosts,
            "previous_environment": lambda: self._environment(-1),
            "next_environment": lambda: self._environment(1),
            "next_failed": self._next_failed,
        }

    def refresh(self) -> None:
        """Enable what can be done now."""
        a, scene = self._window.actions_by_name, self.scene
        live = scene is not None and not scene.is_stale
        stop = scene.stops.in_view if scene is not None else None
        stops = scene.stops.stops if scene is not None else ()
        environments = live and scene is not None and scene.environments.count > 0
        failed = environments and scene is not None and bool(scene.environments.told.failed)
        ghosts = scene is not None and bool(scene.ghosts.all if live else scene.ghosts.scenes)
        rows = live and scene is not None and scene.history.has_rows
        for name, enabled in (
            ("checkpoint", live),
            ("why_stopped", bool(stops)),
            ("try_offer", bool(live and stop is not None and stop.what_if)),
            ("try_else", live),
            ("new_condition", live),
            ("stop_rules", live),
            ("ghost_here", rows),
            ("clear_ghosts", ghosts),
            ("previous_environment", environments),
            ("next_environment", environments),
            ("next_failed", failed),
        ):
            a[name].setEnabled(bool(enabled))

    @property
    def scene(self) -> SceneModel | None:
        """The shown scene."""
        return self._window.sessions.shown

    def tell(self, text: str) -> None:
        """Say a sentence in the status bar."""
        self._window.status.showMessage(text, _SHOWN_MS)

    def go_to(self, scene: SceneModel, axis: int) -> None:
        """Look at a row of the shown scene."""
        if scene is self.scene:
            self._window.commands.time.choose(axis)

    # --- checkpoints

    def save_checkpoint(self) -> None:
        """Keep what is looked at, under its time."""
        scene = self.scene
        if scene is None or scene.status is None or scene.is_stale:
            return
        if why_not := why_not_changeable(scene):
            self.tell(why_not)
        elif name := capture(scene):
            self.tell(f"Saved as {name}: see Checkpoints.")

    # --- stops and conditions

    def show_why(self) -> None:
        """Show what is known of the newest stop."""
        self._window.panels.show("stops")
        self._window.stops.show_stops()

    def show_stop(self, stop_id: int) -> None:
        """Show what is known of a stop."""
        self._window.panels.show("stops")
        self._window.stops.show_stops(stop_id)

    def try_offer(self) -> None:
        """Try the first thing that the stop offers which holds the scene."""
        scene = self.scene
        stop = scene.stops.in_view if scene is not None else None
        if scene is None or stop is None or not stop.what_if:
            self.tell("No stop holds the scene that offers something to try.")
        elif problem := scene.trials.start(stop, stop.what_if[0][0]):
            self.tell(problem)

    def try_else(self, axis: int | None = None) -> None:
        """Ask what shall be different from a row on: by default the one that is looked at."""
        window = self._window
        if self.scene is None:
            self.tell("No scene is shown.")
            return
        if self.try_dialog is None:
            self.try_dialog = TryDialog(window.sessions, window.palette_tokens, window)
            # The keys are the window's again, also where no window manager sees to that.
            self.try_dialog.finished.connect(lambda _result: window.activateWindow())
        first = not self.try_dialog.isVisible()
        self.try_dialog.open_at(axis)
        if first:
            # Over the panels at the right: the ghost appears in the picture.
            right = window.mapToGlobal(window.rect().topRight()).x()
            top = window.scene_view.mapToGlobal(window.scene_view.rect().topLeft()).y()
            self.try_dialog.move(right - self.try_dialog.width() - _GAP, top + _GAP)

    def close(self) -> None:
        """The window goes: stop listening."""
        if self.try_dialog is not None:
            self.try_dialog.close_panel()

    def new_condition(self) -> None:
        """Write a condition."""
        self._window.panels.show("stops")
        self._window.stops.begin_condition("")

    def begin_condition(self, expression: str) -> None:
        """Show an expression, to make a condition of it."""
        self._window.panels.show("stops")
        self._window.stops.begin_condition(expression)

    def show_rules(self) -> None:
        """Show which rules are on."""
        self._window.panels.show("stops")
        self._window.stops.show_rules()

    def fill_value_menu(self, view: ValueView, menu: QMenu, index: QModelIndex) -> None:
        """Offer to stop when a number of a table is above or below what it is."""
        scene = self.scene
        row = view.value_row(index) if index.isValid() else None
        if scene is None or row is None or row.value is None:
            return
        reference = self._reference(scene, row)
        if not reference:
            return
        menu.addSeparator()
        for above, word in ((True, "above"), (False, "below")):
            text = threshold_expression(reference, row.value, above=above)
            value = with_unit(number_text(row.value), row.unit)
            action = menu.addAction(f"Stop when {word} {value}…")
            action.triggered.connect(lambda _=False, each=text: self.begin_condition(each))

    @staticmethod
    def _reference(scene: SceneModel, row: ValueRow) -> str:
        channels = {channel.name: channel for channel in scene.channels}
        return signal_reference(row.channel, channels.get(row.channel), row.column)

    # --- ghosts

    def ghost_of_view(self) -> None:
        """Show the row that is looked at as a ghost; live: the last executed one."""
        scene = self.scene
        if scene is None or not scene.history.has_rows:
            return
        history = scene.history
        axis = history.view if history.view is not None else history.live - 1
        label = history.step_text(axis)
        ref = GhostRef(source=GhostSource.ROW, number=axis, scene_id=scene.scene_id)
        if problem := scene.ghosts.toggle(ref, label):
            self.tell(problem)

    def ghost_of_what_followed(self, axis: int) -> None:
        """Show what has followed a row, and was left behind, as a ghost that moves along."""
        scene = self.scene
        if scene is None or scene.is_stale:
            return
        name = f"what followed {scene.history.step_text(axis)}"

        def show(rollout_id: int) -> None:
            if problem := scene.ghosts.toggle(rollout_ref(scene.scene_id, rollout_id), name):
                self.tell(problem)

        for each in scene.rollouts.rollouts:
            if (each.from_axis, each.name) == (axis, name):
                show(each.rollout_id)
                return
        scene.rollouts.resimulate(axis, (), name=name, then=show, otherwise=self.tell)

    def clear_ghosts(self) -> None:
        """Show no ghosts any more."""
        if self.scene is not None:
            self.scene.ghosts.clear()

    # --- environments

    def _environment(self, offset: int) -> None:
        if self.scene is not None:
            self.scene.environments.move(offset)

    def _next_failed(self) -> None:
        if self.scene is not None:
            self.scene.environments.select_failed(1)
