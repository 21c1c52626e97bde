"""Says in the status bar how much was found about the shown scene; the panel says what."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QToolButton, QWidget

from stroboscope.app.models.plain_text import plain_text
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.resources.themes import Palette

__all__ = ["FindingsButton"]


class FindingsButton(QToolButton):
    """Hidden while there are no findings; ``counted`` carries how many there are now."""

    counted = Signal(int)

    def __init__(
        self, sessions: SessionsModel, palette: Palette, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._sessions = sessions
        self._palette = palette
        self._scene: SceneModel | None = None
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        sessions.shown_changed.connect(self._follow)
        self._follow(sessions.shown)

    def close_panel(self) -> None:
        """Stop listening."""
        self._sessions.shown_changed.disconnect(self._follow)
        self._follow(None)

    def set_theme(self, palette: Palette) -> None:
        """Take other colours."""
        self._palette = palette
        self._refresh()

    def _follow(self, scene: SceneModel | None) -> None:
        if self._scene is not None:
            self._scene.edits.findings_changed.disconnect(self._refresh)
        self._scene = scene
        if scene is not None:
            scene.edits.findings_changed.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        found = (self._scene.edits.findings if self._scene is not None else None) or ()
        count, p = len(found), self._palette
        grave = any(finding.level is not LogLevel.INFO for finding in found)
        self.setIcon(
            icon(Icon.WARNING if grave else Icon.INFO, p, color=p.warn if grave else p.muted)
        )
        self.setText(f"{count} finding{'s' * (count != 1)} about this model")
        worst = f"{found[0].text}\n" if found else ""
        self.setToolTip(plain_text(f"{worst}Click to see what was found, and what to try."))
        self.setVisible(count > 0)
        self.counted.emit(count)
