"""Garbage that holds Qt objects is freed on the GUI thread, and never while Qt is at work."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Qt, QTimer
from samples import few

THEMES = Path(__file__).with_name("garbage_process.py")
ENOUGH = 5000
"""So many containers make Python collect the youngest several times over, if it may."""


class Cycle:
    """Holds something and itself, so that only a collection frees it."""

    def __init__(self, held: object) -> None:
        self.held = held
        self.itself = self


def allocate(kept: list[list[object]]) -> None:
    """Make many containers that live, as decoding a large message does."""
    for _ in range(ENOUGH):
        kept.append([kept])


def test_what_another_thread_allocates_frees_no_qt_object_there(qapp, wait_until):
    freed_on: list[int] = []
    dropped = QObject()
    dropped.destroyed.connect(
        lambda _=None: freed_on.append(threading.get_ident()), Qt.ConnectionType.DirectConnection
    )
    Cycle(dropped)
    del dropped
    kept: list[list[object]] = []
    thread = threading.Thread(target=allocate, args=(kept,))
    thread.start()
    thread.join()
    assert freed_on == []
    wait_until(lambda: freed_on)
    assert freed_on == [threading.get_ident()]


def test_garbage_is_freed_between_events_and_not_in_a_slot(qapp, wait_until):
    dropped = QTimer()
    Cycle(dropped)
    gone: list[bool] = []
    dropped.destroyed.connect(lambda _=None: gone.append(True), Qt.ConnectionType.DirectConnection)
    del dropped
    during: list[bool] = []
    kept: list[list[object]] = []

    def slot() -> None:
        allocate(kept)
        during.append(bool(gone))

    QTimer.singleShot(0, qapp, slot)
    wait_until(lambda: during)
    assert during == [False]
    wait_until(lambda: gone)


@pytest.mark.parametrize("thread", few(["other", "gui"], 1))
def test_the_theme_may_change_while_closed_windows_wait_to_be_freed(display, thread):
    done = subprocess.run(
        [sys.executable, "-P", "-X", "faulthandler", str(THEMES), thread],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["freed"]
