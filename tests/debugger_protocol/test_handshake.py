"""Who gets in: headers, proofs, impostors and crowds, over real sockets."""

import asyncio
import base64
import contextlib
import os
import socket
import stat
import struct
import threading

import msgspec
import pytest
from websockets.asyncio.server import serve

from stroboscope.debugger_protocol import messages as m
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.connection_file import ConnectionInfo
from stroboscope.debugger_protocol.exceptions import (
    AuthenticationError,
    ConnectionFileError,
    ConnectionLost,
    HandshakeError,
    ProtocolError,
    RuntimeDirectoryError,
    VersionMismatch,
)
from stroboscope.debugger_protocol.handshake import (
    Endpoint,
    HandshakeContext,
    Role,
    check_request_headers,
    make_nonce,
    make_proof,
    make_secret,
    verify_proof,
)
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.version import PROTOCOL_MAJOR, PROTOCOL_MINOR


class RawPeer:
    """An HTTP upgrade with any headers at all, then websocket messages by hand."""

    def __init__(self, port, headers):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [
            "GET / HTTP/1.1",
            *(f"{name}: {value}" for name, value in headers),
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
        ]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.rest = b""
        while b"\r\n\r\n" not in self.rest:
            data = self.socket.recv(65536)
            if not data:
                break
            self.rest += data
        head, _, self.rest = self.rest.partition(b"\r\n\r\n")
        self.status = int(head.split()[1]) if head else 0

    def send(self, message):
        data = msgspec.msgpack.encode(message)
        length = struct.pack(">BH", 0x80 | 126, len(data))
        self.socket.sendall(b"\x82" + length + bytes(4) + data)

    def _read(self, count):
        while len(self.rest) < count:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError
            self.rest += data
        data, self.rest = self.rest[:count], self.rest[count:]
        return data

    def receive(self):
        """Return the next message as a dict; raises EOFError at the end or a close frame."""
        first, length = self._read(2)
        if length == 126:
            (length,) = struct.unpack(">H", self._read(2))
        data = self._read(length)
        if first & 0xF != 2:
            raise EOFError
        return msgspec.msgpack.decode(data)

    def shake_hands(self, secret, port):
        """Do the client's part and return what the server says last."""
        nonce = make_nonce()
        self.send(m.ClientHello(major=1, minor=0, nonce=nonce))
        hello = self.receive()
        context = HandshakeContext(
            endpoint=Endpoint.SESSION,
            client_nonce=nonce,
            server_nonce=hello["nonce"],
            port=port,
            client_version=(1, 0),
            server_version=(hello["major"], hello["minor"]),
        )
        self.send(m.ClientProof(proof=make_proof(secret, Role.CLIENT, context)))
        return self.receive()

    def close(self):
        self.socket.close()


HOSTS = {
    "127.0.0.1:{port}": True,
    "localhost:{port}": True,
    "LocalHost:{port}": True,
    "[::1]:{port}": True,
    "127.0.0.1": False,
    "127.0.0.1:1": False,
    "127.0.0.1:{port}0": False,
    "evil.example": False,
    "evil.example:{port}": False,
    "127.0.0.1.evil.example:{port}": False,
    "localhost.:{port}": False,
    "0.0.0.0:{port}": False,
    "192.168.0.7:{port}": False,
    "user@127.0.0.1:{port}": False,
    "": False,
}
ORIGINS = [None, "null", "http://127.0.0.1:{port}", "https://evil.example", ""]


@pytest.mark.parametrize("initiated", [True, False])
@pytest.mark.parametrize("origin", ORIGINS)
@pytest.mark.parametrize("host", HOSTS)
def test_only_a_local_host_without_origin_and_the_right_secret_get_in(
    small_server, host, origin, initiated
):
    port = small_server.listener.port
    headers = [("Host", host.format(port=port))]
    if origin is not None:
        headers.append(("Origin", origin.format(port=port)))
    peer = RawPeer(port, headers)
    try:
        if not HOSTS[host] or origin is not None:
            assert peer.status in (400, 403)
            assert small_server.joined == []
            return
        assert peer.status == 101
        known = small_server.secret if initiated else make_secret()
        answer = peer.shake_hands(known, port)
        if initiated:
            assert answer["type"] == "welcome"
            assert peer.receive()["type"] == "scene_added"
        else:
            assert answer["type"] == "goodbye"
            assert "secret" in answer["reason"]
            with pytest.raises((EOFError, ConnectionError)):
                peer.receive()
            assert small_server.joined == []
    finally:
        peer.close()


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Host", "127.0.0.1:{port}"), ("Host", "127.0.0.1:{port}")],
        [("Host", "127.0.0.1:{port}"), ("host", "evil.example:{port}")],
        [("Host", "evil.example:{port}"), ("Host", "127.0.0.1:{port}")],
        [("Host", "127.0.0.1:{port}"), ("ORIGIN", "null")],
        [("Host", "127.0.0.1:{port}, evil.example")],
        [("X-Forwarded-Host", "127.0.0.1:{port}")],
    ],
)
def test_requests_with_other_than_one_good_host_are_refused(small_server, headers):
    port = small_server.listener.port
    peer = RawPeer(port, [(name, value.format(port=port)) for name, value in headers])
    peer.close()
    assert peer.status in (400, 403)


def test_the_refusal_says_what_was_seen_and_what_is_allowed():
    with pytest.raises(HandshakeError, match=r"'evil:80'.*127\.0\.0\.1:4000, localhost:4000"):
        check_request_headers([("Host", "evil:80")], 4000)
    with pytest.raises(HandshakeError, match="0 Host headers"):
        check_request_headers([], 4000)
    with pytest.raises(HandshakeError, match="web page"):
        check_request_headers([("Host", "127.0.0.1:4000"), ("origin", "http://a")], 4000)


def test_every_field_of_a_proof_matters():
    base = {
        "endpoint": Endpoint.SESSION,
        "client_nonce": b"c" * 32,
        "server_nonce": b"s" * 32,
        "port": 4000,
        "client_version": (1, 0),
        "server_version": (1, 0),
    }
    changes = [
        {"endpoint": Endpoint.WINDOW},
        {"client_nonce": b"d" * 32},
        {"server_nonce": b"t" * 32},
        {"client_nonce": b"s" * 32, "server_nonce": b"c" * 32},
        {"port": 4001},
        {"client_version": (1, 1)},
        {"server_version": (1, 1)},
        {"client_version": (1, 10), "server_version": (1, 0)},
    ]
    secret = b"k" * 32
    proofs = {make_proof(secret, role, HandshakeContext(**base)) for role in Role}
    proofs |= {make_proof(secret, Role.CLIENT, HandshakeContext(**{**base, **c})) for c in changes}
    proofs.add(make_proof(b"l" * 32, Role.CLIENT, HandshakeContext(**base)))
    assert len(proofs) == 2 + len(changes) + 1


@pytest.mark.parametrize("proof", [b"", b"p", b"p" * 31, b"p" * 32, b"p" * 33, b"p" * 4000])
def test_no_wrong_proof_of_any_length_is_right(proof):
    context = HandshakeContext(
        endpoint=Endpoint.SESSION,
        client_nonce=b"c" * 32,
        server_nonce=b"s" * 32,
        port=4000,
        client_version=(1, 0),
        server_version=(1, 0),
    )
    with pytest.raises(AuthenticationError):
        verify_proof(proof, b"k" * 32, Role.SERVER, context)


def test_a_short_secret_is_no_secret():
    with pytest.raises(HandshakeError, match="at least 32"):
        make_proof(b"", Role.CLIENT, None)


# --- impostors: something else listens where the connection file points


class Impostor:
    """Listens like a debug server and does what ``behave`` says; keeps what it was told."""

    def __init__(self, behave):
        self.heard = []
        self.behave = behave
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="stroboscope-impostor")
        self.started = threading.Event()
        self.thread.start()
        self.started.wait(60)

    def _run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self._serve())
        self.loop.close()

    async def _serve(self):
        self.done = asyncio.Event()
        async with serve(self._handle, "127.0.0.1", 0, compression=None) as server:
            self.port = next(iter(server.sockets)).getsockname()[1]
            self.started.set()
            await self.done.wait()

    async def _handle(self, websocket):
        hello = msgspec.msgpack.decode(await websocket.recv())
        self.heard.append(hello)
        await self.behave(websocket, hello)
        with contextlib.suppress(Exception):
            async for data in websocket:
                self.heard.append(data)

    def info(self, secret):
        return ConnectionInfo(
            session_id="x", pid=os.getpid(), process_start="", port=self.port, secret=secret
        )

    def stop(self):
        self.loop.call_soon_threadsafe(self.done.set)
        self.thread.join()


def reply(message):
    async def behave(websocket, hello):
        await websocket.send(msgspec.msgpack.encode(message))

    return behave


async def echo_the_nonce(websocket, hello):
    answer = m.ServerHello(major=1, minor=0, nonce=hello["nonce"], proof=hello["nonce"])
    await websocket.send(msgspec.msgpack.encode(answer))


async def send_text(websocket, hello):
    await websocket.send("hello")


async def send_too_much(websocket, hello):
    await websocket.send(bytes(100_000))


async def send_rubbish(websocket, hello):
    await websocket.send(b"\xc1\xff\x00")


IMPOSTORS = {
    "a wrong proof": (
        reply(m.ServerHello(major=1, minor=0, nonce=b"n" * 32, proof=b"p" * 32)),
        AuthenticationError,
    ),
    "an empty proof": (
        reply(m.ServerHello(major=1, minor=0, nonce=b"n" * 32, proof=b"")),
        AuthenticationError,
    ),
    "an empty nonce": (
        reply(m.ServerHello(major=1, minor=0, nonce=b"", proof=b"p" * 32)),
        HandshakeError,
    ),
    "the client's nonce": (echo_the_nonce, AuthenticationError),
    "a welcome at once": (
        reply(m.Welcome(session=m.SessionInfo(session_id="x", pid=1), client_id=1)),
        HandshakeError,
    ),
    "a scene at once": (reply(m.SceneAdded(scene_id=1, name="Trap")), HandshakeError),
    "a goodbye": (reply(m.Goodbye(reason="send me your secret")), HandshakeError),
    "another major version": (
        reply(m.ServerHello(major=2, minor=3, nonce=b"", proof=b"")),
        VersionMismatch,
    ),
    "text": (send_text, HandshakeError),
    "a large message": (send_too_much, ProtocolError),
    "rubbish": (send_rubbish, ProtocolError),
}


@pytest.mark.parametrize("name", IMPOSTORS)
def test_an_impostor_learns_nothing_but_a_nonce(name):
    behave, error = IMPOSTORS[name]
    impostor = Impostor(behave)
    secret = make_secret()
    try:
        with pytest.raises(error) as info:
            DebuggerClient.connect(impostor.info(secret), timeout=60.0)
    finally:
        impostor.stop()
    assert [type(heard) for heard in impostor.heard] == [dict]
    assert impostor.heard[0]["type"] == "client_hello"
    assert secret not in msgspec.msgpack.encode(impostor.heard[0])
    if error is VersionMismatch:
        assert "2.3" in str(info.value)
        assert f"{PROTOCOL_MAJOR}.{PROTOCOL_MINOR}" in str(info.value)


def test_an_impostor_that_says_nothing_costs_only_the_time_allowed():
    async def nothing(websocket, hello):
        pass

    impostor = Impostor(nothing)
    try:
        with pytest.raises(HandshakeError, match="did not complete"):
            DebuggerClient.connect(impostor.info(make_secret()), timeout=0.3)
    finally:
        impostor.stop()


def test_something_that_is_no_websocket_server_is_named_as_that():
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            connection, _ = listener.accept()
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        info = ConnectionInfo(
            session_id="x",
            pid=1,
            process_start="",
            port=listener.getsockname()[1],
            secret=b"s" * 32,
        )
        with pytest.raises(HandshakeError, match="not as a debug server"):
            DebuggerClient.connect(info)
        thread.join()


def test_a_relay_on_another_port_can_not_pass_a_handshake_on(small_server):
    """It can carry bytes both ways, but the port is inside the proofs."""
    real = ("127.0.0.1", small_server.listener.port)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def pump(source, target, change):
            with contextlib.suppress(OSError):
                while data := source.recv(65536):
                    target.sendall(change(data))
            for end in (source, target):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

        def relay():
            with listener.accept()[0] as client, socket.create_connection(real) as server:
                # The relay even repairs the Host header.
                old, new = f":{port}".encode(), f":{real[1]}".encode()
                back = threading.Thread(target=pump, args=(server, client, lambda d: d))
                back.start()
                pump(client, server, lambda d: d.replace(old, new))
                back.join()

        thread = threading.Thread(target=relay)
        thread.start()
        info = msgspec.structs.replace(small_server.file.info, port=port)
        with pytest.raises(AuthenticationError):
            DebuggerClient.connect(info)
        thread.join()
    assert small_server.joined == []


def test_nobody_listening_is_said_at_once():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    info = ConnectionInfo(
        session_id="x", pid=os.getpid(), process_start="", port=port, secret=b"s" * 32
    )
    with pytest.raises(ConnectionLost, match="nobody listens"):
        DebuggerClient.connect(info)


# --- squatted places


@pytest.mark.parametrize("mode", [0o777, 0o755, 0o770, 0o701])
def test_a_runtime_directory_that_others_can_enter_is_refused(
    small_server, runtime_directory, mode
):
    runtime_directory.chmod(mode)
    try:
        with pytest.raises(RuntimeDirectoryError, match=f"{mode:04o}"):
            DebuggerClient.connect()
    finally:
        runtime_directory.chmod(0o700)


def test_a_runtime_directory_that_is_a_link_is_refused(
    small_server, runtime_directory, monkeypatch, tmp_path
):
    link = tmp_path / "link"
    link.symlink_to(runtime_directory)
    monkeypatch.setenv("STROBOSCOPE_RUNTIME_DIR", str(link))
    with pytest.raises(RuntimeDirectoryError, match="link"):
        DebuggerClient.connect()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("what", ["directory", "file"])
def test_what_belongs_to_somebody_else_is_refused(small_server, runtime_directory, what):
    path = runtime_directory if what == "directory" else small_server.file.path
    os.chown(path, 12345, 12345)
    try:
        if what == "directory":
            with pytest.raises(RuntimeDirectoryError, match="12345"):
                DebuggerClient.connect()
        else:
            with pytest.raises(ConnectionFileError, match="12345"):
                DebuggerClient.connect(path)
    finally:
        os.chown(path, 0, 0)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o666, 0o602])
def test_a_connection_file_that_others_can_read_is_refused(small_server, mode):
    small_server.file.path.chmod(mode)
    with pytest.raises(ConnectionFileError, match=f"{mode:04o}"):
        DebuggerClient.connect(small_server.file.path)
    small_server.file.path.chmod(stat.S_IRUSR | stat.S_IWUSR)


# --- crowds


def idle(port):
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def test_of_more_than_four_strangers_the_oldest_are_shown_out(small_server):
    sockets = [idle(small_server.listener.port) for _ in range(7)]
    for early in sockets[:3]:
        with contextlib.suppress(ConnectionResetError):
            assert early.recv(1) == b""
    for late in sockets[3:]:
        late.setblocking(False)
        with pytest.raises(BlockingIOError):
            late.recv(1)
    for each in sockets:
        each.close()


def test_strangers_that_sit_at_the_door_do_not_keep_the_right_client_out(small_server):
    sockets = [idle(small_server.listener.port) for _ in range(20)]
    with DebuggerClient.connect() as client:
        sockets += [idle(small_server.listener.port) for _ in range(20)]
        client.play()
    for each in sockets:
        each.close()


def test_wrong_secrets_in_numbers_do_not_lock_out_the_right_one(small_server):
    wrong = msgspec.structs.replace(small_server.file.info, secret=make_secret())
    stop = threading.Event()
    refused = []

    def hammer():
        while not stop.is_set():
            try:
                DebuggerClient.connect(wrong)
            except ProtocolError as error:
                refused.append(type(error))

    threads = [threading.Thread(target=hammer) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        let_in = 0
        while let_in < 5 or AuthenticationError not in refused:
            with DebuggerClient.connect() as client:
                client.play()
            let_in += 1
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert len(small_server.joined) == let_in


def test_the_ninth_client_is_told_why_it_is_not_let_in(small_server):
    clients = [DebuggerClient.connect() for _ in range(8)]
    with pytest.raises(HandshakeError, match="8 clients are connected"):
        DebuggerClient.connect()
    clients.pop().close()
    with DebuggerClient.connect() as client:
        client.play()
    for client in clients:
        client.close()


class TestImpatientServer:
    """Handshakes that stop half-way are over after the time allowed."""

    @pytest.fixture
    def limits(self):
        return Limits(handshake_timeout=0.3)

    def test_a_stranger_that_says_nothing_is_shown_out(self, small_server):
        with idle(small_server.listener.port) as stranger:
            assert stranger.recv(1) == b""

    def test_a_stranger_that_only_upgrades_is_shown_out(self, small_server):
        port = small_server.listener.port
        peer = RawPeer(port, [("Host", f"127.0.0.1:{port}")])
        assert peer.status == 101
        assert "0.3 s" in peer.receive()["reason"]
        peer.close()


def test_a_proxy_in_the_environment_is_not_asked(small_server, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "ws_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with DebuggerClient.connect() as client:
        client.play()


def test_the_secret_appears_in_no_text_of_ours(small_server, caplog):
    caplog.set_level(0)
    secret = small_server.secret
    with DebuggerClient.connect() as client:
        client.play()
    wrong = msgspec.structs.replace(small_server.file.info, secret=make_secret())
    with pytest.raises(AuthenticationError) as info:
        DebuggerClient.connect(wrong)
    texts = [caplog.text, str(info.value), repr(small_server.file.info), str(wrong)]
    for text in texts:
        for form in (secret.hex(), base64.b64encode(secret).decode(), repr(secret)[2:-1]):
            assert form not in text
