"""Issue 5, §4: a recorded run of a million frames in the window: opened, gone to, scrubbed.

The run lies in the system's cache, and its process is there: what is measured is what a million
frames make of it. A frame counts when the picture of it is drawn.
"""

import sys
import tempfile
import time
from pathlib import Path

import mujoco
import numpy as np
from harness import Measured, Row, Settings, percentile, run_alone
from long_recording import LongRun, write_long_run
from PySide6.QtCore import QEventLoop
from subjects import humanoid_path
from trajectory_file import arm_model
from window_session import WindowSession, window_of

from stroboscope.app.models.frames import SceneFrame
from stroboscope.debugger_protocol.topics import Instant, Topic
from stroboscope.engine.files.frames import RecordMode
from stroboscope.engine.trajectory.trajectory import load_trajectory

SHOW = """
import sys
from stroboscope.engine.trajectory.showing import show_trajectory
show_trajectory(sys.argv[1], launch=False, timeout_seconds=60.0)
"""
_SCRUBBED_S = 5.0


def measure(settings: Settings) -> list[Row]:
    """Measure a long arm, a long humanoid, and a humanoid that is simulated again."""
    humanoid = mujoco.MjModel.from_xml_path(str(humanoid_path()))
    million = settings.scaled(1_000_000)
    minimal = settings.scaled(20_000)
    runs = (
        LongRun(name="arm", model=arm_model(), frames=million, simulated=million // 20),
        LongRun(name="humanoid", model=humanoid, frames=million, simulated=million // 50),
        LongRun(name="humanoid", model=humanoid, frames=minimal, mode=RecordMode.MINIMAL),
    )
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.mcap"
        for run in runs:
            write_long_run(path, run)
            what = f"{run.frames:,} {run.mode} frames, {run.name}"
            rows += _of_file(path, what, settings, is_told=run.mode is RecordMode.EXACT)
    return rows


def _of_file(path: Path, what: str, settings: Settings, *, is_told: bool) -> list[Row]:
    loaded = []
    for _ in range(settings.rounds):
        begin = time.monotonic()
        with load_trajectory(path):
            loaded.append(time.monotonic() - begin)
    with window_of(SHOW, str(path)) as session:
        pictures = _Pictures(session)
        pictures.wait_for(0)
        # What opens in another process, and what the window makes of it.
        opened = 1e3 * (float(np.median(loaded)) + pictures.drawn_at - session.opened_at)
        session.idle(2.0)
        rng = np.random.default_rng(0)
        trials = 10 if settings.quick else 60
        last = session.scene.history.live - 1
        delays = [1e3 * pictures.go_to(int(axis)) for axis in rng.integers(0, last, trials)]
        scrubs = [pictures.scrub(0, last) for _ in range(max(settings.rounds // 3, 1))]
        renderer = session.desktop.window.scene_view.viewport.stats.gl_renderer
    print(f"drawn by {renderer}", file=sys.stderr)
    p95 = percentile(sorted(delays), 0.95)
    scrubbed = Measured.of([rate for rate, _ in scrubs])
    return [
        Row(
            number="§4",
            what=f"open → picture, {what}",
            measured=Measured.of([opened]),
            unit="ms",
            target="≤ 300 ms" if is_told else "",
            reached=opened <= 300.0 if is_told else None,
            note=f"the file itself {1e3 * float(np.median(loaded)):.0f} ms",
        ),
        Row(
            number="§4",
            what=f"go to a frame → picture, {what}",
            measured=Measured.of(delays),
            unit="ms",
            note=f"p95 {p95:.0f} ms",
        ),
        Row(
            number="§4",
            what=f"scrub through all of it, {what}",
            measured=scrubbed,
            unit="frames/s",
            target="≥ 20" if is_told else "",
            reached=scrubbed.median >= 20.0 if is_told else None,
            note="software GL" if "llvmpipe" in renderer.lower() else renderer,
        ),
        Row(
            number="§4",
            what=f"… the window's processor time per frame, {what}",
            measured=Measured.of([cost for _, cost in scrubs]),
            unit="ms",
            note="at most 50 ms make 20 frames/s",
        ),
    ]


class _Pictures:
    """Notes which frame of the run is in the picture."""

    def __init__(self, session: WindowSession) -> None:
        self._session = session
        self._viewport = session.desktop.window.scene_view.viewport
        self._arrived = -1
        self._from = 0
        self._drawn = -1
        self.drawn_at = 0.0
        self.seen: set[int] = set()
        session.scene.frame_arrived.connect(self._on_frame)
        pose = session.scene.latest(Topic.POSE, Instant.PAST)
        if pose is not None:  # it came before anybody asked
            self._on_frame(pose)

    def _on_frame(self, frame: SceneFrame) -> None:
        if frame.topic is Topic.POSE:
            self.seen.add(self._look())  # the picture of the one before may just have been drawn
            self._arrived, self._from = frame.axis, self._viewport.stats.frames

    def _look(self) -> int:
        """Return the frame that is drawn: its poses have arrived before the last picture."""
        if self._viewport.stats.frames > self._from and self._drawn != self._arrived >= 0:
            self._drawn, self.drawn_at = self._arrived, time.monotonic()
        return self._drawn

    def wait_for(self, axis: int) -> None:
        """Wait until a frame is drawn."""
        self._session.wait(lambda: self._look() == axis, f"frame {axis}")

    def go_to(self, axis: int) -> float:
        """Go to a frame; return how long that took [s]."""
        begin = time.monotonic()
        self._session.desktop.window.commands.time.choose(axis)
        self.wait_for(axis)
        delay = self.drawn_at - begin
        self._session.idle(0.7)  # the finer picture that follows is not part of the next trial
        return delay

    def scrub(self, first: int, last: int) -> tuple[float, float]:
        """Drag through the run; return frames drawn per second, and processor time of each [ms].

        That of the whole window, the threads that draw included.
        """
        begin, used = time.monotonic(), time.process_time()
        self.seen.clear()
        while (passed := time.monotonic() - begin) < _SCRUBBED_S:
            axis = first + int((last - first) * passed / _SCRUBBED_S)
            self._session.desktop.window.commands.time.scrub(axis)
            self._session.app.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents, 5)
            self.seen.add(self._look())
        seen = len(self.seen)
        cost = 1e3 * (time.process_time() - used) / max(seen, 1)
        self._session.idle(0.7)
        return seen / _SCRUBBED_S, cost


if __name__ == "__main__":
    run_alone(measure)
