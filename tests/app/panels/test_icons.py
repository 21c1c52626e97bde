"""Icons of any size."""

import pytest
from PySide6.QtCore import QSize, qInstallMessageHandler

from stroboscope.app.panels.icons import Icon, icon, pixmap
from stroboscope.resources.themes import DARK


@pytest.mark.parametrize("size", [QSize(0, 16), QSize(16, 0), QSize(0, 0), QSize(16, 16)])
def test_an_icon_without_room_is_nothing_and_says_nothing(qapp, size):
    told = []
    before = qInstallMessageHandler(lambda _kind, _context, text: told.append(text))
    try:
        made = icon(Icon.PLAY, DARK).pixmap(size)
    finally:
        qInstallMessageHandler(before)
    assert told == []
    assert made.isNull() == size.isEmpty()


def test_an_icon_has_the_size_and_the_resolution_that_are_asked_for(qapp):
    made = pixmap(Icon.PAUSE, 16, DARK.text, ratio=2.0)
    assert (made.width(), made.devicePixelRatio()) == (32, 2.0)
