"""Row 7: from a click on Pause until the scene stands; from a click on Step until it is drawn.

The click is posted at a random moment by another thread, as a window system does it, so it waits
for the picture that is being drawn; the clock starts when it is posted. "Stands" is when the
application's own thread parks, by the clock that both processes share; "drawn" is when the picture
of the new state is done.
"""

import random
import sys
import threading
import time
from collections.abc import Callable

from harness import Measured, Row, Settings, percentile, run_alone
from PySide6.QtCore import QCoreApplication, QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from window_session import WindowSession, window_session

from stroboscope.app.models.frames import SceneFrame
from stroboscope.debugger_protocol.messages import OwnerActivity, PlaybackMode
from stroboscope.debugger_protocol.topics import Topic

SOFTWARE = ("llvmpipe", "softpipe", "swrast")


def post_click(session: WindowSession, button: str) -> Callable[[], float | None]:
    """Click a button from another thread, soon; return what says when, None before [s]."""
    widget = session.desktop.window.transport.buttons[button]
    at = QPointF(widget.rect().center())
    on_screen = widget.mapToGlobal(at)
    posted: list[float] = []
    left, none = Qt.MouseButton.LeftButton, Qt.MouseButton.NoButton

    def post() -> None:
        time.sleep(random.uniform(0.0, 0.2))
        posted.append(time.monotonic())
        for kind, held in (
            (QEvent.Type.MouseButtonPress, left),
            (QEvent.Type.MouseButtonRelease, none),
        ):
            event = QMouseEvent(kind, at, on_screen, left, held, Qt.KeyboardModifier.NoModifier)
            QCoreApplication.postEvent(widget, event)

    threading.Thread(target=post).start()
    return lambda: posted[0] if posted else None


def stands(session: WindowSession) -> bool:
    """Return whether the window knows that the scene is paused and its owner parked."""
    status = session.scene.status
    return (
        status is not None
        and status.mode is PlaybackMode.PAUSED
        and status.activity is OwnerActivity.PARKED
        and session.scene.session.mode is PlaybackMode.PAUSED
    )


def pause_delay(session: WindowSession) -> float:
    """Play for a moment, click Pause, return how long until the application's thread parked [s]."""
    session.desktop.sessions.play()
    session.wait(lambda: not stands(session), "the scene to play")
    session.idle(0.3)
    posted = post_click(session, "play")
    session.wait(lambda: posted() and stands(session), "the scene to stand")
    return session.stopped_at() - (posted() or 0.0)


def step_delay(session: WindowSession) -> float:
    """Click Step while paused, return how long until the new state is in the picture [s]."""
    scene, viewport = session.scene, session.desktop.window.scene_view.viewport
    assert scene.status is not None
    before = scene.status.total_steps
    drawn_before: list[int] = []

    def on_frame(frame: SceneFrame) -> None:
        # The pose of the new state is here; the next picture that is drawn shows it.
        if frame.topic is Topic.POSE and not drawn_before:
            drawn_before.append(viewport.stats.frames)

    scene.frame_arrived.connect(on_frame)
    posted = post_click(session, "step")
    session.wait(
        lambda: drawn_before and viewport.stats.frames > drawn_before[0], "the picture of the step"
    )
    delay = time.monotonic() - (posted() or 0.0)
    scene.frame_arrived.disconnect(on_frame)
    session.wait(lambda: scene.status.total_steps > before, "the step itself")
    session.idle(0.7)  # the finer picture that follows is not part of the next trial
    return delay


def p95_row(what: str, delays: list[float], limit_ms: float, note: str) -> Row:
    """Return the row of these delays [s]; the target is on the 95th percentile."""
    worst = 1e3 * percentile(sorted(delays), 0.95)
    return Row(
        number="7",
        what=what,
        measured=Measured.of([1e3 * delay for delay in delays]),
        unit="ms",
        target=f"p95 ≤ {limit_ms:.0f} ms",
        reached=worst <= limit_ms,
        note=f"p95 {worst:.1f} ms, {note}",
    )


def measure(settings: Settings) -> list[Row]:
    """Click each button 30 times."""
    trials = 5 if settings.quick else 30
    with window_session() as session:
        renderer = session.desktop.window.scene_view.viewport.stats.gl_renderer
        software = any(name in renderer.lower() for name in SOFTWARE)
        pauses = [pause_delay(session) for _ in range(trials)]
        steps = [step_delay(session) for _ in range(trials)]
    print(f"drawn by {renderer}", file=sys.stderr)
    kind = "software GL" if software else renderer
    return [
        p95_row("pause click → the scene stands", pauses, 30.0, kind),
        p95_row("step click → the new state is drawn", steps, 120.0 if software else 50.0, kind),
    ]


if __name__ == "__main__":
    run_alone(measure)
