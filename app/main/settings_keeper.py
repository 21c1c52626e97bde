"""Writes the settings soon after something in them has changed, not only when the window closes."""

from PySide6.QtCore import QEvent, QObject, QTimer

from stroboscope.app.main.window import MainWindow
from stroboscope.app.models.log import LogModel
from stroboscope.app.models.session import SessionModel
from stroboscope.app.models.settings import Settings, SettingsStore
from stroboscope.app.panels.tables.value_view import ValueView
from stroboscope.app.panels.watch import WatchPanel
from stroboscope.debugger_protocol.messages import LogLevel

__all__ = ["SettingsKeeper"]

# What changes together is written together; a window that is killed loses no more than this.
_DELAY_MS = 1000


class SettingsKeeper(QObject):
    """Listens to everything that is remembered. ``close`` before the window goes. GUI thread only.

    What is written is gathered when it is due: dragging a border writes once a second.
    """

    def __init__(
        self, window: MainWindow, *, settings: Settings, store: SettingsStore, log: LogModel
    ) -> None:
        super().__init__(window)
        self._window = window
        self._settings = settings
        self._store = store
        self._log = log
        self._newest = ""
        self._closed = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_DELAY_MS)
        self._timer.timeout.connect(self.save)
        self._listen()

    @property
    def is_waiting(self) -> bool:
        """Whether something is about to be written."""
        return self._timer.isActive()

    def touch(self, *_arguments: object) -> None:
        """Something may have changed: look soon."""
        if not self._closed and not self._timer.isActive():
            self._timer.start()

    def save(self) -> None:
        """Write what is different from what was written last."""
        self._timer.stop()
        self._window.keep_settings()
        known = self._store.problem
        self._store.save(self._settings)
        if self._store.problem and self._store.problem != known:
            self._log.add(LogLevel.WARNING, self._store.problem)

    def close(self) -> None:
        """Write no more; panels that hide with the window still tell."""
        self._closed = True
        self._timer.stop()
        s = self._window.sessions
        s.shown_changed.disconnect(self.touch)
        s.session_changed.disconnect(self._on_session)
        s.selection.changed.disconnect(self.touch)
        s.scope_changed.disconnect(self.touch)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Notice that the window or a panel was moved or resized."""
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move):
            self.touch()
        return super().eventFilter(watched, event)

    def _listen(self) -> None:
        w, s = self._window, self._window.sessions
        s.shown_changed.connect(self.touch)
        s.session_changed.connect(self._on_session)
        s.selection.changed.connect(self.touch)
        s.scope_changed.connect(self.touch)
        for action in w.actions():
            action.triggered.connect(self.touch)
        w.installEventFilter(self)
        for dock in w.docks.values():
            dock.installEventFilter(self)
            dock.visibilityChanged.connect(self.touch)
            dock.topLevelChanged.connect(self.touch)
            dock.dockLocationChanged.connect(self.touch)
        w.scene_view.grid.camera_changed.connect(self.touch)
        w.plots.layout_changed.connect(self.touch)
        watch = w.panels["watch"].content
        if isinstance(watch, WatchPanel):
            watch.watches_changed.connect(self.touch)
        w.log_panel.level.currentIndexChanged.connect(self.touch)
        for table in w.findChildren(ValueView):
            table.chosen.connect(self.touch)
        w.travel.keeper.changed.connect(self.touch)
        w.theme_changed.connect(self.touch)

    def _on_session(self, _session: SessionModel) -> None:
        newest = self._settings.recent[0] if self._settings.recent else ""
        if newest != self._newest:
            self._newest = newest
            self.touch()
