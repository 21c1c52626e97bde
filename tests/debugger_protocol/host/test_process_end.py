"""How processes end while threads of theirs are parked: always, and soon."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from samples import few

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.connection_file import list_sessions
from stroboscope.debugger_protocol.exceptions import ConnectionLost
from stroboscope.debugger_protocol.messages import OwnerActivity

PREAMBLE = f"""
import sys, threading, time
from concurrent.futures import ThreadPoolExecutor
sys.path.insert(0, {str(Path(__file__).parent)!r})
from oscillator import Scene
from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.server import DebugServer
from stroboscope.debugger_protocol.limits import Limits

# No silence ends the session: a process ends because its main thread does.
host = Host(limits=Limits(lease_timeout=1000.0))
server = DebugServer(host)
server.start()
assert server.wait_for_client(60)

def work():
    scene = Scene(host, "worker")
    while server.has_connection():
        scene.step()

def parked():
    return any(link.owner.parked_in is not None for link in host.links.values())

def wait_until_parked():
    while not parked():
        time.sleep(0.005)
"""

ENDINGS = {
    "the end of a script that stops nothing": """
print("ending", flush=True)
""",
    # The script is over; the interpreter joins the pool's thread before it runs atexit functions.
    "the end of the script": """
pool = ThreadPoolExecutor(1)
pool.submit(work)
wait_until_parked()
print("ending", flush=True)
""",
    "a plain thread at the end of the script": """
threading.Thread(target=work).start()
wait_until_parked()
print("ending", flush=True)
""",
    "an exception inside a pool's with block": """
with ThreadPoolExecutor(1) as pool:
    pool.submit(work)
    wait_until_parked()
    print("ending", flush=True)
    raise SystemExit(0)
""",
    "Ctrl+C inside a pool's with block": """
try:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work)
        wait_until_parked()
        print("ending", flush=True)
        import signal
        signal.raise_signal(signal.SIGINT)
        time.sleep(60)
except KeyboardInterrupt:
    sys.exit(0)
""",
    "Ctrl+C while the main thread itself is parked": """
threading.Timer(0.5, lambda: __import__("os").kill(__import__("os").getpid(), 2)).start()
print("ending", flush=True)
try:
    work()
except KeyboardInterrupt:
    sys.exit(0)
""",
    "a close of the host by the main thread": """
pool = ThreadPoolExecutor(1)
future = pool.submit(work)
wait_until_parked()
print("ending", flush=True)
host.close()
assert "SceneClosedError" in repr(future.exception(10))
server.stop()
""",
}


@pytest.fixture
def start() -> Iterator[Callable[[str], "subprocess.Popen[str]"]]:
    processes: list[subprocess.Popen[str]] = []

    def run(code: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", PREAMBLE + code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process

    yield run
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_process_with_parked_threads_ends(
    ending: str,
    start: Callable[[str], "subprocess.Popen[str]"],
    runtime_directory: Path,
    wait_until: Callable[..., None],
) -> None:
    process = start(ENDINGS[ending])
    wait_until(lambda: list_sessions(runtime_directory) or process.poll() is not None)
    with DebuggerClient.connect() as client:
        assert process.stdout is not None
        assert process.stdout.readline() == "ending\n"
        assert process.wait(60) == 0, process.communicate()
        wait_until(lambda: client.closed_reason)
    assert not list(runtime_directory.glob("*.json"))


@pytest.mark.parametrize("trial", few(range(20), 2))
def test_a_parked_step_goes_on_when_the_main_thread_ends(
    trial: int,
    start: Callable[[str], "subprocess.Popen[str]"],
    runtime_directory: Path,
    wait_until: Callable[..., None],
) -> None:
    process = start(
        """
def work_once():
    Scene(host, "worker").step()
    print("released", flush=True)

threading.Thread(target=work_once).start()
wait_until_parked()
print("ending", flush=True)
"""
    )
    wait_until(lambda: list_sessions(runtime_directory) or process.poll() is not None)
    with DebuggerClient.connect():
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "ending\nreleased\n"), err


def test_an_application_that_is_killed_is_noticed_at_once(
    start: Callable[[str], "subprocess.Popen[str]"],
    runtime_directory: Path,
    wait_until: Callable[..., None],
) -> None:
    process = start("work()")
    wait_until(lambda: list_sessions(runtime_directory))
    with DebuggerClient.connect() as client:
        assert client.wait_until(
            lambda c: any(s.activity is OwnerActivity.PARKED for s in c.scenes()), 60
        )
        os.kill(process.pid, signal.SIGKILL)
        wait_until(lambda: client.closed_reason)
        with pytest.raises(ConnectionLost):
            client.play()
    # A dead process's file is cleared away by whoever looks next.
    process.wait(60)
    assert not list_sessions(runtime_directory)
