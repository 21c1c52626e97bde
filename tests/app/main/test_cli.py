"""The command line as a person types it, in processes of its own."""

import json
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from stroboscope.debugger_protocol.exceptions import NoSessionError, ProtocolError
from stroboscope.debugger_protocol.window_link import WindowClient, find_window
from stroboscope.engine.showing.no_display import NotShownError, require_display

COMMAND = [sys.executable, "-m", "stroboscope.app.main.cli"]
ROBOT = str(Path(__file__).parents[2] / "engine" / "every_element.xml")


def run(*arguments, **environment):
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, **environment},
    )


class Window:
    """``stroboscope`` in a process of its own."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE, text=True)

    def listens(self):
        assert self.process.poll() is None, self.process.stderr.read()
        try:
            with WindowClient.connect() as client:
                client.ping()
        except ProtocolError:  # not yet, or too busy with its start to answer
            return False
        return True

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors


@pytest.fixture
def window(display):
    """``window("--session", id)``: open a window; killed when the test forgot it."""
    opened = []

    def open_window(*arguments):
        opened.append(Window(*arguments))
        return opened[-1]

    yield open_window
    for each in opened:
        if each.process.poll() is None:
            each.process.kill()
        each.process.communicate(timeout=60)


def test_the_version_is_printed():
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("stroboscope 0.")


def test_help_names_every_command():
    text = run("--help").stdout
    for command in ("run", "ctl", "demo", "screenshot", "doctor", "--session"):
        assert command in text


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("train.py",), "stroboscope run train.py"),
        (("doc",), "Did you mean: stroboscope doctor?"),
        (("frobnicate",), "unknown command 'frobnicate'"),
        (("--frobnicate",), "unknown option '--frobnicate'"),
        (("demo", "nothing"), "no demo called 'nothing'"),
        (("demo", "explode", "--nowindow"), "no option '--nowindow': a demo takes --no-window"),
        (("screenshot",), "usage: stroboscope screenshot"),
        (("run", ROBOT), f"no script, it is a model (MJCF): stroboscope open {ROBOT}"),
        (("--session", ROBOT), f"it is a model (MJCF): stroboscope open {ROBOT}"),
    ],
)
def test_what_is_not_understood_gets_a_hint_and_code_2(arguments, hint):
    done = run(*arguments)
    assert done.returncode == 2
    assert hint in done.stderr


def test_a_demo_tells_what_it_shows_and_is_not_run_for_that():
    done = run("demo", "explode", "--help")
    assert done.returncode == 0
    assert "stroboscope demo explode [--no-window]" in done.stdout
    assert "stopped just before, rewound" in done.stdout
    assert "explode.py" in done.stdout


def test_demos_are_listed():
    done = run("demo", "list")
    assert done.returncode == 0
    assert "cross-thread" in done.stdout


def test_a_screenshot_without_a_window_says_so(own_folders):
    done = run("screenshot", str(own_folders / "out.png"))
    assert done.returncode == 1
    assert "no window is open. Open one with `stroboscope`" in done.stderr
    assert not (own_folders / "out.png").exists()


def test_commands_that_open_no_window_import_no_qt():
    code = (
        "import sys\n"
        "from stroboscope.app.main.cli import main\n"
        "main(['--version']); main(['demo', 'list']); main(['screenshot', '/nowhere/out.png'])\n"
        "sys.exit('PySide6' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0


def test_without_the_app_extra_the_window_says_how_to_install_it(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda n, p=None: None if n == 'vispy' else find(n, p)\n"
    )
    done = run(PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert 'pip install "stroboscope[app]"' in done.stderr


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="displays have no name there")
@pytest.mark.parametrize(
    ("display", "why"),
    [
        ("", "DISPLAY and WAYLAND_DISPLAY are not set"),
        (":54321", "nothing answers at DISPLAY=:54321"),
    ],
)
def test_a_window_that_has_no_display_is_refused_in_words_of_ours(display, why, own_folders):
    done = run(DISPLAY=display, WAYLAND_DISPLAY="", QT_QPA_PLATFORM="xcb")
    assert done.returncode == 2
    assert f"there is no display for the window ({why})" in done.stderr
    assert "xvfb-run" in done.stderr
    assert "qt.qpa" not in done.stderr


@pytest.fixture(scope="module")
def guarded_display(tmp_path_factory):
    """The name of a display that wants a cookie, and the file that has it."""
    cookies = tmp_path_factory.mktemp("display") / "cookies"
    reader, writer = os.pipe()
    texts = [b"", b"MIT-MAGIC-COOKIE-1", bytes(range(16))]
    # Of any host, and any number.
    entry = b"".join(struct.pack(">H", len(each)) + each for each in [b"", *texts])
    cookies.write_bytes(struct.pack(">H", 65535) + entry)
    command = ["Xvfb", "-displayfd", str(writer), "-auth", str(cookies), "-nolisten", "tcp"]
    with subprocess.Popen(
        [*command, "-noreset"], pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as server:
        os.close(writer)
        with os.fdopen(reader) as names:
            name = f":{names.readline().strip()}"
        yield name, cookies
        server.terminate()


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="displays have no name there")
def test_a_display_that_lets_nobody_in_is_told_in_words_of_ours(
    guarded_display, own_folders, monkeypatch
):
    name, cookies = guarded_display
    done = run(DISPLAY=name, WAYLAND_DISPLAY="", QT_QPA_PLATFORM="xcb", XAUTHORITY="/dev/null")
    assert done.returncode == 2
    assert f"there is no display for the window (DISPLAY={name} refuses this user: " in done.stderr
    assert "XAUTHORITY names the file with its cookies" in done.stderr
    assert "qt.qpa" not in done.stderr
    monkeypatch.setenv("DISPLAY", name)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    monkeypatch.setenv("XAUTHORITY", "/dev/null")
    require_display(ROBOT)  # nobody is asked at a start
    with pytest.raises(NotShownError, match=r"refuses this user(.|\n)*copy the file"):
        require_display(ROBOT, asks=True)
    monkeypatch.setenv("XAUTHORITY", str(cookies))
    require_display(ROBOT, asks=True)
    cookies_of_others = own_folders / "cookies"
    cookies_of_others.write_bytes(cookies.read_bytes()[:-1] + b"x")
    monkeypatch.setenv("XAUTHORITY", str(cookies_of_others))
    with pytest.raises(NotShownError, match="refuses this user"):
        require_display(ROBOT, asks=True)
    cookies_of_others.write_bytes(cookies.read_bytes()[:-9])
    with pytest.raises(NotShownError, match="refuses this user"):
        require_display(ROBOT, asks=True)


def test_one_window_shows_what_a_second_is_asked_for_or_says_that_it_is_not_there(
    window, pendulums, wait_until, own_folders
):
    application = pendulums()
    first = window()
    wait_until(first.listens, 60)
    session_id = json.loads(application.path.read_text())["session_id"]
    second = run("--session", session_id)
    assert (second.returncode, second.stdout) == (0, "Shown in the window that is open.\n")
    with WindowClient.connect() as client:
        wait_until(lambda: [s.connected for s in client.status().sessions] == [True], 60)
        assert client.status().sessions[0].session_id == session_id
    stranger = run("--session", "0123456789abcdef")
    assert stranger.returncode == 1
    assert "no session 0123456789abcdef is running" in stranger.stderr

    picture = own_folders / "out.png"
    done = run("screenshot", str(picture))
    assert done.returncode == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert Path(done.stdout.strip()) == picture

    code, errors = first.terminate()
    assert code == 0
    assert "stroboscope: starting …" in errors
    assert "Traceback" not in errors
    wait_until(application.has_ended)
    with pytest.raises(NoSessionError):
        find_window()


def test_a_window_opens_connected(window, pendulums, wait_until):
    application = pendulums()
    session_id = json.loads(application.path.read_text())["session_id"]
    first = window("--session", session_id)
    wait_until(first.listens, 60)
    with WindowClient.connect() as client:
        wait_until(lambda: [s.connected for s in client.status().sessions] == [True], 60)
    assert first.terminate()[0] == 0
    wait_until(application.has_ended)
