"""The robot's own process: it steps, and measures how fast it does when it is asked to.

    python robot_process.py g1|shadow_hand

Three arms of the same model take turns: bare ``mj_step``, a scene that nobody looks at, and the
one that the window shows.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import mujoco
from subjects import robot, seconds_without_processor

import stroboscope.engine as physics

WISH, ANSWER = Path("wish"), Path("rates")
LOOK_EVERY = 50


def arm(step: Callable[[], object], seconds: float) -> list[float]:
    """Step for ``seconds``; return begin, end, steps, and three times in seconds.

    They are what this thread spent waiting for a core, the processor time that it used, and what
    the process's other threads did.
    """
    time.sleep(0.3)  # the window finishes drawing what came before
    kept_waiting = seconds_without_processor()
    own, process = time.thread_time(), time.process_time()
    steps = 0
    begin = time.monotonic()
    end = begin + seconds
    while (now := time.monotonic()) < end:
        for _ in range(LOOK_EVERY):
            step()
        steps += LOOK_EVERY
    own, process = time.thread_time() - own, time.process_time() - process
    return [begin, now, steps, seconds_without_processor() - kept_waiting, own, process - own]


def main() -> None:
    """Step the shown scene until nobody is attached any more."""
    model = robot(sys.argv[1])
    bare = mujoco.MjData(model)
    shown = physics.create_scene("shown", model)
    free = physics.create_scene("free", model, playback="free")
    shown_start, free_start = shown.capture_state(), free.capture_state()

    def bare_arm(seconds: float) -> list[float]:
        mujoco.mj_resetData(model, bare)
        return arm(lambda: mujoco.mj_step(model, bare), seconds)

    def free_arm(seconds: float) -> list[float]:
        free.restore_state(free_start)
        return arm(free.step, seconds)

    def shown_arm(seconds: float) -> list[float]:
        shown.restore_state(shown_start)
        return arm(shown.step, seconds)

    arms = {"bare": bare_arm, "free": free_arm, "shown": shown_arm}
    if not physics.debugger.attach(timeout_seconds=60.0, launch=False):
        raise SystemExit("the window did not attach")
    while physics.debugger.is_attached():
        shown.step()
        if not WISH.exists():
            continue
        rounds, seconds = json.loads(WISH.read_text(encoding="utf-8"))
        WISH.unlink()
        measured: dict[str, list[list[float]]] = {name: [] for name in arms}
        names = list(arms)
        for turn in range(rounds):
            shift = turn % len(names)
            for name in names[shift:] + names[:shift]:
                measured[name].append(arms[name](seconds))
        ANSWER.with_suffix(".new").write_text(json.dumps(measured), encoding="utf-8")
        ANSWER.with_suffix(".new").rename(ANSWER)
    physics.shutdown()


if __name__ == "__main__":
    main()
