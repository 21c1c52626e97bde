"""The debugger's side of one process: at most one open session, the window, signals and forks."""

import contextlib
import importlib
import logging
import math
import os
import sys
import threading
import time

from stroboscope.debugger_protocol.connection_file import read_connection_file
from stroboscope.debugger_protocol.exceptions import (
    ConnectionLost,
    NoSessionError,
    ProtocolError,
    SceneClosedError,
)
from stroboscope.debugger_protocol.host.server import DebugServer, OnDisconnect, Patience
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.playback_messages import HELD_AT_END
from stroboscope.debugger_protocol.window_link import WindowClient
from stroboscope.engine.instrument.instrumentation import Instrumentation
from stroboscope.engine.launch import LaunchError, WindowProcess
from stroboscope.engine.process_exit import SignalWatch, is_interactive
from stroboscope.engine.runtime import Runtime, current_runtime, forget_parent

__all__ = ["DebugSession"]

_log = logging.getLogger("stroboscope.debugger")

# How long the window that is open may take to answer [s].
_LEAST_PATIENCE_S = 0.5
_PATIENCE_S = 15.0
# How long a window that lives may take to import what it needs [s].
_STARTING_S = 60.0
_OVER = f"{HELD_AT_END}, and is held there: look back, or try something from here; Play lets it end"
_PRESS_PLAY = "paused at the first step: press Play in the window"


class DebugSession:
    """What ``stroboscope.engine.debugger`` does; one object per process, any thread."""

    def __init__(self) -> None:
        # Held while a session is opened or closed, which may take as long as a window starts.
        self._lock = threading.RLock()
        self._server: DebugServer | None = None
        self._server_runtime: Runtime | None = None
        self._instrumentation: Instrumentation | None = None
        self._signals = SignalWatch(release=self._release)
        self._watches_end = False
        self._is_offered = False
        """Whether the session was opened for somebody who controls it."""
        self.holds_at_end = False
        """Whether sessions begin with holding the last scene when the script is over."""
        self.paused_text = _PRESS_PLAY
        """What the terminal is told when a window is there and the scenes are paused."""
        if sys.platform != "win32":
            os.register_at_fork(after_in_child=self._forget_parent)

    # --- sessions

    @property
    def server(self) -> DebugServer:
        """The debug server of the present engine runtime, started or not."""
        with self._lock:
            runtime = current_runtime()
            if self._server is None or self._server_runtime is not runtime:
                self._server = DebugServer(
                    runtime.host,
                    script=sys.argv[0] if sys.argv else "",
                    argv=tuple(sys.argv),
                    engine="mujoco",
                )
                self._server_runtime = runtime
                runtime.before_end(self.hold_at_end)
                runtime.before_shutdown(self._close)
            return self._server

    def is_attached(self) -> bool:
        """Return whether any client is connected."""
        server = self._server
        return server is not None and server.has_connection()

    @property
    def is_offered(self) -> bool:
        """Whether a session is open that its first client controls, or somebody is there."""
        server = self._server
        is_open = server is not None and server.is_running()
        return (is_open and self._is_offered) or self.is_attached()

    def attach(
        self, timeout: float, *, launch: bool, mode: PlaybackMode, on_disconnect: OnDisconnect
    ) -> bool:
        """Open a session and wait for a client; see :func:`stroboscope.engine.debugger.attach`."""
        if self.is_attached():
            return True
        with self._lock:
            if self.is_attached():
                return True
            listened = self.server.is_running() and not self._is_offered
            port = self.server.port if listened else 0
            try:
                self._open(mode=mode, control=True, on_disconnect=on_disconnect, port=port)
            except (ProtocolError, OSError) as error:
                # A runtime directory that is not safely ours, a full disk: the script runs alone.
                _log.warning("not attached: %s", error)
                return False
            attached = False
            try:
                attached = self._wait_for_client(timeout, launch=launch)
            finally:
                if not attached:
                    self._close()
                    if listened:
                        self.listen(port)  # as before
        if attached and mode is PlaybackMode.PAUSED:
            _tell(self.paused_text if launch else "paused at the first step")
        return attached

    def listen(self, port: int = 0) -> None:
        """Open a session that clients may join as observers, without waiting for one."""
        with self._lock:
            if not self.server.is_running():
                self._open(
                    mode=PlaybackMode.FAST_FORWARD,
                    control=False,
                    on_disconnect=OnDisconnect.CONTINUE,
                    port=port,
                )
                _tell(f"listening: {self._how_to_connect()}")

    def start(self, port: int = 0) -> None:
        """Open a session that its first client controls, without waiting for one."""
        with self._lock:
            if not self.server.is_running():
                self._open(
                    mode=PlaybackMode.PAUSED,
                    control=True,
                    on_disconnect=OnDisconnect.CONTINUE,
                    port=port,
                )

    def detach(self, reason: str = "the script detached") -> None:
        """End the session; harmless when there is none."""
        # Without the lock: another thread may be waiting for a window with it.
        self._close(reason)

    def watch_signals(self) -> None:
        """Be ready to hear of signals although a session may be opened by another thread."""
        self._signals.take_descriptor()

    def hold_at_end(self) -> None:
        """Stop the main thread in the scene it has stepped last, if clients want that; once.

        Returns when the debugger lets it go on or has gone, and on Ctrl+C.
        """
        runtime = self._server_runtime
        if runtime is None or threading.current_thread() is not threading.main_thread():
            return
        playback, scene = runtime.host.playback, None
        if playback.hold_at_end and playback.awaits_end and self.is_attached():
            scene = runtime.last_stepped()
        try:
            if scene is not None:
                scene.link.park_at_end(_OVER)
        except (KeyboardInterrupt, SceneClosedError):
            return  # told to end
        except Exception:  # noqa: BLE001 - a callback of the script, and the script is over
            _log.exception("holding scene %r at the end of the script failed", scene)
        finally:
            playback.awaits_end = False

    def _watch_end(self) -> bool:
        """Be called when the main thread is over; False where Python has no place for that."""
        register = getattr(threading, "_register_atexit", None)
        if register is None or is_interactive():
            return False
        if not self._watches_end:
            # The last to register is called first: before pools wait for their threads.
            importlib.import_module("concurrent.futures.thread")
            try:
                register(self.hold_at_end)
            except RuntimeError:
                return False  # it is over
            self._watches_end = True
        return True

    def note_exit_code(self, code: int) -> None:
        """Tell the clients in the end with which code the script ends."""
        if self._server is not None:
            self._server.exit_code = code

    # --- scripts that don't know us

    @property
    def instrumentation(self) -> Instrumentation:
        """The wrapped ``mujoco``, made on first use; raises MujocoUnavailableError."""
        with self._lock:
            if self._instrumentation is None:
                self._instrumentation = Instrumentation()
                if self._server is not None and self._server.is_running():
                    self._instrumentation.session_opened()
            return self._instrumentation

    # --- inside

    def _open(
        self, *, mode: PlaybackMode, control: bool, on_disconnect: OnDisconnect, port: int = 0
    ) -> None:
        server = self.server
        server.stop("the script attached anew")
        server.start(port, mode=mode, control=control, on_disconnect=on_disconnect)
        self._is_offered = control
        playback = current_runtime().host.playback
        playback.hold_at_end = self.holds_at_end
        playback.awaits_end = self._watch_end()
        self._signals.start()
        if self._instrumentation is not None:
            self._instrumentation.session_opened()

    def _close(self, reason: str = "the engine was shut down") -> None:
        if self._server is not None:
            self._server.stop(reason)
        self._signals.stop()
        if self._instrumentation is not None:
            self._instrumentation.session_closed()

    def _release(self, reason: str) -> None:
        """Let every parked thread go, because the process is to end; on the signal thread."""
        runtime = self._server_runtime
        if runtime is not None:
            runtime.host.release_all(reason)

    def _forget_parent(self) -> None:
        """In a forked child: start detached; what the parent has open is the parent's."""
        self._lock = threading.RLock()
        self._signals.forget_parent()
        if self._server is not None:
            self._server.forget_parent()
        forget_parent()
        if self._instrumentation is not None:
            self._instrumentation.forget_parent()

    # --- waiting for somebody

    def _wait_for_client(self, timeout: float, *, launch: bool) -> bool:
        limit = None if math.isinf(timeout) else timeout
        if not launch:
            _tell(
                f"waiting for a debugger: {self._how_to_connect()}. Stops hold as long as somebody "
                "holds the session: leave `stroboscope ctl pause` running, and play from another "
                "terminal"
            )
            if self.server.wait_for_client(limit):
                return True
            _log.warning("no debugger connected within %g s", timeout)
            return False
        try:
            if self._ask_running_window(timeout):
                return self.server.wait_for_client(limit)
            window = WindowProcess(self._session_id(), script=sys.argv[0] if sys.argv else "")
        except (LaunchError, ProtocolError) as error:
            _log.warning("not attached: %s", error)
            return False
        try:
            return self._wait_for_window(window, timeout)
        finally:
            window.forget_log()

    def _ask_running_window(self, timeout: float) -> bool:
        """Have the open window add this session; False when none is open."""
        # A window that is alive answers soon, however long the script would wait for a new one.
        patience = min(max(timeout, _LEAST_PATIENCE_S), _PATIENCE_S)
        begun = time.monotonic()
        try:
            window = WindowClient.connect(timeout=patience)
        except NoSessionError:
            return False
        except ConnectionLost as error:
            if time.monotonic() - begun < patience:
                return False  # it is just closing
            # A second window would find the same one, and wait for it as long again.
            raise LaunchError(
                f"the window that is open does not answer within {patience:g} s: "
                "wait until it does, or close it and attach again"
            ) from error
        with window:
            window.open_session(self._session_id(), timeout=patience)
        return True

    def _wait_for_window(self, window: WindowProcess, timeout: float) -> bool:
        limit = None if math.isinf(timeout) else timeout
        begun = time.monotonic()

        def look() -> Patience:
            if window.failure():
                return Patience.GIVE_UP
            is_heard = window.has_printed_more()
            if not is_heard and window.is_starting:
                is_heard = time.monotonic() - begun < _STARTING_S
            return Patience.EXTEND if is_heard else Patience.WAIT

        if self.server.wait_for_client(limit, keep_waiting=look):
            return True
        reason = window.failure() or (
            f"the window did not connect and was silent for {timeout:g} s (a slow machine needs "
            "longer: attach(timeout_seconds=60), or stroboscope run --timeout 60)"
        )
        _log.warning("not attached: %s", reason)
        return False

    def _session_id(self) -> str:
        path = self.server.connection_file
        if path is None:
            raise NoSessionError("the debug server was stopped while a client was waited for")
        return read_connection_file(path).session_id

    def _how_to_connect(self) -> str:
        return (
            f"run `stroboscope --session {self._session_id()}` or `stroboscope ctl` on this "
            f"machine (connection file {self.server.connection_file})"
        )


def _tell(text: str) -> None:
    """Say something in the script's terminal."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or none at all
        sys.stderr.write(f"stroboscope: {text}\n")
        sys.stderr.flush()
