"""Windows with every panel open and close, and themes change, while another thread allocates."""

import contextlib
import gc
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
from event_loop import trigger
from PySide6.QtCore import QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from stroboscope.app.main.application import DesktopApplication

DIALOGS = ("keys", "connect", "picture", "about")


@contextlib.contextmanager
def allocating() -> Iterator[None]:
    """Let another thread make cyclic garbage all the time, as connections do that come and go."""
    ended = threading.Event()

    def allocate() -> None:
        while not ended.wait(0.001):
            for _ in range(1000):
                garbage: list[object] = []
                garbage.append(garbage)

    thread = threading.Thread(target=allocate, name="allocating")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def close_dialog() -> None:
    """Close the dialog on top, or look again when it is there."""
    dialog = QApplication.activeModalWidget()
    if dialog is None:
        QTimer.singleShot(1, close_dialog)
    else:
        dialog.close()


def use_a_window(qapp: QApplication, settings: Path) -> "weakref.ref[DesktopApplication]":
    """Open everything, change themes, close everything."""
    desktop = DesktopApplication(qapp, settings_path=settings)
    window = desktop.window
    window.show()
    assert QTest.qWaitForWindowExposed(window, 10_000)
    for number, name in enumerate(window.docks):
        window.panels.show(name)
        if number % 9 == 0:
            window.set_theme(("light", "dark")[number // 9 % 2])
        qapp.processEvents()
    for name in DIALOGS:
        QTimer.singleShot(1, close_dialog)
        trigger(window.actions_by_name[name])
    window.close()
    desktop.close()
    window.deleteLater()
    return weakref.ref(desktop)


def windows_come_and_go(qapp, folder, wait_until, rounds):
    used = []
    with allocating():
        for _ in range(rounds):
            used.append(use_a_window(qapp, folder / "config" / "settings.json"))
            qapp.processEvents()
    # Objects that others hold on to until they are collected may need a second time.
    wait_until(lambda: gc.collect() >= 0 and not any(each() for each in used))


@pytest.mark.slow
def test_two_windows_come_and_go(qapp, own_folders, wait_until):
    windows_come_and_go(qapp, own_folders, wait_until, 2)


@pytest.mark.slow
@pytest.mark.timeout(1700)
def test_many_windows_come_and_go(qapp, own_folders, wait_until):
    windows_come_and_go(qapp, own_folders, wait_until, 50)
