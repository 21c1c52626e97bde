"""Recording the shown scene into a file of its application, and saving what it remembers."""

from collections.abc import Callable
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from stroboscope.app.models.editing import why_not_changeable
from stroboscope.app.models.recording import RecordedFile, recorded_files
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.panels.record_dialog import RecordDialog
from stroboscope.debugger_protocol.messages import LogLevel

if TYPE_CHECKING:
    from stroboscope.app.main.window import MainWindow

__all__ = ["RecordingCommands"]

_SHOWN_MS = 8000


class RecordingCommands:
    """Handlers by name of action; ``dialog`` is open while somebody is asked for a name.

    The window names files and never says where: that has the script chosen.
    """

    def __init__(self, window: "MainWindow") -> None:
        self._window = window
        self.dialog: RecordDialog | None = None
        self._scene: SceneModel | None = None
        window.sessions.shown_changed.connect(self._follow)

    def close(self) -> None:
        """Stop listening."""
        self._window.sessions.shown_changed.disconnect(self._follow)
        self._follow(None)

    def handlers(self) -> dict[str, Callable[[], None]]:
        """Return what each action does."""
        return {"record": self.record, "save_history": self.save_history}

    def refresh(self) -> None:
        """Offer what can be done now."""
        a, scene = self._window.actions_by_name, self._scene
        may = not why_not_changeable(scene)
        running = len(scene.recording.files) if scene is not None else 0
        words = ("Record…", "Stop recording this run", "Stop recording this run…")
        a["record"].setText(words[min(running, 2)])
        a["record"].setEnabled(may)
        a["save_history"].setEnabled(may and scene is not None and scene.history.has_rows)

    def record(self) -> None:
        """Ask for a name and record; while it is recorded, stop, or show what there is to stop."""
        scene = self._scene
        if scene is None or self.dialog is not None:
            return
        files = recorded_files((scene,))
        if len(files) > 1:
            self._window.status.recorded.open_menu()
            return
        if files:
            self.stop_files(files)
            return
        self._open(
            scene,
            "Record this run",
            "Record",
            lambda name, mode: scene.recording.start(
                name,
                mode=mode,
                done=self._answered(scene, "Recording into"),
                refused=self._refusing(),
            ),
            has_mode=True,
        )

    def stop_files(self, files: tuple[RecordedFile, ...]) -> None:
        """End recordings, of all scenes that go into each; a file is complete with its last one."""
        for file in files:
            for scene in file.scenes:
                last = scene is file.scenes[-1]
                done = self._answered(scene, "Recorded", complete=True) if last else _nothing
                scene.recording.stop(file.info.path, done=done, refused=self._tell)

    def save_history(self) -> None:
        """Ask for a name, and save what the shown scene remembers."""
        scene = self._scene
        if scene is None or self.dialog is not None:
            return
        self._open(
            scene,
            "Save history",
            "Save",
            lambda name, _mode: scene.recording.save_history(
                name,
                done=self._answered(scene, "Saved", complete=True),
                refused=self._refusing(),
            ),
            has_mode=False,
        )

    # --- asking and answers

    def _open(
        self,
        scene: SceneModel,
        title: str,
        button: str,
        begin: Callable[[str, str], None],
        *,
        has_mode: bool,
    ) -> None:
        self.dialog = dialog = RecordDialog(
            title,
            button=button,
            suggested=scene.name,
            has_mode=has_mode,
            begin=begin,
            parent=self._window,
        )
        dialog.finished.connect(self._on_finished)
        dialog.open()

    def _on_finished(self, _result: int) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
            self.dialog = None
        self._window.activateWindow()

    def _answered(
        self, scene: SceneModel, what: str, *, complete: bool = False
    ) -> Callable[[str], None]:
        """Return what tells which file it is; ``complete``: it can be opened."""
        asked = self.dialog

        def tell(path: str) -> None:
            # Another one may be open by now.
            if asked is not None and asked is self.dialog:
                asked.accept()
            # The application may be on another machine.
            here, name = complete and Path(path).is_file(), PurePath(path).name
            self._window.sessions.log.add(
                LogLevel.INFO,
                f"{what} {name}: {path}",
                source=scene.name,
                file=path if here else "",
            )
            self._tell(f"{what} {name}." + " The log opens it." * here)

        return tell

    def _refusing(self) -> Callable[[str], None]:
        asked = self.dialog

        def refuse(reason: str) -> None:
            if asked is not None and asked is self.dialog:
                asked.refuse(reason)

        return refuse

    def _tell(self, text: str) -> None:
        self._window.status.showMessage(text, _SHOWN_MS)

    def _on_history(self) -> None:
        """Offer to save as soon as there is something; it comes with every step."""
        scene, action = self._scene, self._window.actions_by_name["save_history"]
        if scene is not None and scene.history.has_rows != action.isEnabled():
            self.refresh()

    def _follow(self, scene: SceneModel | None) -> None:
        if self._scene is not None:
            self._scene.recording.changed.disconnect(self.refresh)
            self._scene.history.changed.disconnect(self._on_history)
        self._scene = scene
        if scene is not None:
            scene.recording.changed.connect(self.refresh)
            scene.history.changed.connect(self._on_history)
        if self.dialog is not None:
            self.dialog.reject()


def _nothing(_path: str) -> None:
    """There is more to come."""
