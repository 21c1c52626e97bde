"""The one window per user: its lock, its endpoint, and the blocking client that reaches it.

The window's process::

    lock = WindowLock.acquire()            # None: there is a window already
    server = WindowServer(requests, lock)  # in the network thread
    await server.start()

``attach()`` and the command line::

    with WindowClient.connect() as window:     # NoSessionError: there is no window
        window.open_session(session_id)
"""

import asyncio
import contextlib
import logging
import os
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

import msgspec
from websockets.exceptions import ConnectionClosed, InvalidHandshake, WebSocketException
from websockets.sync import client as websockets_client

from stroboscope.debugger_protocol.client_connection import open_loopback_socket, raise_failure
from stroboscope.debugger_protocol.connection_file import (
    ConnectionFile,
    ConnectionInfo,
    read_connection_file,
)
from stroboscope.debugger_protocol.exceptions import (
    CommandError,
    CommandTimeout,
    ConnectionFileError,
    ConnectionLost,
    HandshakeError,
    NoSessionError,
)
from stroboscope.debugger_protocol.handshake import make_secret
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import (
    Command,
    Done,
    Failed,
    FailureKind,
    Goodbye,
    SessionInfo,
)
from stroboscope.debugger_protocol.runtime_directory import find_runtime_directory
from stroboscope.debugger_protocol.server_connection import Listener, ServerConnection
from stroboscope.debugger_protocol.sessions import ClientSession, Left, Opened
from stroboscope.debugger_protocol.window_messages import (
    Focus,
    OpenSession,
    Picture,
    Ping,
    Screenshot,
    WindowClientMessage,
    WindowServerMessage,
    WindowSession,
    WindowStatus,
    WindowStatusRequest,
    window_dialect,
)

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = [
    "WindowClient",
    "WindowLock",
    "WindowRequests",
    "WindowServer",
    "find_window",
]

_LOGGER = logging.getLogger(__name__)
_LOCK_NAME: Final = "window.lock"
_FILE_NAME: Final = "window.json"
# How long the window's GUI may take for one request [s].
_REQUEST_TIMEOUT: Final = 15.0


class WindowLock:
    """The right to be this user's window; the operating system takes it back from the dead."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, directory: Path | None = None) -> "WindowLock | None":
        """Return the lock, or None while another process has it; never waits.

        Raises RuntimeDirectoryError when the runtime directory is not safely ours.
        """
        folder = find_runtime_directory() if directory is None else directory
        path = folder / _LOCK_NAME
        flags = os.O_RDWR | os.O_CREAT
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        while True:
            descriptor = os.open(path, flags, 0o600)
            if not _try_lock(descriptor):
                os.close(descriptor)
                return None
            if _is_same_file(descriptor, path):
                return cls(path, descriptor)
            # Its last holder removed it between our opening and our locking; take the new one.
            os.close(descriptor)

    def release(self) -> None:
        """Give the lock back; safe to call twice."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor < 0:
            return
        if sys.platform != "win32":
            with contextlib.suppress(OSError):
                self.path.unlink()
        os.close(descriptor)


class WindowRequests(Protocol):
    """What the window does when asked; awaited in its network thread, CommandError to refuse."""

    async def open_session(self, session_id: str) -> None: ...
    async def focus(self) -> None: ...
    async def screenshot(self) -> bytes: ...
    async def sessions(self) -> tuple[WindowSession, ...]: ...


class WindowServer:
    """The window's endpoint; every method belongs to the event loop's thread."""

    def __init__(
        self, requests: WindowRequests, lock: WindowLock, *, limits: Limits | None = None
    ) -> None:
        self._requests = requests
        self._directory = lock.path.parent
        self._limits = limits or Limits()
        self._tasks: set[asyncio.Task[None]] = set()
        self._file: ConnectionFile | None = None
        self._secret = make_secret()
        self._listener: Listener[WindowClientMessage, WindowServerMessage] = Listener(
            window_dialect(self._limits),
            self,
            secret=self._secret,
            session=SessionInfo(session_id="window", pid=os.getpid(), started=time.time()),
            limits=self._limits,
        )

    async def start(self) -> int:
        """Listen, publish where, and return the port."""
        port = await self._listener.start()
        path = self._directory / _FILE_NAME
        # Whoever wrote it is dead: we hold the lock.
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        self._file = ConnectionFile.write(
            port=port,
            secret=self._secret,
            endpoint=self._listener.dialect.endpoint,
            directory=self._directory,
        )
        return port

    async def stop(self, reason: str = "the window was closed") -> None:
        """Stop listening and remove the file; the lock is released by its owner."""
        if self._file is not None:
            self._file.remove()
        for task in list(self._tasks):
            task.cancel()
        await self._listener.stop(reason)

    # --- ClientHandler

    def client_joined(self, client: ServerConnection) -> None:
        """Nothing to tell: clients ask."""

    def client_left(self, client: ServerConnection, reason: str) -> None:
        """Nothing to undo: requests stand alone."""

    def client_message(self, client: ServerConnection, message: Any) -> None:
        """Start a request; its answer is sent when the window has done it."""
        task = asyncio.get_running_loop().create_task(self._answer(client, message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, client: ServerConnection, message: Command) -> None:
        kind = FailureKind.REFUSED
        try:
            async with asyncio.timeout(_REQUEST_TIMEOUT):
                client.send(await self._do(message))
            return
        except TimeoutError:
            kind = FailureKind.TIMEOUT
            reason = f"the window did not get to it within {_REQUEST_TIMEOUT:g} s: its GUI is busy"
        except CommandError as error:
            reason = str(error)
        except Exception as error:
            _LOGGER.exception("the window failed on a request")
            reason = f"the window failed: {error}"
        client.send(Failed(id=message.id, kind=kind, reason=reason))

    async def _do(self, message: Command) -> msgspec.Struct:
        match message:
            case OpenSession(session_id=session_id):
                await self._requests.open_session(session_id)
            case Focus():
                await self._requests.focus()
            case Screenshot():
                png = await self._requests.screenshot()
                room = self._limits.server_message_bytes - 64
                if len(png) > room:
                    raise CommandError(
                        f"the picture has {len(png)} bytes, at most {room} fit into a message: "
                        f"make the window smaller"
                    )
                return Picture(id=message.id, png=png)
            case WindowStatusRequest():
                sessions = await self._requests.sessions()
                return WindowStatus(id=message.id, pid=os.getpid(), sessions=sessions)
            case Ping():
                pass
            case _:
                raise CommandError(f"a window does not do {type(message).__name__}")
        return Done(id=message.id)


def find_window(directory: Path | None = None) -> ConnectionInfo:
    """Return where this user's window listens; raises NoSessionError when there is none."""
    folder = find_runtime_directory(create=False) if directory is None else directory
    try:
        info = read_connection_file(folder / _FILE_NAME)
    except ConnectionFileError as error:
        raise NoSessionError(f"no window is open: {error}") from error
    if not info.is_alive():
        raise NoSessionError(f"no window is open: process {info.pid} has ended")
    return info


class WindowClient:
    """Reaches the window from another process; blocking, one thread at a time.

    Meant for a few requests and then :meth:`close`: it sends heartbeats only while it waits.
    """

    def __init__(
        self, info: ConnectionInfo, *, timeout: float = 5.0, limits: Limits | None = None
    ) -> None:
        self._limits = limits or Limits()
        self._stack = contextlib.ExitStack()
        self._socket = self._open_socket(info, timeout)
        self._session: ClientSession[WindowClientMessage, WindowServerMessage] = ClientSession(
            window_dialect(self._limits),
            secret=info.secret,
            port=info.port,
            limits=self._limits,
            now=time.monotonic(),
            name=f"pid {os.getpid()}",
        )
        try:
            self._receive_until(Opened, timeout)
        except BaseException:
            self._stack.close()
            raise

    @classmethod
    def connect(cls, directory: Path | None = None, *, timeout: float = 5.0) -> Self:
        """Connect to this user's window.

        Raises NoSessionError when none is open, HandshakeError when something else answers, or
        ConnectionLost when it is closing.
        """
        return cls(find_window(directory), timeout=timeout)

    def open_session(self, session_id: str, *, timeout: float = 15.0) -> None:
        """Have the window connect to a session, or show it when it is connected."""
        self._request(OpenSession, timeout, session_id=session_id)

    def focus(self, *, timeout: float = 5.0) -> None:
        """Bring the window to the front."""
        self._request(Focus, timeout)

    def ping(self, *, timeout: float = 5.0) -> None:
        """Return when the window's network thread has answered."""
        self._request(Ping, timeout)

    def screenshot(self, *, timeout: float = 15.0) -> bytes:
        """Return the whole window as a PNG file."""
        answer = self._request(Screenshot, timeout)
        if not isinstance(answer, Picture):
            raise CommandError("the window answered without a picture")
        return answer.png

    def status(self, *, timeout: float = 15.0) -> WindowStatus:
        """Return which sessions the window shows."""
        answer = self._request(WindowStatusRequest, timeout)
        if not isinstance(answer, WindowStatus):
            raise CommandError("the window answered without its status")
        return answer

    def close(self) -> None:
        """Say goodbye; safe to call twice."""
        with contextlib.suppress(ConnectionClosed, OSError):
            self._socket.send(self._session.encode(Goodbye(reason="done")))
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _open_socket(
        self, info: ConnectionInfo, timeout: float
    ) -> websockets_client.ClientConnection:
        quiet = logging.getLogger(f"{__name__}.websockets")
        quiet.setLevel(logging.CRITICAL + 1)
        raw = open_loopback_socket(info.port, timeout)
        raw.settimeout(None)
        try:
            # As a context manager: websockets 17.1 deprecates every other use.
            return self._stack.enter_context(
                websockets_client.connect(
                    f"ws://127.0.0.1:{info.port}/",
                    sock=raw,
                    compression=None,
                    user_agent_header=None,
                    open_timeout=timeout,
                    close_timeout=0.5,
                    max_size=self._limits.server_message_bytes,
                    logger=quiet,
                )
            )
        except InvalidHandshake as error:
            raw.close()
            raise HandshakeError(f"port {info.port} is no window's: {error}") from error
        except (OSError, EOFError, WebSocketException) as error:
            raw.close()
            raise ConnectionLost(f"the window did not answer: {error}") from error

    def _request(self, kind: type[Command], timeout: float, **fields: Any) -> Any:
        id, data = self._session.command(kind, **fields)
        try:
            self._socket.send(data)
        except ConnectionClosed as closed:
            raise ConnectionLost(f"the window is gone: {closed}") from closed
        answer = self._receive_until((Done, Failed, Picture, WindowStatus), timeout, id)
        if isinstance(answer, Failed):
            raise_failure(answer)
        return answer

    def _receive_until(self, wanted: Any, timeout: float, id: int | None = None) -> Any:
        """Return the next event of a wanted class (and id)."""
        end = time.monotonic() + timeout
        while True:
            try:
                for reply in self._session.take_replies():
                    self._socket.send(self._session.encode(reply))
                wake = min(end, self._session.deadline())
                data = self._socket.recv(timeout=max(0.0, wake - time.monotonic()))
            except TimeoutError:
                if time.monotonic() < end:
                    self._session.tick(time.monotonic())  # a heartbeat, while the window works
                    continue
                raise CommandTimeout(f"the window did not answer within {timeout:g} s") from None
            except ConnectionClosed as closed:
                raise ConnectionLost(f"the window is gone: {closed}") from closed
            if isinstance(data, str):
                raise HandshakeError("the peer sent text: it is no window")
            event = self._session.receive(data, time.monotonic())
            if isinstance(event, Left):
                raise ConnectionLost(f"the window is gone: {event.reason}")
            if isinstance(event, wanted) and (id is None or event.id == id):
                return event


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_same_file(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False
