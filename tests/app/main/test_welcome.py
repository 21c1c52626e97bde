"""What the window shows before anything is attached."""

from PySide6.QtWidgets import QLabel, QToolButton

from stroboscope.app.main.application import DesktopApplication
from stroboscope.resources.examples import DEMOS


def test_descriptions_of_demos_and_code_to_copy_stand_in_full_in_a_window_of_any_size(
    desktop, qapp, wait_until
):
    buttons = desktop.window.welcome.demo_buttons
    assert len({button.width() for button in buttons.values()}) == 1
    assert len({button.x() for button in buttons.values()}) == 1
    texts = [label.text() for label in desktop.window.welcome.findChildren(QLabel)]
    for demo in DEMOS:
        assert demo.description in texts
    window = desktop.window
    for size in ((1280, 720), (800, 600)):
        window.resize(*size)
        wait_until(lambda size=size: (window.width(), window.height()) == size)
        for label in window.welcome.findChildren(QLabel):
            if label.isVisible() and label.text():
                needed = label.heightForWidth(label.width())
                assert label.height() >= needed, label.text()
                assert label.width() >= min(label.minimumSizeHint().width(), 400), label.text()
    copy = next(b for b in desktop.window.welcome.findChildren(QToolButton) if b.isVisible())
    copy.click()
    assert qapp.clipboard().text() == "stroboscope run train.py"


def test_the_first_window_lies_within_its_screen_and_uses_a_large_one(qapp, own_folders):
    desktop = DesktopApplication(qapp, settings_path=own_folders / "config" / "settings.json")
    window = desktop.window
    room = window.screen().availableSize()
    try:
        assert window.sizeHint() == window.size()
        assert window.width() <= room.width()
        assert window.height() < room.height(), "above it there is its frame"
        if room.width() > 1600 and room.height() > 1000:
            assert window.width() > 0.8 * min(room.width(), 2048)
            assert window.height() > 0.8 * min(room.height(), 1280)
    finally:
        window.close()
        desktop.close()
        window.deleteLater()
