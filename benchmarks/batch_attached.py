"""4,096 humanoid environments, watched, against the same scene with nobody attached.

One process, one owner thread, MuJoCo's native threads on all cores. The scene is stepped in turns
by itself, and in fast forward while one client holds the session and another one, in processes of
their own, watches one environment as a window does. Both from the same states, so that the same
contacts are computed; history and checks are on, as they are when attached.
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
_BEFORE = 60


def _rate(scene: physics.BatchScene, start: physics.BatchCheckpoint) -> float:
    """Return batch steps per second, from the same states each time."""
    scene.restore(start)
    scene.step()  # what is made once, when somebody comes
    begin = time.perf_counter()
    for _ in range(_STEPS):
        scene.step()
    return _STEPS / (time.perf_counter() - begin)


def _watched(scene: physics.BatchScene, start: physics.BatchCheckpoint) -> float:
    with contextlib.ExitStack() as clients:
        holder = ClientProcess("fast_forward")
        clients.callback(holder.end)
        if not physics.debugger.attach(timeout_seconds=30.0, launch=False):
            raise SystemExit("the client of this benchmark did not connect")
        scene.step()  # parked until the client says fast forward
        holder.wait_until_done()
        window = ClientProcess("watch")
        clients.callback(window.end)
        while not scene.link.interest.intervals:
            scene.step()
        window.wait_until_done()
        measured = _rate(scene, start)
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
    rates = interleave(
        {"alone": lambda: _rate(scene, start), "watched": lambda: _watched(scene, start)},
        rounds=settings.rounds,
    )
    physics.shutdown()
    measured = ratio(rates["watched"], rates["alone"])
    alone = sorted(rates["alone"])[len(rates["alone"]) // 2]
    return [
        Row(
            number="14",
            what=f"batch steps/s of {count:,} environments, one watched, vs nobody attached",
            measured=measured,
            target="≥ 0.97",
            reached=None if settings.quick else measured.median >= 0.97,
            note=f"humanoid, history and checks on, {alone:.1f} batch steps/s alone",
        )
    ]


if __name__ == "__main__":
    run_alone(measure)
