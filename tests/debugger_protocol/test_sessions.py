"""Both ends of a conversation without a socket: a fake clock and bytes handed over by hand."""

import msgspec
import pytest

from stroboscope.debugger_protocol import messages as m
from stroboscope.debugger_protocol import time_messages as tm
from stroboscope.debugger_protocol.exceptions import (
    AuthenticationError,
    ConnectionLost,
    HandshakeError,
    InvalidMessage,
    LimitExceeded,
    VersionMismatch,
)
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.sessions import (
    ClientSession,
    Left,
    Opened,
    ServerSession,
    SessionState,
    debugger_dialect,
)
from stroboscope.debugger_protocol.version import PROTOCOL_MAJOR, PROTOCOL_MINOR

LIMITS = Limits()
DIALECT = debugger_dialect(LIMITS)
SECRET = b"s" * 32
INFO = m.SessionInfo(session_id="abc", pid=7)


class Pair:
    """A client and a server session that have not spoken yet."""

    def __init__(self, *, client_secret=SECRET, client_port=5000, server_port=5000, limits=LIMITS):
        self.now = 100.0
        common = {"limits": limits, "now": self.now}
        self.client = ClientSession(
            DIALECT, secret=client_secret, port=client_port, name="me", observe=True, **common
        )
        self.server = ServerSession(DIALECT, secret=SECRET, port=server_port, **common)

    def to_server(self):
        events = [
            self.server.receive(self.client.encode(x), self.now) for x in self.client.take_replies()
        ]
        return events[-1] if events else None

    def to_client(self):
        events = [
            self.client.receive(self.server.encode(x), self.now) for x in self.server.take_replies()
        ]
        return events[-1] if events else None

    def open(self):
        self.to_server()
        self.to_client()
        opened = self.to_server()
        assert isinstance(opened, Opened)
        self.server.welcome(INFO, 3)
        welcomed = self.to_client()
        return opened, welcomed

    def command(self, kind=m.Play, **fields):
        return self.client.command(kind, **fields)


@pytest.fixture
def pair():
    return Pair()


@pytest.fixture
def opened(pair):
    pair.open()
    return pair


def test_after_the_handshake_both_sides_know_each_other(pair):
    on_server, on_client = pair.open()
    assert (on_server.name, on_server.observe) == ("me", True)
    assert on_client.session == INFO
    assert on_client.client_id == 3
    assert pair.server.state is pair.client.state is SessionState.OPEN


def test_the_server_proves_itself_before_the_client_says_anything_secret():
    pair = Pair(client_secret=b"x" * 32)
    pair.to_server()
    with pytest.raises(AuthenticationError, match="Nothing was sent"):
        pair.to_client()
    assert pair.client.take_replies() == []
    assert pair.client.state is SessionState.CLOSED


def test_a_proof_for_another_port_is_worthless():
    pair = Pair(client_port=5001)
    pair.to_server()
    with pytest.raises(AuthenticationError):
        pair.to_client()


def test_a_client_without_the_secret_is_refused_by_the_server(pair):
    pair.to_server()
    pair.server.take_replies()
    with pytest.raises(AuthenticationError, match="client did not prove"):
        pair.server.receive(pair.client.encode(m.ClientProof(proof=b"?" * 32)), pair.now)
    assert "prove" in pair.server.farewell.reason


def test_the_servers_own_proof_can_not_be_reflected(pair):
    pair.to_server()
    [hello] = pair.server.take_replies()
    with pytest.raises(AuthenticationError):
        pair.server.receive(pair.client.encode(m.ClientProof(proof=hello.proof)), pair.now)


def test_a_recorded_handshake_can_not_be_replayed(pair):
    hello = pair.client.encode(pair.client.take_replies()[0])
    pair.server.receive(hello, pair.now)
    pair.to_client()
    proof = pair.client.encode(pair.client.take_replies()[0])
    again = ServerSession(DIALECT, secret=SECRET, port=5000, limits=LIMITS, now=0.0)
    again.receive(hello, 0.0)
    with pytest.raises(AuthenticationError):
        again.receive(proof, 0.0)


def test_another_major_version_is_refused_on_both_sides_with_both_versions(pair):
    hello = m.ClientHello(major=9, minor=4, nonce=b"n" * 32)
    with pytest.raises(VersionMismatch, match=rf"9\.4.*{PROTOCOL_MAJOR}\.{PROTOCOL_MINOR}"):
        pair.server.receive(pair.client.encode(hello), pair.now)
    [answer] = pair.server.take_replies()
    assert answer.proof == answer.nonce == b""
    answer = msgspec.structs.replace(answer, major=9, minor=4)
    with pytest.raises(VersionMismatch, match=rf"9\.4.*{PROTOCOL_MAJOR}\.{PROTOCOL_MINOR}"):
        pair.client.receive(pair.server.encode(answer), pair.now)


def test_another_minor_version_is_welcome():
    pair = Pair()
    pair.client.take_replies()
    hello = m.ClientHello(major=1, minor=7, nonce=b"n" * 32, capabilities=("time_machine",))
    pair.server.receive(pair.client.encode(hello), pair.now)
    assert pair.server.state is SessionState.PROOF


@pytest.mark.parametrize("nonce", [b"", b"n", b"n" * 31, b"n" * 33])
def test_nonces_of_another_length_are_refused(pair, nonce):
    hello = m.ClientHello(major=1, minor=0, nonce=nonce)
    with pytest.raises(HandshakeError, match=f"{len(nonce)} bytes"):
        pair.server.receive(pair.client.encode(hello), pair.now)


@pytest.mark.parametrize(
    "message",
    [m.Play(id=1), m.Heartbeat(), m.ClientProof(proof=b"p" * 32), m.AssetRequest(id=1, digest="")],
)
def test_before_the_hello_nothing_else_is_listened_to(pair, message):
    with pytest.raises(HandshakeError):
        pair.server.receive(pair.client.encode(message), pair.now)
    with pytest.raises(ConnectionLost):
        pair.server.receive(pair.client.encode(message), pair.now)


@pytest.mark.parametrize("message", [m.Done(id=1), m.Heartbeat(), m.SceneRemoved(scene_id=1)])
def test_a_client_takes_no_data_before_the_server_has_proven_itself(pair, message):
    with pytest.raises(HandshakeError):
        pair.client.receive(pair.server.encode(message), pair.now)


def test_a_welcome_without_a_proof_is_refused(pair):
    with pytest.raises(HandshakeError, match="proven"):
        pair.client.receive(pair.server.encode(m.Welcome(session=INFO, client_id=1)), pair.now)


def test_a_goodbye_during_the_handshake_is_an_error_that_says_who_is_known(pair):
    with pytest.raises(HandshakeError, match="not proven who it is"):
        pair.client.receive(pair.server.encode(m.Goodbye(reason="full")), pair.now)


def test_before_the_proof_messages_are_small(pair):
    with pytest.raises(LimitExceeded, match="4096"):
        pair.server.receive(bytes(5000), pair.now)


def test_the_handshake_messages_belong_to_the_handshake_only(opened):
    hello = m.ClientHello(major=1, minor=0, nonce=b"n" * 32)
    with pytest.raises(InvalidMessage, match="which is over"):
        opened.server.receive(opened.client.encode(hello), opened.now)
    with pytest.raises(InvalidMessage, match="which is over"):
        opened.client.receive(
            opened.server.encode(m.Welcome(session=INFO, client_id=2)), opened.now
        )


def test_the_handshake_has_five_seconds():
    pair = Pair()
    pair.server.tick(104.9)
    pair.client.tick(104.9)
    with pytest.raises(HandshakeError, match="5 s"):
        pair.server.tick(105.0)
    with pytest.raises(HandshakeError, match="5 s"):
        pair.client.tick(105.0)


# --- commands


def test_a_command_arrives_and_is_settled_once(opened):
    id, data = opened.command(m.Step, scene_id=2, count=3)
    command = opened.server.receive(data, opened.now)
    assert command == m.Step(id=id, scene_id=2, count=3)
    assert opened.server.pending() == (command,)
    assert opened.server.settle(id)
    assert not opened.server.settle(id)
    done = m.Done(id=id)
    assert opened.client.receive(opened.server.encode(done), opened.now) == done
    assert opened.client.pending() == ()


def test_a_second_answer_is_an_error_of_the_server(opened):
    id, data = opened.command()
    opened.server.receive(data, opened.now)
    done = opened.server.encode(m.Done(id=id))
    opened.client.receive(done, opened.now)
    with pytest.raises(InvalidMessage, match="waits for no answer"):
        opened.client.receive(done, opened.now)


@pytest.mark.parametrize(
    ("kind", "fields", "what"),
    [
        (tm.BreakWhen, {"expression": "time > 0 or " * 50}, "expression is 600 bytes long"),
        (m.SaveCheckpoint, {"name": "a", "note": "é" * 200}, "note is 400 bytes long"),
        (tm.ReadRows, {"channels": ("= " + "qpos[0] + " * 50,), "first": 0}, "string of 502 bytes"),
        (tm.StepBack, {"count": 2**70}, "a number is too large"),
    ],
)
def test_what_the_server_could_not_read_is_not_sent_and_the_connection_goes_on(
    opened, kind, fields, what
):
    with pytest.raises(InvalidMessage, match=what):
        opened.command(kind, scene_id=1, **fields)
    assert opened.client.pending() == ()
    id, data = opened.command()
    assert opened.server.receive(data, opened.now).id == id


@pytest.mark.parametrize("ids", [(1, 1), (5, 4), (2, 0)])
def test_ids_must_rise(opened, ids):
    first, second = (opened.client.encode(m.Play(id=id)) for id in ids)
    opened.server.receive(first, opened.now)
    with pytest.raises(InvalidMessage, match="must rise"):
        opened.server.receive(second, opened.now)


def test_a_command_with_a_wrong_value_is_answered_and_the_connection_goes_on(opened):
    data = opened.client.encode(m.SetSpeed(id=1, speed=float("nan")))
    assert opened.server.receive(data, opened.now) is None
    [failed] = opened.server.take_replies()
    assert failed.id == 1
    assert "speed is nan" in failed.reason
    assert opened.server.pending() == ()
    assert opened.server.receive(opened.client.encode(m.Play(id=2)), opened.now) == m.Play(id=2)


def test_a_wrong_value_under_an_old_id_ends_the_connection(opened):
    opened.server.receive(opened.client.encode(m.Play(id=5)), opened.now)
    with pytest.raises(InvalidMessage):
        opened.server.receive(
            opened.client.encode(m.SetSpeed(id=5, speed=float("nan"))), opened.now
        )


def test_rubbish_ends_the_connection_with_a_farewell(opened):
    with pytest.raises(InvalidMessage):
        opened.server.receive(b"\xc1\xc1", opened.now)
    assert opened.server.state is SessionState.CLOSED
    assert opened.server.farewell is not None


def test_a_command_of_a_newer_minor_version_is_refused_not_fatal(opened):
    data = msgspec.msgpack.encode({"type": "teleport", "id": 1, "scene_id": 1})
    assert opened.server.receive(data, opened.now) is None
    [failed] = opened.server.take_replies()
    assert "does not know teleport" in failed.reason
    assert opened.server.receive(msgspec.msgpack.encode({"type": "wave"}), opened.now) is None
    assert opened.server.take_replies() == []


def test_a_message_of_a_newer_server_is_ignored_by_the_client(opened):
    assert opened.client.receive(msgspec.msgpack.encode({"type": "aurora"}), opened.now) is None


def test_at_most_256_commands_wait_for_answers(opened):
    for _ in range(256):
        _, data = opened.command()
        assert opened.server.receive(data, opened.now) is not None
    id, data = opened.command()
    assert opened.server.receive(data, opened.now) is None
    [failed] = opened.server.take_replies()
    assert failed.id == id
    assert "256 commands" in failed.reason


def test_at_most_8_asset_ranges_are_under_way(opened):
    for _ in range(8):
        _, data = opened.command(m.AssetRequest, digest="0" * 64)
        assert opened.server.receive(data, opened.now) is not None
    _, data = opened.command(m.AssetRequest, digest="0" * 64)
    assert opened.server.receive(data, opened.now) is None
    opened.server.settle(1)
    _, data = opened.command(m.AssetRequest, digest="0" * 64)
    assert opened.server.receive(data, opened.now) is not None


def test_a_flood_is_slowed_to_200_messages_a_second(opened):
    heartbeat = opened.client.encode(m.Heartbeat())
    now, taken = opened.now + 1.0, 0
    start = now
    while now < start + 10.0:
        opened.server.receive(heartbeat, now)
        taken += 1
        now += opened.server.throttle_delay(now)
    # One second's worth may come in a burst before the rate holds.
    assert 2190 <= taken <= 2202


def test_a_client_at_an_ordinary_rate_never_waits(opened):
    heartbeat = opened.client.encode(m.Heartbeat())
    for i in range(1000):
        now = opened.now + i * 0.0055
        opened.server.receive(heartbeat, now)
        assert opened.server.throttle_delay(now) == 0.0


# --- silence


def test_a_heartbeat_is_due_every_two_seconds_and_is_answered(opened):
    opened.client.tick(101.9)
    assert opened.client.take_replies() == []
    opened.client.tick(102.0)
    [heartbeat] = opened.client.take_replies()
    assert opened.client.deadline() == 104.0
    opened.server.receive(opened.client.encode(heartbeat), 102.0)
    [answer] = opened.server.take_replies()
    assert opened.client.receive(opened.server.encode(answer), 103.0) is None
    assert opened.client.silence(103.5) == 0.5


def test_a_client_that_is_silent_for_ten_seconds_is_let_go(opened):
    assert opened.server.deadline() == 110.0
    opened.server.tick(109.9)
    with pytest.raises(ConnectionLost, match="silent for 10 s"):
        opened.server.tick(110.0)


def test_anything_it_says_renews_its_lease(opened):
    opened.server.receive(opened.client.encode(m.Heartbeat()), 109.0)
    opened.server.tick(110.0)
    assert opened.server.deadline() == 119.0


def test_a_server_that_was_itself_busy_listens_once_more_before_it_judges(opened):
    opened.server.tick(160.0)
    assert opened.server.deadline() == 162.0
    opened.server.receive(opened.client.encode(m.Heartbeat()), 160.1)
    opened.server.tick(162.0)
    opened.server.tick(200.0)
    with pytest.raises(ConnectionLost):
        opened.server.tick(250.0)


# --- the end


def test_a_goodbye_ends_both_ways(opened):
    event = opened.server.receive(opened.client.encode(m.Goodbye(reason="tea")), opened.now)
    assert event == Left("tea")
    with pytest.raises(ConnectionLost):
        opened.server.receive(opened.client.encode(m.Heartbeat()), opened.now)
    event = opened.client.receive(opened.server.encode(m.Goodbye(reason="dinner")), opened.now)
    assert event == Left("dinner")
    with pytest.raises(ConnectionLost):
        opened.command()


def test_a_farewell_fits_whatever_the_reason(opened):
    opened.client.close("ü" * 10_000)
    assert len(opened.client.farewell.reason.encode()) <= 256
    opened.server.receive(opened.client.encode(opened.client.farewell), opened.now)


def test_no_command_before_the_handshake(pair):
    with pytest.raises(HandshakeError, match="before the handshake"):
        pair.command()
