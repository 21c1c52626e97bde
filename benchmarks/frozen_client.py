"""Row 11: fast forward with a client that has stopped reading, against nobody attached."""

import os
import signal
import tempfile
import time

from client_process import ClientProcess
from harness import Row, Settings, interleave, ratio, run_alone
from subjects import humanoid_path

import stroboscope.engine as physics


def rate(scene: physics.Scene, seconds: float) -> float:
    """Return steps per second over ``seconds``, all from the same starting pose."""
    scene.restore_state(START[0])
    steps = 0
    start = time.perf_counter()
    end = start + seconds
    while time.perf_counter() < end:
        for _ in range(100):
            scene.step()
        steps += 100
    return steps / (time.perf_counter() - start)


START: list[physics.StateHandle] = []


def measure(settings: Settings) -> list[Row]:
    """Freeze a client that subscribed to everything; step; kill it; step alone; repeat."""
    folder = tempfile.mkdtemp()
    os.chdir(folder)  # the engine may write MUJOCO_LOG.TXT
    os.environ["STROBOSCOPE_RUNTIME_DIR"] = folder
    scene = physics.create_scene("humanoid", humanoid_path())
    START.append(scene.capture_state())
    # Well below the 10 s of silence after which a client loses its hold.
    seconds = 0.3 if settings.quick else 2.0

    def with_client(*, frozen: bool) -> float:
        client = ClientProcess("everything")
        try:
            if not physics.debugger.attach(timeout_seconds=30.0, launch=False):
                raise SystemExit("the client of this benchmark did not connect")
            scene.step()  # parked until the client says fast forward
            client.wait_until_done()
            if frozen:
                os.kill(client.pid, signal.SIGSTOP)
            return rate(scene, seconds)
        finally:
            client.end()
            while physics.debugger.is_attached():
                time.sleep(0.01)
            physics.debugger.detach()

    rates = interleave(
        {
            "alone": lambda: rate(scene, seconds),
            "frozen": lambda: with_client(frozen=True),
            "reading": lambda: with_client(frozen=False),
        },
        rounds=settings.rounds,
        warm_up=False,
    )
    physics.shutdown()
    frozen = ratio(rates["frozen"], rates["alone"])
    reading = ratio(rates["reading"], rates["alone"])
    return [
        Row(
            number="11",
            what="steps/s in fast forward with a frozen client, vs nobody attached",
            measured=frozen,
            target="≥ 0.98",
            reached=frozen.median >= 0.98,
            note="humanoid, four topics",
        ),
        Row(
            number="11",
            what="the same with that client reading, for comparison",
            measured=reading,
        ),
    ]


if __name__ == "__main__":
    run_alone(measure)
