"""Row 8: how long a parked ``step()`` stays parked after its controlling client was killed."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from harness import Measured, Row, Settings, run_alone
from subjects import SMALL_MODEL

import stroboscope.engine as physics

CLIENT = """
import sys, time
from stroboscope.debugger_protocol.client import DebuggerClient
client = DebuggerClient.connect(sys.argv[1])
client.pause()
print("connected", flush=True)
time.sleep(1000)
"""


def one_release(scene: physics.Scene) -> float:
    """Park in ``scene.step()`` under a client, kill the client, return the delay [s]."""
    server = physics.debugger.get_debug_server()
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(server.connection_file)],
        stdout=subprocess.PIPE,
        text=True,
    )
    killed = [0.0]

    def kill_when_parked() -> None:
        assert client.stdout is not None
        client.stdout.readline()
        time.sleep(0.1)  # the owner is well inside its wait
        killed[0] = time.monotonic()
        os.kill(client.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_when_parked)
    if not physics.debugger.attach(timeout_seconds=30.0, launch=False):
        raise SystemExit("the client of this benchmark did not connect")
    killer.start()
    scene.step()
    released = time.monotonic()
    killer.join()
    client.wait()
    assert client.stdout is not None
    client.stdout.close()
    return released - killed[0]


def measure(settings: Settings) -> list[Row]:
    """Do it 20 times."""
    os.chdir(tempfile.mkdtemp())
    scene = physics.create_scene("parked", SMALL_MODEL)
    delays = [one_release(scene) for _ in range(3 if settings.quick else 20)]
    physics.shutdown()
    measured = Measured.of([1e3 * delay for delay in delays])
    worst = max(delays)
    return [
        Row(
            number="8",
            what="parked step released after client kill -9",
            measured=measured,
            unit="ms",
            target="≤ 100 ms, each",
            reached=worst <= 0.1,
            note=f"worst {1e3 * worst:.1f} ms",
        )
    ]


if __name__ == "__main__":
    run_alone(measure)
