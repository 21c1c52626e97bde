"""The two ends of a conversation without any I/O: bytes and a clock in, events and messages out.

One object per connection. Whatever bytes come in, only :class:`ProtocolError` comes out, and after
one the session is closed; ``farewell`` is then what the other side should still be told. Clocks
are seconds of any monotonic clock. Not thread-safe: one thread (an event loop) owns a session.
"""

import dataclasses
import enum
from typing import Any, Final, Generic, TypeVar

import msgspec

from stroboscope.debugger_protocol.codec import (
    MessageCodec,
    UnknownMessage,
    client_codec,
    server_codec,
    trimmed_goodbye,
)
from stroboscope.debugger_protocol.exceptions import (
    ConnectionLost,
    HandshakeError,
    InvalidMessage,
    ProtocolError,
    VersionMismatch,
)
from stroboscope.debugger_protocol.handshake import (
    Endpoint,
    HandshakeContext,
    Role,
    check_nonce,
    check_version,
    make_nonce,
    make_proof,
    own_version,
    verify_proof,
)
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import (
    AssetRequest,
    ClientHello,
    ClientMessage,
    ClientProof,
    Command,
    Failed,
    FailureKind,
    Goodbye,
    Heartbeat,
    Rows,
    ServerHello,
    ServerMessage,
    SessionInfo,
    StatesCompared,
    Welcome,
)
from stroboscope.debugger_protocol.version import CAPABILITIES, PASSING, PLAYS, RELAY

__all__ = [
    "HANDSHAKE_MESSAGE_BYTES",
    "ClientSession",
    "Dialect",
    "Left",
    "Opened",
    "ServerSession",
    "SessionState",
    "debugger_dialect",
]

ClientT = TypeVar("ClientT")
ServerT = TypeVar("ServerT")

# Before a peer has proven anything it may not make us hold more than this.
HANDSHAKE_MESSAGE_BYTES: Final = 4096


class SessionState(enum.Enum):
    """How far a conversation has come."""

    HELLO = "hello"
    PROOF = "proof"
    WELCOME = "welcome"
    OPEN = "open"
    CLOSED = "closed"


@dataclasses.dataclass(frozen=True, slots=True)
class Dialect(Generic[ClientT, ServerT]):
    """Which messages are spoken: those of a debug session or those of the window's endpoint."""

    endpoint: Endpoint
    client: MessageCodec[ClientT]
    server: MessageCodec[ServerT]


@dataclasses.dataclass(frozen=True, slots=True)
class Opened:
    """The peer has proven itself. ``session`` is what the server told of itself (client side)."""

    name: str = ""
    observe: bool = False
    capabilities: tuple[str, ...] = ()
    session: SessionInfo | None = None
    client_id: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Left:
    """The peer said goodbye, and why."""

    reason: str


def debugger_dialect(limits: Limits) -> Dialect[ClientMessage, ServerMessage]:
    """Return the dialect of debug sessions; codecs are worth sharing between connections."""
    return Dialect(Endpoint.SESSION, client_codec(limits), server_codec(limits))


class _Session:
    """What both ends share: the state and how it ends."""

    def __init__(self, *, secret: bytes, port: int, limits: Limits, now: float) -> None:
        self._secret = secret
        self._port = port
        self.limits = limits
        self.state = SessionState.HELLO
        self.farewell: Goodbye | None = None
        self._opened_at = now
        self._last_received = now
        self._forgiven = False
        self._replies: list[msgspec.Struct] = []

    def take_replies(self) -> list[msgspec.Struct]:
        """Return the messages that the session itself has to say since the last call."""
        replies, self._replies = self._replies, []
        return replies

    def close(self, reason: str) -> None:
        """End the conversation from this side; ``farewell`` is then what to send last."""
        if self.state is not SessionState.CLOSED:
            self.state = SessionState.CLOSED
            self.farewell = trimmed_goodbye(reason, self.limits)

    def _fail(self, error: ProtocolError) -> ProtocolError:
        self.close(str(error))
        return error

    def _require_not_closed(self) -> None:
        if self.state is SessionState.CLOSED:
            reason = self.farewell.reason if self.farewell else "it was left"
            raise ConnectionLost(f"this connection is closed: {reason}")

    def _in_handshake(self) -> bool:
        return self.state in (SessionState.HELLO, SessionState.PROOF, SessionState.WELCOME)

    def _check_handshake_time(self, now: float) -> None:
        allowed = self.limits.handshake_timeout
        if self._in_handshake() and now - self._opened_at >= allowed:
            raise self._fail(
                HandshakeError(f"the handshake was not complete after {allowed:g} s; try again")
            )


class ServerSession(_Session, Generic[ClientT, ServerT]):
    """The application's end of one connection."""

    def __init__(
        self,
        dialect: Dialect[ClientT, ServerT],
        *,
        secret: bytes,
        port: int,
        limits: Limits,
        now: float,
        nonce: bytes | None = None,
    ) -> None:
        super().__init__(secret=secret, port=port, limits=limits, now=now)
        self._dialect = dialect
        self._nonce = make_nonce() if nonce is None else nonce
        # What the client's proof must be about, from its hello on until it has proven it.
        self._greeting: tuple[HandshakeContext, ClientHello] | None = None
        # Commands that wait for their one answer, by id.
        self._pending: dict[int, Command] = {}
        self._last_id = -1
        # Token bucket: a second's worth may come in a burst.
        self._tokens = float(limits.commands_per_second)
        self._tokens_at = now

    # --- bytes in

    def receive(self, data: bytes, now: float) -> ClientT | Opened | Left | None:
        """Take one websocket message and return what it means for the application.

        :class:`Opened` must be followed by :meth:`welcome` or :meth:`close`. None: nothing to do
        beyond :meth:`take_replies`. Raises ProtocolError when the connection has to end.
        """
        self._require_not_closed()
        self._last_received = now
        self._forgiven = False
        self._tokens = self._tokens_now(now) - 1.0
        self._tokens_at = now
        small = HANDSHAKE_MESSAGE_BYTES if self._in_handshake() else None
        try:
            message = self._dialect.client.decode(data, small)
        except InvalidMessage as error:
            if self._answer_invalid(error):
                return None
            raise self._fail(error) from None
        except ProtocolError as error:
            raise self._fail(error) from None
        if isinstance(message, Goodbye):
            self.state = SessionState.CLOSED
            return Left(message.reason)
        try:
            if self._in_handshake():
                return self._shake_hands(message)
            return self._accept(message)
        except ProtocolError as error:
            raise self._fail(error) from None

    def throttle_delay(self, now: float) -> float:
        """Return how long to leave further messages unread, in seconds: flooding only waits."""
        missing = 1.0 - self._tokens_now(now)
        return max(0.0, missing / self.limits.commands_per_second)

    # --- the clock

    def deadline(self) -> float:
        """Return when :meth:`tick` wants to be called next, on the same clock."""
        if self._in_handshake():
            return self._opened_at + self.limits.handshake_timeout
        return self._last_received + self.limits.lease_timeout

    def tick(self, now: float) -> None:
        """Raise HandshakeError or ConnectionLost when the peer has run out of time.

        When this call itself comes late, the application was busy and the peer's messages may
        still wait unread: one more heartbeat interval is then granted.
        """
        if self.state is SessionState.CLOSED:
            return
        self._check_handshake_time(now)
        late = now - self.deadline()
        if self._in_handshake() or late < 0:
            return
        if late > self.limits.heartbeat_interval / 2 and not self._forgiven:
            self._forgiven = True
            allowed = self.limits.lease_timeout - self.limits.heartbeat_interval
            self._last_received = now - allowed
            return
        raise self._fail(
            ConnectionLost(
                f"the client was silent for {self.limits.lease_timeout:g} s (a heartbeat is due "
                f"every {self.limits.heartbeat_interval:g} s): it is frozen or gone"
            )
        )

    # --- messages out

    def welcome(self, session: SessionInfo, client_id: int) -> None:
        """Admit a client whose proof was right."""
        if self.state is SessionState.WELCOME:
            self.state = SessionState.OPEN
            self._replies.append(Welcome(session=session, client_id=client_id))

    def settle(self, id: int) -> bool:
        """Note that command ``id`` is being answered; False when it already was."""
        return self._pending.pop(id, None) is not None

    def pending(self) -> tuple[Command, ...]:
        """Return the commands that were not answered yet, oldest first."""
        return tuple(self._pending.values())

    def encode(self, message: msgspec.Struct) -> bytes:
        """Return a message's bytes; raises LimitExceeded when it is too large to send."""
        return self._dialect.server.encode(message)

    # --- inside

    def _tokens_now(self, now: float) -> float:
        rate = float(self.limits.commands_per_second)
        return min(rate, self._tokens + max(0.0, now - self._tokens_at) * rate)

    def _answer_invalid(self, error: InvalidMessage) -> bool:
        if self.state is not SessionState.OPEN or error.id is None or error.id <= self._last_id:
            return False
        self._last_id = error.id
        self._refuse(error.id, str(error))
        return True

    def _refuse(self, id: int, reason: str) -> None:
        self._replies.append(Failed(id=id, kind=FailureKind.REFUSED, reason=reason))

    def _shake_hands(self, message: object) -> Opened | None:
        if self.state is SessionState.HELLO and isinstance(message, ClientHello):
            self._answer_hello(message)
            return None
        if self._greeting and isinstance(message, ClientProof):
            context, hello = self._greeting
            verify_proof(message.proof, self._secret, Role.CLIENT, context)
            self._greeting = None
            self.state = SessionState.WELCOME
            return Opened(hello.name, hello.observe, hello.capabilities)
        kind = getattr(message, "type", None) or type(message).__name__
        raise HandshakeError(
            f"{kind} arrived while the handshake waits for the client's {self.state.value}"
        )

    def _answer_hello(self, hello: ClientHello) -> None:
        major, minor = own_version()
        try:
            check_version(hello.major, hello.minor, peer=Role.CLIENT)
        except VersionMismatch:
            # Without nonce and proof: enough for the other side to name both versions.
            self._replies.append(ServerHello(major=major, minor=minor, nonce=b"", proof=b""))
            raise
        check_nonce(hello.nonce, peer=Role.CLIENT)
        context = HandshakeContext(
            endpoint=self._dialect.endpoint,
            client_nonce=hello.nonce,
            server_nonce=self._nonce,
            port=self._port,
            client_version=(hello.major, hello.minor),
            server_version=(major, minor),
        )
        self._replies.append(
            ServerHello(
                major=major,
                minor=minor,
                nonce=self._nonce,
                proof=make_proof(self._secret, Role.SERVER, context),
                capabilities=CAPABILITIES,
            )
        )
        self._greeting = (context, hello)
        self.state = SessionState.PROOF

    def _accept(self, message: ClientT | UnknownMessage) -> ClientT | None:
        if isinstance(message, Heartbeat):
            self._replies.append(Heartbeat())
            return None
        if isinstance(message, UnknownMessage):
            if message.id is not None:
                self._take_id(message.id)
                self._refuse(
                    message.id,
                    f"this server does not know {message.type}: it speaks protocol "
                    f"{own_version()[0]}.{own_version()[1]}. A newer stroboscope may know it.",
                )
            return None
        if not isinstance(message, Command):
            raise InvalidMessage(
                f"{type(message).__name__} belongs to the handshake, which is over"
            )
        self._take_id(message.id)
        problem = self._too_much(message)
        if problem:
            self._refuse(message.id, problem)
            return None
        self._pending[message.id] = message
        return message

    def _take_id(self, id: int) -> None:
        if id <= self._last_id:
            raise InvalidMessage(f"command id {id} came after {self._last_id}: ids must rise")
        self._last_id = id

    def _too_much(self, message: Command) -> str:
        if len(self._pending) >= self.limits.control_queue:
            return (
                f"{len(self._pending)} commands of this client wait for an answer already, "
                f"which is the limit; wait for some of them"
            )
        if isinstance(message, AssetRequest):
            waiting = sum(isinstance(command, AssetRequest) for command in self._pending.values())
            if waiting >= self.limits.asset_requests:
                return (
                    f"{waiting} asset ranges are under way, which is the limit; "
                    f"ask for the next one when one has arrived"
                )
        return ""


class ClientSession(_Session, Generic[ClientT, ServerT]):
    """The client's end of one connection."""

    def __init__(
        self,
        dialect: Dialect[ClientT, ServerT],
        *,
        secret: bytes,
        port: int,
        limits: Limits,
        now: float,
        name: str = "",
        observe: bool = False,
        relay: bool = False,
        passing: bool = False,
        plays: bool = False,
        nonce: bytes | None = None,
    ) -> None:
        super().__init__(secret=secret, port=port, limits=limits, now=now)
        self._dialect = dialect
        self._nonce = make_nonce() if nonce is None else nonce
        self._pending: dict[int, Command] = {}
        self._last_id = 0
        self._last_sent = now
        self.server_capabilities: tuple[str, ...] = ()
        major, minor = own_version()
        self._replies.append(
            ClientHello(
                major=major,
                minor=minor,
                nonce=self._nonce,
                capabilities=(
                    *CAPABILITIES,
                    *[RELAY] * relay,
                    *[PASSING] * passing,
                    *[PLAYS] * plays,
                ),
                observe=observe,
                name=name,
            )
        )

    # --- bytes in

    def receive(self, data: bytes, now: float) -> ServerT | Opened | Left | None:
        """Take one websocket message and return what it means; None: nothing but replies.

        Raises ProtocolError when the connection has to end.
        """
        self._require_not_closed()
        self._last_received = now
        small = HANDSHAKE_MESSAGE_BYTES if self._in_handshake() else None
        try:
            message = self._dialect.server.decode(data, small)
            if self._in_handshake():
                return self._shake_hands(message)
            return self._accept(message)
        except ProtocolError as error:
            raise self._fail(error) from None

    # --- the clock

    def deadline(self) -> float:
        """Return when :meth:`tick` wants to be called next, on the same clock."""
        if self._in_handshake():
            return self._opened_at + self.limits.handshake_timeout
        return self._last_sent + self.limits.heartbeat_interval

    def tick(self, now: float) -> None:
        """Queue a heartbeat when one is due; raises HandshakeError when the server is too slow."""
        self._check_handshake_time(now)
        if self.state is SessionState.OPEN and now >= self.deadline():
            self._last_sent = now
            self._replies.append(Heartbeat())

    def silence(self, now: float) -> float:
        """Return for how long nothing came from the server [s]; it answers every heartbeat."""
        return max(0.0, now - self._last_received)

    # --- messages out

    def command(self, kind: type[Command], /, **fields: Any) -> tuple[int, bytes]:
        """Return the id and the bytes of a new command.

        Raises InvalidMessage or LimitExceeded when it can't be sent, ConnectionLost when closed.
        """
        self._require_not_closed()
        if self.state is not SessionState.OPEN:
            raise HandshakeError("no command can be sent before the handshake is complete")
        id = self._last_id + 1
        message = kind(id=id, **fields)
        data = self._dialect.client.encode_readable(message)
        self._last_id = id
        self._pending[id] = message
        return id, data

    def encode(self, message: msgspec.Struct) -> bytes:
        """Return a message's bytes; raises LimitExceeded when it is too large to send."""
        return self._dialect.client.encode(message)

    def pending(self) -> tuple[Command, ...]:
        """Return the commands without an answer, oldest first."""
        return tuple(self._pending.values())

    # --- inside

    def _shake_hands(self, message: object) -> Opened | None:
        if isinstance(message, Goodbye):
            known = self.state is not SessionState.HELLO
            who = "the server" if known else "the server, which has not proven who it is,"
            raise HandshakeError(f"{who} refused the connection: {message.reason[:500]}")
        if self.state is SessionState.HELLO and isinstance(message, ServerHello):
            self._answer_hello(message)
            return None
        if self.state is SessionState.PROOF and isinstance(message, Welcome):
            self.state = SessionState.OPEN
            return Opened(session=message.session, client_id=message.client_id)
        kind = getattr(message, "type", None) or type(message).__name__
        raise HandshakeError(f"{kind} arrived before the server has proven itself and said welcome")

    def _answer_hello(self, hello: ServerHello) -> None:
        check_version(hello.major, hello.minor, peer=Role.SERVER)
        check_nonce(hello.nonce, peer=Role.SERVER)
        context = HandshakeContext(
            endpoint=self._dialect.endpoint,
            client_nonce=self._nonce,
            server_nonce=hello.nonce,
            port=self._port,
            client_version=own_version(),
            server_version=(hello.major, hello.minor),
        )
        verify_proof(hello.proof, self._secret, Role.SERVER, context)
        self.server_capabilities = hello.capabilities
        self._replies.append(ClientProof(proof=make_proof(self._secret, Role.CLIENT, context)))
        self.state = SessionState.PROOF

    def _accept(self, message: ServerT | UnknownMessage) -> ServerT | Left | None:
        if isinstance(message, Goodbye):
            self.state = SessionState.CLOSED
            return Left(message.reason)
        if isinstance(message, UnknownMessage | Heartbeat):
            return None
        if isinstance(message, ServerHello | Welcome):
            raise InvalidMessage(
                f"{type(message).__name__} belongs to the handshake, which is over"
            )
        # Every server message with an id answers the command of that id, or comes before that.
        id = getattr(message, "id", None)
        if isinstance(message, Rows | StatesCompared):
            if id not in self._pending:
                raise InvalidMessage(
                    f"{type(message).__name__} came for {id}, which waits for none"
                )
            return message
        if id is not None and self._pending.pop(id, None) is None:
            raise InvalidMessage(f"the server answered command {id}, which waits for no answer")
        return message
