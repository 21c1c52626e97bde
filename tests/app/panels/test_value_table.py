"""The one table of the window: filter, sort, copy, and rows that stay where they are."""

import dataclasses

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, Qt, QTimer
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.tables.order import ordered
from stroboscope.app.models.tables.table import (
    STOP,
    Cells,
    Column,
    ColumnKind,
    Table,
    texts_of,
)
from stroboscope.app.panels.style import apply_theme
from stroboscope.app.panels.tables.value_table import ValueTable
from stroboscope.resources.themes import DARK

COLUMNS = (
    Column(key="name", title="joint", kind=ColumnKind.TEXT, sample="joint 1000"),
    Column(key="value", title="position", unit="rad", sample="−000.000"),
    Column(key="state", title="state", kind=ColumnKind.TEXT, sample="beyond upper"),
)


def table_of(values, names=None, *, parents=None, present=None, channel=""):
    numbers = np.asarray(values, dtype=np.float64)
    count = len(numbers)
    names = names or [f"joint {n}" for n in range(count)]
    cells = {
        "name": texts_of(names),
        "value": Cells(
            numbers=numbers,
            present=None if present is None else np.asarray(present),
            channel=channel,
            signals=np.arange(count) if channel else None,
        ),
        "state": texts_of([""] * count),
    }
    return Table(
        columns=COLUMNS,
        cells=cells,
        keys=names,
        elements=[Element(ElementKind.JOINT, n) for n in range(count)],
        parents=None if parents is None else np.asarray(parents),
    )


# --- order


def test_numbers_sort_by_value_and_what_is_absent_comes_last_either_way():
    table = table_of([3.0, -10.0, 2.0, 7.0], present=[True, True, True, False])
    assert list(ordered(table, sort="value")) == [1, 2, 0, 3]
    assert list(ordered(table, sort="value", descending=True)) == [0, 2, 1, 3]


def test_equal_values_keep_their_order():
    table = table_of([1.0, 0.0, 1.0, 0.0])
    assert list(ordered(table, sort="value")) == [1, 3, 0, 2]
    assert list(ordered(table, sort="value", descending=True)) == [0, 2, 1, 3]


def test_names_sort_as_people_count():
    table = table_of([0.0] * 3, ["joint 10", "joint 9", "Joint 1"])
    assert list(ordered(table, sort="name")) == [2, 1, 0]


def test_groups_stay_together_under_their_head():
    # Heads 0 and 1; rows 2 and 3 belong to 0, row 4 to 1.
    table = table_of([5.0, 9.0, 4.0, 1.0, 9.0], parents=[-1, -1, 0, 0, 1])
    assert list(ordered(table, sort="value", descending=True)) == [1, 4, 0, 2, 3]
    assert list(ordered(table, sort="value", heads=True)) == [0, 1]
    assert list(ordered(table, words="joint 3")) == [0, 3]


def test_a_filter_needs_all_its_words():
    table = table_of([0.0] * 3, ["left knee", "right knee", "left hip"])
    assert list(ordered(table, words="knee LEFT")) == [0]
    assert list(ordered(table, words="")) == [0, 1, 2]


def test_a_number_that_is_not_one_asks_for_attention():
    table = table_of([np.nan, 1.0])
    assert table.cells["value"].level(0) == STOP
    assert table.text("value", 0) == "NaN"


# --- the widget


@pytest.fixture
def made(show, qapp):
    apply_theme(qapp, DARK)
    chosen, plotted = [], []
    widget = ValueTable(DARK, select=chosen.append, plot=plotted.append, limit=100)
    show(widget, 500, 300)
    widget.chosen, widget.plotted = chosen, plotted
    return widget


def names_shown(widget):
    model = widget.model
    return [model.data(model.index(row, 0)) for row in range(model.rowCount())]


def place_of(widget, row, column=0):
    return widget.view.visualRect(widget.model.index(row, column)).center()


def click_row(widget, row, column=0, modifier=Qt.KeyboardModifier.NoModifier):
    viewport = widget.view.viewport()
    QTest.mouseClick(viewport, Qt.MouseButton.LeftButton, modifier, place_of(widget, row, column))


def test_a_click_on_a_title_sorts_and_a_third_one_goes_back(made):
    made.show_table(table_of([3.0, 1.0, 2.0]), empty="")
    header = made.view.horizontalHeader()
    at = QPoint(header.sectionViewportPosition(1) + 20, header.height() // 2)
    orders = []
    for _ in range(3):
        QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)
        orders.append(names_shown(made))
    assert orders == [
        ["joint 1", "joint 2", "joint 0"],
        ["joint 0", "joint 2", "joint 1"],
        ["joint 0", "joint 1", "joint 2"],
    ]


def test_typing_into_the_filter_hides_other_rows(made, show):
    show(made.filter, 200, 30)
    made.show_table(table_of([0.0] * 20), empty="")
    QTest.keyClicks(made.filter, "joint 1")
    assert names_shown(made)[:2] == ["joint 1", "joint 10"]
    assert len(names_shown(made)) == 11
    QTest.keyClick(made.filter, Qt.Key.Key_Escape)
    assert len(names_shown(made)) == 20


def test_new_values_change_cells_in_place_and_leave_selection_and_widths_alone(made):
    made.show_table(table_of([0.0] * 50), empty="")
    click_row(made, 3)
    made.view.verticalScrollBar().setValue(10)
    widths = [made.view.columnWidth(n) for n in range(3)]
    resets = []
    made.model.modelReset.connect(lambda: resets.append(True))
    for step in range(5):
        made.show_table(table_of(np.full(50, -123.456 * step)), empty="")
    assert resets == []
    assert [made.view.columnWidth(n) for n in range(3)] == widths
    assert made.view.verticalScrollBar().value() == 10
    assert [i.row() for i in made.view.selectionModel().selectedRows()] == [3]
    assert made.model.data(made.model.index(3, 1)) == "−493.824"


def test_the_bar_for_scrolling_sideways_takes_no_room_and_comes_with_the_pointer(made):
    made.resize(200, 120)
    made.show_table(table_of([0.0] * 3), empty="")
    view = made.view
    height = view.viewport().height()
    assert height == view.height() - view.horizontalHeader().height()
    QApplication.sendEvent(view, QEvent(QEvent.Type.Enter))
    assert view.sideways.isVisible()
    assert view.viewport().height() == height
    view.sideways.setValue(40)
    assert view.horizontalScrollBar().value() == 40
    QApplication.sendEvent(view, QEvent(QEvent.Type.Leave))
    assert not view.sideways.isVisible()


def test_a_selected_row_stays_selected_when_others_come_and_go(made):
    made.show_table(table_of([1.0, 2.0, 3.0], ["a", "b", "c"]), empty="")
    click_row(made, 2)
    made.show_table(table_of([9.0, 1.0, 3.0, 2.0], ["z", "y", "c", "a"]), empty="")
    (index,) = made.view.selectionModel().selectedRows()
    assert made.model.data(index) == "c"
    made.show_table(table_of([9.0], ["z"]), empty="")
    assert made.view.selectionModel().selectedRows() == []


def test_a_click_selects_the_element_and_a_double_click_on_a_number_plots_it(made):
    made.show_table(table_of([1.0, 2.0], channel="qpos"), empty="")
    click_row(made, 1)
    assert made.chosen == [Element(ElementKind.JOINT, 1)]
    at = place_of(made, 1, 1)
    QTest.mouseDClick(made.view.viewport(), Qt.MouseButton.LeftButton, pos=at)
    (row,) = made.plotted
    assert (row.channel, row.column, row.value) == ("qpos", 1, 2.0)


def test_ctrl_c_copies_selected_rows_with_complete_numbers(made):
    made.show_table(table_of([1 / 3, 2.0, 3.0]), empty="")
    click_row(made, 2)
    click_row(made, 0, modifier=Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(made.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = [line.split("\t") for line in QApplication.clipboard().text().splitlines()]
    assert lines[0] == ["joint", "position [rad]", "state"]
    assert [line[0] for line in lines[1:]] == ["joint 0", "joint 2"]
    assert float(lines[1][1]) == 1 / 3
    assert len(made.as_text(everything=True).splitlines()) == 4


def test_more_rows_than_shown_are_counted_and_a_click_shows_them(made):
    made.show_table(table_of(np.arange(250.0)), empty="")
    assert made.model.rowCount() == 101
    assert names_shown(made)[-1] == "+150 more"
    made.view.scrollToBottom()
    click_row(made, 100)
    assert made.model.rowCount() == 250


def test_without_rows_a_sentence_says_what_to_do(made):
    made.show_table(table_of([]), empty="This model has no joints.")
    assert made.sentence == "This model has no joints."
    made.show_table(table_of([1.0]), empty="…")
    assert made.sentence == ""


def test_a_tooltip_has_the_full_name_and_number(made):
    made.show_table(table_of([1 / 3], ["a_very_long_name"], channel="qpos"), empty="")
    tip = made.model.data(made.model.index(0, 1), Qt.ItemDataRole.ToolTipRole)
    assert "a_very_long_name" in tip
    assert f"position = {1 / 3!r} rad" in tip


def test_names_stay_in_sight_and_can_be_clicked_when_scrolled_sideways(made, wait_until):
    made.resize(180, 300)
    made.show_table(table_of([1.0, 2.0]), empty="")
    bar = made.view.horizontalScrollBar()
    wait_until(lambda: bar.maximum() > 0)
    before = made.view.viewport().grab(made.view.visualRect(made.model.index(1, 0))).toImage()
    place = made.view.visualRect(made.model.index(1, 0))
    bar.setValue(bar.maximum())
    wait_until(lambda: made.view._title.isVisible())
    after = made.view.viewport().grab(place).toImage()
    # The same but for the line at its right side.
    assert before.copy(0, 0, 60, 20) == after.copy(0, 0, 60, 20)
    QTest.mouseClick(made.view.viewport(), Qt.MouseButton.LeftButton, pos=place.center())
    assert made.chosen == [Element(ElementKind.JOINT, 1)]
    bar.setValue(0)
    assert not made.view._title.isVisible()


def test_only_rows_that_can_be_seen_are_written_out(made, monkeypatch, wait_until):
    from stroboscope.app.panels.tables import value_painter

    written = []
    original = value_painter.cell_text

    def counted(table, column, row):
        written.append(row)
        return original(table, column, row)

    monkeypatch.setattr(value_painter, "cell_text", counted)
    made.model.show_all()
    made.show_table(table_of(np.arange(5000.0)), empty="")
    wait_until(lambda: written)
    seen = made.view.height() // 24 + 2
    assert max(written) <= seen
    # Nor later, when only numbers change: formatting all 5,000 each time would take far longer.
    for step in range(1, 4):
        written.clear()
        made.show_table(table_of(np.arange(5000.0) + step), empty="")
        wait_until(lambda: written)
        assert max(written) <= seen


def test_a_column_is_hidden_by_its_name_though_the_table_has_changed_below_its_menu(
    made, wait_until
):
    made.show_table(table_of([1.0, 2.0]), empty="")
    others = (COLUMNS[0], COLUMNS[2])
    entries, plots = [], []

    def change_and_choose():
        menu = QApplication.activePopupWidget()
        entries.extend(menu.actions())
        narrow = table_of([1.0, 2.0])
        made.show_table(dataclasses.replace(narrow, columns=others), empty="")
        entries[1].trigger()  # of a column that is gone
        entries[2].trigger()  # of one that stands elsewhere now
        plots.append([made.view.isColumnHidden(n) for n in range(2)])
        menu.close()

    QTimer.singleShot(0, change_and_choose)
    made.view.choose_columns(made.mapToGlobal(QPoint(0, 0)))
    assert plots == [[False, True]]
    wait_until(lambda: not made.findChildren(QMenu))


def test_the_number_that_the_menu_was_opened_for_is_edited_though_rows_have_moved(made):
    edited = []
    made.view.on_edit = lambda target, number: edited.append((target, number))
    made.view.edit_target = lambda index: made.model.key_of(index)
    made.show_table(table_of([3.0, 1.0, 2.0]), empty="")

    def move_and_choose():
        menu = QApplication.activePopupWidget()
        made.model.sort_by("value")
        next(entry for entry in menu.actions() if entry.text() == "Edit…").trigger()
        menu.close()

    QTimer.singleShot(0, move_and_choose)
    place = place_of(made, 0, 1)
    event = QContextMenuEvent(
        QContextMenuEvent.Reason.Mouse, place, made.view.viewport().mapToGlobal(place)
    )
    QApplication.sendEvent(made.view.viewport(), event)
    QTest.keyClick(made.view.editor, Qt.Key.Key_Return)
    assert edited == [("joint 0", 3.0)]


def test_the_mark_of_the_column_that_rows_are_sorted_by_stands_beside_its_title(show):
    made = show(ValueTable(DARK), 500, 200)
    made.show_table(table_of([3.0, 1.0, 2.0]), empty="nothing")
    header, model = made.view.horizontalHeader(), made.model

    def titles():
        sections = range(model.columnCount())
        return [model.headerData(n, Qt.Orientation.Horizontal) for n in sections]

    plain = titles()
    header.sectionClicked.emit(1)
    assert titles() == [plain[0], "▴ position [rad]", plain[2]]
    header.sectionClicked.emit(1)
    assert titles() == [plain[0], "▾ position [rad]", plain[2]]
    metrics = header.fontMetrics()
    assert metrics.horizontalAdvance(titles()[1]) <= header.sectionSize(1) - 12
    header.sectionClicked.emit(1)
    assert titles() == plain
    header.sectionClicked.emit(0)
    assert titles()[0] == "joint ▴"
    assert not header.isSortIndicatorShown(), "the style's own lies on the last letter"
