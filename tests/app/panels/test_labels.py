"""Labels that elide, wrap or say what fills an empty panel."""

from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QSpinBox

from stroboscope.app.panels.labels import EmptyText
from stroboscope.app.panels.style import apply_theme, keep_clear
from stroboscope.resources.themes import DARK

SENTENCE = (
    "No checkpoints yet. Shift+K keeps the state that you look at; from here you restore it, also "
    "into another scene of the same model, compare it with others, or show it as a ghost."
)


def test_what_fills_an_empty_panel_is_said_in_its_middle_in_lines_that_are_not_long(show):
    text = show(EmptyText(SENTENCE), 1300, 160)
    room = text.contentsRect()
    assert room.width() <= 520
    assert abs(room.center().x() - text.rect().center().x()) <= 1
    assert text.alignment() == Qt.AlignmentFlag.AlignCenter
    text.resize(240, 160)
    assert text.contentsRect().width() == 240 - 2 * 12
    wanted = text.fontMetrics().boundingRect(
        QRect(0, 0, text.contentsRect().width(), 10_000), Qt.TextFlag.TextWordWrap, SENTENCE
    )
    assert wanted.height() < text.contentsRect().height(), "all of it is in sight"


def test_a_number_in_a_field_keeps_clear_of_its_edges(show, qapp):
    apply_theme(qapp, DARK)
    field = QSpinBox()
    keep_clear(field)
    line = show(field, 72, 28).lineEdit()
    line.setText("0")
    line.setCursorPosition(0)
    assert line.x() + line.cursorRect().center().x() >= 6
    field.setAlignment(Qt.AlignmentFlag.AlignRight)
    line.setCursorPosition(1)
    assert line.x() + line.cursorRect().center().x() <= field.width() - 6
