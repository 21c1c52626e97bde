"""What the debugger's host costs per physics step: gate() and after_physics(), and their parts.

No engine: an oscillator in plain Python stands behind the link, and its own time is subtracted.
Attached in fast forward the pair should stay below 1.5 µs; detached it is one attribute test.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from stroboscope.debugger_protocol.host.host import Host
from stroboscope.debugger_protocol.host.scene_playback import Interest
from stroboscope.debugger_protocol.messages import PlaybackMode
from stroboscope.debugger_protocol.topics import Topic

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "debugger_protocol" / "host"))

from oscillator import Scene

TARGET_US = 1.5


def cost_us(run: Callable[[int], None], *, count: int, rounds: int) -> tuple[float, float]:
    """Return the median and the smallest time [µs] per turn of ``run(count)``."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run(count)
        times.append((time.perf_counter() - start) / count * 1e6)
    return statistics.median(times), min(times)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    host = Host()
    link = Scene(host, "oscillator").link
    gate, after = link.gate, link.after_physics
    begin, end = link.begin_step, link.end_step

    def detached(count: int) -> None:
        for _ in range(count):
            if link.active:
                raise SystemExit("attached")

    def physics_steps(count: int) -> None:
        for _ in range(count):
            gate()
            after()

    def whole_steps(count: int) -> None:
        for _ in range(count):
            begin()
            gate()
            after()
            end()

    def show(what: str, run: Callable[[int], None]) -> float:
        median, least = cost_us(run, count=arguments.count, rounds=arguments.rounds)
        print(f"{what:52} {median:7.3f} µs  (least {least:.3f})")
        return median

    show("detached: one attribute test", detached)
    host.attach(PlaybackMode.FAST_FORWARD)
    median = show("fast forward: gate + after_physics", physics_steps)
    show("fast forward: a whole step of one physics step", whole_steps)
    host.set_interest(link, Interest(intervals={Topic.POSE: 1 / 60, Topic.STATE: 1 / 20}))
    show("with poses and state subscribed", whole_steps)
    host.set_interest(link, Interest(channels=("qpos",)))
    show("with every physics step of one channel", whole_steps)
    host.close()
    print(f"target: {TARGET_US} µs, {'reached' if median <= TARGET_US else 'MISSED'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
