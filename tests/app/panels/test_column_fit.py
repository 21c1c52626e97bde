"""All columns of a table are in sight where there is room for what is in them."""

from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QStyle

from stroboscope.app.models.comparison import comparison_table
from stroboscope.app.models.tables.stops import stops_table
from stroboscope.app.models.tables.table import Cells, Column, ColumnKind, Table, texts_of
from stroboscope.app.panels.style import apply_theme
from stroboscope.app.panels.tables.column_fit import ColumnWish, fitted_widths
from stroboscope.app.panels.tables.value_painter import CELL_MARGIN
from stroboscope.app.panels.tables.value_table import ValueTable
from stroboscope.debugger_protocol.time_messages import (
    StateDifference,
    StatesCompared,
    StopInfo,
    StopReason,
)
from stroboscope.resources.themes import DARK

NUMBER = ColumnWish(100, 100, gives_way=False)


def text(wanted: int, least: int) -> ColumnWish:
    return ColumnWish(wanted, least, gives_way=True, may_elide=72)


def test_columns_that_fit_are_as_wide_as_they_want_to_be() -> None:
    assert fitted_widths([text(200, 80), NUMBER, text(120, 90)], 500) == [200, 100, 120]


def test_texts_give_way_to_what_is_in_them_from_the_left_and_numbers_never() -> None:
    assert fitted_widths([text(200, 80), NUMBER, text(120, 90)], 400) == [180, 100, 120]
    assert fitted_widths([text(200, 80), text(100, 60), NUMBER, text(120, 90)], 340) == [
        80, 60, 100, 100,
    ]  # fmt: skip


def test_the_last_text_is_elided_before_anything_is_out_of_sight_but_stays_readable() -> None:
    assert fitted_widths([text(200, 80), NUMBER, text(120, 120)], 265) == [80, 100, 85]
    assert fitted_widths([text(200, 80), NUMBER, text(120, 120)], 100) == [80, 100, 72]
    assert fitted_widths([NUMBER, NUMBER], 50) == [100, 100]
    assert fitted_widths([], 50) == []


COLUMNS = (
    Column(key="name", title="contact", kind=ColumnKind.TEXT, sample="a name that is quite long"),
    Column(key="on", title="acts on", kind=ColumnKind.TEXT, sample="left_ankle_x"),
    *(Column(key=f"n{i}", title="normal", unit="N", sample="00000.000") for i in range(4)),
    Column(key="state", title="state", kind=ColumnKind.TEXT, sample="sticks, creeps 99.9 µm/s"),
)


def contacts(count: int) -> Table:
    names = [f"foot {n} – floor" for n in range(count)]
    cells = {
        "name": texts_of(names),
        "on": texts_of(["foot"] * count),
        **{f"n{i}": Cells(numbers=np.full(count, 12.5)) for i in range(4)},
        "state": texts_of(["sticks, creeps 23.0 µm/s"] * count),
    }
    return Table(columns=COLUMNS, cells=cells, keys=names, elements=[None] * count)


@pytest.fixture
def table(qapp: Any, show: Any) -> ValueTable:
    made = ValueTable(DARK)
    show(made, 800, 300)
    return made


def right_end(made: ValueTable) -> int:
    last = len(COLUMNS) - 1
    return made.view.columnViewportPosition(last) + made.view.columnWidth(last)


def test_the_last_column_ends_within_the_table_beside_its_scroll_bar(table: ValueTable) -> None:
    wanted = 0
    for width in (1400, 830, 700):
        table.resize(width, 200)
        table.show_table(contacts(40), empty="")
        QTest.qWait(0)
        assert right_end(table) <= table.view.viewport().width()
        assert table.view.verticalScrollBar().isVisible()
        wanted = wanted or right_end(table)
    assert wanted > 700


def test_numbers_keep_their_width_in_a_table_that_becomes_narrow(table: ValueTable) -> None:
    table.show_table(contacts(3), empty="")
    before = [table.view.columnWidth(n) for n in range(2, 6)]
    table.resize(650, 300)
    QTest.qWait(0)
    assert [table.view.columnWidth(n) for n in range(2, 6)] == before


def test_every_title_is_whole_also_while_the_rows_are_sorted_by_it(table: ValueTable) -> None:
    apply_theme(QApplication.instance(), DARK)
    table.resize(700, 200)
    table.show_table(contacts(3), empty="")
    header = table.view.horizontalHeader()
    mark = header.style().pixelMetric(QStyle.PixelMetric.PM_HeaderMarkSize, None, header)
    for n, column in enumerate(COLUMNS):
        title = f"{column.title} [{column.unit}]" if column.unit else column.title
        needs = header.fontMetrics().horizontalAdvance(title) + 2 * CELL_MARGIN + mark
        assert needs <= header.sectionSize(n), title


def test_what_two_states_differ_by_is_in_sight_in_a_narrow_panel(table: ValueTable) -> None:
    names = ("qpos elbow", "qvel wrist", "ctrl elbow_servo")
    rows = tuple(
        StateDifference(name=name, first=-0.56799, second=-0.51979, unit="rad/s") for name in names
    )
    table.resize(366, 120)
    for compared in (rows[:2], rows):  # what comes later is fitted as well
        table.show_table(
            comparison_table(
                StatesCompared(id=1, scene_id=1, differences=compared), with_steps=True
            ),
            empty="",
        )
        at = table.view.column_at("difference")
        end = table.view.columnViewportPosition(at) + table.view.columnWidth(at)
        assert end <= table.view.viewport().width()
        for key in ("first", "second", "difference"):
            least = table.view.fontMetrics().horizontalAdvance(table.table.text(key, 0))
            assert table.view.columnWidth(table.view.column_at(key)) > least
    assert table.view.columnWidth(0) > table.view.fontMetrics().horizontalAdvance(names[2])
    table.resize(900, 120)
    QTest.qWait(0)
    assert table.view.columnWidth(table.view.column_at("unit")) >= 48, "there is room for all"


def test_of_a_stop_only_what_is_said_beside_the_table_is_cut_in_a_narrow_panel(
    table: ValueTable,
) -> None:
    stop = StopInfo(
        stop_id=1,
        reason=StopReason.AUTORESET,
        axis=205,
        episode=3,
        step=205,
        physics_step=205,
        time=0.41,
        message="time went back " * 20,
    )
    table.resize(480, 120)
    table.show_table(stops_table((stop,)), empty="")
    for column in stops_table((stop,)).columns:
        at = table.view.column_at(column.key)
        end = table.view.columnViewportPosition(at) + table.view.columnWidth(at)
        assert end <= table.view.viewport().width(), column.title


def test_a_column_that_somebody_has_dragged_stays_as_wide(table: ValueTable) -> None:
    table.show_table(contacts(3), empty="")
    header = table.view.horizontalHeader()
    edge = header.sectionViewportPosition(1)
    start = QPoint(edge - 1, header.height() // 2)
    QTest.mousePress(header.viewport(), Qt.MouseButton.LeftButton, pos=start)
    for step in (20, 40, 60):
        _drag(header.viewport(), start + QPoint(step, 0))
    QTest.mouseRelease(header.viewport(), Qt.MouseButton.LeftButton, pos=start + QPoint(60, 0))
    dragged = table.view.columnWidth(0)
    assert dragged > edge
    table.resize(650, 300)
    QTest.qWait(0)
    assert table.view.columnWidth(0) == dragged


def _drag(widget: Any, at: QPoint) -> None:
    from PySide6.QtCore import QEvent, QPointF
    from PySide6.QtGui import QMouseEvent
    from PySide6.QtWidgets import QApplication

    event = QMouseEvent(
        QEvent.Type.MouseMove,
        QPointF(at),
        QPointF(widget.mapToGlobal(at)),
        Qt.MouseButton.NoButton,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(widget, event)


def test_sentences_are_told_from_their_beginning_and_names_keep_both_ends(qapp: Any) -> None:
    from PySide6.QtGui import QFont, QFontMetrics

    from stroboscope.app.panels.tables.value_painter import _elided

    metrics = QFontMetrics(QFont())
    sentence = "qvel of joint wrist went to 241333 in one physics step"
    short = _elided(sentence, metrics, 120)
    assert metrics.horizontalAdvance(short) <= 120
    assert sentence.startswith(short.removesuffix("…"))
    pair = _elided("left_gripper_finger_pad_1 – table_top_surface_2", metrics, 160)
    assert pair.startswith("left")
    assert pair.endswith("2")
