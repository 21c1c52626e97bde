"""Row 2: fast forward with the real window open and drawing, against nobody looking.

One process, one thread, two scenes of the same model: the window shows the one that follows its
playback; the other is free-running, and nobody subscribes to it. They take turns. While the free
one steps nothing changes in the window, and the window draws only on change.
"""

import os
import signal
import sys
import tempfile
import time

from harness import Row, Settings, interleave, ratio, run_alone
from subjects import humanoid_path, seconds_without_processor

import stroboscope.engine as physics
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.window_link import find_window


class Rate:
    """Steps per second of one scene, by the clock and by the share of it that we had."""

    def __init__(self, scene: physics.Scene, seconds: float) -> None:
        self._scene = scene
        self._start = scene.capture_state()
        self._seconds = seconds
        self.own: list[float] = []
        """The rates without the time in which this thread was ready and others ran."""

    def __call__(self) -> float:
        """Measure once more, from the same pose each time."""
        time.sleep(0.5)  # the window finishes drawing what came before
        self._scene.restore_state(self._start)
        steps = 0
        kept_waiting = seconds_without_processor()
        begin = time.perf_counter()
        end = begin + self._seconds
        while time.perf_counter() < end:
            for _ in range(50):
                self._scene.step()
            steps += 50
        taken = time.perf_counter() - begin
        self.own.append(steps / (taken - (seconds_without_processor() - kept_waiting)))
        return steps / taken


def measure(settings: Settings) -> list[Row]:
    """Open the window, take control from it, and let the two scenes take turns."""
    folder = tempfile.mkdtemp()
    os.chdir(folder)  # the engine may write MUJOCO_LOG.TXT
    os.environ["STROBOSCOPE_RUNTIME_DIR"] = tempfile.mkdtemp(dir=folder)
    os.environ["XDG_CONFIG_HOME"] = folder
    shown = physics.create_scene("shown", humanoid_path())
    free = physics.create_scene("free", humanoid_path(), playback="free")
    if not physics.debugger.attach(timeout_seconds=60.0, mode="fast_forward"):
        raise SystemExit("the window did not open: run this on a display, or `make bench`")
    seconds = 0.5 if settings.quick else 1.0
    arms = {"free": Rate(free, seconds), "shown": Rate(shown, seconds)}
    with DebuggerClient.connect(
        physics.debugger.get_debug_server().connection_file, observe=True
    ) as watcher:
        rates = interleave(arms, rounds=2 * settings.rounds)
        controller = watcher.session_status.controller
    if controller is None or not physics.debugger.is_attached():
        sys.exit("the window was gone before the end: these numbers would mean nothing")
    measured = ratio(rates["shown"], rates["free"])
    own = ratio(arms["shown"].own[1:], arms["free"].own[1:])  # without the warm-up
    window = find_window().pid
    physics.shutdown()
    os.kill(window, signal.SIGTERM)  # it would stay open, and idle through the next benchmark
    return [
        Row(
            number="2",
            what="steps/s in fast forward, window open and drawing, vs nobody looking",
            measured=measured,
            target="≥ 0.90 (no history yet)",
            reached=measured.median >= 0.9,
            note=f"humanoid, {sorted(rates['free'])[len(rates['free']) // 2]:.0f} steps/s free",
        ),
        Row(
            number="2",
            what="the same without the time that other processes, the window too, had our core",
            measured=own,
        ),
    ]


if __name__ == "__main__":
    run_alone(measure)
