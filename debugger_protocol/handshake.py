"""Mutual proof of a shared secret, and the gate that an HTTP upgrade request must pass.

    C  ClientHello   version, nonce
    S  ServerHello   version, nonce, proof       the client verifies this before it proves anything
    C  ClientProof   proof
    S  Welcome

A proof is HMAC-SHA256 over both nonces, the port and both versions under the session's secret,
so it is of no use to another server, on another port, for another version, in the other
direction, or a second time. The secret itself never travels.
"""

import enum
import hmac
import secrets
from collections.abc import Iterable
from typing import Final

from stroboscope.debugger_protocol.exceptions import (
    AuthenticationError,
    HandshakeError,
    VersionMismatch,
)
from stroboscope.debugger_protocol.version import PROTOCOL_MAJOR, PROTOCOL_MINOR

__all__ = [
    "NONCE_BYTES",
    "PROOF_BYTES",
    "SECRET_BYTES",
    "Endpoint",
    "HandshakeContext",
    "Role",
    "Version",
    "check_nonce",
    "check_request_headers",
    "check_version",
    "make_nonce",
    "make_proof",
    "make_secret",
    "own_version",
    "verify_proof",
]

SECRET_BYTES: Final = 32
NONCE_BYTES: Final = 32
PROOF_BYTES: Final = 32

_LABEL: Final = b"stroboscope-handshake-1"
_LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")

Version = tuple[int, int]
"""``(major, minor)``."""


class Role(enum.StrEnum):
    """Who proves; a proof of one role is worthless as the other's (no reflection)."""

    SERVER = "server"
    CLIENT = "client"


class Endpoint(enum.StrEnum):
    """What is connected to; a proof for one kind is worthless for the other."""

    SESSION = "session"
    WINDOW = "window"


class HandshakeContext:
    """What both sides' proofs are about: everything but the secret and the role."""

    __slots__ = (
        "client_nonce",
        "client_version",
        "endpoint",
        "port",
        "server_nonce",
        "server_version",
    )

    def __init__(
        self,
        *,
        endpoint: Endpoint,
        client_nonce: bytes,
        server_nonce: bytes,
        port: int,
        client_version: Version,
        server_version: Version,
    ) -> None:
        self.endpoint = endpoint
        self.client_nonce = client_nonce
        self.server_nonce = server_nonce
        self.port = port
        self.client_version = client_version
        self.server_version = server_version


def own_version() -> Version:
    """Return the version this side speaks."""
    return PROTOCOL_MAJOR, PROTOCOL_MINOR


def make_secret() -> bytes:
    """Return a new session secret of 32 random bytes."""
    return secrets.token_bytes(SECRET_BYTES)


def make_nonce() -> bytes:
    """Return a new nonce of 32 random bytes; never used twice."""
    return secrets.token_bytes(NONCE_BYTES)


def make_proof(secret: bytes, role: Role, context: HandshakeContext) -> bytes:
    """Return the proof (32 bytes) that the holder of ``secret`` gives in ``role``.

    Every field is preceded by its length as four big-endian bytes, so no two different contexts
    give the same input.
    """
    if len(secret) < SECRET_BYTES:
        raise HandshakeError(
            f"the shared secret has {len(secret)} bytes; at least {SECRET_BYTES} are needed"
        )
    fields = (
        _LABEL,
        context.endpoint.value.encode(),
        role.value.encode(),
        context.client_nonce,
        context.server_nonce,
        str(context.port).encode(),
        _version_bytes(context.client_version),
        _version_bytes(context.server_version),
    )
    mac = hmac.new(secret, digestmod="sha256")
    for field in fields:
        mac.update(len(field).to_bytes(4, "big"))
        mac.update(field)
    return mac.digest()


def verify_proof(proof: bytes, secret: bytes, role: Role, context: HandshakeContext) -> None:
    """Raise AuthenticationError unless ``proof`` is right; takes the same time either way."""
    if not hmac.compare_digest(proof, make_proof(secret, role, context)):
        raise AuthenticationError(
            f"the {role.value} did not prove that it knows this session's secret: it is not the "
            f"one that the connection file names. Nothing was sent to it."
        )


def check_version(major: int, minor: int, *, peer: Role) -> None:
    """Raise VersionMismatch unless the peer's major version is ours; both are named."""
    if major != PROTOCOL_MAJOR:
        raise VersionMismatch(
            f"the {peer.value} speaks protocol {major}.{minor}, this side "
            f"{PROTOCOL_MAJOR}.{PROTOCOL_MINOR}: only equal major versions understand each other. "
            f"Install the same version of stroboscope on both sides."
        )


def check_nonce(nonce: bytes, *, peer: Role) -> None:
    """Raise HandshakeError unless the nonce has its 32 bytes."""
    if len(nonce) != NONCE_BYTES:
        raise HandshakeError(
            f"the {peer.value}'s nonce has {len(nonce)} bytes; it must have {NONCE_BYTES}"
        )


def check_request_headers(headers: Iterable[tuple[str, str]], port: int) -> None:
    """Raise HandshakeError unless an upgrade request comes from a program on this machine.

    Browsers always send ``Origin``, so any such header is refused; and exactly one ``Host`` must
    name this machine's loopback and our port, which defeats DNS rebinding.
    """
    hosts = []
    for name, value in headers:
        lower = name.lower()
        if lower == "origin":
            raise HandshakeError(f"a web page ({value[:100]!r}) may not connect to a debug server")
        if lower == "host":
            hosts.append(value)
    allowed = tuple(f"{name}:{port}" for name in _LOOPBACK_NAMES)
    if len(hosts) != 1:
        raise HandshakeError(
            f"the request has {len(hosts)} Host headers; it must have one of {', '.join(allowed)}"
        )
    if hosts[0].strip().lower() not in allowed:
        raise HandshakeError(
            f"the request names the host {hosts[0][:100]!r}; allowed are {', '.join(allowed)}"
        )


def _version_bytes(version: Version) -> bytes:
    return f"{version[0]}.{version[1]}".encode()
