"""4,096 humanoid environments, watched, against the same scene with nobody attached.

One process, one owner thread, MuJoCo's native threads on all cores. The scene is stepped in turns
by itself, and in fast forward while a client in a process of its own holds the session and watches
one environment, as a window does. Both from the same states, so that the same contacts are
computed; history and checks are on, as they are when attached.
"""

import contextlib
import os
import tempfile
import time

from client_process import ClientProcess
from harness import Row, Settings, interleave, ratio, run_alone
from subjects import humanoid_path

import stroboscope.engine as physics

_COUNT = 4096
_STEPS = 12
_WARM_UP = 8  # until the memory of the history has been touched once
_BEFORE = 60


class _Meter:
    """Tells MuJoCo's own part of a step from what this thread does besides, by processor time."""

    def __init__(self, scene: physics.BatchScene) -> None:
        self._step = scene.environments.step
        self._threads = scene.environments.batch.nthread
        self.shares: list[float] = []
        """Batch steps per second that are left, as part of those without anything besides."""
        scene.environments.step = self._metered  # type: ignore[method-assign]
        self.begin()

    def _metered(self, nstep: int) -> object:
        all_threads, own = time.process_time(), time.thread_time()
        failed = self._step(nstep)
        self._batch += (time.process_time() - all_threads) / self._threads
        self._inside += time.thread_time() - own
        return failed

    def begin(self) -> None:
        """Begin to count."""
        self._batch = self._inside = 0.0
        self._own = time.thread_time()

    def end(self) -> None:
        """Keep what was counted."""
        besides = time.thread_time() - self._own - self._inside
        self.shares.append(self._batch / (self._batch + besides))


def _rate(scene: physics.BatchScene, start: physics.BatchCheckpoint, meter: _Meter) -> float:
    """Return batch steps per second, from the same states each time."""
    scene.restore(start)
    for _ in range(_WARM_UP):
        scene.step()
    meter.begin()
    begin = time.perf_counter()
    for _ in range(_STEPS):
        scene.step()
    taken = time.perf_counter() - begin
    meter.end()
    return _STEPS / taken


def _watched(scene: physics.BatchScene, start: physics.BatchCheckpoint, meter: _Meter) -> float:
    with contextlib.ExitStack() as clients:
        window = ClientProcess("fast_forward_and_watch")
        clients.callback(window.end)
        if not physics.debugger.attach(timeout_seconds=30.0, launch=False):
            raise SystemExit("the client of this benchmark did not connect")
        while not scene.link.interest.intervals:
            scene.step()  # parked until the client says fast forward
        window.wait_until_done()
        measured = _rate(scene, start, meter)
    while physics.debugger.is_attached():
        time.sleep(0.01)
    physics.debugger.detach()
    return measured


def measure(settings: Settings) -> list[Row]:
    """Let the scene be watched and left alone in turn."""
    folder = tempfile.mkdtemp()
    os.chdir(folder)  # the engine may write MUJOCO_LOG.TXT
    os.environ["STROBOSCOPE_RUNTIME_DIR"] = folder
    count = settings.scaled(_COUNT)
    scene = physics.create_scene("humanoids", humanoid_path(), n_envs=count)
    for _ in range(_BEFORE):
        scene.step()  # until they lie about, in contact
    start = scene.checkpoint()
    meter = _Meter(scene)
    shares: dict[str, list[float]] = {"alone": [], "watched": []}

    def alone() -> float:
        rate = _rate(scene, start, meter)
        shares["alone"].append(meter.shares.pop())
        return rate

    def watched() -> float:
        rate = _watched(scene, start, meter)
        shares["watched"].append(meter.shares.pop())
        return rate

    rates = interleave({"alone": alone, "watched": watched}, rounds=settings.rounds)
    physics.shutdown()
    by_clock = ratio(rates["watched"], rates["alone"])
    by_processor = ratio(shares["watched"], shares["alone"])
    speed = sorted(rates["alone"])[len(rates["alone"]) // 2]
    what = f"batch steps/s of {count:,} environments, one watched, vs nobody attached"
    return [
        Row(
            number="14",
            what=what,
            measured=by_clock,
            target="≥ 0.97",
            reached=None if settings.quick else by_clock.median >= 0.97,
            note=f"humanoid, history and checks on, {speed:.1f} batch steps/s alone",
        ),
        Row(
            number="14",
            what="the same by processor time, where other programs don't count",
            measured=by_processor,
            target="≥ 0.97",
            reached=None if settings.quick else by_processor.median >= 0.97,
        ),
    ]


if __name__ == "__main__":
    run_alone(measure)
