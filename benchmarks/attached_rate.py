"""Row 2: fast forward with the real window open and drawing, against nobody looking.

One process, one thread, two scenes of the same model: the window shows the one that follows its
playback; the other is free-running, and nobody subscribes to it. They take turns. While the free
one steps nothing changes in the window, and the window draws only on change.
"""

import os
import sys
import tempfile
import time

from harness import Row, Settings, interleave, ratio, run_alone
from subjects import humanoid_path

import stroboscope.engine as physics
from stroboscope.debugger_protocol.client import DebuggerClient


def rate(scene: physics.Scene, start: physics.StateHandle, seconds: float) -> float:
    """Return steps per second over ``seconds``, from the same pose each time."""
    time.sleep(0.5)  # the window finishes drawing what came before
    scene.restore_state(start)
    steps = 0
    begin = time.perf_counter()
    end = begin + seconds
    while time.perf_counter() < end:
        for _ in range(50):
            scene.step()
        steps += 50
    return steps / (time.perf_counter() - begin)


def measure(settings: Settings) -> list[Row]:
    """Open the window, take control from it, and let the two scenes take turns."""
    folder = tempfile.mkdtemp()
    os.chdir(folder)  # the engine may write MUJOCO_LOG.TXT
    os.environ["STROBOSCOPE_RUNTIME_DIR"] = tempfile.mkdtemp(dir=folder)
    os.environ["XDG_CONFIG_HOME"] = folder
    shown = physics.create_scene("shown", humanoid_path())
    free = physics.create_scene("free", humanoid_path(), playback="free")
    starts = {scene.name: scene.capture_state() for scene in (shown, free)}
    if not physics.debugger.attach(timeout_seconds=60.0, mode="fast_forward"):
        raise SystemExit("the window did not open: run this on a display, or `make bench`")
    seconds = 0.5 if settings.quick else 2.0
    with DebuggerClient.connect(
        physics.debugger.get_debug_server().connection_file, observe=True
    ) as watcher:
        rates = interleave(
            {
                "free": lambda: rate(free, starts["free"], seconds),
                "shown": lambda: rate(shown, starts["shown"], seconds),
            },
            rounds=settings.rounds,
        )
        controller = watcher.session_status.controller
    if controller is None or not physics.debugger.is_attached():
        sys.exit("the window was gone before the end: these numbers would mean nothing")
    measured = ratio(rates["shown"], rates["free"])
    row = Row(
        number="2",
        what="steps/s in fast forward, window open and drawing, vs nobody looking",
        measured=measured,
        target="≥ 0.90 (no history yet)",
        reached=measured.median >= 0.9,
        note=f"humanoid, {sorted(rates['free'])[len(rates['free']) // 2]:.0f} steps/s free",
    )
    physics.shutdown()
    return [row]


if __name__ == "__main__":
    run_alone(measure)
