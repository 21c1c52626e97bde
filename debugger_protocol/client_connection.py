"""The client's side on asyncio, for a window's network thread and for the blocking client.

One :class:`ClientConnection` per session, on one event loop. It sends heartbeats by itself, so a
busy GUI or a script that computes for a minute doesn't look frozen.
"""

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

import msgspec
from websockets.asyncio import client as websockets_client
from websockets.exceptions import ConnectionClosed, InvalidHandshake, WebSocketException

from stroboscope.debugger_protocol.connection_file import ConnectionInfo
from stroboscope.debugger_protocol.exceptions import (
    CommandError,
    CommandTimeout,
    ConnectionLost,
    HandshakeError,
    ProtocolError,
)
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import (
    AssetChunk,
    AssetRequest,
    Command,
    Failed,
    FailureKind,
    Goodbye,
    Rows,
    SessionInfo,
    StatesCompared,
)
from stroboscope.debugger_protocol.sessions import ClientSession, Dialect, Left, Opened

__all__ = ["ClientConnection", "fetch_asset", "open_loopback_socket", "raise_failure"]

_LOGGER = logging.getLogger(__name__)
_LOOPBACK: Final = "127.0.0.1"
_CLOSE_TIMEOUT: Final = 0.5

ClientT = TypeVar("ClientT")
ServerT = TypeVar("ServerT")


def open_loopback_socket(port: int, timeout: float) -> socket.socket:
    """Return a TCP socket to our own machine; raises ConnectionLost when nobody listens.

    A socket of our own, because a proxy from the environment must not come in between.
    """
    try:
        connected = socket.create_connection((_LOOPBACK, port), timeout=timeout)
    except OSError as error:
        raise ConnectionLost(
            f"nobody listens on 127.0.0.1:{port}: {error}. The session has ended, or is ending."
        ) from error
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connected


def raise_failure(failed: Failed) -> None:
    """Raise the error that a refused command means."""
    if failed.kind is FailureKind.TIMEOUT:
        raise CommandTimeout(failed.reason)
    raise CommandError(failed.reason)


class _CrowdedOut(ConnectionLost):
    """The server dropped us before we could prove ourselves: strangers may crowd its door."""


class ClientConnection(Generic[ClientT, ServerT]):
    """A client of one session; every method belongs to the event loop's thread.

    ``on_message`` gets every message that answers no command, in order; ``on_closed`` is called
    once, with the reason, when an opened connection has ended.
    """

    def __init__(
        self,
        dialect: Dialect[ClientT, ServerT],
        info: ConnectionInfo,
        *,
        on_message: Callable[[Any], None],
        on_closed: Callable[[str], None],
        limits: Limits,
        name: str = "",
        observe: bool = False,
        relay: bool = False,
        passing: bool = False,
        plays: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.info = info
        self.session_info: SessionInfo | None = None
        self.client_id = 0
        self._dialect = dialect
        self._on_message = on_message
        self._on_closed = on_closed
        # Whether the application itself ended the connection and said why, before ``on_closed``.
        self.said_goodbye = False
        self._limits = limits
        self._name = name
        self._observe = observe
        self._relay = relay
        self._passing = passing
        self._plays = plays
        self._clock = clock
        self._session: ClientSession[ClientT, ServerT] | None = None
        self._socket: websockets_client.ClientConnection | None = None
        self._answers: dict[int, asyncio.Future[msgspec.Struct]] = {}
        self.newest_id = 0
        """The number of the newest command: what belongs to its answer carries it."""
        self._tasks: list[asyncio.Task[None]] = []
        self._reason = ""
        # Bytes wait here while the socket is full; the server throttles floods, we only queue.
        self._outgoing: asyncio.Queue[bytes] = asyncio.Queue()

    async def open(self, *, within: float = 5.0) -> Opened:
        """Connect and complete the handshake.

        Raises VersionMismatch, AuthenticationError or another HandshakeError, or ConnectionLost.
        A connection that was crowded out by others before it could prove itself tries again.
        """
        end = self._clock() + within
        while True:
            try:
                async with asyncio.timeout(max(0.05, end - self._clock())):
                    return await self._open_once()
            except TimeoutError:
                await self._drop_socket()
                raise HandshakeError(
                    f"the session of pid {self.info.pid} did not complete the handshake within "
                    f"{within:g} s"
                ) from None
            except _CrowdedOut:
                await self._drop_socket()
                if self._clock() + 0.1 > end:
                    raise
                await asyncio.sleep(0.05)
            except BaseException:
                await self._drop_socket()
                raise

    def request(self, kind: type[Command], /, **fields: Any) -> "asyncio.Future[msgspec.Struct]":
        """Send a command; the future holds its Done or AssetChunk.

        The future raises CommandError or CommandTimeout (the server's word), or ConnectionLost.
        Cancelling it forgets the answer, not the command; an error nobody looks at is dropped.
        """
        future: asyncio.Future[msgspec.Struct] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            if self._session is None:
                raise ConnectionLost("this client is not connected")
            id, data = self._session.command(kind, **fields)
        except ProtocolError as error:
            future.set_exception(error)
            return future
        self._answers[id] = future
        self.newest_id = id
        self._outgoing.put_nowait(data)
        return future

    def silence(self) -> float:
        """Return for how long nothing came from the server [s]; above 4 s it is not answering."""
        return self._session.silence(self._clock()) if self._session else 0.0

    async def close(self, reason: str = "the client closed the connection") -> None:
        """Say goodbye and close; returns when the socket is closed. ``on_closed`` is called."""
        if self._socket is not None and self._session is not None:
            self._reason = self._reason or reason
            self._session.close(reason)
            with contextlib.suppress(ConnectionClosed, TimeoutError, ProtocolError):
                async with asyncio.timeout(_CLOSE_TIMEOUT):
                    await self._socket.send(self._session.encode(Goodbye(reason=reason[:200])))
            await self._drop_socket()
        current = asyncio.current_task()
        others = [task for task in self._tasks if task is not current]
        if others:
            await asyncio.wait(others, timeout=2.0)

    # --- inside

    async def _open_once(self) -> Opened:
        quiet = logging.getLogger(f"{__name__}.websockets")
        quiet.setLevel(logging.CRITICAL + 1)
        loop = asyncio.get_running_loop()
        port = self.info.port
        raw = await loop.run_in_executor(None, open_loopback_socket, port, 2.0)
        raw.setblocking(False)
        try:
            self._socket = await websockets_client.connect(
                f"ws://{_LOOPBACK}:{port}/",
                sock=raw,
                compression=None,
                user_agent_header=None,
                open_timeout=None,
                close_timeout=_CLOSE_TIMEOUT,
                ping_interval=None,
                max_size=self._limits.server_message_bytes,
                max_queue=64,
                logger=quiet,
            )
        except InvalidHandshake as error:
            raise HandshakeError(
                f"port {port} answered, but not as a debug server: {error}"
            ) from error
        except (OSError, EOFError, WebSocketException) as error:
            raise _CrowdedOut(f"the connection to port {port} broke at once: {error}") from error
        finally:
            if self._socket is None:
                raw.close()
        opened = await self._shake_hands(port)
        self.session_info, self.client_id = opened.session, opened.client_id
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._write())]
        return opened

    async def _shake_hands(self, port: int) -> Opened:
        assert self._socket is not None  # noqa: S101 - only called with one
        session = ClientSession(
            self._dialect,
            secret=self.info.secret,
            port=port,
            limits=self._limits,
            now=self._clock(),
            name=self._name,
            observe=self._observe,
            relay=self._relay,
            passing=self._passing,
            plays=self._plays,
        )
        self._session = session
        try:
            while True:
                for reply in session.take_replies():
                    await self._socket.send(session.encode(reply))
                data = await self._socket.recv()
                if isinstance(data, str):
                    raise HandshakeError("the server sent text: it is no debug server")
                event = session.receive(data, self._clock())
                if isinstance(event, Opened):
                    return event
        except ConnectionClosed as closed:
            raise ConnectionLost(f"the connection broke during the handshake: {closed}") from closed

    async def _read(self) -> None:
        assert self._socket is not None and self._session is not None  # noqa: S101, PT018
        try:
            while True:
                data = await self._socket.recv()
                if isinstance(data, str):
                    raise ConnectionLost("the server sent text, which is not part of the protocol")
                event = self._session.receive(data, self._clock())
                if isinstance(event, Left):
                    self.said_goodbye = True
                    raise ConnectionLost(event.reason)
                if event is not None:
                    self._dispatch(event)
        except ConnectionClosed as closed:
            reason = closed.rcvd.reason if closed.rcvd else ""
            self._ended(reason or "the application ended or closed the connection")
        except ProtocolError as error:
            self._ended(str(error))

    async def _write(self) -> None:
        assert self._socket is not None and self._session is not None  # noqa: S101, PT018
        session = self._session
        with contextlib.suppress(ConnectionClosed, ProtocolError):
            while True:
                delay = max(0.0, session.deadline() - self._clock())
                try:
                    async with asyncio.timeout(delay):
                        data = await self._outgoing.get()
                except TimeoutError:
                    session.tick(self._clock())
                    for reply in session.take_replies():
                        await self._socket.send(session.encode(reply))
                    continue
                await self._socket.send(data)

    def _dispatch(self, message: Any) -> None:
        id = getattr(message, "id", None)
        if id is None or isinstance(message, Rows | StatesCompared):
            try:
                self._on_message(message)
            except Exception:
                # The connection must outlive a bug of whoever listens.
                _LOGGER.exception("a client failed on a %s", type(message).__name__)
            return
        future = self._answers.pop(id, None)
        if future is None or future.done():
            return
        if isinstance(message, Failed):
            try:
                raise_failure(message)
            except CommandError as error:
                future.set_exception(error)
        else:
            future.set_result(message)

    def _ended(self, reason: str) -> None:
        self._reason = self._reason or reason
        if self._session is not None:
            self._session.close(self._reason)
        answers, self._answers = self._answers, {}
        for future in answers.values():
            if not future.done():
                future.set_exception(ConnectionLost(f"no answer came: {self._reason}"))
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()
        if self._socket is not None:
            self._socket.transport.abort()
        self._on_closed(self._reason)

    async def _drop_socket(self) -> None:
        gone, self._socket = self._socket, None
        if gone is not None:
            with contextlib.suppress(Exception):
                await gone.close()
            gone.transport.abort()


async def fetch_asset(connection: ClientConnection[Any, Any], digest: str, limits: Limits) -> bytes:
    """Return an asset's bytes, asked for range by range; the caller checks them by their digest.

    Raises CommandError when the server doesn't know it, and when it claims an absurd size.
    """
    data = bytearray()
    while True:
        chunk = await connection.request(AssetRequest, digest=digest, offset=len(data))
        if not isinstance(chunk, AssetChunk) or chunk.digest != digest:
            raise CommandError(f"the server answered another question about {digest[:12]}…")
        if chunk.offset != len(data) or chunk.total > limits.asset_bytes:
            raise CommandError(
                f"asset {digest[:12]}… claims {chunk.total} bytes (at most {limits.asset_bytes}) "
                f"and came from byte {chunk.offset} instead of {len(data)}"
            )
        data += chunk.data
        if len(data) >= chunk.total:
            return bytes(data)
        if not chunk.data:
            raise CommandError(f"asset {digest[:12]}… stops after {len(data)} bytes")
