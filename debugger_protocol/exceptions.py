"""Errors of the protocol package. Each message says what was seen, what is allowed, what to do."""

__all__ = [
    "AuthenticationError",
    "CommandError",
    "CommandTimeout",
    "ConnectionFileError",
    "ConnectionLost",
    "HandshakeError",
    "InvalidMessage",
    "LimitExceeded",
    "NoSessionError",
    "ProtocolError",
    "RuntimeDirectoryError",
    "SceneClosedError",
    "VersionMismatch",
]


class ProtocolError(Exception):
    """Base of every error that ``stroboscope.debugger_protocol`` raises."""


class InvalidMessage(ProtocolError):
    """The peer sent bytes that are not a message of this protocol.

    ``id`` is the command's when that much could be read: a server then answers Failed and goes on.
    """

    def __init__(self, reason: str, *, id: int | None = None) -> None:
        super().__init__(reason)
        self.id = id


class LimitExceeded(ProtocolError):
    """The peer exceeded a limit; the message holds the limit and the value seen."""


class HandshakeError(ProtocolError):
    """The handshake failed before any data was exchanged."""


class AuthenticationError(HandshakeError):
    """A proof of the shared secret was missing or wrong: not the peer we were told of."""


class VersionMismatch(HandshakeError):
    """The peer speaks another major version; both versions are named."""


class ConnectionLost(ProtocolError):
    """The peer is gone; says why as far as it is known."""


class RuntimeDirectoryError(ProtocolError):
    """The runtime directory is not safely ours: other owner, other mode, or a symlink."""


class ConnectionFileError(ProtocolError):
    """A connection file can't be read or is not what it should be."""


class NoSessionError(ProtocolError):
    """There is no session to connect to, or several and none was chosen."""


class CommandError(ProtocolError):
    """The server understood a command and refused it; the message is the server's reason."""


class CommandTimeout(CommandError):
    """The owner thread did not get to a command in time; the message says where it is."""


class SceneClosedError(ProtocolError):
    """The scene was closed, or the host stopped, while its owner thread was using it."""
