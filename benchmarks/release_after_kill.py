"""Row 8: how long a parked ``step()`` stays parked after its controlling client was killed."""

import os
import signal
import tempfile
import threading
import time

from client_process import ClientProcess
from harness import Measured, Row, Settings, run_alone
from subjects import SMALL_MODEL

import stroboscope.engine as physics


def one_release(scene: physics.Scene) -> float:
    """Park in ``scene.step()`` under a client, kill the client, return the delay [s]."""
    client = ClientProcess("pause")
    killed = [0.0]

    def kill_when_parked() -> None:
        client.wait_until_done()
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
    client.end()
    physics.debugger.detach()
    return released - killed[0]


def measure(settings: Settings) -> list[Row]:
    """Do it 20 times."""
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.environ["STROBOSCOPE_RUNTIME_DIR"] = folder
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
