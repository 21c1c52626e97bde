"""How a connection begins: both prove the secret, the server first, before anything is said.

The client says ClientHello, the server ServerHello, the client ClientProof, the server Welcome.
"""

import msgspec

from stroboscope.debugger_protocol.message_base import Message

__all__ = [
    "ClientHello",
    "ClientProof",
    "ServerHello",
    "SessionInfo",
    "Welcome",
]


class ClientHello(Message, frozen=True, kw_only=True, tag="client_hello"):
    """First message of a client; nothing but a nonce and versions before any proof."""

    major: int
    minor: int
    nonce: bytes
    capabilities: tuple[str, ...] = ()
    observe: bool = False
    name: str = ""


class ServerHello(Message, frozen=True, kw_only=True, tag="server_hello"):
    """The server's nonce and its proof of the secret."""

    major: int
    minor: int
    nonce: bytes
    proof: bytes
    capabilities: tuple[str, ...] = ()


class ClientProof(Message, frozen=True, kw_only=True, tag="client_proof"):
    """The client's proof of the secret."""

    proof: bytes


class SessionInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Who the application is. ``session_id`` changes with every attach, ``script`` does not."""

    session_id: str
    pid: int
    script: str = ""
    argv: tuple[str, ...] = ()
    python: str = ""
    engine: str = ""
    started: float = 0.0


class Welcome(Message, frozen=True, kw_only=True, tag="welcome"):
    """The handshake succeeded. Full SceneAdded, SceneStatus and SessionStatus messages follow."""

    session: SessionInfo
    client_id: int
