"""Labels that elide, wrap or say what fills an empty panel."""

from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QPushButton, QSpinBox

from stroboscope.app.models.picture_choice import FilmChoice, PictureChoice
from stroboscope.app.panels.film_dialog import FilmDialog
from stroboscope.app.panels.labels import ClampedLabel, EmptyText
from stroboscope.app.panels.picture_dialog import PictureDialog
from stroboscope.app.panels.record_dialog import RecordDialog
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
    assert text.minimumSizeHint().width() <= 160, "what became wide can become narrow again"
    assert text.sizeHint().width() <= 160
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


def test_every_dialog_gives_up_at_the_left_and_does_what_it_is_for_at_the_right(show):
    dialogs = (
        RecordDialog(
            "Record",
            button="Record",
            suggested="Arm",
            has_mode=True,
            begin=lambda _name, _mode: None,
        ),
        PictureDialog(PictureChoice(), view=(640, 480), window=(1280, 720)),
        FilmDialog(FilmChoice(), view=(640, 480)),
    )
    for dialog in dialogs:
        show(dialog, 440, dialog.sizeHint().height())
        rows = sorted(
            (each for each in dialog.findChildren(QPushButton)), key=lambda each: each.x()
        )
        assert rows[0].text() == "Cancel", dialog
        assert not rows[0].isDefault()
        assert rows[-1].isDefault()
        assert rows[-1].property("primary") == "true"
        assert len({each.y() for each in rows}) == 1


def test_no_line_of_a_sentence_begins_with_a_number_that_says_nothing_alone(show):
    text = "Exploding: qvel[5] went to -1.01207e+06 in one physics step, from at most 3781.11"
    said = show(ClampedLabel(lines=2), 800, 60)
    said.setText(text)
    width = said.fontMetrics().horizontalAdvance(text) - 10
    first, second = said.shown_lines(width)
    assert second == "most 3781.11"
    assert f"{first} {second}" == text
