"""Says in the status bar that the shown scene is not left to its script, and gives it back."""

from PySide6.QtWidgets import QToolButton, QWidget

from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.panels.icons import Icon, icon
from stroboscope.app.panels.style import set_property
from stroboscope.resources.themes import Palette

__all__ = ["InterventionButton"]


class InterventionButton(QToolButton):
    """Hidden while nobody overrides a control or adds noise; a click gives everything back."""

    def __init__(
        self, sessions: SessionsModel, palette: Palette, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._sessions = sessions
        self._palette = palette
        self._scene: SceneModel | None = None
        set_property(self, "hint", "true")
        self.setToolTip("Controls of the shown scene are not the script's. Click to give back.")
        self.clicked.connect(self.give_back)
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

    def give_back(self) -> None:
        """Leave every control to the script."""
        scene = self._scene
        if scene is None or scene.is_stale:
            return
        said = scene.edits.interventions
        for index, _ in said.overrides:
            scene.edits.set_override(index, None)
        if said.noise_std > 0.0:
            scene.edits.set_noise(0.0, 0.0)

    def _follow(self, scene: SceneModel | None) -> None:
        if self._scene is not None:
            self._scene.edits.interventions_changed.disconnect(self._refresh)
        self._scene = scene
        if scene is not None:
            scene.edits.interventions_changed.connect(self._refresh)
        self._refresh()

    def _on_session(self, _session: object) -> None:
        self._refresh()

    def _refresh(self) -> None:
        scene = self._scene
        said = scene.edits.interventions if scene is not None and not scene.is_stale else None
        parts = []
        if said is not None and said.overrides:
            count = len(said.overrides)
            parts.append(f"{count} {'control' if count == 1 else 'controls'} overridden")
        if said is not None and said.noise_std > 0.0:
            parts.append("noise on the controls" if not parts else "noise")
        if parts:
            self.setText(f"{', '.join(parts)} — give back")
            self.setIcon(icon(Icon.HELD, self._palette, color=self._palette.warn))
        self.setVisible(bool(parts))
