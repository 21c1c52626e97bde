"""Long work in short turns: the window goes on, says how far it is, and lets people cancel."""

import threading
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtWidgets import QProgressBar, QProgressDialog, QWidget

from stroboscope.app.panels.style import METRICS

__all__ = ["UNKNOWN", "in_thread", "in_turns"]

T = TypeVar("T")
UNKNOWN = -1.0
"""Progress that nobody can tell."""
_SHOW_MS = 400  # what is over sooner needs no words
_TURN_MS = 4
_STEPS = 1000


def in_turns(work: Generator[float, None, T], *, text: str, parent: QWidget) -> T | None:
    """Take ``work`` forward between events until it returns; None when it was cancelled.

    What it yields is how much is done, 0…1 or ``UNKNOWN``. It is also cancelled when ``parent``,
    a window, is closed. Raises what the work raises.
    """
    dialog = QProgressDialog(text, "Cancel", 0, _STEPS, parent)
    dialog.setWindowTitle("Please wait")
    dialog.setWindowModality(Qt.WindowModality.NonModal)
    dialog.setMinimumDuration(_SHOW_MS)
    dialog.setAutoReset(False)
    dialog.setAutoClose(False)
    bar = QProgressBar()
    bar.setRange(0, _STEPS)  # the dialog takes those of its bar
    bar.setTextVisible(False)  # the bar is as thin as a line
    dialog.setBar(bar)
    dialog.setContentsMargins(METRICS.gap, METRICS.gap, METRICS.gap, METRICS.gap)
    dialog.setMinimumWidth(360)
    loop = QEventLoop()
    outcome: list[T] = []
    problems: list[BaseException] = []

    def turn() -> None:
        if dialog.wasCanceled() or not parent.isVisible():
            loop.quit()
            return
        try:
            done = next(work)
        except StopIteration as end:
            outcome.append(end.value)
            loop.quit()
        except Exception as error:  # noqa: BLE001 - told to whoever waits for the work
            problems.append(error)
            loop.quit()
        else:
            if done < 0.0:
                dialog.setMaximum(0)
            dialog.setValue(min(round(_STEPS * max(done, 0.0)), dialog.maximum()))

    timer = QTimer()
    timer.timeout.connect(turn)
    timer.start(_TURN_MS)
    try:
        loop.exec()
    finally:
        timer.stop()
        work.close()
        dialog.hide()  # at once: what comes next may open a window of its own
        dialog.deleteLater()
    if problems:
        raise problems[0]
    return outcome[0] if outcome else None


def in_thread(work: Callable[[], T]) -> Generator[float, None, T]:
    """Do ``work`` in a thread and yield until it is done; raises what it raises.

    Who closes the generator does not wait: the thread ends by itself and nobody takes its result.
    """
    result: dict[str, Any] = {}

    def run() -> None:
        try:
            result["value"] = work()
        except Exception as error:  # noqa: BLE001 - raised again below
            result["error"] = error

    thread = threading.Thread(target=run, name="picture writer", daemon=True)
    thread.start()
    while thread.is_alive():
        yield UNKNOWN
    if "error" in result:
        raise result["error"]
    value: T = result["value"]
    return value
