"""The leak checks of tests/conftest.py: each kind of leak fails the test that made it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

INNER_TESTS = """
import os, pathlib, selectors, socket, subprocess, threading

KEEP = []

def test_threads():
    stop = threading.Event()
    threading.Thread(target=stop.wait, name="forgotten").start()
    threading.Timer(1.0, stop.set).start()

def test_our_daemon_threads():
    threading.Thread(target=threading.Event().wait, name="stroboscope-x", daemon=True).start()

def test_child_processes():
    KEEP.append(subprocess.Popen(["sleep", "1000"]))

def test_sockets():
    KEEP.append(socket.create_server(("127.0.0.1", 0)))

def test_event_loops():
    KEEP.append(selectors.EpollSelector())

def test_open_files():
    KEEP.append(open("forgotten.txt", "w"))

def test_runtime_files():
    pathlib.Path(os.environ["STROBOSCOPE_RUNTIME_DIR"], "session.json").touch()

def test_nothing():
    thread = threading.Thread(target=print)
    thread.start()
    thread.join()
    socket.create_server(("127.0.0.1", 0)).close()
    subprocess.run(["true"])
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The closing lines of a run of INNER_TESTS under our conftest, its patience cut short."""
    folder = tmp_path_factory.mktemp("inner")
    conftest = (Path(__file__).parent.parent / "conftest.py").read_text(encoding="utf-8")
    assert "\nLEAK_DEADLINE_S = " in conftest
    (folder / "conftest.py").write_text(f"{conftest}\n\nLEAK_DEADLINE_S = 0.2\n")
    (folder / "test_inner.py").write_text(INNER_TESTS)
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {Path(__file__).parent.parent}\n")
    # A folder of its own: in pytest's shared one the inner run removes what earlier whole runs have
    # left, gigabytes, for minutes.
    own = ["--basetemp", str(folder / "temporary")]
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", *own, str(folder)]
    wide = dict(os.environ, COLUMNS="400")
    result = subprocess.run(
        command, cwd=folder, env=wide, capture_output=True, text=True, timeout=60
    )
    return result.stdout[result.stdout.index("short test summary") :]


@pytest.mark.parametrize(
    ("test", "complaint"),
    [
        ("test_threads", "threads: forgotten"),
        ("test_our_daemon_threads", "threads: stroboscope-x"),
        ("test_child_processes", "child processes: "),
        ("test_sockets", "open descriptors: "),
        ("test_event_loops", "open descriptors: "),
        ("test_open_files", "open descriptors: "),
        ("test_runtime_files", "runtime files: session.json"),
    ],
)
def test_a_leak_fails_the_test_that_made_it(test: str, complaint: str, report: str) -> None:
    assert f"ERROR test_inner.py::{test} - Failed: the test left behind {complaint}" in report


def test_a_test_that_leaves_nothing_passes(report: str) -> None:
    assert "PASSED test_inner.py::test_nothing" in report
    assert "ERROR test_inner.py::test_nothing" not in report


def test_each_test_stands_in_a_private_empty_folder(runtime_directory: Path) -> None:
    assert not list(Path.cwd().iterdir())
    assert runtime_directory.stat().st_mode & 0o777 == 0o700
