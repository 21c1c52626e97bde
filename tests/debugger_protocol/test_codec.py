"""Bytes to messages: sizes, structure, types and values, each refused with a documented error."""

import contextlib
import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stroboscope.debugger_protocol import messages as m
from stroboscope.debugger_protocol.codec import (
    UnknownMessage,
    check_structure,
    client_codec,
    encode_message,
    server_codec,
    trim_text,
)
from stroboscope.debugger_protocol.exceptions import InvalidMessage, LimitExceeded, ProtocolError
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.scene_description import BodyInfo, SceneDescription

LIMITS = Limits()
CLIENT = client_codec(LIMITS)
SERVER = server_codec(LIMITS)


def packed(value: object) -> bytes:
    return msgspec.msgpack.encode(value)


def test_a_message_comes_back_as_it_went():
    message = m.Step(id=3, scene_id=1, count=5)
    assert CLIENT.decode(CLIENT.encode(message)) == message


def test_fields_of_a_newer_minor_version_are_ignored():
    data = packed({"type": "play", "id": 1, "scene_id": None, "fancy": [1, {"deep": [2]}]})
    assert CLIENT.decode(data) == m.Play(id=1)


def test_types_of_a_newer_minor_version_are_told_apart_from_rubbish():
    assert CLIENT.decode(packed({"type": "warp", "id": 4})) == UnknownMessage(type="warp", id=4)
    assert SERVER.decode(packed({"type": "aurora"})) == UnknownMessage(type="aurora")
    with pytest.raises(InvalidMessage, match="not a message"):
        CLIENT.decode(packed({"kind": "play"}))


@pytest.mark.parametrize(
    "value",
    [None, True, 1, 1.5, "play", b"play", [], {}, [{"type": "play", "id": 1}], {1: 2}, {"type": 3}],
)
def test_what_is_no_tagged_map_is_refused(value):
    with pytest.raises(InvalidMessage):
        CLIENT.decode(packed(value))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"type": "step", "id": 1, "scene_id": "1"}, "scene_id"),
        ({"type": "step", "id": 1}, "scene_id"),
        ({"type": "step", "id": 1, "scene_id": True}, "scene_id"),
        ({"type": "step", "id": 1, "scene_id": 1, "count": 0}, "at least 1"),
        ({"type": "step", "id": 1, "scene_id": -1}, "scene_id is -1"),
        ({"type": "step", "id": 1, "scene_id": 2**63}, "scene_id"),
        ({"type": "step", "id": 1, "scene_id": 2**64 - 1}, "scene_id"),
        ({"type": "step", "id": 1, "scene_id": 1, "count": 1.5}, "count"),
        ({"type": "set_speed", "id": 1, "speed": float("nan")}, "speed is nan"),
        ({"type": "set_speed", "id": 1, "speed": float("inf")}, "speed is inf"),
        ({"type": "set_speed", "id": 1, "speed": 65.0}, "1/64 to 64"),
        ({"type": "set_speed", "id": 1, "speed": 0.0}, "1/64 to 64"),
        ({"type": "set_speed", "id": 1, "speed": "2"}, "speed"),
        ({"type": "run_until", "id": 1, "scene_id": 1, "time": float("nan")}, "time is nan"),
        ({"type": "subscribe", "id": 1, "scene_id": 1, "topics": ["pose", "gossip"]}, "gossip"),
        (
            {"type": "subscribe", "id": 1, "scene_id": 1, "topics": [], "max_rate_hz": 0.0},
            "max_rate_hz",
        ),
        (
            {
                "type": "edit_state",
                "id": 1,
                "scene_id": 1,
                "field": "qpos",
                "index": 0,
                "values": [0.0, float("nan")],
            },
            "values",
        ),
        (
            {"type": "edit_state", "id": 1, "scene_id": 1, "field": "x", "index": 0, "values": []},
            "field",
        ),
        (
            {
                "type": "resimulate",
                "id": 1,
                "scene_id": 1,
                "edits": [{"kind": "ctrl", "values": [0.5, float("inf")]}],
            },
            "values in edits is not finite",
        ),
        (
            {
                "type": "compare_states",
                "id": 1,
                "scene_id": 1,
                "first": {"source": "row", "number": 3, "scene_id": 1},
                "second": {"source": "row", "number": -3, "scene_id": 1},
            },
            "number in second is -3",
        ),
        (
            {"type": "show_ghosts", "id": 1, "scene_id": 1, "ghosts": [{"source": "moon"}]},
            "moon",
        ),
    ],
)
def test_a_command_with_a_wrong_value_names_it_and_its_id(fields, words):
    with pytest.raises(InvalidMessage, match=words) as info:
        CLIENT.decode(packed(fields))
    assert info.value.id == 1


def test_a_command_whose_id_is_wrong_has_no_id_to_answer():
    for id in (-1, 2**63, "1", None):
        with pytest.raises(InvalidMessage) as info:
            CLIENT.decode(packed({"type": "play", "id": id}))
        assert info.value.id is None


def test_a_diverged_simulation_may_send_nan():
    message = m.SceneRestored(scene_id=1, reason="reset", axis=4, time=float("nan"))
    assert SERVER.decode(SERVER.encode(message)).axis == 4


def test_strings_of_clients_are_at_most_256_bytes():
    good = m.Subscribe(id=1, scene_id=1, topics=(), channels=("x" * 256,))
    assert CLIENT.decode(packed(good)) == good
    for channel in ("x" * 257, "ü" * 129, "x" * 70_000):
        message = m.Subscribe(id=1, scene_id=1, topics=(), channels=(channel,))
        with pytest.raises(InvalidMessage, match="at most 256 bytes"):
            CLIENT.decode(packed(message))


def test_nesting_is_allowed_to_16_levels_and_no_more():
    def nested(levels: int) -> bytes:
        value: object = 0
        for _ in range(levels - 1):
            value = [value]
        return packed({"type": "play", "id": 1, "x": value})

    assert CLIENT.decode(nested(16)) == m.Play(id=1)
    with pytest.raises(InvalidMessage, match="deeper than 16"):
        CLIENT.decode(nested(17))


@pytest.mark.parametrize("head", [b"\x91", b"\x81\xa1k", b"\xdc\x00\x01", b"\xdd\x00\x00\x00\x01"])
def test_a_million_levels_are_refused_without_recursion(head):
    depth = 1_000_000 // len(head)
    data = b"\x81\xa1x" + head * depth + b"\xc0"
    with pytest.raises(InvalidMessage, match="deeper than 16"):
        CLIENT.decode(data[: LIMITS.client_message_bytes])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xc1",
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\x81\xa4type\xdd\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        b"\xc9\xff\xff\xff\xff",
        b"\xdc\x00",
        b"\xd9",
        b"\xcb\x00",
        b"\x80\x80",
    ],
)
def test_promises_that_the_bytes_do_not_keep_are_refused(data):
    with pytest.raises(InvalidMessage):
        CLIENT.decode(data)


def test_the_size_is_checked_before_anything_else():
    data = b"\xc1" * (LIMITS.client_message_bytes + 1)
    with pytest.raises(LimitExceeded, match="1048577 bytes"):
        CLIENT.decode(data)
    with pytest.raises(LimitExceeded, match="at most 4096"):
        CLIENT.decode(b"\xc1" * 4097, 4096)


def test_what_is_too_large_is_not_sent():
    message = m.AssetChunk(id=1, digest="", offset=0, total=1, data=bytes(17 << 20))
    with pytest.raises(LimitExceeded, match="asset_chunk message has"):
        SERVER.encode(message)


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**64 - 1)
        | st.floats()
        | st.text(max_size=40)
        | st.binary(max_size=300),
        lambda inner: (
            st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=5), inner, max_size=5)
        ),
        max_leaves=40,
    )
)
def test_the_walk_accepts_what_is_messagepack_and_no_part_of_it(value):
    data = packed(value)
    check_structure(data, nesting=100)
    for end in range(len(data)):
        with pytest.raises(InvalidMessage):
            check_structure(data[:end], nesting=100)
    with pytest.raises(InvalidMessage):
        check_structure(data + b"\xc0", nesting=100)


@given(st.binary(max_size=200))
def test_random_bytes_raise_only_documented_errors(data):
    for codec in (CLIENT, SERVER):
        with contextlib.suppress(ProtocolError):
            codec.decode(data)


@given(st.binary(max_size=200))
def test_the_walk_and_msgspec_agree_on_what_is_one_element(data):
    try:
        check_structure(data, nesting=1000)
    except InvalidMessage:
        with pytest.raises((msgspec.MsgspecError, ValueError, RecursionError)):
            msgspec.msgpack.decode(data)


@given(st.text(), st.integers(3, 60))
def test_trimmed_text_fits_and_is_text(text, limit):
    trimmed = trim_text(text, limit)
    assert len(trimmed.encode()) <= limit
    if len(text.encode()) <= limit:
        assert trimmed == text


def test_extension_types_are_skipped_in_unknown_fields():
    for head in (b"\xd4\x05", b"\xd8\x05" + bytes(15), b"\xc7\x01\x05"):
        data = b"\x83\xa4type\xa4play\xa2id\x01\xa1x" + head + b"\x00"
        assert CLIENT.decode(data) == m.Play(id=1)


def test_floats_of_both_widths_are_numbers():
    data = b"\x83\xa4type\xa9set_speed\xa2id\x01\xa5speed\xca" + struct.pack(">f", 2.0)
    assert CLIENT.decode(data) == m.SetSpeed(id=1, speed=2.0)
    assert CLIENT.decode(packed({"type": "set_speed", "id": 1, "speed": 2})).speed == 2.0


def test_encoding_says_which_message_was_too_large():
    with pytest.raises(LimitExceeded, match="a play message has"):
        encode_message(m.Play(id=1), 3)


@pytest.mark.parametrize(
    "message",
    [
        m.LogEntry(level=m.LogLevel.INFO, text="caf\udce9", wall_time=0.0),
        m.SceneAdded(scene_id=1, name="caf\udce9"),
        m.SceneDescribed(
            description=SceneDescription(
                scene_id=1, name="", bodies=(BodyInfo(name="caf\udce9", parent=0),)
            )
        ),
    ],
)
def test_text_with_undecodable_bytes_travels_escaped(message):
    arrived = SERVER.decode(SERVER.encode(message))
    assert type(arrived) is type(message)
    assert "caf\\udce9" in repr(arrived).replace("\\\\", "\\")


def test_bytes_survive_beside_text_with_undecodable_bytes():
    message = m.AssetChunk(id=1, digest="\udce9", offset=0, total=3, data=b"\xff\x00\xe9")
    arrived = SERVER.decode(SERVER.encode(message))
    assert (arrived.digest, arrived.data) == ("\\udce9", b"\xff\x00\xe9")
