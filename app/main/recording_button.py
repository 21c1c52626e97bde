"""Says in the status bar that the shown scene is recorded into a file, and how large that is."""

from pathlib import PurePath

from PySide6.QtWidgets import QToolButton, QWidget

from stroboscope.app.models.checkpoints import size_text
from stroboscope.app.models.numbers import count_text
from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.style import set_property
from stroboscope.resources.themes import Palette

__all__ = ["RecordingButton"]


class RecordingButton(QToolButton):
    """Hidden while nothing records the shown scene; who clicks it wants that to stop."""

    def __init__(
        self, sessions: SessionsModel, palette: Palette, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._sessions = sessions
        self._palette = palette
        self._scene: SceneModel | None = None
        set_property(self, "hint", "true")
        sessions.shown_changed.connect(self._follow)
        sessions.session_changed.connect(self._on_session)
        self._follow(sessions.shown)

    def close_panel(self) -> None:
        """Stop listening."""
        self._sessions.shown_changed.disconnect(self._follow)
        self._sessions.session_changed.disconnect(self._on_session)
        self._follow(None)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self._refresh()

    def _follow(self, scene: SceneModel | None) -> None:
        if self._scene is not None:
            self._scene.recording.changed.disconnect(self._refresh)
        self._scene = scene
        if scene is not None:
            scene.recording.changed.connect(self._refresh)
        self._refresh()

    def _on_session(self, _session: object) -> None:
        if self.isVisible():
            self._refresh()

    def _refresh(self) -> None:
        scene, palette = self._scene, self._palette
        running = scene.recording.running if scene is not None and not scene.is_stale else None
        if running is not None:
            name = PurePath(running.path).name
            if running.failure:
                self.setIcon(icon(Icon.WARNING, palette, color=palette.warn))
                self.setText(f"{name} is not written any more")
                self.setToolTip(plain_text(running.failure))
            else:
                self.setIcon(icon(Icon.RECORD, palette, color=palette.stop))
                frames = f"{count_text(running.frames)} frames"
                self.setText(f"{name} · {frames} · {size_text(running.nbytes)}")
                self.setToolTip(plain_text(f"Recording {running.path}\nClick to stop."))
        self.setVisible(running is not None)
