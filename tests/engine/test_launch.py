"""Opening the window: every way in which that can fail is told at once, with the reason.

Executables of our own stand for the window; the real one is opened in the tests of the app.
"""

import asyncio
import logging
import math
import socket
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.connection_file import ConnectionFile, find_session
from stroboscope.debugger_protocol.handshake import Endpoint
from stroboscope.debugger_protocol.window_link import WindowLock, WindowServer
from stroboscope.debugger_protocol.window_messages import WindowSession
from stroboscope.engine import launch

# Connects like a window does, and stays until it is told to go.
CONNECTS = """
    import sys
    from stroboscope.debugger_protocol.client import DebuggerClient
    from stroboscope.debugger_protocol.connection_file import find_session
    session_id = sys.argv[sys.argv.index("--session") + 1]
    with DebuggerClient(find_session(session_id)) as client:
        client.wait_until(lambda c: False)
"""


@pytest.fixture
def window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """``window(source)``: let this Python program stand for the window, on some display."""
    monkeypatch.setenv("DISPLAY", ":99")

    def make(*parts: str) -> Path:
        program = tmp_path / "window"
        source = "".join(textwrap.dedent(part) for part in parts)
        program.write_text(f"#!{sys.executable}\n{source}")
        program.chmod(0o755)
        monkeypatch.setenv(launch.EXECUTABLE_VARIABLE, str(program))
        return program

    return make


class Requests:
    """The open window: what happens there when it is asked to show a session."""

    def __init__(self, open_session: Callable[[str], None]) -> None:
        self._open_session = open_session

    async def open_session(self, session_id: str) -> None:
        await asyncio.to_thread(self._open_session, session_id)

    async def focus(self) -> None:
        raise NotImplementedError

    async def screenshot(self) -> bytes:
        raise NotImplementedError

    async def sessions(self) -> tuple[WindowSession, ...]:
        raise NotImplementedError


@pytest.fixture
def start_window(
    runtime_directory: Path,
) -> Iterator[Callable[[Callable[[str], None]], None]]:
    """``start_window(open_session)``: be the open window, on a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    lock = WindowLock.acquire(runtime_directory)
    assert lock is not None
    servers: list[WindowServer] = []

    def start(open_session: Callable[[str], None]) -> None:
        async def make() -> None:
            servers.append(WindowServer(Requests(open_session), lock))
            await servers[0].start()

        asyncio.run_coroutine_threadsafe(make(), loop).result(60)

    yield start
    asyncio.run_coroutine_threadsafe(servers[0].stop(), loop).result(60)
    asyncio.run_coroutine_threadsafe(loop.shutdown_default_executor(), loop).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(60)
    loop.close()
    lock.release()


def attach(timeout: float = 20.0, **options: str) -> bool:
    return physics.debugger.attach(timeout, **options)


def test_a_window_that_connects_is_attached_and_the_terminal_says_what_to_press(
    window: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    window(CONNECTS)
    assert attach() is True
    assert physics.debugger.is_attached()
    assert "paused at the first step: press Play in the window" in capsys.readouterr().err
    assert attach(timeout=0.0) is True
    physics.debugger.detach()
    assert not physics.debugger.is_attached()


def test_only_a_paused_beginning_asks_for_play(
    window: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    window(CONNECTS)
    assert attach(mode="playing") is True
    assert "press Play" not in capsys.readouterr().err


def test_a_window_that_dies_is_told_at_once_with_its_last_words(
    window: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    window("""
        import sys
        sys.stderr.write("qt.qpa.plugin: could not load the platform plugin\\n")
        sys.exit(3)
    """)
    begun = time.monotonic()
    assert attach(timeout=60.0) is False
    assert time.monotonic() - begun < 30.0
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "ended with exit code 3; it said:" in record.getMessage()
    assert "could not load the platform plugin" in record.getMessage()
    assert not physics.debugger.is_attached()
    assert not physics.debugger.get_debug_server().is_running()


def test_a_window_that_is_killed_is_told_too(
    window: Callable[..., Path], caplog: pytest.LogCaptureFixture
) -> None:
    window("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert attach(timeout=60.0) is False
    assert "was killed by signal 9 and said nothing" in caplog.text


def test_a_silent_window_is_given_up_after_the_timeout(
    window: Callable[..., Path], caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    window(f"""
        import os, pathlib, threading
        pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(os.getpid()))
        threading.Event().wait(1.5)
    """)
    assert attach(timeout=0.5) is False
    assert "was silent for 0.5 s" in caplog.text


def test_a_window_that_is_still_loading_is_waited_for_however_silent_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPLAY", ":99")
    (tmp_path / "client.py").write_text(textwrap.dedent(CONNECTS))
    program = tmp_path / "window"
    loads = f"echo 'stroboscope: starting … loading the window'\nsleep 2\nexec {sys.executable}"
    program.write_text(f'#!/bin/sh\n{loads} {tmp_path}/client.py "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv(launch.EXECUTABLE_VARIABLE, str(program))
    assert attach(timeout=1.5) is True


def test_a_window_is_told_by_which_script_it_was_opened(
    window: Callable[..., Path], tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    out = tmp_path / "told"
    name = launch.SCRIPT_VARIABLE
    window(f"import os, pathlib; pathlib.Path({str(out)!r}).write_text(os.environ[{name!r}] + '.')")
    process = launch.WindowProcess("abc", script="folder/cart.py")
    wait_until(lambda: out.exists() and out.read_text() == "cart.py.")
    process.forget_log()


@pytest.mark.slow
def test_what_a_starting_window_prints_extends_the_wait(
    window: Callable[..., Path],
) -> None:
    # Eight times 0.6 s of loading are longer than the timeout, and never as long silent.
    window(
        """
        import sys, threading
        for part in range(8):
            sys.stderr.write("stroboscope: starting … part %d\\n" % part)
            sys.stderr.flush()
            threading.Event().wait(0.6)
        """,
        CONNECTS,
    )
    assert attach(timeout=4.5) is True


def test_a_window_that_hands_over_to_the_open_one_has_not_failed(
    window: Callable[..., Path],
) -> None:
    window(
        """
        import subprocess, sys
        if "--child" not in sys.argv:
            subprocess.Popen([sys.executable, __file__, "--child", *sys.argv[1:]])
            sys.exit(0)
        """,
        CONNECTS,
    )
    assert attach() is True


def test_no_display_is_told_at_once(
    window: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    window(CONNECTS)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert attach() is False
    assert "there is no display for the window" in caplog.text
    for way in ("run --wait 60", "run --no-window", "attach(launch=False", "debugger.listen()"):
        assert way in caplog.text


def test_a_platform_without_display_needs_none(
    window: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    window(CONNECTS)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    assert launch.window_command("abc")[-2:] == ["--session", "abc"]


def test_an_executable_that_is_missing_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(launch.EXECUTABLE_VARIABLE, "/nowhere/stroboscope")
    assert attach() is False
    assert "STROBOSCOPE_DEBUGGER names '/nowhere/stroboscope'" in caplog.text


def test_a_missing_app_is_told_with_the_line_to_install_it(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(launch, "_APP_MODULES", ("json", "a_module_that_is_not_there"))
    monkeypatch.setenv("PATH", "/nowhere")
    assert attach() is False
    assert "(a_module_that_is_not_there missing)" in caplog.text
    assert 'pip install "stroboscope[app]"' in caplog.text


def test_a_script_s_own_modules_stay_out_of_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_APP_MODULES", ())
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    command = launch.window_command("abc")
    assert command[:4] == [sys.executable, "-P", "-m", "stroboscope.app.main.cli"]


@pytest.mark.parametrize("timeout", [math.inf, 1e300, 5.0])
def test_an_open_window_is_asked_however_long_the_script_would_wait(
    window: Callable[..., Path],
    timeout: float,
    start_window: Callable[[Callable[[str], None]], None],
) -> None:
    clients: list[DebuggerClient] = []
    start_window(lambda id: clients.append(DebuggerClient.connect(find_session(id))))
    assert attach(timeout=timeout) is True
    clients[0].close()


def test_an_open_window_that_does_not_answer_is_told_and_no_second_one_is_started(
    window: Callable[..., Path],
    runtime_directory: Path,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    started = tmp_path / "started"
    window(f"import pathlib; pathlib.Path({str(started)!r}).touch()")
    with socket.create_server(("127.0.0.1", 0)) as frozen:
        file = ConnectionFile.write(
            port=frozen.getsockname()[1],
            secret=b"s" * 32,
            endpoint=Endpoint.WINDOW,
            directory=runtime_directory,
        )
        try:
            assert attach(timeout=0.5) is False
        finally:
            file.remove()
    assert "the window that is open does not answer within 0.5 s" in caplog.text
    assert not started.exists()


def test_the_window_does_not_hear_ctrl_c_meant_for_the_script(
    window: Callable[..., Path], tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    out = tmp_path / "session"
    window(f"import os, pathlib; pathlib.Path({str(out)!r}).write_text(str(os.getsid(0)))")
    process = launch.WindowProcess("abc")
    wait_until(out.exists)
    wait_until(lambda: out.read_text() == str(process.pid))
    process.forget_log()
