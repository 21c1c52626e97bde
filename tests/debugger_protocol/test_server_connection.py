"""The asyncio server connection: what ends a connection, and what must not."""

import asyncio
import contextlib
import os
import threading

import msgspec
import pytest

from stroboscope.debugger_protocol import messages as m
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.client_connection import ClientConnection
from stroboscope.debugger_protocol.connection_file import ConnectionInfo
from stroboscope.debugger_protocol.exceptions import CommandError, ConnectionLost
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.scene_description import BodyInfo, SceneDescription
from stroboscope.debugger_protocol.sessions import debugger_dialect


@pytest.fixture
def client(small_server):
    with DebuggerClient.connect() as client:
        yield client


def send_raw(client, data):
    """Send bytes or text past the client's own checks."""

    async def send():
        await client._connection._socket.send(data)

    asyncio.run_coroutine_threadsafe(send(), client._loop).result(60)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("hello", "text messages"),
        (b"\xc1", "no MessagePack"),
        (b"\x80", "not a message"),
        (msgspec.msgpack.encode(m.ClientProof(proof=b"")), "which is over"),
    ],
)
def test_what_is_no_message_ends_the_connection_with_the_reason(
    small_server, client, wait_until, data, reason
):
    send_raw(client, data)
    wait_until(lambda: client.closed_reason)
    assert reason in client.closed_reason
    wait_until(lambda: small_server.left)
    assert reason in small_server.left[0][1]


def test_a_message_that_is_too_large_ends_the_connection(small_server, client, wait_until):
    send_raw(client, bytes((1 << 20) + 1))
    wait_until(lambda: client.closed_reason and small_server.left)


def test_a_bug_in_the_handler_costs_only_the_client_that_met_it(small_server, wait_until, caplog):
    small_server._on_play = lambda client, message: 1 / 0
    with DebuggerClient.connect() as first, DebuggerClient.connect() as second:
        with pytest.raises(ConnectionLost, match="its log says how"):
            first.play()
        second.pause()
        assert small_server.left[0][0] == 1
    assert "ZeroDivisionError" in caplog.text


def test_of_two_answers_to_a_command_the_first_wins(small_server):
    results = []

    def twice(client, message):
        failed = m.Failed(id=message.id, kind=m.FailureKind.TIMEOUT, reason="too late")
        results.append(client.send(failed))
        results.append(client.send(m.Done(id=message.id)))

    small_server._on_play = twice
    with DebuggerClient.connect() as client:
        with pytest.raises(CommandError, match="too late"):
            client.play()
        client.pause()
    assert results == [True, False]


def test_a_description_too_large_for_a_message_is_said_in_the_log(
    small_server, client, wait_until, caplog
):
    bodies = tuple(BodyInfo(name="x" * 1000, parent=0) for _ in range(17_000))
    description = SceneDescription(scene_id=1, name="Huge", bodies=bodies)
    small_server.broadcast([m.SceneDescribed(description=description)])
    wait_until(client.log_entries)
    assert "at most 16777216" in client.log_entries()[0].text
    client.play()


def test_a_message_that_can_not_travel_is_said_in_the_log_and_costs_nobody_the_connection(
    small_server, client, wait_until, caplog
):
    small_server.broadcast([m.LogEntry(level=m.LogLevel.INFO, text="", wall_time=2**70)])
    wait_until(client.log_entries)
    assert client.log_entries()[0].level is m.LogLevel.ERROR
    client.play()


def test_many_commands_at_once_are_all_done_in_order(small_server, client):
    """More than a second's worth: reading waits, nothing is refused or lost."""

    async def flood():
        requests = [
            client._connection.request(m.SetSpeed, speed=1.0 + i / 1000) for i in range(250)
        ]
        return await asyncio.gather(*requests)

    answers = asyncio.run_coroutine_threadsafe(flood(), client._loop).result(60)
    assert all(isinstance(answer, m.Done) for answer in answers)
    speeds = [x.speed for x in small_server.received]
    assert speeds == sorted(speeds)
    assert len(speeds) == 250


class TestBusyServer:
    """The application's process is busy for longer than its clients may be silent."""

    @pytest.fixture
    def limits(self):
        return Limits(lease_timeout=2.0, heartbeat_interval=0.1)

    def test_it_does_not_take_its_own_silence_for_its_clients(self, small_server, client):
        small_server.call(lambda: threading.Event().wait(3.0) and None)
        client.play()
        assert small_server.left == []


def test_stopping_tells_every_client_and_returns_though_strangers_sit_at_the_door(
    small_server, wait_until
):
    import socket

    strangers = [
        socket.create_connection(("127.0.0.1", small_server.listener.port)) for _ in range(3)
    ]
    with DebuggerClient.connect() as first, DebuggerClient.connect(observe=True) as second:
        small_server.stop("enough for today")
        wait_until(lambda: first.closed_reason and second.closed_reason)
        assert first.closed_reason == second.closed_reason == "enough for today"
    for stranger in strangers:
        stranger.close()
    assert {reason for _, reason in small_server.left} == {"enough for today"}


def test_a_port_that_is_taken_is_an_os_error(small_server, limits):
    from stroboscope.debugger_protocol.server_connection import Listener

    async def start_second():
        other = Listener(
            debugger_dialect(limits),
            small_server,
            secret=b"s" * 32,
            session=small_server.session,
            limits=limits,
        )
        await other.start(small_server.listener.port)

    with pytest.raises(OSError, match="in use"):
        small_server.call(start_second)


def test_it_listens_on_the_loopback_only(small_server):
    [listening] = small_server.listener._server.sockets
    assert listening.getsockname()[0] == "127.0.0.1"


def test_a_bug_in_the_clients_callback_is_logged_and_the_connection_goes_on(
    small_server, limits, caplog
):
    """A window whose model chokes on one message must not look frozen."""
    seen = []

    def choke(message):
        seen.append(message)
        raise KeyError("a bug in the window")

    async def talk():
        connection = ClientConnection(
            debugger_dialect(limits),
            small_server.file.info,
            on_message=choke,
            on_closed=seen.append,
            limits=limits,
        )
        await connection.open()
        await connection.request(m.Play)
        await connection.close()

    asyncio.run(talk())
    assert "a bug in the window" in caplog.text
    assert isinstance(seen[0], m.SceneAdded)
    assert isinstance(seen[-1], str)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork is POSIX's")
def test_a_forked_child_that_lets_go_of_the_sockets_disturbs_nobody(small_server, client):
    """The child's copies point nowhere; the parent's connections live on."""
    read, write = os.pipe()
    with contextlib.suppress(DeprecationWarning):
        pid = os.fork()
    if pid == 0:
        try:
            small_server.listener.abandon_in_forked_child()
            numbers = [s.fileno() for s in small_server.listener._server.sockets]
            targets = {os.readlink(f"/proc/self/fd/{n}") for n in numbers}
            os.write(write, ",".join(targets).encode())
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(read, 1000) == b"/dev/null"
    os.close(read)
    os.close(write)
    client.play()
    with DebuggerClient.connect() as another:
        another.pause()


def test_a_client_whose_server_is_gone_says_so_at_once():
    info = ConnectionInfo(session_id="x", pid=1, process_start="", port=9, secret=b"s" * 32)
    with pytest.raises(ConnectionLost, match="nobody listens"):
        DebuggerClient.connect(info)
