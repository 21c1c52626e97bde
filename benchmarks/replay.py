"""A recorded run of a million frames in the window: opened, gone to, scrubbed.

A file is dropped onto a window that runs, as a user does it, and the time is taken until the
picture of its first frame is drawn, by the clock of this process, which is the window. Building and
loading its model is measured beside it and taken away, and both are told. Then the mouse is
dragged along the timeline. A frame counts when the picture of it is drawn.
"""

import contextlib
import mmap
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import mujoco
import numpy as np
from harness import Measured, Row, Settings, percentile, run_alone
from long_recording import LongRun, write_long_run
from PySide6.QtCore import QEvent, QEventLoop, QMimeData, QPointF, Qt, QTimer, QUrl
from PySide6.QtGui import QDropEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QWidget
from subjects import humanoid_path, robot
from trajectory_file import arm_model
from window_session import DEADLINE, WindowSession

from stroboscope.app.main.application import DesktopApplication, make_qapplication
from stroboscope.app.models.frames import SceneFrame
from stroboscope.app.models.scene import SceneModel
from stroboscope.debugger_protocol.topics import Instant, Topic
from stroboscope.debugger_protocol.window_link import WindowLock
from stroboscope.engine.files.frames import RecordMode
from stroboscope.engine.outside.answers import Question
from stroboscope.engine.outside.building import build, import_all
from stroboscope.engine.trajectory.building import recorded_model
from stroboscope.engine.trajectory.trajectory import load_trajectory

_SCRUBBED_S = 4.0
# A mouse tells where it is this often [ms].
_MOUSE_MS = 8
# Beside pictures and frames, which say themselves that they have come [ms].
_LOOK_MS = 5
_NONE = Qt.KeyboardModifier.NoModifier
_MIB = 1024.0


def measure(settings: Settings) -> list[Row]:
    """Measure a long arm, a shorter robot with meshes, and a humanoid that is simulated again."""
    million = settings.scaled(1_000_000)
    shorter = settings.scaled(100_000)
    minimal = settings.scaled(20_000)
    name, model = _robot()
    humanoid = mujoco.MjModel.from_xml_path(str(humanoid_path()))
    runs = (
        LongRun(name="arm", model=arm_model(), frames=million, simulated=million // 20),
        LongRun(name=name, model=model, frames=shorter, simulated=shorter // 10),
        LongRun(name="humanoid", model=humanoid, frames=minimal, mode=RecordMode.MINIMAL),
    )
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        few = Path(folder) / "few.mcap"
        write_long_run(few, LongRun(name="arm", model=arm_model(), frames=1_000))
        for run in runs:
            path = Path(folder) / "run.mcap"
            write_long_run(path, run)
            what = f"{run.frames:,} {run.mode} frames, {run.name}"
            is_told = run.mode is RecordMode.EXACT
            with _window() as session:
                rows += _opened(session, path, what, settings, is_told=is_told)
                rows += _looked_at(session, what, settings, is_told=is_told)
                if run is runs[0]:
                    rows.append(_memory(session, path, few, what))
                renderer = session.desktop.window.scene_view.viewport.stats.gl_renderer
    print(f"drawn by {renderer}; load {os.getloadavg()[0]:.1f}", file=sys.stderr)
    return rows


def _robot() -> tuple[str, mujoco.MjModel]:
    """Return a G1; where it can't be fetched, the humanoid once more."""
    try:
        return "G1 with 71 MB of meshes", robot("g1")
    except (ValueError, OSError) as error:
        print(f"no G1: {error}", file=sys.stderr)
        return "humanoid", mujoco.MjModel.from_xml_path(str(humanoid_path()))


@contextlib.contextmanager
def _window() -> Iterator[WindowSession]:
    """Open the window, as ``stroboscope`` alone does, and wait until it has nothing to do."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["STROBOSCOPE_RUNTIME_DIR"] = tempfile.mkdtemp(dir=folder)
        os.environ["XDG_CONFIG_HOME"] = folder
        app = make_qapplication(sys.argv[:1])
        desktop = DesktopApplication(app, lock=WindowLock.acquire())
        desktop.window.resize(1280, 800)
        desktop.window.show()
        session = WindowSession(app, desktop, mmap.mmap(-1, 8))
        try:
            yield session
        finally:
            children = [each.process for each in desktop.window.processes._children]
            desktop.window.close()
            desktop.close()
            for child in children:
                child.wait(DEADLINE)


# --- opening


def _opened(
    session: WindowSession, path: Path, what: str, settings: Settings, *, is_told: bool
) -> list[Row]:
    """Drop the file several times; it stays open in the end."""
    first: list[float] = []
    delays: list[float] = []
    costs: list[float] = []
    turns = min(settings.rounds, 5)
    for turn in range(turns + 1):
        pid = _wait_for_waiting(session)
        used = time.process_time() + _processor_time(pid)
        delay = 1e3 * _drop(session, path)
        costs.append(1e3 * (time.process_time() + _processor_time(pid) - used))
        (delays if turn else first).append(delay)
        session.idle(0.5)
        if turn < turns:
            session.desktop.sessions.remove(session.scene.session)
    model = Measured.of([1e3 * each for each in _model_times(path, settings.rounds)])
    whole = Measured.of(delays)
    rest = Measured.of([each - model.median for each in delays])
    loaded = []
    for _ in range(settings.rounds):
        begin = time.monotonic()
        with load_trajectory(path):
            loaded.append(1e3 * (time.monotonic() - begin))
    return [
        Row(
            number="§4",
            what=f"drop a file → picture, without its model, {what}",
            measured=rest,
            unit="ms",
            target="≤ 300 ms" if is_told else "",
            reached=rest.median <= 300.0 if is_told else None,
            note=f"with it {whole.median:.0f} ms; the model {model.median:.0f} ms, "
            f"the file's index {float(np.median(loaded)):.1f} ms; the first in a new window "
            f"{first[0]:.0f} ms; processor time of all processes {float(np.median(costs)):.0f} ms; "
            f"load {os.getloadavg()[0]:.1f}",
        )
    ]


def _drop(session: WindowSession, path: Path) -> float:
    """Drop a file onto the window; return how long it took to draw its first frame [s]."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    window = session.desktop.window
    event = QDropEvent(
        QPointF(50, 300), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, _NONE
    )
    known = set(session.desktop.sessions.sessions)
    begin = time.monotonic()
    window.drops.eventFilter(window, event)
    sessions = session.desktop.sessions

    def is_shown() -> bool:
        return sessions.shown is not None and sessions.shown.session not in known

    _wait(is_shown, "the scene", sessions.shown_changed.connect, sessions.shown_changed.disconnect)
    with _Pictures(session) as pictures:
        pictures.wait_for(0)
        return pictures.drawn_at - begin


def _wait_for_waiting(session: WindowSession) -> int:
    """Wait until a process waits for a file, as it does when nothing has happened for a while.

    Returns its id.
    """
    processes = session.desktop.window.processes
    processes.prepare()
    waiting = processes._waiting
    assert waiting is not None
    pids = (waiting.process.pid,)

    def is_idle() -> bool:
        try:
            return all(_is_asleep_in_read(pid) for pid in (*pids, *_children_of(pids[0])))
        except FileNotFoundError:  # a child that asks the system for something, while it starts
            return False

    end = time.monotonic() + DEADLINE
    while not is_idle():
        if time.monotonic() > end:
            raise RuntimeError("no process waits for a file")
        session.idle(0.1)
    session.idle(0.5)
    return pids[0]


def _processor_time(pid: int) -> float:
    """Return what a process and those that it has waited for have used [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _is_asleep_in_read(pid: int) -> bool:
    """Whether a process has used no processor time for a moment and has imported MuJoCo."""
    maps = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    stat = Path(f"/proc/{pid}/stat")
    before = stat.read_text(encoding="ascii").rpartition(")")[2].split()
    time.sleep(0.05)
    after = stat.read_text(encoding="ascii").rpartition(")")[2].split()
    return "libmujoco" in maps and after[0] == "S" and before[11:13] == after[11:13]


def _children_of(pid: int) -> tuple[int, ...]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return tuple(int(each) for each in text.split())


def _model_times(path: Path, rounds: int) -> list[float]:
    """Return how long it takes to build the model of a file, try it, and load what comes out [s].

    What the guarded process and the one that shows the file do with MuJoCo, without a copy.
    """
    import_all()
    with load_trajectory(path) as trajectory:
        name, content = recorded_model(trajectory._reader, trajectory.record)
    question = Question(path=name, root=".", scratch=".", with_content=True)
    times = []
    for _ in range(rounds):
        begin = time.monotonic()
        build(question, content)
        mujoco.MjModel.from_binary_path("model.mjb", {"model.mjb": content})
        times.append(time.monotonic() - begin)
    return times


# --- looking


def _looked_at(
    session: WindowSession, what: str, settings: Settings, *, is_told: bool
) -> list[Row]:
    session.idle(1.0)
    rng = np.random.default_rng(0)
    trials = 5 if settings.quick else 12
    first, last = session.scene.history.first, session.scene.history.live - 1
    with _Pictures(session) as pictures:
        delays = [1e3 * pictures.go_to(int(axis)) for axis in rng.integers(first, last, trials)]
        scrubs = [pictures.drag() for _ in range(1 if settings.quick else 3)]
        leaps = [pictures.leap(rng)]
    p95 = percentile(sorted(delays), 0.95)
    dragged, leapt = (Measured.of([rate for rate, _ in each]) for each in (scrubs, leaps))
    return [
        Row(
            number="§4",
            what=f"go to a frame → picture, {what}",
            measured=Measured.of(delays),
            unit="ms",
            note=f"p95 {p95:.0f} ms",
        ),
        Row(
            number="§4",
            what=f"drag along the timeline, {what}",
            measured=dragged,
            unit="frames/s",
            target="≥ 20" if is_told else "",
            reached=dragged.median >= 20.0 if is_told else None,
        ),
        Row(
            number="§4",
            what=f"… the window's processor time per frame, {what}",
            measured=Measured.of([cost for _, cost in scrubs]),
            unit="ms",
        ),
        Row(
            number="§4",
            what=f"leap between frames far apart, {what}",
            measured=leapt,
            unit="frames/s",
        ),
    ]


class _Pictures:
    """Notes which frame of the run is in the picture; a context manager."""

    def __init__(self, session: WindowSession) -> None:
        self._session = session
        self._scene: SceneModel = session.scene
        self._viewport = session.desktop.window.scene_view.viewport
        self._loop: QEventLoop | None = None
        self._arrived = -1
        self._from = 0
        self._drawn = -1
        self.drawn_at = 0.0
        self.seen: set[int] = set()
        self._scene.frame_arrived.connect(self._on_frame)
        pose = self._scene.latest(Topic.POSE, Instant.PAST)
        if pose is not None:  # it came before anybody asked
            self._on_frame(pose)

    def __enter__(self) -> "_Pictures":
        return self

    def __exit__(self, *_: object) -> None:
        self._scene.frame_arrived.disconnect(self._on_frame)

    def _on_frame(self, frame: SceneFrame) -> None:
        if frame.topic is Topic.POSE and frame.instant is Instant.PAST:
            self.look()  # the picture of the one before may just have been drawn
            self._arrived, self._from = frame.axis, self._viewport.stats.frames

    def look(self) -> int:
        """Return the frame that is drawn: its poses have arrived before the last picture."""
        if self._viewport.stats.frames > self._from and self._drawn != self._arrived >= 0:
            self._drawn, self.drawn_at = self._arrived, time.monotonic()
            self.seen.add(self._drawn)
        return self._drawn

    def wait_for(self, axis: int) -> None:
        """Wait until a frame is drawn."""
        connect = self._scene.frame_arrived.connect
        disconnect = self._scene.frame_arrived.disconnect
        _wait(lambda: self.look() == axis, f"frame {axis}", connect, disconnect)

    def go_to(self, axis: int) -> float:
        """Go to a frame; return how long that took [s]."""
        begin = time.monotonic()
        self._session.desktop.window.commands.time.choose(axis)
        self.wait_for(axis)
        delay = self.drawn_at - begin
        self._session.idle(0.7)  # the finer picture that follows is not part of the next trial
        return delay

    def drag(self) -> tuple[float, float]:
        """Drag along the timeline, from one end to the other; see :meth:`_moved`."""
        strip = self._session.desktop.window.timeline.strip
        begin, end = 8.0, strip.width() - 8.0
        y = strip.height() / 2
        _mouse(strip, QEvent.Type.MouseButtonPress, begin, y)
        moved = self._moved(
            lambda part: _mouse(strip, QEvent.Type.MouseMove, begin + part * (end - begin), y)
        )
        _mouse(strip, QEvent.Type.MouseButtonRelease, end, y)
        self._session.idle(0.7)
        return moved

    def leap(self, rng: np.random.Generator) -> tuple[float, float]:
        """Go to frames anywhere, without waiting for any; see :meth:`_moved`."""
        scrub, history = self._session.desktop.window.commands.time.scrub, self._scene.history
        first, last = history.first, history.live - 1
        moved = self._moved(lambda _: scrub(int(rng.integers(first, last))))
        self._session.idle(0.7)
        return moved

    def _moved(self, move: Callable[[float], None]) -> tuple[float, float]:
        """Move for some seconds; return frames drawn per second, and processor time of each [ms].

        That of the whole window, the threads that draw included. ``move`` gets how much of the
        time is over, from 0 to 1.
        """
        loop = QEventLoop()
        mouse, look = QTimer(), QTimer()
        mouse.setTimerType(Qt.TimerType.PreciseTimer)
        mouse.setInterval(_MOUSE_MS)
        look.setInterval(_LOOK_MS)
        begin, used = time.monotonic(), time.process_time()
        mouse.timeout.connect(lambda: move(min((time.monotonic() - begin) / _SCRUBBED_S, 1.0)))
        look.timeout.connect(self.look)
        QTimer.singleShot(round(1e3 * _SCRUBBED_S), loop.quit)
        self.seen.clear()
        mouse.start()
        look.start()
        loop.exec()
        mouse.stop()
        look.stop()
        seen, passed = len(self.seen), time.monotonic() - begin
        return seen / passed, 1e3 * (time.process_time() - used) / max(seen, 1)


def _mouse(widget: QWidget, kind: QEvent.Type, x: float, y: float) -> None:
    """Do with the left button what a window system would tell."""
    place = QPointF(x, y)
    left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton
    button = none if kind is QEvent.Type.MouseMove else left
    held = none if kind is QEvent.Type.MouseButtonRelease else left
    event = QMouseEvent(kind, place, widget.mapToGlobal(place), button, held, _NONE)
    QApplication.sendEvent(widget, event)


def _wait(
    condition: Callable[[], bool],
    what: str,
    connect: Callable[..., object],
    disconnect: Callable[..., object],
) -> None:
    """Run the event loop until ``condition()``, which is looked at with a signal and in between.

    It sleeps meanwhile: a loop that never does takes one of two cores from those who work.
    """
    if condition():
        return
    loop, timer = QEventLoop(), QTimer()
    timer.setTimerType(Qt.TimerType.PreciseTimer)
    timer.setInterval(_LOOK_MS // 2)

    def look(*_: object) -> None:
        if condition():
            loop.quit()

    end = QTimer()
    end.setSingleShot(True)
    end.timeout.connect(loop.quit)
    end.start(round(1e3 * DEADLINE))
    timer.timeout.connect(look)
    timer.start()
    connect(look)
    loop.exec()
    disconnect(look)
    timer.stop()
    end.stop()
    if not condition():
        raise RuntimeError(f"waited {DEADLINE:.0f} s in vain for {what}")


# --- memory


def _memory(session: WindowSession, path: Path, few: Path, what: str) -> Row:
    """Compare what the process that shows a file has in memory with one of a thousand frames."""
    numbers = {}
    for file in (few, path):
        session.desktop.sessions.remove(session.scene.session)
        session.idle(1.0)
        _wait_for_waiting(session)
        _drop(session, file)
        with _Pictures(session) as pictures:
            rng = np.random.default_rng(1)
            last = session.scene.history.live - 1
            for axis in rng.integers(0, last, 20):
                pictures.go_to(int(axis))
        info = session.scene.session.info
        assert info is not None
        numbers[file] = _own_memory(info.pid) / _MIB
    more = numbers[path] - numbers[few]
    return Row(
        number="§4",
        what=f"memory of its process above that of 1,000 frames, {what}",
        measured=Measured.of([more]),
        unit="MiB",
        note=f"{numbers[path]:.0f} against {numbers[few]:.0f} MiB, after 20 leaps",
    )


def _own_memory(pid: int) -> float:
    """Return what a process has in memory of its own [KiB]."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    fields = {line.split(":")[0]: line.split()[1] for line in text.splitlines()[1:]}
    return float(fields["Pss_Anon"])


if __name__ == "__main__":
    run_alone(measure)
