"""The debug server of an application: one daemon thread, one listener, one connection file.

Methods may be called from any thread. The thread sleeps unless there is something to do.
"""

import asyncio
import atexit
import contextlib
import enum
import os
import platform
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

from stroboscope.debugger_protocol.connection_file import ConnectionFile, make_session_id
from stroboscope.debugger_protocol.exceptions import ProtocolError
from stroboscope.debugger_protocol.handshake import make_secret
from stroboscope.debugger_protocol.host.control import OnDisconnect
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.hub import Hub
from stroboscope.debugger_protocol.host.script_end import script_end
from stroboscope.debugger_protocol.lost_descriptors import point_at_null_device
from stroboscope.debugger_protocol.messages import (
    ClientMessage,
    PlaybackMode,
    ServerMessage,
    SessionInfo,
)
from stroboscope.debugger_protocol.server_connection import Listener
from stroboscope.debugger_protocol.sessions import debugger_dialect

__all__ = ["DebugServer", "KeepWaiting", "OnDisconnect", "Patience"]

_START_TIMEOUT = 10.0
_STOP_TIMEOUT = 5.0
_WAIT_SLICE = 0.05
# How long clients that have read so far may take to read what the scenes stood at in the end: on a
# busy machine they may not run for a second. Nobody is parked meanwhile.
_LAST_WORDS_S = 3.0


class Patience(enum.Enum):
    """What to do about a client that has not come yet."""

    WAIT = enum.auto()
    """Nothing was heard of it: the time runs."""
    EXTEND = enum.auto()
    """It is starting up: the time begins anew."""
    GIVE_UP = enum.auto()
    """It will not come."""


KeepWaiting = Callable[[], Patience]


class _Running:
    """What exists while the server runs; a new one for every start."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self.opening = threading.Lock()
        """Held until clients can connect, or never will. No Event: Ctrl+C may tear its wait, which
        leaves its lock behind for ever, and a server thread that waits for that."""
        self.opening.acquire()
        self.ended = threading.Event()
        self.error: BaseException | None = None
        self.stopping = ""
        self.stop_requested: asyncio.Event | None = None
        self.hub: Hub | None = None
        self.listener: Listener[ClientMessage, ServerMessage] | None = None
        self.file: ConnectionFile | None = None
        self.clients = 0
        self.somebody_came = False
        """Whether a client has come since one was last waited for, wherever it is now."""
        self.end_was_told = False
        self.thread: threading.Thread | None = None


class DebugServer:
    """Lets debuggers attach to the scenes of a host.

    ``script``, ``argv`` and ``engine`` are told to the clients; ``on_disconnect`` says what
    happens to scenes that stand still when the controlling client is gone.
    """

    def __init__(
        self,
        host: Host,
        *,
        script: str = "",
        argv: tuple[str, ...] = (),
        engine: str = "",
        on_disconnect: OnDisconnect = OnDisconnect.CONTINUE,
    ) -> None:
        self._host = host
        self._script = script
        self._argv = argv
        self._engine = engine
        self._on_disconnect = on_disconnect
        self._lock = threading.Lock()
        self._changed = threading.Condition()
        self._running: _Running | None = None
        self.exit_code: int | None = None
        """What the script ended with, if anybody saw it; told to the clients in the end."""
        _SERVERS.add(self)
        _watch_forks()

    # --- life

    def start(
        self,
        port: int = 0,
        *,
        mode: PlaybackMode = PlaybackMode.PAUSED,
        control: bool = True,
        on_disconnect: OnDisconnect | None = None,
    ) -> None:
        """Listen, and return when clients can connect; harmless while it runs.

        ``mode`` is what the session begins with when its first controlling client comes. With
        ``control=False`` clients watch and change nothing until one asks for control. Raises
        OSError when the port is taken, RuntimeDirectoryError or ConnectionFileError.
        """
        with self._lock:
            if self.is_running():
                return
            if self._running is not None:
                self._running.ended.wait(_STOP_TIMEOUT)
            running = _Running()
            running.thread = threading.Thread(
                target=self._run,
                args=(running, port, mode, control, on_disconnect or self._on_disconnect),
                name="stroboscope-debug-server",
                daemon=True,
            )
            self._host.begin_session()
            try:
                running.thread.start()
                if not running.opening.acquire(timeout=_START_TIMEOUT):
                    raise ProtocolError(
                        f"the debug server did not start within {_START_TIMEOUT:g} s"
                    )
                if running.error is None:
                    # The daemon thread would end with the interpreter and leave its file behind.
                    atexit.register(self._stop_at_exit)
                    self._running = running
            except BaseException:
                # Ctrl+C too, anywhere: nobody else knows of this thread and its connection file.
                self._request_stop(running, "it was stopped while it started")
                running.ended.wait(_STOP_TIMEOUT)
                raise
            if running.error is not None:
                running.thread.join(_STOP_TIMEOUT)
                raise running.error

    def stop(self, reason: str = "the application stopped its debug server") -> None:
        """Release every thread, tell the clients why, and stop; harmless when stopped.

        What the scenes of the calling thread stand at is sent before.
        """
        atexit.unregister(self._stop_at_exit)
        with self._lock:
            running, self._running = self._running, None
        if running is None:
            return
        self._host.publish_last()
        # Parked threads must not wait for the network's farewell.
        self._host.detach(reason)
        self._request_stop(running, reason)
        if running.thread is not None and running.thread is not threading.current_thread():
            running.thread.join(_STOP_TIMEOUT)
        self._notify()

    def _stop_at_exit(self) -> None:
        running = self._running
        if running is not None:
            self.stop(self._tell_end(running))

    def _tell_end(self, running: _Running) -> str:
        """Say once, in the log, how the script has ended; return it."""
        end = script_end(self._script, exit_code=self.exit_code)
        if not running.end_was_told:
            running.end_was_told = True
            self._host.log(end.level, end.text)
        return end.text

    def has_connection(self) -> bool:
        """Return whether any authenticated client is connected."""
        running = self._running
        return running is not None and running.clients > 0 and not running.stopping

    def is_running(self) -> bool:
        """Return whether clients can connect."""
        running = self._running
        return running is not None and not running.stopping and not running.ended.is_set()

    def get_port(self) -> int:
        """Return the port on 127.0.0.1, 0 while the server is stopped."""
        running = self._running
        listener = running.listener if running is not None else None
        return listener.port if listener is not None and self.is_running() else 0

    @property
    def port(self) -> int:
        """The port on 127.0.0.1, 0 while the server is stopped."""
        return self.get_port()

    @property
    def session_id(self) -> str:
        """The id of the session that clients ask for; "" while the server is stopped."""
        running = self._running
        file = running.file if running is not None and self.is_running() else None
        return file.info.session_id if file is not None else ""

    @property
    def connection_file(self) -> Path | None:
        """Where clients read how to connect; None while the server is stopped."""
        running = self._running
        if running is None or running.file is None or not self.is_running():
            return None
        return running.file.path

    def wait_for_client(
        self, timeout: float | None = None, *, keep_waiting: KeepWaiting | None = None
    ) -> bool:
        """Wait until a client has connected; Ctrl+C works.

        One that has come and gone since the server was started, or since the last one was waited
        for, is not missed. Returns False after ``timeout`` seconds of silence, when
        ``keep_waiting``, asked about twenty times a second, gives up, or when the server is
        stopped.
        """
        heard = time.monotonic()
        with self._changed:
            while not self._has_met_somebody():
                if not self.is_running():
                    return False
                if timeout is not None and time.monotonic() - heard >= timeout:
                    return False
                self._changed.wait(_WAIT_SLICE)
                if keep_waiting is None:
                    continue
                match keep_waiting():
                    case Patience.EXTEND:
                        heard = time.monotonic()
                    case Patience.GIVE_UP:
                        return self._has_met_somebody()
                    case Patience.WAIT:
                        pass
            return True

    def _has_met_somebody(self) -> bool:
        """Return whether a client is there, or has been, and note that it is known now."""
        running = self._running
        if running is None or running.stopping:
            return False
        met = running.somebody_came or running.clients > 0
        running.somebody_came = False
        return met

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()

    # --- the server thread

    def _run(
        self,
        running: _Running,
        port: int,
        mode: PlaybackMode,
        control: bool,
        on_disconnect: OnDisconnect,
    ) -> None:
        try:
            # On this thread: Ctrl+C must not leave half a loop behind.
            loop = running.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(loop)
            loop.run_until_complete(self._serve(running, loop, port, mode, control, on_disconnect))
        except Exception as error:  # noqa: BLE001 - raised again by start()
            running.error = error
        finally:
            self._clean_up(running)

    async def _serve(
        self,
        running: _Running,
        loop: asyncio.AbstractEventLoop,
        port: int,
        mode: PlaybackMode,
        control: bool,
        on_disconnect: OnDisconnect,
    ) -> None:
        running.stop_requested = asyncio.Event()
        secret = make_secret()
        session = self._session_info()

        def end_session(reason: str) -> None:
            running.stopping = running.stopping or reason
            self._host.detach(reason)
            self._request_stop(running, reason)
            self._notify()

        def clients_changed(count: int) -> None:
            with self._changed:
                running.somebody_came = running.somebody_came or count > running.clients
                running.clients = count
                self._changed.notify_all()

        hub = Hub(
            self._host,
            loop,
            mode=mode,
            grants_control=control,
            on_disconnect=on_disconnect,
            end_session=end_session,
            tell_end=lambda: self._tell_end(running),
            clients_changed=clients_changed,
        )
        limits = self._host.limits
        listener = Listener(
            debugger_dialect(limits), hub, secret=secret, session=session, limits=limits
        )
        bound = await listener.start(port)
        try:
            running.file = ConnectionFile.write(
                port=bound, secret=secret, session_id=session.session_id, script=self._script
            )
            running.hub, running.listener = hub, listener
            self._host.listener = hub
            running.opening.release()
            if not running.stopping:
                await running.stop_requested.wait()
            listener.refuse_newcomers()
            await hub.send_rest(_LAST_WORDS_S)
        finally:
            self._host.detach(running.stopping or "the debug server stopped")
            if self._host.listener is hub:
                self._host.listener = None
            hub.close()
            await listener.stop(running.stopping or "the debug server stopped")

    def _request_stop(self, running: _Running, reason: str) -> None:
        running.stopping = running.stopping or reason
        loop, event = running.loop, running.stop_requested
        if loop is not None and event is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended already
                loop.call_soon_threadsafe(event.set)

    def _clean_up(self, running: _Running) -> None:
        """End what the thread has begun, whatever has happened."""
        if running.file is not None:
            running.file.remove()
        running.clients = 0
        running.ended.set()
        if running.loop is not None:
            _end_loop(running.loop)
        if running.opening.locked():  # it never came so far; harmless if it did
            running.opening.release()
        self._notify()

    def _session_info(self) -> SessionInfo:
        return SessionInfo(
            session_id=make_session_id(),
            pid=os.getpid(),
            script=self._script,
            argv=self._argv,
            python=platform.python_version(),
            engine=self._engine,
            started=time.time(),
        )

    # --- forks

    def forget_parent(self) -> None:
        """In a forked child: let go of the parent's sockets; a new start is a new session."""
        running, self._running = self._running, None
        self._lock = threading.Lock()
        self._changed = threading.Condition()
        if running is not None:
            if running.listener is not None:
                running.listener.abandon_in_forked_child()
            running.stopping = "this is a forked child"
            if running.loop is not None:
                _close_loop_in_child(running.loop)
            # Nothing of the parent's thread may run again, not even its finalizers.
            _ABANDONED.append(running)
        self._host.forget_parent()


def _end_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what is left of the tasks of a loop that has stopped, and close it."""
    with contextlib.suppress(Exception):
        leftover = asyncio.all_tasks(loop)
        for task in leftover:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*leftover, return_exceptions=True))
    loop.close()


def _close_loop_in_child(loop: asyncio.AbstractEventLoop) -> None:
    """Point the descriptors of a loop whose thread did not survive at the null device."""
    numbers = []
    selector = getattr(loop, "_selector", None)
    for holder in (selector, getattr(loop, "_ssock", None), getattr(loop, "_csock", None)):
        with contextlib.suppress(Exception):
            numbers.append(holder.fileno())  # type: ignore[union-attr]
    point_at_null_device(numbers)


# Inevitable module state: fork hooks can be registered once per process and never removed.
_SERVERS: "weakref.WeakSet[DebugServer]" = weakref.WeakSet()
_ABANDONED: list[_Running] = []
_HOOKS: list[int] = []


def _watch_forks() -> None:
    if not _HOOKS and sys.platform != "win32":
        _HOOKS.append(os.getpid())
        os.register_at_fork(after_in_child=_after_fork)


def _after_fork() -> None:
    for server in list(_SERVERS):
        server.forget_parent()
