"""Long work in short turns: progress, results, problems, and giving up."""

import threading

import pytest
from PySide6.QtWidgets import QApplication, QProgressBar, QProgressDialog, QWidget

from stroboscope.app.main.in_turns import in_thread, in_turns


@pytest.fixture
def window(qapp, show):
    return show(QWidget(), 400, 300)


def _dialogs():
    return [w for w in QApplication.topLevelWidgets() if isinstance(w, QProgressDialog)]


def test_the_bar_shows_how_much_is_done_and_the_result_comes_back(window):
    seen = []

    def work():
        for part in (0.1, 0.5, 0.9):
            yield part
            (bar,) = _dialogs()[-1].findChildren(QProgressBar)
            seen.append(bar.value() / bar.maximum())
        return "done"

    assert in_turns(work(), text="Working", parent=window) == "done"
    assert seen == pytest.approx([0.1, 0.5, 0.9])
    assert not [dialog for dialog in _dialogs() if dialog.isVisible()]


def test_cancelling_closes_the_work(window):
    closed = []

    def work():
        try:
            yield 0.5
            _dialogs()[-1].cancel()
            while True:
                yield 0.6
        finally:
            closed.append(True)

    assert in_turns(work(), text="Working", parent=window) is None
    assert closed == [True]


def test_closing_the_window_gives_the_work_up(window):
    def work():
        yield 0.0
        window.hide()
        while True:
            yield 0.0

    assert in_turns(work(), text="Working", parent=window) is None


def test_what_the_work_raises_is_raised(window):
    def work():
        yield 0.0
        raise ValueError("too large")

    with pytest.raises(ValueError, match="too large"):
        in_turns(work(), text="Working", parent=window)
    with pytest.raises(OSError, match="full"):
        in_turns(in_thread(_full), text="Working", parent=window)


def test_a_thread_works_while_events_are_handled(window):
    name = in_turns(
        in_thread(lambda: threading.current_thread().name), text="Working", parent=window
    )
    assert name == "picture writer"


def _full():
    raise OSError("the disk is full")
