"""Brings frames of the shown scene, all of one instant, to a widget as long as it can be seen."""

import time
from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QWidget

from stroboscope.app.models.frames import FrameSet, SceneFrame
from stroboscope.app.models.scene import SceneModel
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.view_state import ViewState
from stroboscope.app.panels.paced import PacedRefresh
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.topics import Instant, Topic

__all__ = ["TABLE_RATE", "FrameFollower"]

TABLE_RATE = 10.0
"""Values per second that a person can follow [Hz]."""

# Frames of one instant arrive one by one; a set that is still not complete after this won't be.
_PATIENCE_S = 0.5

Topics = tuple[tuple[Topic, ...], tuple[Topic, ...]]


class FrameFollower(QObject):
    """Subscribes while ``widget`` is visible, and calls ``refresh`` when there is news.

    ``topics(scene)`` returns what must be known at the instant, and what is used where the engine
    has it. GUI thread only; ``close`` stops everything.
    """

    def __init__(
        self,
        widget: QWidget,
        sessions: SessionsModel,
        view: ViewState,
        *,
        who: str,
        topics: Callable[[SceneModel], Topics],
        refresh: Callable[[], None],
        rate: float = TABLE_RATE,
    ) -> None:
        super().__init__(widget)
        self._widget = widget
        self._sessions = sessions
        self._view = view
        self._who = who
        self._topics = topics
        self._refresh = refresh
        self._rate = rate
        # What the rows are made of, as long as somebody sees them.
        self._interest: frozenset[Topic] = frozenset()
        self._visible = widget.isVisible()
        self._scene: SceneModel | None = None
        self._shown: FrameSet | None = None
        self._missing_since: float | None = None
        self._standing: tuple[object, ...] | None = None
        self._paced = PacedRefresh(
            widget, sessions.refreshes, refresh=self._refresh_seen, rate=rate
        )
        widget.installEventFilter(self)
        sessions.shown_changed.connect(self._on_shown)
        sessions.session_changed.connect(self._on_session)
        view.instant_changed.connect(self._on_instant)
        self._follow(sessions.shown)

    def close(self) -> None:
        """Stop listening."""
        self._paced.close()
        self._widget.removeEventFilter(self)
        self._sessions.shown_changed.disconnect(self._on_shown)
        self._sessions.session_changed.disconnect(self._on_session)
        self._view.instant_changed.disconnect(self._on_instant)
        self._follow(None)

    @property
    def scene(self) -> SceneModel | None:
        """The scene that is shown."""
        return self._scene

    def topics_changed(self) -> None:
        """Something else is shown: subscribe to what it needs, and forget what was there."""
        self._shown = None
        self._subscribe()
        self.refresh()

    def frames(self) -> FrameSet | None:
        """Return the newest complete set; while one is on its way the one before, else None."""
        scene = self._scene
        if scene is None:
            return None
        found = self._newest(scene)
        if found is not None and found is not self._shown:
            self._shown, self._missing_since = found, None
            return found
        if self._shown is None or self._shown.instant is scene.instant(self._view.instant):
            return self._shown
        now = time.monotonic()
        if self._missing_since is None:
            self._missing_since = now
        if now - self._missing_since > _PATIENCE_S:
            self._shown = None
        else:
            self._paced.later(_PATIENCE_S)
        return self._shown

    def _newest(self, scene: SceneModel) -> FrameSet | None:
        required, optional = self._topics(scene)
        # What an engine has sent once at this instant it sends always.
        known = [t for t in optional if scene.latest(t, self._view.instant) is not None]
        found = scene.frame_set((*required, *known), self._view.instant)
        if found is None and known:
            return self._shown or scene.frame_set(required, self._view.instant)
        return found

    def refresh(self) -> None:
        """Show what there is now, if anybody sees it."""
        if self._visible:
            self._paced.now()

    def request(self) -> None:
        """Show soon what there is then, if anybody sees it; not more often than can be read."""
        if self._visible:
            self._paced.request()

    def _refresh_seen(self) -> None:
        if self._visible:
            self._refresh()

    # --- following

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Subscribe when the widget appears, and let go when it is hidden."""
        if watched is self._widget and event.type() in (QEvent.Type.Show, QEvent.Type.Hide):
            self._visible = event.type() == QEvent.Type.Show
            self._subscribe()
            if self._visible:
                self.refresh()
            else:
                self._paced.forget()
        return super().eventFilter(watched, event)

    def _follow(self, scene: SceneModel | None) -> None:
        if self._scene is not None:
            self._scene.frame_arrived.disconnect(self._on_frame)
            self._scene.status_changed.disconnect(self._on_status)
            self._scene.described.disconnect(self._on_described)
            self._scene.restored.disconnect(self._on_restored)
            self._scene.want(self._who, ())
        self._scene = scene
        self._shown = None
        if scene is not None:
            scene.frame_arrived.connect(self._on_frame)
            scene.status_changed.connect(self._on_status)
            scene.described.connect(self._on_described)
            scene.restored.connect(self._on_restored)
        self._subscribe()

    def _subscribe(self) -> None:
        scene = self._scene
        if scene is None:
            return
        required, optional = self._topics(scene) if self._visible else ((), ())
        self._interest = frozenset((*required, *optional))
        scene.want(self._who, self._interest, rate=self._rate)

    def _on_shown(self, scene: SceneModel | None) -> None:
        self._follow(scene)
        self.refresh()

    def _on_session(self, _session: object) -> None:
        """Refresh for what can be done now; that a command was sent is a change of sessions too."""
        if self._scene is None or self._stand():
            self.request()

    def _on_status(self) -> None:
        """Refresh for another mode or instant: while a scene runs its frames come by themselves."""
        scene = self._scene
        if scene is None:
            return
        if self._stand() or scene.mode is PlaybackMode.PAUSED:
            self.request()

    def _stand(self) -> bool:
        """Return whether the scene is in another mode, at another instant, or in other hands."""
        scene = self._scene
        standing: tuple[object, ...] = ()
        if scene is not None:
            instant = scene.instant(self._view.instant)
            standing = (scene.mode, scene.is_stale, scene.session.has_control, instant)
        changed = standing != self._standing
        self._standing = standing
        return changed

    def _on_instant(self, _instant: Instant) -> None:
        self.refresh()

    def _on_described(self) -> None:
        self._shown = None
        self._subscribe()
        self.refresh()

    def _on_restored(self, _reason: str) -> None:
        self.request()

    def _on_frame(self, frame: SceneFrame) -> None:
        if frame.topic not in self._interest or self._scene is None or self._paced.is_waiting:
            return  # a refresh that is due will find it
        newest = self._newest(self._scene)
        if newest is None:
            return
        shown = self._shown.frames if self._shown is not None else {}
        if any(part is not shown.get(topic) for topic, part in newest.frames.items()):
            self.request()
