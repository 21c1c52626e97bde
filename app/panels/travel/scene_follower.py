"""Tells a widget when something of the shown scene has changed, as long as it can be seen."""

from collections.abc import Callable, Iterable

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QWidget

from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.signal import Signal
from stroboscope.app.panels.paced import PacedRefresh
from stroboscope.debugger_protocol.messages import PlaybackMode

__all__ = ["SceneFollower"]

_RATE = 10.0


class SceneFollower(QObject):
    """Calls ``refresh`` soon after one of ``signals(scene)`` was emitted, another scene is shown,
    or it is in another mode or other hands. GUI thread only; ``close`` stops listening.

    ``always``: also while the widget is hidden, which may be what it is about to change.
    """

    def __init__(
        self,
        widget: QWidget,
        sessions: SessionsModel,
        *,
        signals: Callable[[SceneModel], Iterable[Signal[[]]]],
        refresh: Callable[[], None],
        always: bool = False,
    ) -> None:
        super().__init__(widget)
        self._widget = widget
        self._sessions = sessions
        self._signals = signals
        self._refresh = refresh
        self._always = always
        self._visible = widget.isVisible()
        self._heard: list[Signal[[]]] = []
        self._standing: object = None
        self.scene: SceneModel | None = None
        self._paced = PacedRefresh(widget, sessions.refreshes, refresh=self._run, rate=_RATE)
        widget.installEventFilter(self)
        sessions.shown_changed.connect(self._on_shown)
        sessions.session_changed.connect(self._on_session)
        sessions.scene_added.connect(self._on_scenes)
        sessions.scene_removed.connect(self._on_scenes)
        self._follow(sessions.shown)

    def close(self) -> None:
        """Stop listening."""
        self._paced.close()
        self._widget.removeEventFilter(self)
        self._sessions.shown_changed.disconnect(self._on_shown)
        self._sessions.session_changed.disconnect(self._on_session)
        self._sessions.scene_added.disconnect(self._on_scenes)
        self._sessions.scene_removed.disconnect(self._on_scenes)
        self._follow(None)

    def now(self) -> None:
        """Refresh at once, if anybody sees it."""
        if self._visible or self._always:
            self._paced.now()

    def request(self) -> None:
        """Refresh soon, if anybody sees it."""
        if self._visible or self._always:
            self._paced.request()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Refresh when the widget appears."""
        if watched is self._widget and event.type() in (QEvent.Type.Show, QEvent.Type.Hide):
            self._visible = event.type() == QEvent.Type.Show
            if self._visible and not self._always:
                self._paced.now()
            elif not self._visible and not self._always:
                self._paced.forget()
        return super().eventFilter(watched, event)

    def _run(self) -> None:
        if self._visible or self._always:
            self._refresh()

    def _follow(self, scene: SceneModel | None) -> None:
        if self.scene is not None:
            self.scene.status_changed.disconnect(self._on_status)
        for signal in self._heard:
            signal.disconnect(self.request)
        self.scene = scene
        self._heard = []
        if scene is not None:
            scene.status_changed.connect(self._on_status)
            self._heard = [scene.described, scene.removed, *self._signals(scene)]
        for signal in self._heard:
            signal.connect(self.request)

    def _on_shown(self, scene: SceneModel | None) -> None:
        self._follow(scene)
        self._stands_elsewhere()
        self.now()

    def _on_scenes(self, _scene: SceneModel) -> None:
        """There is another scene to listen to, or one less."""
        self._follow(self._sessions.shown)
        self.request()

    def _on_session(self, _session: object) -> None:
        if self._stands_elsewhere():
            self.request()

    def _on_status(self) -> None:
        # It comes many times a second while a scene runs; little of it matters here.
        if self._stands_elsewhere():
            self.request()

    def _stands_elsewhere(self) -> bool:
        scene, standing = self.scene, None
        if scene is not None:
            status = scene.status
            hold = status.hold_reason if status is not None and status.held else ""
            still = status.axis if status is not None and scene.mode is PlaybackMode.PAUSED else -1
            session = scene.session
            at_end = session.status is not None and session.status.hold_at_end
            standing = (scene.mode, scene.is_stale, session.has_control, hold, still, at_end)
        changed = standing != self._standing
        self._standing = standing
        return changed
