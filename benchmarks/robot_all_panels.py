"""The whole window at work: every panel open on a real robot, overlays on.

Fast forward against nobody looking; pictures per second in fast forward, at 1× and while the
camera moves in a paused scene; what that costs the GUI thread; what a paused window costs. Then
ten thousand geoms. On a GPU the pictures say little: the targets are those of software OpenGL.
"""

import dataclasses
import itertools
import os
import statistics
import time

import numpy as np
from harness import Measured, Row, Settings, ratio, run_alone
from PySide6.QtCore import QEventLoop, QTimer
from robot_session import Moment, RobotSession, robot_session
from view_update import crowd

from stroboscope.app.view3d.viewport import Viewport
from stroboscope.resources.themes import DARK

ROBOTS = {"g1": "Unitree G1", "shadow_hand": "Shadow hand"}
NUMBER = "§6"
MANY = 10_000


@dataclasses.dataclass(frozen=True, slots=True)
class Span:
    """What the window did in some seconds."""

    fps: float
    main_share: float
    process_share: float

    @classmethod
    def of(cls, drawn: list[Moment]) -> "Span | None":
        """Return what lies between the first and the last of these pictures; None if too few."""
        if len(drawn) < 2:
            return None
        first, last = drawn[0], drawn[-1]
        seconds = last.time - first.time
        return cls(
            (len(drawn) - 1) / seconds,
            (last.main_thread - first.main_thread) / seconds,
            (last.process - first.process) / seconds,
        )

    @property
    def main_ms(self) -> float:
        """The GUI thread's time per picture [ms], panels included."""
        return 1e3 * self.main_share / self.fps


def watch(session: RobotSession, seconds: float) -> Span:
    """Let the window live and return what it did."""
    begin = len(session.drawn)
    session.idle(seconds)
    found = Span.of(session.drawn[begin:])
    if found is None:
        raise RuntimeError("the window draws nothing")
    return found


def turn_camera(session: RobotSession, seconds: float) -> Span:
    """Move the camera as a hand does, in small steps, and return what the window did."""
    view = session.window.scene_view.viewport
    timer = QTimer()
    timer.setInterval(5)

    def turn() -> None:
        camera = view.camera
        view.set_camera(dataclasses.replace(camera, azimuth=camera.azimuth + 1.0))

    timer.timeout.connect(turn)
    timer.start()
    session.idle(0.5)
    span = watch(session, seconds)
    timer.stop()
    return span


def robot_rows(robot: str, settings: Settings) -> list[Row]:
    """Measure one robot."""
    title = ROBOTS[robot]
    seconds = 0.5 if settings.quick else 1.5
    spans: dict[str, list[Span]] = {"1×": [], "camera": []}
    idle: list[float] = []
    with robot_session(robot) as session:
        sessions = session.desktop.sessions
        sessions.fast_forward()
        session.idle(1.0)
        arms = session.measure_rates(rounds=settings.rounds, seconds=seconds)
        drawn = [
            Span.of([moment for moment in session.drawn if begin <= moment.time <= end])
            for begin, end, *_ in arms["shown"]
        ]
        for _ in range(min(settings.rounds, 4)):
            sessions.play()
            session.idle(1.0)
            spans["1×"].append(watch(session, 2.0 * seconds))
            sessions.pause()
            session.idle(0.5)
            spans["camera"].append(turn_camera(session, 2.0 * seconds))
            session.idle(2.0)  # the fine picture of what stands still is drawn
            start = time.process_time()
            session.idle(2.0 * seconds)
            idle.append(100.0 * (time.process_time() - start) / (2.0 * seconds))
    rates = {name: [steps / (e - b) for b, e, steps, *_ in arm] for name, arm in arms.items()}
    own = {
        name: [steps / (end - begin - waited) for begin, end, steps, waited, *_ in arm]
        for name, arm in arms.items()
    }
    bare_us = statistics.median(1e6 * arm[4] / arm[2] for arm in arms["bare"])
    shown_us = statistics.median(1e6 * arm[4] / arm[2] for arm in arms["shown"])
    load = f"load {os.getloadavg()[0]:.1f}"
    headless = ratio(rates["shown"], rates["free"])
    fast = [span for span in drawn if span is not None]

    def row(what: str, values: list[float], unit: str, *, least: float = 0.0) -> Row:
        measured = Measured.of(values)
        return Row(
            number=NUMBER,
            what=f"{title}: {what}",
            measured=measured,
            unit=unit,
            target=f"≥ {least:g}" if least else "",
            reached=measured.median >= least if least else None,
        )

    still = Measured.of(idle)
    return [
        Row(
            number=NUMBER,
            what=f"{title}: fast forward, every panel open, vs nobody looking",
            measured=headless,
            target="≥ 0.85",
            reached=headless.median >= 0.85,
            note=f"{bare_us:.1f} µs per bare step, {shown_us:.1f} shown, {load}",
        ),
        Row(
            number=NUMBER,
            what=f"{title}: the same without the time that others had our core",
            measured=ratio(own["shown"], own["free"]),
        ),
        Row(
            number=NUMBER,
            what=f"{title}: the same against a bare mj_step loop",
            measured=ratio(rates["shown"], rates["bare"]),
        ),
        row("pictures in fast forward", [s.fps for s in fast], "/s", least=5.0),
        row("GUI thread in fast forward", [100.0 * s.main_share for s in fast], "% of a core"),
        row("pictures at 1×", [s.fps for s in spans["1×"]], "/s", least=20.0),
        row("GUI thread per picture at 1×, with panels", [s.main_ms for s in spans["1×"]], "ms"),
        row("pictures, paused, camera moving", [s.fps for s in spans["camera"]], "/s", least=20.0),
        row("GUI thread per picture of those", [s.main_ms for s in spans["camera"]], "ms"),
        Row(
            number=NUMBER,
            what=f"{title}: window paused, every panel open, all threads",
            measured=still,
            unit="% of a core",
            target="~0",
            reached=still.median <= 2.0,
        ),
    ]


def crowd_rows(settings: Settings) -> list[Row]:
    """Move ten thousand geoms on ten thousand bodies, and click on them."""
    view = Viewport(DARK)
    view.resize(1000, 700)
    view.set_description(crowd(MANY), {})
    rng = np.random.default_rng(0)
    xpos = rng.uniform(0.1, 12.0, (MANY + 1, 3))
    xquat = rng.normal(size=(MANY + 1, 4))
    xquat /= np.linalg.norm(xquat, axis=1, keepdims=True)
    view.set_poses(xpos, xquat)
    view.show()
    view.draw_now()
    surface = view._surface
    if surface is None:
        raise RuntimeError("there is no OpenGL")
    drawn: list[float] = []
    surface.drawn.connect(lambda: drawn.append(time.perf_counter()))
    updates, picks = [], []
    timer, loop = QTimer(), QEventLoop()
    timer.setInterval(5)

    def move() -> None:
        xpos[1:] += 0.001
        start = time.thread_time()
        view.set_poses(xpos, xquat)
        updates.append(1e3 * (time.thread_time() - start) + view.stats.upload_ms)

    timer.timeout.connect(move)
    timer.start()
    QTimer.singleShot(2000 if settings.quick else 8000, loop.quit)
    loop.exec()
    timer.stop()
    pictures = [1.0 / (after - before) for before, after in itertools.pairwise(drawn[5:])]
    for _ in range(20):
        begin = time.perf_counter()
        view.pick_at(500.0, 350.0)
        picks.append(1e3 * (time.perf_counter() - begin))
    view.close()
    what = f"{MANY} geoms, all moving"
    whole = Measured.of(pictures)
    return [
        Row(
            number=NUMBER,
            what=f"{what}: pictures",
            measured=whole,
            unit="/s",
            target="≥ 5 (usable)",
            reached=whole.median >= 5.0,
        ),
        Row(number=NUMBER, what=f"{what}: update", measured=Measured.of(updates), unit="ms"),
        Row(number=NUMBER, what=f"{what}: a click", measured=Measured.of(picks), unit="ms"),
    ]


def measure(settings: Settings) -> list[Row]:
    """Measure both robots, then the crowd."""
    rows = [row for robot in ROBOTS for row in robot_rows(robot, settings)]
    return rows + crowd_rows(settings)


if __name__ == "__main__":
    run_alone(measure)
