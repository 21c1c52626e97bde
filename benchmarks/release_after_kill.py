"""Row 8: how long a parked ``step()`` stays parked after whatever held it has gone.

Four ways to go: the controlling client is killed, or closes, the script stops its debug server, or
its main thread ends while a worker is parked.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable

from client_process import ClientProcess
from harness import Measured, Row, Settings, run_alone
from subjects import SMALL_MODEL

import stroboscope.engine as physics
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.connection_file import list_sessions

# The owner is well inside its wait by then [s].
_SETTLE = 0.1
_DEADLINE = 30.0

_SCRIPT = f"""
import threading, time
import stroboscope.engine as physics

def work():
    scene = physics.create_scene("parked", '''{SMALL_MODEL}''')
    scene.step()
    print(time.monotonic(), flush=True)

assert physics.debugger.attach({_DEADLINE}, launch=False)
threading.Thread(target=work).start()
input()
print(time.monotonic(), flush=True)
"""


def one_release(scene: physics.Scene, go: Callable[[], float]) -> float:
    """Park in ``scene.step()``, call ``go()`` elsewhere, return the delay from what it returns."""
    begun = [0.0]
    attached = threading.Event()

    def end_it() -> None:
        attached.wait()
        begun[0] = go()

    ender = threading.Thread(target=end_it)
    ender.start()
    if not physics.debugger.attach(timeout_seconds=_DEADLINE, launch=False):
        raise SystemExit("the client of this benchmark did not connect")
    attached.set()
    scene.step()
    released = time.monotonic()
    ender.join()
    physics.debugger.detach()
    return released - begun[0]


def after_kill(scene: physics.Scene) -> float:
    """Return the delay [s] after the client was killed with -9."""
    client = ClientProcess("pause")

    def kill() -> float:
        client.wait_until_done()
        time.sleep(_SETTLE)
        now = time.monotonic()
        os.kill(client.pid, signal.SIGKILL)
        return now

    delay = one_release(scene, kill)
    client.end()
    return delay


def after_close(scene: physics.Scene) -> float:
    """Return the delay [s] after the client has begun to close."""
    client = ClientProcess("pause_until_asked")

    def close() -> float:
        client.wait_until_done()
        time.sleep(_SETTLE)
        return client.close_session()

    delay = one_release(scene, close)
    client.end()
    return delay


def after_stop(scene: physics.Scene) -> float:
    """Return the delay [s] after the script has called ``stop()`` on another thread."""
    client = ClientProcess("pause")

    def stop() -> float:
        client.wait_until_done()
        time.sleep(_SETTLE)
        now = time.monotonic()
        physics.debugger.get_debug_server().stop()
        return now

    delay = one_release(scene, stop)
    client.end()
    return delay


def after_main_thread(scene: physics.Scene) -> float:
    """Return the delay [s] after the last line of a script of its own."""
    del scene
    script = subprocess.Popen(
        [sys.executable, "-c", _SCRIPT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    end = time.monotonic() + _DEADLINE
    while not (sessions := [s for _, s in list_sessions() if s.pid == script.pid]):
        if time.monotonic() > end:
            raise SystemExit("the script of this benchmark opened no session")
        time.sleep(0.02)
    with contextlib.closing(DebuggerClient.connect(sessions[0])) as client:
        client.wait_until(lambda c: any(s.activity == "parked" for s in c.scenes()), _DEADLINE)
        time.sleep(_SETTLE)
        out, _ = script.communicate("\n", timeout=_DEADLINE)
    ended, released = map(float, out.split())
    return released - ended


WAYS: dict[str, Callable[[physics.Scene], float]] = {
    "client kill -9": after_kill,
    "client close": after_close,
    "stop()": after_stop,
    "the main thread's end": after_main_thread,
}


def measure(settings: Settings) -> list[Row]:
    """Do each 20 times."""
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.environ["STROBOSCOPE_RUNTIME_DIR"] = folder
    scene = physics.create_scene("parked", SMALL_MODEL)
    rows = []
    for way, delay_of in WAYS.items():
        delays = [delay_of(scene) for _ in range(3 if settings.quick else 20)]
        worst = max(delays)
        rows.append(
            Row(
                number="8",
                what=f"parked step released after {way}",
                measured=Measured.of([1e3 * delay for delay in delays]),
                unit="ms",
                target="≤ 100 ms, each",
                reached=worst <= 0.1,
                note=f"worst {1e3 * worst:.1f} ms",
            )
        )
    physics.shutdown()
    return rows


if __name__ == "__main__":
    run_alone(measure)
