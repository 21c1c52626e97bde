"""Golden bytes: one message of every type, as it has to look on the wire for all of version 1.

When reading one of these fails, the change breaks clients of others: edit the change,
not the bytes. A new field with a default changes what is written; then add its bytes beside the old
ones, which must still be read.
"""

from pathlib import Path
from typing import Any, get_args

import golden_edits
import golden_recording
import golden_scene_description
import golden_session
import golden_time
import golden_window
import msgspec
import numpy as np
import pytest

from stroboscope.debugger_protocol import messages as m
from stroboscope.debugger_protocol import window_messages as w
from stroboscope.debugger_protocol.arrays import asset_bytes, asset_digest, unpack_arrays
from stroboscope.debugger_protocol.codec import client_codec, server_codec
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.window_messages import window_dialect

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "protocol.md"
CLIENT = [
    *golden_session.CLIENT,
    *golden_edits.CLIENT,
    *golden_time.CLIENT,
    *golden_recording.CLIENT,
]
SERVER = [
    *golden_session.SERVER,
    *golden_scene_description.SERVER,
    *golden_edits.SERVER,
    *golden_time.SERVER,
    *golden_recording.SERVER,
]
WINDOW = golden_window.MESSAGES
WRITTEN = [*CLIENT, *SERVER, *WINDOW]
OF_CLIENTS = [*CLIENT, *golden_edits.OLD_CLIENT, *golden_time.OLD_CLIENT]
OF_SERVERS = [
    *SERVER,
    *golden_session.OLD_SERVER,
    *golden_edits.OLD_SERVER,
    *golden_scene_description.OLD_SERVER,
    *golden_time.OLD_SERVER,
]
LIMITS = Limits()


def tag(message: Any) -> str:
    return str(message.__struct_config__.tag)


def names(golden: list[tuple[Any, str]]) -> list[str]:
    return [tag(message) for message, _ in golden]


@pytest.mark.parametrize(("message", "golden"), WRITTEN, ids=names(WRITTEN))
def test_a_message_has_its_golden_bytes(message, golden):
    assert msgspec.msgpack.encode(message).hex() == golden


@pytest.mark.parametrize(("message", "golden"), OF_CLIENTS, ids=names(OF_CLIENTS))
def test_golden_bytes_of_a_client_are_read_as_their_message(message, golden):
    assert client_codec(LIMITS).decode(bytes.fromhex(golden)) == message


@pytest.mark.parametrize(("message", "golden"), OF_SERVERS, ids=names(OF_SERVERS))
def test_golden_bytes_of_a_server_are_read_as_their_message(message, golden):
    assert server_codec(LIMITS).decode(bytes.fromhex(golden)) == message


@pytest.mark.parametrize(("message", "golden"), WINDOW, ids=names(WINDOW))
def test_golden_bytes_of_the_window_are_read_as_their_message(message, golden):
    dialect = window_dialect(LIMITS)
    answer = isinstance(message, get_args(w.WindowServerMessage))
    codec = dialect.server if answer else dialect.client
    assert codec.decode(bytes.fromhex(golden)) == message


def test_every_type_of_message_has_golden_bytes():
    for union, golden in (
        (m.ClientMessage, CLIENT),
        (m.ServerMessage, SERVER),
        (w.WindowClientMessage | w.WindowServerMessage, WRITTEN),
    ):
        assert {tag(t) for t in get_args(union)} <= set(names(golden))


def test_arrays_have_their_golden_bytes():
    entries, blob = golden_session.ENTRIES, golden_session.BLOB
    assert [tuple(msgspec.structs.astuple(entry)) for entry in entries] == [
        ("xpos", "<f8", (1, 3), 0),
        ("geom", "<i4", (1, 2), 24),
    ]
    assert blob.hex() == "0000000000000000000000000000e03f000000000000f03f0100000002000000"
    assert unpack_arrays(entries, blob)["geom"].tolist() == [[1, 2]]


def test_an_asset_has_its_golden_bytes_and_digest():
    data = asset_bytes({"data": np.array([1, 2, 3], dtype=np.uint8)})
    assert data.hex() == "929194a464617461a37c7531910300c4080102030000000000"
    assert asset_digest(data) in DOCUMENT.read_text()
