"""What every action of the window does."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QFileDialog, QInputDialog, QMessageBox

from stroboscope.app.main.beside_commands import BesideCommands
from stroboscope.app.main.camera_commands import CameraCommands
from stroboscope.app.main.picture_commands import PictureCommands
from stroboscope.app.main.places import Places
from stroboscope.app.main.recording_commands import RecordingCommands
from stroboscope.app.main.status_notes import give_back
from stroboscope.app.main.time_travel import TimeTravel
from stroboscope.app.main.travel_commands import TravelCommands
from stroboscope.app.main.view_commands import ViewCommands
from stroboscope.app.models.editing import why_not_changeable
from stroboscope.app.models.session import SessionModel, SessionState
from stroboscope.app.models.sessions import Scope
from stroboscope.app.panels.command_palette import CommandPalette
from stroboscope.app.panels.connect_dialog import ConnectDialog
from stroboscope.app.panels.key_sheet import KeySheet
from stroboscope.debugger_protocol.messages import RunUntil
from stroboscope.resources.themes import LIGHT

if TYPE_CHECKING:
    from stroboscope.app.main.window import MainWindow

__all__ = ["Commands"]

_FILES = "Scenes, models, recorded runs (*.strobe *.mcap *.xml *.urdf *.mjz *.mjb);;All files (*)"

# What actions can do is looked at again so long after a command was sent or answered [ms].
_AFTER_COMMANDS_MS: Final = 150


class Commands:
    """Handlers of the actions by name; ``refresh`` keeps check marks and enabled states true."""

    def __init__(self, window: "MainWindow") -> None:
        self._window = window
        self.view = ViewCommands(window)
        self.camera = CameraCommands(window)
        self.pictures = PictureCommands(window)
        self.places = Places(window)
        self.time = TimeTravel(window)
        self.travel = TravelCommands(window)
        self.beside = BesideCommands(window)
        self.recording = RecordingCommands(window)
        # By the key of a session: how it stood when the actions were refreshed for it.
        self._seen: dict[int, tuple[object, ...]] = {}
        self._soon = QTimer(window)
        self._soon.setSingleShot(True)
        self._soon.setInterval(_AFTER_COMMANDS_MS)
        self._soon.timeout.connect(self.refresh)

    def handlers(self) -> dict[str, Callable[[], None]]:
        """Return what each action does."""
        w, s = self._window, self._window.sessions
        table: dict[str, Callable[[], None]] = {
            "connect": self.connect_dialog,
            "open_file": self.open_file,
            "run_script": self.run_script,
            "demos": lambda: None,
            "take_control": s.take_control,
            "reconnect": self.reconnect,
            "disconnect": self.disconnect,
            "forget_ended": s.forget_ended,
            "quit": lambda: _ignore(w.close()),
            "fast_forward": s.toggle_fast_forward,
            "step_many": self.step_many,
            "run_until": self.run_until,
            "restore": s.restore_initial,
            "revert_edit": self.revert_edit,
            "give_back": lambda: give_back(s.shown),
            "slower": lambda: s.nudge_speed(-1),
            "faster": lambda: s.nudge_speed(1),
            "scope_scene": self.toggle_scope,
            "next_scene": lambda: s.show_neighbour(1),
            "previous_scene": lambda: s.show_neighbour(-1),
            "instant": w.view.toggle_instant,
            "panels": lambda: w.panels.toggle_all(),
            "panels_below": lambda: w.panels.set_folded(not w.panels.fold.is_folded),
            "theme": self.toggle_theme,
            "reset_layout": lambda: w.panels.reset(),
            "full_screen": self.toggle_full_screen,
            "command_palette": self.command_palette,
            "search": self.search,
            "keys": self.key_sheet,
            "about": self.about,
        }
        table |= self.view.handlers()
        table |= self.camera.handlers()
        table |= self.pictures.handlers()
        table |= self.places.handlers()
        table |= self.time.handlers()
        table |= self.travel.handlers()
        table |= self.beside.handlers()
        table |= self.recording.handlers()
        table["free_camera"] = self._escape(table["free_camera"])
        return table

    def refresh(self) -> None:
        """Make check marks and enabled states say what is true now."""
        w = self._window
        a = w.actions_by_name
        self.view.refresh()
        self.camera.refresh()
        self.pictures.refresh()
        self.time.refresh()
        self.travel.refresh()
        self.beside.refresh()
        self.recording.refresh()
        a["theme"].setChecked(w.palette_tokens.name == LIGHT.name)
        a["scope_scene"].setChecked(w.sessions.scope is Scope.SCENE)
        a["full_screen"].setChecked(w.isFullScreen())
        shown = w.sessions.shown
        session = shown.session if shown is not None else None
        live = shown is not None and not shown.is_stale
        for name in ("step_many", "physics_step", "run_until", "revert_edit"):
            a[name].setEnabled(live)
        a["take_control"].setEnabled(live and session is not None and not session.has_control)
        a["reconnect"].setEnabled(session is not None and session.state is SessionState.LOST)
        a["disconnect"].setEnabled(session is not None)
        lost = any(each.state is SessionState.LOST for each in w.sessions.sessions)
        a["forget_ended"].setEnabled(lost)

    def follow(self, session: SessionModel) -> None:
        """Refresh at once if a session stands otherwise, else soon: only its commands have changed.

        Who scrubs sends thirty of them a second, and each is sent and answered.
        """
        stands = (session.state, session.status, session.controller, session.speed, session.info)
        if self._seen.get(session.key) != stands:
            self._seen[session.key] = stands
            self.refresh()
        elif not self._soon.isActive():
            self._soon.start()

    def forget(self, session: SessionModel) -> None:
        """Forget how a session stood that is out of the window."""
        self._seen.pop(session.key, None)

    def _escape(self, camera: Callable[[], None]) -> Callable[[], None]:
        """Return what Esc does: one thing at a time, what was begun last first."""

        def escape() -> None:
            if self._window.timeline.asks:
                self._window.timeline.ask(False)
            elif self.time.is_away:
                self.time.go_live()
            else:
                camera()

        return escape

    # --- sessions

    def connect_dialog(self) -> None:
        """Show the sessions of this machine."""
        dialog = ConnectDialog(self._window.sessions, self._window)
        dialog.exec()
        dialog.list.stop()
        dialog.deleteLater()

    def open_file(self) -> None:
        """Ask for a file and show what is in it."""
        self._window.processes.prepare()  # while it is chosen
        path, _ = QFileDialog.getOpenFileName(
            self._window, "Open a scene, a model or a recorded run", "", _FILES
        )
        if path:
            self._window.open_file(path)

    def run_script(self) -> None:
        """Ask for a script and run it."""
        path, _ = QFileDialog.getOpenFileName(
            self._window, "Run a script with the debugger", "", "Python (*.py)"
        )
        if path:
            self._window.start_script(path)

    def reconnect(self) -> None:
        """Try the shown session again."""
        shown = self._window.sessions.shown
        if shown is not None:
            self._window.sessions.reconnect(shown.session)

    def disconnect(self) -> None:
        """Leave the shown session."""
        shown = self._window.sessions.shown
        if shown is not None:
            self._window.memory.keep_camera()
            self._window.sessions.remove(shown.session)

    # --- run

    def step_many(self) -> None:
        """Ask how many steps."""
        count, ok = QInputDialog.getInt(
            self._window, "Step", "Steps of the shown scene", 10, 1, 1_000_000
        )
        if ok:
            self.time.forward(count)

    def run_until(self) -> None:
        """Ask until which simulation time."""
        shown = self._window.sessions.shown
        if shown is None or shown.status is None:
            return
        now = shown.status.time
        until, ok = QInputDialog.getDouble(
            self._window, "Run until", "Simulation time [s]", now + 1.0, now, 1e9, 3
        )
        if ok and not shown.is_stale:
            scene_id = shown.scene_id
            shown.session.send(lambda i: RunUntil(id=i, scene_id=scene_id, time=until))

    def revert_edit(self) -> None:
        """Undo the newest edit of the shown scene."""
        shown = self._window.sessions.shown
        last = shown.edits.last if shown is not None else None
        if shown is None or last is None:
            self._window.status.showMessage("Nothing was changed by hand.", 4000)
        elif why_not := why_not_changeable(shown):
            self._window.status.showMessage(why_not, 4000)
        else:
            shown.edits.revert(last.edit_id)

    def toggle_scope(self) -> None:
        """Act on all scenes, or on the shown one."""
        s = self._window.sessions
        s.set_scope(Scope.ALL if s.scope is Scope.SCENE else Scope.SCENE)
        self.refresh()

    # --- window

    def toggle_theme(self) -> None:
        """Dark or light."""
        dark = self._window.palette_tokens.name == LIGHT.name
        self._window.set_theme("dark" if dark else "light")

    def toggle_full_screen(self) -> None:
        """Full screen and back."""
        w = self._window
        w.showNormal() if w.isFullScreen() else w.showFullScreen()
        self.refresh()

    # --- help

    def command_palette(self) -> None:
        """Open the palette over the middle of the window."""
        w = self._window
        entries = w.actions_by_name.palette_entries() + w.panels.palette_entries()
        palette = CommandPalette(entries, w.palette_tokens, w)
        corner = w.mapToGlobal(w.rect().center())
        palette.move(corner.x() - palette.width() // 2, w.mapToGlobal(w.rect().topLeft()).y() + 80)
        palette.show()
        palette.field.setFocus()

    def search(self) -> None:
        """Put the cursor into the tree's search field."""
        self._window.panels.show("sessions")
        self._window.tree.search.setFocus()
        self._window.tree.search.selectAll()

    def key_sheet(self) -> None:
        """Show every key."""
        actions = self._window.actions_by_name
        sheet = KeySheet(
            actions.key_groups,
            change=actions.change_key,
            reset=actions.reset_keys,
            parent=self._window,
        )
        sheet.exec()
        sheet.deleteLater()

    def about(self) -> None:
        """Say what this is."""
        from importlib.metadata import version

        QMessageBox.about(
            self._window,
            "About Stroboscope",
            f"Stroboscope {version('stroboscope')}\n\nThe debugger for physics simulations.\n"
            "Apache License 2.0",
        )


def _ignore(_result: object) -> None:
    """Swallow a result; handlers return nothing."""
