"""Row 11: fast forward with a client that has stopped reading, against nobody attached."""

import os
import signal
import subprocess
import sys
import tempfile
import time

from harness import Row, Settings, interleave, ratio, run_alone
from subjects import humanoid_path

import stroboscope.engine as physics

CLIENT = """
import sys, time
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.topics import Topic
client = DebuggerClient.connect(sys.argv[1])
scene = client.scenes()[0].scene_id
client.subscribe(scene, [Topic.POSE, Topic.STATE, Topic.CONTACTS, Topic.SENSORS])
client.fast_forward()
print("fast forward", flush=True)
time.sleep(1000)
"""


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
    os.chdir(tempfile.mkdtemp())  # the engine may write MUJOCO_LOG.TXT
    scene = physics.create_scene("humanoid", humanoid_path())
    START.append(scene.capture_state())
    server = physics.debugger.get_debug_server()
    # Well below the 10 s of silence after which a client loses its hold.
    seconds = 0.3 if settings.quick else 2.0

    def with_client(*, frozen: bool) -> float:
        physics.debugger.listen()
        client = subprocess.Popen(
            [sys.executable, "-c", CLIENT, str(server.connection_file)],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            physics.debugger.attach(timeout_seconds=30.0, launch=False)
            scene.step()  # parked until the client says fast forward
            assert client.stdout is not None
            client.stdout.readline()
            if frozen:
                os.kill(client.pid, signal.SIGSTOP)
            return rate(scene, seconds)
        finally:
            client.kill()
            client.wait()
            client.stdout.close()  # type: ignore[union-attr]
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
