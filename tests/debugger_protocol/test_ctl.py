"""``stroboscope ctl`` against a real server with a small engine behind it."""

import contextlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.server import DebugServer, OnDisconnect

if "oscillator" not in sys.modules:
    # The small engine of the host's tests; importlib mode puts no test folder on sys.path.
    _path = Path(__file__).with_name("host") / "oscillator.py"
    _spec = importlib.util.spec_from_file_location("oscillator", _path)
    assert _spec is not None
    assert _spec.loader is not None
    sys.modules["oscillator"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["oscillator"])

from oscillator import Stepper

DEADLINE_S = 60.0
COMMAND = (
    "import sys; from stroboscope.debugger_protocol.ctl import main; sys.exit(main(sys.argv[1:]))"
)


@pytest.fixture
def host() -> Iterator[Host]:
    host = Host()
    yield host
    host.close()


@pytest.fixture
def server(host: Host) -> Iterator[DebugServer]:
    """A session without scenes and clients."""
    server = DebugServer(host, script="train.py")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def scenes(host: Host, server: DebugServer) -> Iterator[Callable[[], None]]:
    """``scenes()``: make "left" and "right", each stepped by a thread of its own from now on."""
    steppers: list[Stepper] = []
    yield lambda: steppers.extend(Stepper(host, name) for name in ("left", "right"))
    host.close()
    for stepper in steppers:
        stepper.join()


@pytest.fixture
def window(server: DebugServer, scenes: Callable[[], None]) -> Iterator[DebuggerClient]:
    """Whoever controls the session, paused before its first step: stands for the window."""
    with DebuggerClient.connect(server.connection_file, name="window") as client:
        assert client.has_control
        scenes()
        assert client.wait_until(lambda c: len(c.scenes()) == 2, DEADLINE_S)
        yield client


def step_counts(client: DebuggerClient) -> dict[str, int]:
    return {scene.name: scene.step_count for scene in client.scenes()}


@contextlib.contextmanager
def in_foreground(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


# --- just looking in


def test_who_only_looks_in_is_not_the_debugger_that_a_script_waits_for(
    server: DebugServer,
    host: Host,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    attached: list[bool] = []
    overview = ctl._overview

    def look(client: DebuggerClient) -> str:
        attached.append(server.has_connection() or host.playback.attached)
        return overview(client)

    monkeypatch.setattr(ctl, "_overview", look)
    assert ctl.main(["list"]) == 0
    assert ctl.main(["watch", "--once"]) == 0
    assert attached == [False, False]
    assert not server.wait_for_client(0.0)
    assert "train.py" in capsys.readouterr().out


def test_a_command_without_a_scene_to_obey_it_is_not_the_debugger_either(
    server: DebugServer, window: DebuggerClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ctl.main(["play"]) == 0
    window.close()
    assert ctl.main(["list"]) == 0
    assert not server.has_connection()


def test_a_pause_in_the_foreground_is_attached(server: DebugServer) -> None:
    with in_foreground("pause") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("paused")
        assert server.has_connection()


# --- how wide it is


def test_a_list_is_whole_in_a_pipe_however_narrow_the_terminal_is(
    window: DebuggerClient,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert window.wait_until(lambda c: all(s.held or s.mode for s in c.scenes()), DEADLINE_S)
    assert ctl.main(["list"]) == 0
    (row,) = (line for line in capsys.readouterr().out.splitlines() if " left " in line)
    assert re.search(r" s +([\d.]+x)?  (paused|held: .*)  \w+ [\d.]+ s", row)
    assert len(row) > 40


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
def test_a_list_in_a_narrow_terminal_ends_at_a_word(window: DebuggerClient) -> None:
    ours, theirs = os.openpty()
    try:
        command = [sys.executable, "-c", COMMAND, "list"]
        environment = {**os.environ, "COLUMNS": "50", "PYTHONIOENCODING": "utf-8"}
        subprocess.run(command, stdout=theirs, env=environment, check=True)
        shown = os.read(ours, 1 << 16).decode()
    finally:
        os.close(theirs)
        os.close(ours)
    rows = [line for line in shown.splitlines() if " left " in line or " right " in line]
    assert len(rows) == 2
    for row in rows:
        assert len(row) <= 50
        assert re.search(r"\S…$", row)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("held: qvel of spring", "held: qvel of spring"),
        ("held: qvel of spring is nan", "held: qvel of…"),
        ("held: qvel of spring  nothing", "held: qvel of…"),
        ("held: " + "x" * 40, "held: xxxxxxxxxxxxx…"),
    ],
)
def test_what_is_too_long_ends_with_an_ellipsis(line: str, shown: str) -> None:
    assert ctl._ended_at_a_word(line, 20) == shown


# --- relayed through the holder of control


def test_commands_are_done_in_the_name_of_whoever_controls(window: DebuggerClient) -> None:
    assert ctl.main(["play"]) == 0
    assert window.wait_until(lambda c: c.session_status.mode == "playing", DEADLINE_S)
    assert ctl.main(["ff"]) == 0
    assert window.wait_until(lambda c: c.session_status.mode == "fast_forward", DEADLINE_S)
    assert ctl.main(["pause"]) == 0
    assert window.wait_until(lambda c: c.session_status.mode == "paused", DEADLINE_S)
    assert ctl.main(["speed", "1/4"]) == 0
    assert window.wait_until(lambda c: c.session_status.speed == 0.25, DEADLINE_S)
    assert window.has_control


def test_a_step_steps_the_scene_of_that_name_and_no_other(
    window: DebuggerClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ctl.main(["step", "left", "-n", "3"]) == 0
    assert capsys.readouterr().out == "left: step 3, 0.006 s\n"
    assert step_counts(window) == {"left": 3, "right": 0}
    assert ctl.main(["step", "--physics", "right"]) == 0
    assert capsys.readouterr().out == "right: physics step 1, step 1, 0.002 s\n"
    assert step_counts(window) == {"left": 3, "right": 1}


def test_one_scene_can_be_named_by_its_number(window: DebuggerClient) -> None:
    number = str(next(s.scene_id for s in window.scenes() if s.name == "right"))
    assert ctl.main(["step", number, "-n", "2"]) == 0
    assert step_counts(window) == {"left": 0, "right": 2}


def test_restore_puts_one_scene_back(window: DebuggerClient) -> None:
    assert ctl.main(["step", "left", "-n", "5"]) == 0
    assert ctl.main(["restore", "left"]) == 0
    assert window.wait_until(lambda c: step_counts(c)["left"] == 0, DEADLINE_S)


def test_play_and_pause_of_one_scene_leave_the_other_alone(window: DebuggerClient) -> None:
    assert ctl.main(["play", "left"]) == 0
    assert window.wait_until(lambda c: step_counts(c)["left"] > 2, DEADLINE_S)
    assert ctl.main(["pause", "left"]) == 0
    assert step_counts(window)["right"] == 0


def test_a_plain_observer_still_may_not_command(
    window: DebuggerClient, server: DebugServer
) -> None:
    with (
        DebuggerClient.connect(server.connection_file, observe=True) as observer,
        pytest.raises(CommandError, match="you observe it"),
    ):
        observer.play()


# --- with nobody in control


def test_pause_stays_in_the_foreground_until_ctrl_c(
    server: DebugServer, scenes: Callable[[], None]
) -> None:
    scenes()
    with in_foreground("pause") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "paused; Ctrl+C lets the session run on\n"
        with DebuggerClient.connect(server.connection_file, observe=True) as client:
            assert client.session_status.mode == "paused"
            process.send_signal(signal.SIGINT)
            assert process.wait(DEADLINE_S) == 0
            assert client.wait_until(lambda c: c.session_status.mode == "playing", DEADLINE_S)


def test_a_pause_in_the_foreground_ends_when_somebody_takes_control(server: DebugServer) -> None:
    with in_foreground("pause") as process:
        assert process.stdout is not None
        process.stdout.readline()
        with DebuggerClient.connect(server.connection_file, observe=True) as client:
            client.request_control()
            assert process.wait(DEADLINE_S) == 0
            assert "another client has taken control" in process.stdout.read()
            assert client.session_status.mode == "paused"
            assert client.has_control


def test_a_pause_in_the_foreground_ends_with_the_session(server: DebugServer) -> None:
    with in_foreground("pause") as process:
        assert process.stdout is not None
        process.stdout.readline()
        server.stop("the script has ended")
        assert process.wait(DEADLINE_S) == 0
        assert "the script has ended" in process.stdout.read()


@pytest.mark.parametrize("command", ["play", "ff"])
def test_play_lets_a_session_run_and_leaves_it_and_says_that_stops_are_off(
    command: str,
    server: DebugServer,
    wait_until: Callable[..., None],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ctl.main([command]) == 0
    wait_until(lambda: not server.has_connection())
    assert "stops are off" in capsys.readouterr().err


def test_play_says_nothing_where_somebody_holds_the_session(
    host: Host, window: DebuggerClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ctl.main(["play"]) == 0
    window.close()
    keeping = DebugServer(host, script="kept.py", on_disconnect=OnDisconnect.HOLD)
    keeping.start()
    try:
        assert ctl.main(["--session", "kept.py", "play"]) == 0
    finally:
        keeping.stop()
    assert capsys.readouterr().err == ""


# --- which scene, which command


@pytest.mark.parametrize(
    "words",
    [["pause", "left"], ["pause", "--scene", "left"], ["step", "--scene", "left"]],
    ids=" ".join,
)
def test_a_scene_is_named_with_and_without_its_option(
    words: list[str], window: DebuggerClient
) -> None:
    window.play()
    assert ctl.main(words) == 0
    assert window.wait_until(lambda c: c.scenes()[0].held or c.scenes()[0].step_count, DEADLINE_S)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["gotoo", "3"], "there is no command 'gotoo'; did you mean 'goto'?"),
        (["--session", "x", "paus"], "there is no command 'paus'; did you mean 'pause'?"),
        (["step", "left", "--scene", "right"], "name one scene, not 'left' and 'right'"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused_with_what_may_be_meant(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        ctl.main(words)
    assert ending.value.code == 2
    told = capsys.readouterr().err
    assert complaint in told
    assert "checkpoint" not in told, "the whole list hides it"


@pytest.mark.parametrize("words", [["step", "lefd"], ["goto", "3", "--scene", "lefd"]])
def test_a_scene_that_there_is_not_is_told_with_those_that_are_near(
    words: list[str], window: DebuggerClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ctl.main(words) == 1
    told = capsys.readouterr().err
    assert "there is no scene 'lefd'; did you mean 'left'?" in told
    assert "right" in told


# --- looking


def test_list_shows_sessions_and_scenes(
    window: DebuggerClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ctl.main(["list"]) == 0
    out = capsys.readouterr().out
    assert window.session is not None
    assert window.session.session_id in out
    assert "train.py" in out
    assert f"  paused, controlled by client {window.client_id}, 1 client attached\n" in out
    assert [line.split()[1] for line in out.splitlines()[2:]] == ["left", "right"]


def test_a_name_of_a_stranger_writes_no_line_of_its_own_and_fills_no_screen(
    host: Host, server: DebugServer, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("arm\n  2  leg  step 0\r\x1b[2J", "x" * 5_000)
    with DebuggerClient.connect(server.connection_file, name="window") as window:
        stepper = Stepper(host, *names)
        try:
            assert window.wait_until(lambda c: len(c.scenes()) == 2, DEADLINE_S)
            assert ctl.main(["list"]) == 0
            listed = capsys.readouterr().out
            assert ctl.main(["step"]) == 1
            chosen = capsys.readouterr().err
            assert ctl.main(["step", "1"]) == 0
            stepped = capsys.readouterr().out
        finally:
            host.close()
            stepper.join()
    assert [line.split()[0] for line in listed.splitlines()[2:]] == ["1", "2"]
    assert "arm\\n  2  leg" in listed
    assert chosen.count("\n") == 3
    assert stepped.count("\n") == 1
    assert len(listed) + len(chosen) < 1_500


def test_list_tells_a_session_that_runs_free_from_a_paused_one(
    window: DebuggerClient, server: DebugServer, capsys: pytest.CaptureFixture[str]
) -> None:
    window.close()
    assert ctl.main(["list"]) == 0
    _, session, *rows = capsys.readouterr().out.splitlines()
    assert session == "  running free, nobody attached"
    assert all("running free" in row and "paused" not in row for row in rows)


def test_list_shows_a_session_that_is_held_for_a_reconnect(
    server: DebugServer, scenes: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    server.stop()
    server.start(on_disconnect=OnDisconnect.HOLD)
    DebuggerClient.connect(server.connection_file, name="window").close()
    assert ctl.main(["list"]) == 0
    assert "  paused, held for whoever comes back, nobody attached\n" in capsys.readouterr().out


def test_watch_prints_a_table(window: DebuggerClient, capsys: pytest.CaptureFixture[str]) -> None:
    assert ctl.main(["step", "left", "-n", "7"]) == 0
    capsys.readouterr()
    assert ctl.main(["watch", "--once"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if "left" in line)
    assert "step         7" in row
    assert "0.014 s" in row


def test_watch_ends_with_the_session(server: DebugServer) -> None:
    with in_foreground("watch") as process:
        assert process.stdout is not None
        assert "train.py" in process.stdout.readline()
        server.stop("the script has ended")
        assert process.wait(DEADLINE_S) == 1
        assert process.stderr is not None
        assert "the session has ended" in process.stderr.read()


def test_the_session_can_be_named_in_every_way(
    window: DebuggerClient, server: DebugServer, capsys: pytest.CaptureFixture[str]
) -> None:
    session = window.session
    assert session is not None
    for name in (
        session.session_id,
        session.session_id[:6],
        str(session.pid),
        "train.py",
        str(server.connection_file),
    ):
        assert ctl.main(["--session", name, "watch", "--once"]) == 0
        assert session.session_id in capsys.readouterr().out


def test_a_running_script_is_meant_by_its_name_where_the_script_lies(
    window: DebuggerClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("train.py").write_text("print('not a connection file')\n")
    assert ctl.main(["--session", "train.py", "watch", "--once"]) == 0
    assert window.session is not None
    assert window.session.session_id in capsys.readouterr().out


def test_an_open_recording_is_meant_by_its_name_in_the_folder_of_the_file(
    host: Host,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("crash.mcap").write_bytes(b"\x89MCAP0\r\n")
    opened = DebugServer(host, script="crash.mcap")
    opened.start()
    try:
        assert ctl.main(["--session", "crash.mcap", "list"]) == 0
        assert opened.session_id in capsys.readouterr().out
    finally:
        opened.stop()
    assert ctl.main(["--session", "crash.mcap", "list"]) == 1
    assert "stroboscope open crash.mcap" in capsys.readouterr().err


def test_of_two_scripts_with_one_name_one_is_to_be_chosen_by_its_id(
    window: DebuggerClient, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.closing(Host()) as host:
        second = DebugServer(host, script="elsewhere/train.py")
        second.start()
        try:
            assert ctl.main(["--session", "train.py", "list"]) == 1
            by_name = capsys.readouterr().err
            assert ctl.main(["watch", "--once"]) == 1
            by_nothing = capsys.readouterr().err
        finally:
            second.stop()
    assert "2 sessions run 'train.py'; choose one with --session and its id or pid:" in by_name
    assert "2 sessions are running; choose one with --session" in by_nothing
    for told in (by_name, by_nothing):
        assert "elsewhere/train.py" in told


def test_a_reader_that_has_had_enough_is_no_error(window: DebuggerClient) -> None:
    """As in ``stroboscope ctl rollouts | head``: nobody reads the other end any more."""
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
        process.wait(DEADLINE_S)


# --- refused


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["step"], "choose one of 2 scenes:\n  1  left\n  2  right"),
        (["step", "middle"], "there is no scene 'middle'"),
        (["step", "50"], "there is no scene '50'; for 50 steps: -n 50"),
        (["speed", "1000"], "allowed are 1/64 to 64"),
        (["--session", "nothing", "list"], "no session nothing is running"),
    ],
)
def test_what_can_t_be_done_is_said_with_what_can(
    arguments: list[str],
    complaint: str,
    window: DebuggerClient,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ctl.main(arguments) == 1
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("command", ["list", "play", "watch"])
def test_no_session_is_an_error_that_says_how_to_start_one(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ctl.main([command]) == 1
    assert "stroboscope run script.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["jump"],
        ["speed"],
        ["speed", "0"],
        ["step", "-n", "0"],
        ["step", "-n", "x"],
        ["resimulate", "--step", "2"],
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        ctl.main(arguments)
    assert ended.value.code == 2
    assert "stroboscope ctl" in capsys.readouterr().err
