"""Whether a display is there is known before Qt aborts over it."""

import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from stroboscope.engine.display import missing_display

pytestmark = pytest.mark.skipif(
    sys.platform in ("win32", "darwin"), reason="displays have no name there"
)


@pytest.fixture(autouse=True)
def without_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with no display."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def number() -> Iterator[int]:
    """The number of a display that answers at a port, as one that ``ssh -X`` forwards."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1] - 6000


def test_none_is_missing_where_one_answers(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_display() == "DISPLAY and WAYLAND_DISPLAY are not set"
    assert missing_display(only_named=True)
    for name in (f"localhost:{number}.0", f"localhost:{number}", f":{number}"):
        monkeypatch.setenv("DISPLAY", name)
        assert missing_display() == ""


@pytest.mark.parametrize("answer", [b"", b"\x01", b"\x00\x09\x0b\x00\x00\x00\x03\x00Go\x1baway!"])
def test_one_that_is_asked_refuses_in_words_that_no_terminal_obeys_or_is_believed(
    answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        name = f"localhost:{server.getsockname()[1] - 6000}"
        monkeypatch.setenv("DISPLAY", name)

        def serve() -> None:
            with server.accept()[0] as end:
                end.recv(100)
                end.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        told = missing_display(asks=True)
        thread.join(60)
    refused = f"DISPLAY={name} refuses this user: Go away!; XAUTHORITY names"
    assert told.startswith(refused) if len(answer) > 8 else told == ""


def test_one_that_has_gone_is_missing_unless_it_only_has_to_be_named(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        gone = server.getsockname()[1] - 6000
    monkeypatch.setenv("DISPLAY", f"localhost:{gone}")
    assert missing_display() == f"nothing answers at DISPLAY=localhost:{gone}"
    assert missing_display(only_named=True) == ""
    monkeypatch.setenv("WAYLAND_DISPLAY", "/nowhere/wayland-0")
    told = f"nothing answers at DISPLAY=localhost:{gone} and WAYLAND_DISPLAY=/nowhere/wayland-0"
    assert missing_display() == told
    monkeypatch.setenv("DISPLAY", f"localhost:{number}")
    assert missing_display() == ""


@pytest.mark.parametrize(
    "name", ["far.away.example:0", "/private/tmp/launch/x:0", "odd", ":999999"]
)
def test_what_can_not_be_known_here_is_believed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", name)
    assert missing_display() == ""


def test_a_socket_of_wayland_is_looked_for_where_it_belongs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WAYLAND_DISPLAY", "w")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert missing_display() == "nothing answers at WAYLAND_DISPLAY=w"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("w")
        server.listen()
        assert missing_display() == ""
