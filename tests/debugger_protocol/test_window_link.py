"""The window's lock and endpoint, reached over a real socket and from other processes."""

import asyncio
import os
import subprocess
import sys
import threading

import pytest

from stroboscope.debugger_protocol.connection_file import (
    ConnectionFile,
    list_sessions,
    read_connection_file,
)
from stroboscope.debugger_protocol.exceptions import (
    AuthenticationError,
    CommandError,
    CommandTimeout,
    ConnectionLost,
    NoSessionError,
)
from stroboscope.debugger_protocol.handshake import Endpoint
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.window_link import (
    WindowClient,
    WindowLock,
    WindowServer,
    find_window,
)
from stroboscope.debugger_protocol.window_messages import WindowSession


class SmallWindow:
    """A window without a GUI, its endpoint in a real network thread."""

    def __init__(self, lock):
        self.opened = []
        self.focused = 0
        self.png = b"\x89PNG" + bytes(range(256)) * 40_000
        self.blocked = None
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="stroboscope-small-window")
        self.thread.start()
        self.server = self.call(self._start(lock))

    async def _start(self, lock):
        server = WindowServer(self, lock)
        await server.start()
        return server

    def _run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()

    def call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)

    def stop(self):
        if self.thread.is_alive():
            self.call(self.server.stop())
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join()

    async def open_session(self, session_id):
        if session_id == "unknown":
            raise CommandError("no session unknown is running")
        if session_id == "bug":
            raise RuntimeError("a bug of the window")
        self.opened.append(session_id)

    async def focus(self):
        self.focused += 1

    async def screenshot(self):
        if self.blocked is not None:
            await self.blocked.wait()
        return self.png

    async def sessions(self):
        return tuple(WindowSession(session_id=s, script="a.py", pid=7) for s in self.opened)


@pytest.fixture
def lock():
    lock = WindowLock.acquire()
    assert lock is not None
    yield lock
    lock.release()


@pytest.fixture
def window(lock):
    window = SmallWindow(lock)
    yield window
    window.stop()


def test_a_window_does_what_it_is_asked(window):
    with WindowClient.connect() as client:
        client.ping()
        client.open_session("abc")
        client.focus()
        assert client.screenshot() == window.png
        status = client.status()
    assert window.opened == ["abc"]
    assert window.focused == 1
    assert status.pid == os.getpid()
    assert [(s.session_id, s.connected) for s in status.sessions] == [("abc", True)]


def test_without_a_window_the_client_says_so():
    with pytest.raises(NoSessionError, match="no window is open"):
        WindowClient.connect()


def test_the_windows_reason_reaches_the_caller(window):
    with WindowClient.connect() as client:
        with pytest.raises(CommandError, match="no session unknown"):
            client.open_session("unknown")
        client.ping()


def test_a_bug_in_the_window_is_an_answer_not_a_hang(window, caplog):
    with WindowClient.connect() as client, pytest.raises(CommandError, match="a bug of the window"):
        client.open_session("bug")
    assert "failed on a request" in caplog.text


def test_a_picture_too_large_for_a_message_is_refused_with_both_sizes(window):
    window.png = bytes((16 << 20) + 1)
    with WindowClient.connect() as client, pytest.raises(CommandError, match="16777217 bytes"):
        client.screenshot()


def test_a_busy_window_is_a_timeout(window):
    window.blocked = asyncio.Event()
    with WindowClient.connect() as client, pytest.raises(CommandTimeout, match=r"0\.2 s"):
        client.screenshot(timeout=0.2)


def test_requests_after_the_window_has_closed_say_that_it_is_gone(window):
    client = WindowClient.connect()
    window.stop()
    with pytest.raises(ConnectionLost, match="gone"):
        client.ping()
    client.close()


def test_the_endpoint_file_goes_with_the_window_and_is_no_session(window):
    info = find_window()
    assert info.endpoint is Endpoint.WINDOW
    assert list_sessions() == []
    window.stop()
    with pytest.raises(NoSessionError):
        find_window()


def test_a_wrong_secret_is_not_let_in(window, runtime_directory):
    import msgspec

    path = runtime_directory / "window.json"
    info = msgspec.structs.replace(read_connection_file(path), secret=b"?" * 32)
    with pytest.raises(AuthenticationError):
        WindowClient(info)
    with WindowClient.connect() as client:
        client.ping()


def test_only_one_lock_at_a_time(lock):
    assert WindowLock.acquire() is None
    lock.release()
    second = WindowLock.acquire()
    assert second is not None
    second.release()
    second.release()


HOLD = """
import sys, time
from stroboscope.debugger_protocol.window_link import WindowLock
lock = WindowLock.acquire()
print("got" if lock else "none", flush=True)
if len(sys.argv) > 1:
    time.sleep(600)
"""


def run_holder(*arguments):
    return subprocess.Popen(
        [sys.executable, "-c", HOLD, *arguments], stdout=subprocess.PIPE, text=True
    )


def test_the_lock_of_a_killed_window_is_free_and_its_old_file_is_replaced(runtime_directory):
    holder = run_holder("hold")
    assert holder.stdout.readline() == "got\n"
    assert WindowLock.acquire() is None
    ConnectionFile.write(port=9, endpoint=Endpoint.WINDOW)
    holder.kill()
    holder.wait()
    holder.stdout.close()
    lock = WindowLock.acquire()
    assert lock is not None
    window = SmallWindow(lock)
    with WindowClient.connect() as client:
        client.ping()
    window.stop()
    lock.release()


def test_of_many_processes_that_start_at_once_exactly_one_gets_the_lock():
    holders = [run_holder("hold") for _ in range(5)]
    answers = [holder.stdout.readline().strip() for holder in holders]
    for holder in holders:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    lock = WindowLock.acquire()
    lock.release()
    assert sorted(answers) == ["got", "none", "none", "none", "none"]


def test_a_session_clients_proof_does_not_open_the_window(window):
    """The two kinds of endpoint never accept each other's proofs."""
    from stroboscope.debugger_protocol.client import DebuggerClient

    with pytest.raises(AuthenticationError):
        DebuggerClient(find_window(), limits=Limits())
