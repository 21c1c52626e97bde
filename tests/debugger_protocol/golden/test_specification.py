"""The written specification says what the code does."""

import re
from pathlib import Path
from typing import get_args

import pytest

from stroboscope.debugger_protocol import (
    edit_messages,
    handshake,
    note_messages,
    time_messages,
    version,
)
from stroboscope.debugger_protocol import messages as m
from stroboscope.debugger_protocol import scene_description as d
from stroboscope.debugger_protocol import window_messages as w
from stroboscope.debugger_protocol.handshake import (
    Endpoint,
    HandshakeContext,
    Role,
    make_proof,
)
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.topics import Instant, Topic

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "protocol.md"
SECRET = bytes(range(0x40, 0x60))
CONTEXT = HandshakeContext(
    endpoint=Endpoint.SESSION,
    client_nonce=bytes(range(0x20)),
    server_nonce=bytes(range(0x20, 0x40)),
    port=54321,
    client_version=(1, 0),
    server_version=(1, 0),
)


@pytest.fixture(scope="module")
def document() -> str:
    return DOCUMENT.read_text()


def test_the_worked_handshake_of_the_document_is_what_the_code_computes(document):
    assert SECRET.hex() in document
    assert CONTEXT.client_nonce.hex() in document
    assert CONTEXT.server_nonce.hex() in document
    server = make_proof(SECRET, Role.SERVER, CONTEXT)
    client = make_proof(SECRET, Role.CLIENT, CONTEXT)
    assert server.hex() == "bb552bde1ad2067801eaaf1e6346c3c8224109f9fb456d5b59b08ac7c1269975"
    assert client.hex() == "787a3d027843f35d3d38b4b4b5cdd35563ac1258ef1ccc49a7f72cb7ddc7ca19"
    assert server.hex() in document
    assert client.hex() in document


def test_the_worked_handshake_can_be_computed_from_the_document_alone(document):
    """As a reader of the document would: label, lengths, HMAC from the standard library."""
    import hashlib
    import hmac

    fields = [
        b"stroboscope-handshake-1",
        b"session",
        b"client",
        *(bytes.fromhex(x) for x in re.findall(r"nonce `([0-9a-f]{64})`", document)[:2]),
        b"54321",
        b"1.0",
        b"1.0",
    ]
    data = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
    proof = hmac.new(SECRET, data, hashlib.sha256).hexdigest()
    assert f"client proof `{proof}`" in document
    assert handshake.NONCE_BYTES == 32


@pytest.mark.parametrize(
    "union", [m.ClientMessage, m.ServerMessage, w.WindowClientMessage, w.WindowServerMessage]
)
def test_every_message_and_field_is_in_the_document(document, union):
    for kind in get_args(union):
        assert f"`{kind.__struct_config__.tag}`" in document, kind
        for field in kind.__struct_fields__:
            assert f"`{field}`" in document, f"{kind.__name__}.{field}"


@pytest.mark.parametrize("words", [d, edit_messages, note_messages, time_messages])
def test_every_field_of_what_messages_hold_is_in_the_document(document, words):
    for name in words.__all__:
        kind = getattr(words, name)
        for field in getattr(kind, "__struct_fields__", ()):
            assert f"`{field}`" in document, f"{name}.{field}"


def test_every_value_of_every_closed_set_is_in_the_document(document):
    enums = [
        m.PlaybackMode,
        m.EditField,
        m.PerturbKind,
        m.FailureKind,
        m.OwnerActivity,
        m.LogLevel,
        Topic,
    ]
    enums += [Instant, d.GeomType, d.JointType, d.CameraMode, d.TextureKind, d.ChannelKind]
    enums += [time_messages.EditKind, time_messages.GhostSource]
    enums += [time_messages.SegmentKind, time_messages.StopReason, note_messages.NoteKind]
    for kind in enums:
        for member in kind:
            assert f"`{member.value}`" in document, f"{kind.__name__}.{member.name}"


def test_every_limit_is_in_the_document_with_its_value(document):
    limits = Limits()
    for name in Limits.__dataclass_fields__:
        value = getattr(limits, name)
        shown = f"{value:,}" if isinstance(value, int) else f"{value:g}"
        assert f"| `{name}` | {shown} |" in document, name


def test_every_capability_is_in_the_document(document):
    for capability in (*version.CAPABILITIES, version.RELAY, version.PASSING, version.PLAYS):
        assert f"`{capability}`" in document
    assert f"version {version.PROTOCOL_MAJOR}.{version.PROTOCOL_MINOR}" in document
