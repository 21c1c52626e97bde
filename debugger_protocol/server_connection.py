"""The server's side on asyncio: a loopback listener and one thin connection per client.

Everything here runs on the event loop's thread. What a connection means is decided by
:class:`~stroboscope.debugger_protocol.sessions.ServerSession`; what it does by the
:class:`ClientHandler` of the host.
"""

import asyncio
import contextlib
import http
import logging
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec
from websockets.asyncio import server as websockets_server
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from stroboscope.debugger_protocol.exceptions import (
    HandshakeError,
    LimitExceeded,
    ProtocolError,
)
from stroboscope.debugger_protocol.handshake import check_request_headers
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.lost_descriptors import point_at_null_device
from stroboscope.debugger_protocol.messages import (
    AssetChunk,
    Command,
    Done,
    Failed,
    LogEntry,
    LogLevel,
    SessionInfo,
)
from stroboscope.debugger_protocol.outgoing import OutgoingLanes
from stroboscope.debugger_protocol.sessions import (
    Dialect,
    Left,
    Opened,
    ServerSession,
    SessionState,
)

__all__ = ["ClientHandler", "Listener", "ServerConnection"]

_LOGGER = logging.getLogger(__name__)
_LOOPBACK: Final = "127.0.0.1"
# A client that can't take its farewell in this time is cut off [s].
_CLOSE_TIMEOUT: Final = 0.5
# What the kernel may hold for one client [bytes]; it doubles this for its own needs. A buffer that
# holds less than two segments of the loopback (64 KiB) waits 40 ms for an acknowledgement of each.
_SEND_BUFFER: Final = 64 << 10

ClientT = TypeVar("ClientT")
ServerT = TypeVar("ServerT")


class ClientHandler(Protocol):
    """What the application does with its clients; called on the event loop's thread.

    ``client_joined`` is called after the proof, before anything but the welcome was sent: the
    place for :meth:`ServerConnection.send_snapshot`. ``client_left`` is called exactly once for
    every client that joined, however it went.
    """

    def client_joined(self, client: "ServerConnection") -> None: ...
    def client_message(self, client: "ServerConnection", message: Any) -> None: ...
    def client_left(self, client: "ServerConnection", reason: str) -> None: ...


class _GatedConnection(websockets_server.ServerConnection):
    """Tells the listener about TCP connections before they have said anything."""

    listener: "Listener[Any, Any]"
    accepted_at: float

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        # The kernel would take seconds of frames for a client that has stopped reading.
        transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER
        )
        self.listener._newcomer(self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.listener._newcomer_gone(self)


class Listener(Generic[ClientT, ServerT]):
    """Listens on the loopback, lets in who knows the secret, and holds the connections.

    ``session`` is what clients are told of the application; ``secret`` comes from the connection
    file that is written once :meth:`start` has returned the port.
    """

    def __init__(
        self,
        dialect: Dialect[ClientT, ServerT],
        handler: ClientHandler,
        *,
        secret: bytes,
        session: SessionInfo,
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.dialect = dialect
        self.handler = handler
        self.limits = limits
        self.session = session
        self.clock = clock
        self.port = 0
        self._secret = secret
        self._server: websockets_server.Server | None = None
        self._clients: dict[int, ServerConnection] = {}
        self._next_client_id = 1
        # TCP connections that have not proven anything yet, oldest first.
        self._newcomers: dict[_GatedConnection, None] = {}

    @property
    def clients(self) -> Mapping[int, "ServerConnection"]:
        """Authenticated clients by id, in the order in which they came."""
        return MappingProxyType(self._clients)

    async def start(self, port: int = 0) -> int:
        """Listen on 127.0.0.1 and return the port (an ephemeral one for 0); raises OSError."""
        quiet = logging.getLogger(f"{__name__}.websockets")
        # Refused strangers are no event for the user's terminal, and handshakes belong in no log.
        quiet.setLevel(logging.CRITICAL + 1)
        self._server = await websockets_server.serve(
            self._handle,
            _LOOPBACK,
            port,
            compression=None,
            create_connection=self._make_connection,  # type: ignore[arg-type] # a factory will do
            process_request=self._check_request,
            server_header=None,
            open_timeout=self.limits.handshake_timeout,
            close_timeout=_CLOSE_TIMEOUT,
            ping_interval=None,
            max_size=self.limits.client_message_bytes,
            max_queue=8,
            logger=quiet,
        )
        self.port = int(next(iter(self._server.sockets)).getsockname()[1])
        return self.port

    async def stop(self, reason: str) -> None:
        """Say goodbye to everybody, with the reason, and stop listening; safe to call twice."""
        server = self._server
        if server is None:
            return
        self.refuse_newcomers()
        self._server = None
        for client in list(self._clients.values()):
            client.close(reason)
        await server.wait_closed()

    def refuse_newcomers(self) -> None:
        """Listen no more; the clients that are there stay."""
        if self._server is not None:
            self._server.close(close_connections=False)
        for newcomer in list(self._newcomers):
            newcomer.transport.abort()

    def broadcast(self, message: msgspec.Struct) -> None:
        """Queue a message for every client."""
        for client in list(self._clients.values()):
            client.send(message)

    def abandon_in_forked_child(self) -> None:
        """Let go of the parent's sockets in a forked child, without a word to the peers."""
        numbers = [s.fileno() for s in self._server.sockets] if self._server else []
        connections = [client._socket for client in self._clients.values()]
        for connection in (*connections, *self._newcomers):
            with contextlib.suppress(Exception):
                numbers.append(connection.transport.get_extra_info("socket").fileno())
        point_at_null_device(numbers)

    # --- the gate

    def _make_connection(self, *args: Any, **kwargs: Any) -> _GatedConnection:
        connection = _GatedConnection(*args, **kwargs)
        connection.listener = self
        connection.accepted_at = self.clock()
        return connection

    def _newcomer(self, connection: _GatedConnection) -> None:
        self._newcomers[connection] = None
        while len(self._newcomers) > self.limits.unauthenticated_connections:
            oldest = next(iter(self._newcomers))
            del self._newcomers[oldest]
            oldest.transport.abort()

    def _newcomer_gone(self, connection: _GatedConnection) -> None:
        self._newcomers.pop(connection, None)

    def _check_request(
        self, connection: websockets_server.ServerConnection, request: Request
    ) -> Response | None:
        try:
            check_request_headers(request.headers.raw_items(), self.port)
        except HandshakeError as error:
            return connection.respond(http.HTTPStatus.FORBIDDEN, f"{error}\n")
        return None

    async def _handle(self, socket: websockets_server.ServerConnection) -> None:
        accepted_at = getattr(socket, "accepted_at", self.clock())
        session = ServerSession(
            self.dialect,
            secret=self._secret,
            port=self.port,
            limits=self.limits,
            now=accepted_at,
        )
        await ServerConnection(self, socket, session).run()

    def _admit(self, client: "ServerConnection") -> None:
        """Take an authenticated client in; raises LimitExceeded when there is no room."""
        if len(self._clients) >= self.limits.clients:
            raise LimitExceeded(
                f"{len(self._clients)} clients are connected to this session, at most "
                f"{self.limits.clients} may be; close one of them"
            )
        self._newcomers.pop(client._socket, None)  # type: ignore[call-overload]
        client.client_id = self._next_client_id
        self._next_client_id += 1
        self._clients[client.client_id] = client

    def _dismiss(self, client: "ServerConnection") -> None:
        self._clients.pop(client.client_id, None)


class ServerConnection:
    """One client, as the host sees it. Every method belongs to the event loop's thread.

    ``client_id`` is 0 until the client has proven itself. ``observe``: it never wants control.
    """

    def __init__(
        self,
        listener: Listener[Any, Any],
        socket: websockets_server.ServerConnection,
        session: ServerSession[Any, Any],
    ) -> None:
        self.client_id = 0
        self.name = ""
        self.observe = False
        self.capabilities: tuple[str, ...] = ()
        self._listener = listener
        self._socket = socket
        self._session = session
        self._lanes = OutgoingLanes(listener.limits)
        self._wake = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._reason = ""
        self._left = False
        self._sending = False
        self._frames_refused = False
        self.on_ready: Callable[[], None] = _nothing
        """Called when frames are wanted again after :meth:`wants_frames` said no."""

    # --- for the host

    def send(self, message: msgspec.Struct) -> bool:
        """Queue a message; never waits.

        Answers (Done, Failed, AssetChunk) are sent once per command: False when this one was
        answered before. A client whose control lane overflows is disconnected.
        """
        if self.closing:
            return False
        if isinstance(message, Done | Failed) and not self._session.settle(message.id):
            return False
        self._put(message)
        return True

    def send_snapshot(self, messages: Iterable[msgspec.Struct]) -> None:
        """Queue what a client is told at its start; does not count against the control lane."""
        self._lanes.put_snapshot(messages)
        self._wake.set()

    @property
    def closing(self) -> bool:
        """Whether the connection has ended or is ending."""
        return self._session.state is SessionState.CLOSED

    def wants_frames(self) -> bool:
        """Return whether frames should be made for it now: it has taken those of before.

        After a no ``on_ready`` is called once it has.
        """
        ready = not self._sending and not len(self._lanes.frames)
        self._frames_refused = self._frames_refused or not ready
        return ready

    @property
    def wants_signals(self) -> bool:
        """Whether signals should be read for it now; else leave them in the ring, bounded there."""
        return self._lanes.frames.signal_bytes < self._listener.limits.signal_queue_bytes // 4

    @property
    def has_sent_all(self) -> bool:
        """Whether nothing waits for this client, or it gets nothing any more."""
        return self.closing or (not self._sending and self._lanes.is_empty)

    def pending(self) -> tuple[Command, ...]:
        """Return the commands of this client that were not answered yet."""
        return self._session.pending()

    def discard_values(self, scene_id: int, *, before: int) -> None:
        """Forget values of a scene that wait, from before ``before``: their state was replaced."""
        self._lanes.frames.discard_values(scene_id, before=before)

    def close(self, reason: str) -> None:
        """End the connection; the client is told why, if it listens."""
        if not self.closing:
            self._session.close(reason)
        self._reason = self._reason or reason
        self._wake.set()
        loop = asyncio.get_running_loop()
        # Whoever waits for this client is released now, not when a frozen peer has let go. Soon
        # rather than at once: the host may be in the middle of a loop over its clients.
        loop.call_soon(self._leave)
        loop.call_later(2 * _CLOSE_TIMEOUT, self._abort)

    # --- the life of a connection

    async def run(self) -> None:
        """Read until the end, while a second task writes; the handler hears of both ends."""
        writer = asyncio.create_task(self._write())
        self._set_timer()
        try:
            await self._read()
        except ConnectionClosed as closed:
            self._reason = self._reason or _closed_reason(closed)
        except ProtocolError as error:
            self._reason = self._reason or str(error)
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self._leave()
            await self._finish(writer)

    async def _read(self) -> None:
        while True:
            data = await self._socket.recv()
            if self.closing:
                continue  # only waiting for the end
            if isinstance(data, str):
                self.close("text messages are not part of this protocol, only binary ones")
                continue
            now = self._listener.clock()
            try:
                event = self._session.receive(data, now)
            except ProtocolError as error:
                self.close(str(error))
                event = None
            for reply in self._session.take_replies():
                self._put(reply)
            if event is not None:
                self._handle_event(event)
            delay = self._session.throttle_delay(self._listener.clock())
            if delay > 0.0:
                await asyncio.sleep(delay)

    def _handle_event(self, event: Any) -> None:
        if isinstance(event, Left):
            self.close(event.reason or "the client left")
            return
        try:
            if isinstance(event, Opened):
                self._open(event)
            else:
                self._listener.handler.client_message(self, event)
        except LimitExceeded as error:
            self.close(str(error))
        except Exception:
            # One client's command must not take the server thread down with it.
            _LOGGER.exception("the debug server failed on a message of client %d", self.client_id)
            self.close("the debug server failed on your message; its log says how")

    def _open(self, event: Opened) -> None:
        self.name, self.observe = event.name, event.observe
        self.capabilities = event.capabilities
        self._listener._admit(self)
        self._session.welcome(self._listener.session, self.client_id)
        for reply in self._session.take_replies():
            self._put(reply)
        self._set_timer()
        self._listener.handler.client_joined(self)

    def _leave(self) -> None:
        if not self.client_id or self._left:
            return
        self._left = True
        self._listener._dismiss(self)
        self._session.close(self._reason)
        try:
            self._listener.handler.client_left(self, self._reason or "the client left")
        except Exception:
            _LOGGER.exception("the debug server failed when client %d left", self.client_id)

    # --- writing

    def _put(self, message: msgspec.Struct) -> None:
        try:
            self._lanes.put(message)
        except LimitExceeded as error:
            self.close(str(error))
        self._wake.set()

    async def _write(self) -> None:
        try:
            await self._write_until_closed()
        except ConnectionClosed:
            pass  # the reader knows as well, and tells the host
        except Exception:
            _LOGGER.exception("a message to client %d could not be sent", self.client_id)
            self._reason = self._reason or "the debug server failed to send a message"
            self._abort()

    async def _write_until_closed(self) -> None:
        while not self.closing:
            message = self._lanes.next()
            if message is None:
                if self._frames_refused:
                    self._frames_refused = False
                    self.on_ready()
                    continue
                self._wake.clear()
                await self._wake.wait()
                continue
            await self._send_now(message)
        # What was answered before the end still arrives, then the reason.
        while (message := self._lanes.next_control()) is not None:
            await self._send_now(message)
        if self._session.farewell is not None:
            await self._send_now(self._session.farewell)
        await self._socket.close()

    async def _send_now(self, message: msgspec.Struct) -> None:
        if isinstance(message, AssetChunk) and not self._session.settle(message.id):
            return
        try:
            data = self._session.encode(message)
        except (LimitExceeded, TypeError, ValueError, OverflowError) as error:
            # One message that can't travel is said in the log; the others still arrive.
            _LOGGER.error("%s", error)
            entry = LogEntry(level=LogLevel.ERROR, text=str(error), wall_time=time.time())
            data = self._session.encode(entry)
        self._sending = True
        try:
            await self._socket.send(data)
        finally:
            self._sending = False

    async def _finish(self, writer: "asyncio.Task[None]") -> None:
        if not self.closing:
            writer.cancel()
        self._wake.set()
        with contextlib.suppress(asyncio.CancelledError, TimeoutError):
            await asyncio.wait_for(writer, 2 * _CLOSE_TIMEOUT)
        self._abort()

    def _abort(self) -> None:
        self._socket.transport.abort()

    # --- time

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        delay = max(0.0, self._session.deadline() - self._listener.clock())
        self._timer = asyncio.get_running_loop().call_later(delay, self._tick)

    def _tick(self) -> None:
        try:
            self._session.tick(self._listener.clock())
        except ProtocolError as error:
            self.close(str(error))
        if not self.closing:
            self._set_timer()


def _nothing() -> None:
    """Stand in for the host until it listens."""


def _closed_reason(closed: ConnectionClosed) -> str:
    """Say how a connection ended in words for people."""
    received = closed.rcvd
    if received is None:
        return "the connection broke: the client is gone"
    return received.reason or "the client closed the connection"
