"""The dialect of the one window's own endpoint: few requests, same handshake, same framing."""

import msgspec

from stroboscope.debugger_protocol.codec import MessageCodec
from stroboscope.debugger_protocol.handshake import Endpoint
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.messages import (
    ClientHello,
    ClientProof,
    Command,
    Done,
    Failed,
    Goodbye,
    Heartbeat,
    ServerHello,
    Welcome,
)
from stroboscope.debugger_protocol.sessions import Dialect

__all__ = [
    "Focus",
    "OpenSession",
    "Picture",
    "Ping",
    "Screenshot",
    "WindowClientMessage",
    "WindowServerMessage",
    "WindowSession",
    "WindowStatus",
    "WindowStatusRequest",
    "window_dialect",
]


class OpenSession(Command, frozen=True, kw_only=True, tag="open_session"):
    """Connect to a session of this user; the window finds its connection file by itself."""

    session_id: str


class Focus(Command, frozen=True, kw_only=True, tag="focus"):
    """Bring the window to the front."""


class Ping(Command, frozen=True, kw_only=True, tag="ping"):
    """Done as soon as the window's network thread reads it."""


class Screenshot(Command, frozen=True, kw_only=True, tag="screenshot"):
    """Answered by Picture, or Failed."""


class WindowStatusRequest(Command, frozen=True, kw_only=True, tag="window_status_request"):
    """Answered by WindowStatus."""


class Picture(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="picture"):
    """The whole window as a PNG file."""

    id: int
    png: bytes


class WindowSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session that the window shows, or showed until its application ended."""

    session_id: str
    script: str = ""
    pid: int = 0
    connected: bool = True


class WindowStatus(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="window_status"
):
    """Which sessions the window shows."""

    id: int
    pid: int
    sessions: tuple[WindowSession, ...] = ()


WindowClientMessage = (
    ClientHello
    | ClientProof
    | OpenSession
    | Focus
    | Ping
    | Screenshot
    | WindowStatusRequest
    | Heartbeat
    | Goodbye
)

WindowServerMessage = (
    ServerHello | Welcome | Done | Failed | Goodbye | Heartbeat | Picture | WindowStatus
)


def window_dialect(limits: Limits) -> Dialect[WindowClientMessage, WindowServerMessage]:
    """Return the dialect of the window's endpoint."""
    return Dialect(
        Endpoint.WINDOW,
        MessageCodec[WindowClientMessage](
            WindowClientMessage,
            max_bytes=limits.client_message_bytes,
            nesting=limits.nesting,
            string_bytes=limits.name_bytes,
        ),
        MessageCodec[WindowServerMessage](
            WindowServerMessage,
            max_bytes=limits.server_message_bytes,
            nesting=limits.nesting,
            string_bytes=None,
        ),
    )
