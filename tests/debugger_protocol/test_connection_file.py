"""Connection files: written for our eyes, found while their process lives, removed after."""

import json
import os
import signal
import stat
import subprocess
import sys

import msgspec
import pytest

from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.connection_file import (
    ConnectionFile,
    find_session,
    list_sessions,
    read_connection_file,
)
from stroboscope.debugger_protocol.exceptions import ConnectionFileError, NoSessionError
from stroboscope.debugger_protocol.process_identity import process_is, process_start

posix = pytest.mark.skipif(os.name != "posix", reason="modes and links are POSIX's")


@pytest.fixture
def file():
    file = ConnectionFile.write(port=4000, script="train.py")
    yield file
    file.remove()


def test_what_is_written_is_read(file):
    assert read_connection_file(file.path) == file.info
    assert file.info.pid == os.getpid()
    assert len(file.info.secret) == 32


def test_a_script_whose_name_is_no_unicode_can_be_found():
    file = ConnectionFile.write(port=4000, script="caf\udce9.py")
    try:
        assert read_connection_file(file.path).script == "caf\\udce9.py"
    finally:
        file.remove()


@posix
def test_only_we_can_read_it_whatever_the_umask(runtime_directory):
    before = os.umask(0)
    try:
        file = ConnectionFile.write(port=4000)
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    file.remove()
    assert list(runtime_directory.iterdir()) == []


def test_every_session_has_another_secret_and_id():
    files = [ConnectionFile.write(port=4000) for _ in range(3)]
    assert len({f.info.secret for f in files}) == len({f.info.session_id for f in files}) == 3
    assert [info.session_id for _, info in list_sessions()] == [f.info.session_id for f in files]
    for file in files:
        file.remove()


def test_the_only_session_is_found_and_of_several_one_must_be_chosen(file):
    assert find_session() == file.info
    other = ConnectionFile.write(port=4001, script="other.py")
    with pytest.raises(NoSessionError, match=r"(?s)2 sessions.*train\.py.*other\.py"):
        find_session()
    assert find_session(other.info.session_id) == other.info
    with pytest.raises(NoSessionError, match="no session nobody"):
        find_session("nobody")
    other.remove()


@posix
def test_nothing_that_stands_in_its_place_is_followed_or_overwritten(runtime_directory, tmp_path):
    target = tmp_path / "target"
    name = f"session-{os.getpid()}-fixed.json"
    (runtime_directory / name).symlink_to(target)
    with pytest.raises(ConnectionFileError, match="can't be written"):
        ConnectionFile.write(port=4000, session_id="fixed")
    assert not target.exists()
    assert [path.name for path in runtime_directory.iterdir()] == [name]
    (runtime_directory / name).unlink()


@posix
def test_a_link_is_not_read(file, tmp_path):
    link = tmp_path / "link.json"
    link.symlink_to(file.path)
    with pytest.raises(ConnectionFileError, match="never followed"):
        read_connection_file(link)


@posix
def test_a_pipe_in_its_place_does_not_hang_the_reader(runtime_directory):
    path = runtime_directory / "session-1-x.json"
    os.mkfifo(path, 0o600)
    with pytest.raises(ConnectionFileError, match="not a regular file"):
        read_connection_file(path)
    assert list_sessions() == []
    path.unlink()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b'{"session_id": 3}',
        b"[" * 200_000,
        b"\xff\xfe",
        b" " * 100_000,
    ],
)
def test_damage_is_a_connection_file_error(tmp_path, data):
    path = tmp_path / "file.json"
    path.write_bytes(data)
    path.chmod(0o600)
    with pytest.raises(ConnectionFileError):
        read_connection_file(path)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x89MCAP0\r\n" + bytes(99), "a recorded run or a checkpoint"),
        (b"PK\x03\x04" + bytes(22) + b"\x0d\0\0\0manifest.json", "a scene"),
        (b"<mujoco/>", r"a model \(MJCF\)"),
        (b'<?xml version="1.0"?>\n<robot name="r"/>', r"a model \(URDF\)"),
    ],
)
@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_of_a_file_that_is_opened_otherwise_it_says_how(tmp_path, data, kind, mode, capsys):
    path = tmp_path / "my file.json"
    path.write_bytes(data)
    path.chmod(mode)
    told = rf"no session, it is {kind}: stroboscope open '.*my file.json'$"
    with pytest.raises(ConnectionFileError, match=told):
        read_connection_file(path)
    with pytest.raises(ConnectionFileError, match=told):
        DebuggerClient.connect(path)
    assert ctl.main(["--session", str(path), "list"]) == 1
    assert "stroboscope open" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change", [{"port": 0}, {"port": 70000}, {"secret": b""}, {"secret": b"s" * 16}, {"format": 2}]
)
def test_values_that_make_no_sense_are_refused(file, tmp_path, change):
    path = tmp_path / "file.json"
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(file.info, **change)))
    path.chmod(0o600)
    with pytest.raises(ConnectionFileError):
        read_connection_file(path)


def test_fields_of_a_later_version_are_ignored(file, tmp_path):
    content = json.loads(file.path.read_text())
    path = tmp_path / "file.json"
    path.write_text(json.dumps({**content, "colour": "blue"}))
    path.chmod(0o600)
    assert read_connection_file(path) == file.info


def test_its_text_never_shows_the_secret(file):
    for text in (repr(file.info), str(file.info), f"{file.info}"):
        assert "secret" not in text


WRITE = """
import sys
from stroboscope.debugger_protocol.connection_file import ConnectionFile
file = ConnectionFile.write(port=4000, script="child.py")
print(file.path, flush=True)
sys.stdin.read()
"""


def start_writer():
    process = subprocess.Popen(
        [sys.executable, "-c", WRITE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    return process, process.stdout.readline().strip()


def finish(process):
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def test_the_file_of_a_killed_process_is_passed_over_and_removed():
    process, path = start_writer()
    assert [info.script for _, info in list_sessions()] == ["child.py"]
    finish(process)
    assert os.path.exists(path)
    assert list_sessions() == []
    assert not os.path.exists(path)


@posix
def test_a_stopped_process_is_still_alive():
    process, _ = start_writer()
    os.kill(process.pid, signal.SIGSTOP)
    assert len(list_sessions()) == 1
    finish(process)
    assert list_sessions() == []


def test_another_process_with_the_same_number_is_not_taken_for_the_old_one(file):
    other = msgspec.structs.replace(file.info, process_start="12345@another-boot")
    file.path.write_bytes(msgspec.json.encode(other))
    assert list_sessions() == []
    assert not file.path.exists()


def test_a_dead_file_under_a_foreign_name_is_not_removed(file, runtime_directory):
    dead = msgspec.structs.replace(file.info, process_start="12345@x", session_id="dead")
    path = runtime_directory / "session-mine.json"
    path.write_bytes(msgspec.json.encode(dead))
    path.chmod(0o600)
    assert [info.session_id for _, info in list_sessions()] == [file.info.session_id]
    assert path.exists()
    path.unlink()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork is POSIX's")
def test_a_forked_child_never_removes_its_parents_file(file):
    code = """
import os
from stroboscope.debugger_protocol.connection_file import ConnectionFile
file = ConnectionFile.write(port=4000)
pid = os.fork()
if pid == 0:
    file.remove()
    os._exit(0)
os.waitpid(pid, 0)
print(file.path.exists())
file.remove()
print(file.path.exists())
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout.split() == ["True", "False"]


def test_removing_twice_or_after_it_is_gone_is_harmless(file):
    file.remove()
    file.remove()


def test_a_file_that_somebody_replaced_is_left_alone(file):
    other = msgspec.structs.replace(file.info, session_id="other")
    file.path.write_bytes(msgspec.json.encode(other))
    file.remove()
    assert file.path.exists()
    file.path.unlink()


def test_a_missing_directory_holds_no_sessions(monkeypatch, tmp_path):
    monkeypatch.setenv("STROBOSCOPE_RUNTIME_DIR", str(tmp_path / "nothing"))
    assert list_sessions() == []


def test_processes_are_told_apart_by_their_start():
    own = process_start(os.getpid())
    assert own
    assert process_is(os.getpid(), own)
    assert not process_is(os.getpid(), own + "0")
    assert process_start(0) is None
    assert process_start(2**22 + 1) is None
    assert not process_is(2**22 + 1, own)


def test_a_zombie_is_gone():
    process = subprocess.Popen([sys.executable, "-c", "pass"], stdout=subprocess.PIPE)
    process.stdout.read()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert process_start(process.pid) is None
    process.wait()
    process.stdout.close()
