"""Row 11: fast forward with a client that has stopped reading, against the same without it.

A client that asks for nothing holds the session in every arm, so that the only difference is the
other one: absent, frozen, or reading sixty frames a second of four topics. What a session costs by
itself, against a scene that nobody has attached to, is a line of its own.
"""

import contextlib
import os
import signal
import tempfile
import time

from client_process import ClientProcess
from harness import Row, Settings, interleave, ratio, run_alone
from subjects import humanoid_path, seconds_without_processor

import stroboscope.engine as physics


def rate(scene: physics.Scene, seconds: float) -> float:
    """Return steps per second over ``seconds``, all from the same starting pose.

    Time in which this thread could run and other programs had the processor does not count; time
    in which it waited for a lock of this process does.
    """
    scene.restore_state(START[0])
    steps = 0
    kept_waiting = seconds_without_processor()
    start = time.perf_counter()
    end = start + seconds
    while time.perf_counter() < end:
        for _ in range(100):
            scene.step()
        steps += 100
    taken = time.perf_counter() - start
    return steps / (taken - (seconds_without_processor() - kept_waiting))


START: list[physics.StateHandle] = []


def measure(settings: Settings) -> list[Row]:
    """Let a client that subscribed to everything be absent, frozen and reading, in turn."""
    folder = tempfile.mkdtemp()
    os.chdir(folder)  # the engine may write MUJOCO_LOG.TXT
    os.environ["STROBOSCOPE_RUNTIME_DIR"] = folder
    scene = physics.create_scene("humanoid", humanoid_path())
    START.append(scene.capture_state())
    # Well below the 10 s of silence after which a client loses its hold.
    seconds = 0.3 if settings.quick else 1.5

    def session(other: str) -> float:
        with contextlib.ExitStack() as clients:
            holder = ClientProcess("fast_forward")
            clients.callback(holder.end)
            if not physics.debugger.attach(timeout_seconds=30.0, launch=False):
                raise SystemExit("the client of this benchmark did not connect")
            scene.step()  # parked until the client says fast forward
            holder.wait_until_done()
            if other:
                client = ClientProcess("watch")
                clients.callback(client.end)
                while not scene.link.interest.intervals:
                    scene.step()
                client.wait_until_done()
                if other == "frozen":
                    os.kill(client.pid, signal.SIGSTOP)
                    rate(scene, 1.0)  # until what the kernel holds for it is full
            measured = rate(scene, seconds)
        while physics.debugger.is_attached():
            time.sleep(0.01)
        physics.debugger.detach()
        return measured

    rates = interleave(
        {
            "alone": lambda: rate(scene, seconds),
            "absent": lambda: session(""),
            "frozen": lambda: session("frozen"),
            "reading": lambda: session("reading"),
        },
        rounds=min(settings.rounds, 6),  # three processes are started in each
        warm_up=False,
    )
    physics.shutdown()
    frozen = ratio(rates["frozen"], rates["absent"])
    return [
        Row(
            number="11",
            what="steps/s in fast forward with a frozen client, vs the session without it",
            measured=frozen,
            target="≥ 0.98",
            reached=frozen.median >= 0.98,
            note="humanoid, four topics",
        ),
        Row(
            number="11",
            what="the same with that client reading 60 frames/s of each, for comparison",
            measured=ratio(rates["reading"], rates["absent"]),
        ),
        Row(
            number="11",
            what="a session whose client asks for nothing, vs nobody attached, for comparison",
            measured=ratio(rates["absent"], rates["alone"]),
        ),
    ]


if __name__ == "__main__":
    run_alone(measure)
