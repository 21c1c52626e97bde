"""Puts the window together and runs it: network, models, window, endpoint, clean end."""

import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication

from stroboscope.app.main.actions import ShortcutGate
from stroboscope.app.main.endpoint import WindowEndpoint
from stroboscope.app.main.garbage import GarbageCollector
from stroboscope.app.main.qt_aborts import telling_of_aborts
from stroboscope.app.main.settings_keeper import SettingsKeeper
from stroboscope.app.main.wake import Waker
from stroboscope.app.main.window import MainWindow
from stroboscope.app.models.log import LogModel
from stroboscope.app.models.network import Network
from stroboscope.app.models.session import SessionState
from stroboscope.app.models.session_finder import find_sessions
from stroboscope.app.models.sessions import SessionsModel
from stroboscope.app.models.settings import SettingsStore
from stroboscope.app.panels.style import apply_theme, palette_named, prepare_theme
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.window_link import WindowLock
from stroboscope.debugger_protocol.window_messages import WindowSession

__all__ = ["DesktopApplication", "make_qapplication"]

_RECONNECT_MS = 1000


def make_qapplication(
    argv: list[str], *, failed: Callable[[], None] = lambda: None
) -> QApplication:
    """Return the QApplication, made with what the 3D view needs when there is none yet.

    ``failed`` is called where Qt is about to abort the process, for want of a display most often.
    """
    existing = QApplication.instance()
    if isinstance(existing, QApplication):
        return existing
    # Undocking recreates a GL context; shared contexts keep what was uploaded.
    QCoreApplication.setAttribute(Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    with telling_of_aborts(failed):
        app = QApplication(argv)
    app.setApplicationName("stroboscope")
    app.setApplicationDisplayName("Stroboscope")
    app.setDesktopFileName("stroboscope")
    GarbageCollector(app)
    return app


class DesktopApplication(QObject):
    """Everything that lives as long as the window. ``close`` may be called twice."""

    def __init__(
        self,
        app: QApplication,
        *,
        settings_path: Path | None = None,
        lock: WindowLock | None = None,
    ) -> None:
        super().__init__()
        self._app = app
        self._closed = False
        self._lock = lock
        self._tried: set[Path] = set()
        self.store = SettingsStore(settings_path)
        self.settings = self.store.load()
        palette = palette_named(self.settings.theme)
        prepare_theme(app, palette)
        self.log = LogModel()
        self._waker = Waker(self)
        self.network = Network(self._waker.wake)
        self.sessions = SessionsModel(self.network, self.log)
        self._waker.poll = self.sessions.poll
        self._old_hook = sys.excepthook
        sys.excepthook = self._on_exception
        self._gate = ShortcutGate(app)
        self.window = MainWindow(self.sessions, self.settings)
        apply_theme(app, palette)
        self.keeper = SettingsKeeper(
            self.window, settings=self.settings, store=self.store, log=self.log
        )
        self.window.closed.connect(self.close)
        if self.store.problem:
            self.log.add(LogLevel.WARNING, self.store.problem)
        if lock is not None:
            self._endpoint = WindowEndpoint(
                open_session=self.open_session_id,
                focus=self.window.bring_to_front,
                screenshot=self.window.picture_png,
                sessions=self._window_sessions,
                parent=self,
            )
            self._endpoint.start(self.network, lock)
        self._reconnect = QTimer(self)
        self._reconnect.setInterval(_RECONNECT_MS)
        self._reconnect.timeout.connect(self._look_for_restarts)
        self.sessions.session_changed.connect(self._on_session_changed)

    def open_session_id(self, session_id: str) -> None:
        """Attach to a session by its id and bring the window to the front.

        Raises CommandError when no such session is running.
        """
        found, problem = find_sessions()
        for session in found:
            if session.session_id == session_id:
                self.sessions.open(session.path)
                self.window.bring_to_front()
                return
        raise CommandError(problem or f"no session {session_id} is running on this machine")

    def open_first(self, session_id: str, *, opened_by: str = "") -> None:
        """Attach to the session that the window was opened for, or say that it has gone.

        ``opened_by``: the script that has opened the window, and may not have waited for it.
        """
        try:
            self.open_session_id(session_id)
        except CommandError as error:
            text = str(error)
            if opened_by:
                text = (
                    f"{opened_by} is over, or has gone on without this window, which took too long "
                    "to open. Start it again, and it comes here; on a slow machine let it wait "
                    "longer: stroboscope run --timeout 60"
                )
            # With a source it is not the window's own trouble: it goes when something attaches.
            self.log.add(LogLevel.ERROR, text, source=opened_by or "stroboscope")

    def close(self) -> None:
        """Save the settings, say goodbye to every application, end the network thread."""
        if self._closed:
            return
        self._closed = True
        self._reconnect.stop()
        self._waker.close()
        self.sessions.session_changed.disconnect(self._on_session_changed)
        self.keeper.close()
        self.store.save(self.settings)
        self.network.close()
        if self._lock is not None:
            self._lock.release()
        if sys.excepthook == self._on_exception:
            sys.excepthook = self._old_hook
        if not self._app.topLevelWindows() or QApplication.quitOnLastWindowClosed():
            self._app.quit()

    def delete_window(self) -> None:
        """Delete every widget while Qt and OpenGL are whole; at exit Python keeps no order."""
        self.window.deleteLater()
        self._app.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        self._app.processEvents()
        self._app.shutdown()

    # --- restarts

    def _on_session_changed(self, _session: object) -> None:
        # A session that is lost once more may be looked for once more.
        self._tried -= {s.path for s in self.sessions.sessions if s.is_connected}
        lost = any(s.state is SessionState.LOST for s in self.sessions.sessions)
        if lost and not self._reconnect.isActive():
            self._reconnect.start()
        elif not lost:
            self._reconnect.stop()

    def _look_for_restarts(self) -> None:
        """Attach again to a script that has been started again, or that lost us."""
        lost = {s.identity for s in self.sessions.sessions if s.state is SessionState.LOST}
        lost.discard("")
        open_now = {s.path for s in self.sessions.sessions if s.state is not SessionState.LOST}
        for found in find_sessions()[0]:
            new = found.path not in open_now and found.path not in self._tried
            if found.script in lost and new:
                self._tried.add(found.path)
                self.sessions.open(found.path)

    def _window_sessions(self) -> tuple[WindowSession, ...]:
        return tuple(
            WindowSession(
                session_id=s.info.session_id,
                script=s.info.script,
                pid=s.info.pid,
                connected=s.is_connected,
            )
            for s in self.sessions.sessions
            if s.info is not None
        )

    # --- errors

    def _on_exception(
        self,
        kind: type[BaseException],
        error: BaseException,
        trace: TracebackType | None,
    ) -> None:
        """An exception in a slot: into the log and the banner, never silent."""
        if issubclass(kind, KeyboardInterrupt) or self._closed:
            self._old_hook(kind, error, trace)
            return
        text = "".join(traceback.format_exception(kind, error, trace))
        sys.stderr.write(text)
        report: Callable[[], None] = lambda: self.log.add(  # noqa: E731 - both threads use it
            LogLevel.ERROR, f"This window has a bug: {kind.__name__}: {error}\n{text}"
        )
        if threading.current_thread() is threading.main_thread():
            report()
        else:
            QTimer.singleShot(0, self, report)
