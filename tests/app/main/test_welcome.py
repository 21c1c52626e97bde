"""What the window shows before anything is attached."""

import pytest
from PySide6.QtWidgets import QLabel, QToolButton


def test_descriptions_of_demos_stand_in_full_beside_buttons_of_one_width(desktop):
    buttons = desktop.window.welcome.demo_buttons
    assert len({button.width() for button in buttons.values()}) == 1
    assert len({button.x() for button in buttons.values()}) == 1
    texts = [label.text() for label in desktop.window.welcome.findChildren(QLabel)]
    from stroboscope.resources.examples import DEMOS

    for demo in DEMOS:
        assert demo.description in texts


@pytest.mark.parametrize("size", [(1280, 720), (800, 600)])
def test_nothing_of_the_welcome_page_is_cut_off(desktop, qapp, wait_until, size):
    window = desktop.window
    window.resize(*size)
    wait_until(lambda: (window.width(), window.height()) == size)
    for label in window.welcome.findChildren(QLabel):
        if label.isVisible() and label.text():
            needed = label.heightForWidth(label.width())
            assert label.height() >= needed, label.text()
            assert label.width() >= min(label.minimumSizeHint().width(), 400), label.text()


def test_code_is_copied_as_it_stands(desktop, qapp):
    copy = next(b for b in desktop.window.welcome.findChildren(QToolButton) if b.isVisible())
    copy.click()
    assert qapp.clipboard().text() == "stroboscope run train.py"
