"""Closed windows that only a collection frees, and a theme that comes meanwhile; says "freed".

    python garbage_process.py gui|other

Python code that Qt calls while it dresses widgets allocates, on the GUI thread or on another one
that it waits for. In a process of its own: when Python collects there, Qt reads freed memory.
"""

import gc
import sys
import threading

import shiboken6
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QDialog, QPushButton, QVBoxLayout, QWidget

from stroboscope.app.main.application import make_qapplication
from stroboscope.app.panels.style import apply_theme, palette_named

WINDOWS, BUTTONS = 30, 20
ENOUGH = 1000


kept: list[list[object]] = []


def allocate() -> None:
    """Make enough containers that live for Python to collect the young ones, if it may."""
    for _ in range(ENOUGH):
        kept.append([kept])


class Allocating(QWidget):
    """Does what any widget of ours may do when it is told of another style."""

    thread = ""

    def changeEvent(self, event: QEvent) -> None:
        """Allocate, here or there."""
        super().changeEvent(event)
        if self.thread == "gui":
            allocate()
        elif self.thread == "other":
            other = threading.Thread(target=allocate)
            other.start()
            other.join()


class Cycle:
    """Holds a window and itself."""

    def __init__(self, held: QWidget) -> None:
        self.held = held
        self.itself = self


def closed_window() -> QDialog:
    """Return a window that was shown, so that Qt has dressed it."""
    window = QDialog()
    column = QVBoxLayout(window)
    for number in range(BUTTONS):
        column.addWidget(QPushButton(str(number)))
    window.show()
    window.close()
    return window


def main(thread: str) -> None:
    """Run it."""
    app = make_qapplication(["garbage"])
    apply_theme(app, palette_named("dark"))
    alive, cycles, freed = [], [], []
    for _ in range(WINDOWS):
        window = closed_window()
        window.destroyed.connect(lambda _=None: freed.append(True))
        cycles.append(Cycle(window))
        alive.append(Allocating())
        alive[-1].show()
    app.processEvents()
    del window
    cycles.clear()
    Allocating.thread = thread
    for name in ("light", "dark"):
        apply_theme(app, palette_named(name))
    Allocating.thread = ""
    gc.collect()
    print("freed" if len(freed) == WINDOWS else f"{len(freed)} freed")
    for widget in alive:
        shiboken6.delete(widget)
    app.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
