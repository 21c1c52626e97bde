"""Columns and sorting that somebody chose are there again: in the next table, and the next run."""

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from stroboscope.app.models.settings import SettingsStore
from stroboscope.app.models.tables.state import StateKind

pytest.importorskip("mujoco")

WORKSHOP = Path(__file__).with_name("workshop_process.py")


def choose(panel, kind, wait_until):
    before = panel.table.table
    panel.choose(kind)
    wait_until(lambda: panel.table.table is not before and panel.table.table.count > 0)


def test_columns_and_sorting_come_back_with_their_table_are_written_and_nonsense_is_ignored(
    desktop, run_script, own_folders, wait_until
):
    run_script(WORKSHOP.read_text())
    desktop.window.panels.show("state")
    state = desktop.window.panels["state"].content
    wait_until(lambda: state.table.table is not None and state.table.table.count > 0)
    view = state.table.view
    column, hidden = view.column_at("velocity"), view.column_at("range")
    header = view.horizontalHeader()
    at = QPoint(header.sectionViewportPosition(column) + 20, header.height() // 2)
    for _ in range(2):
        QTest.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=at)

    def hide_range():
        menu = QApplication.activePopupWidget()
        if menu is None:
            QTimer.singleShot(1, hide_range)
            return
        next(a for a in menu.actions() if a.text() == "range").trigger()
        menu.close()

    QTimer.singleShot(0, hide_range)
    view.choose_columns(header.mapToGlobal(QPoint(0, 0)))
    assert view.isColumnHidden(hidden)
    assert state.table.model.sorting == ("velocity", True)
    choose(state, StateKind.ACTUATORS, wait_until)
    assert state.table.model.sorting == ("", False)
    choose(state, StateKind.JOINTS, wait_until)
    assert state.table.model.sorting == ("velocity", True)
    assert view.isColumnHidden(view.column_at("range"))
    # What was chosen at two moments may be written at two: wait for both.
    wanted = {"sort": "velocity", "descending": True, "columns": {"range": False}}
    store = SettingsStore(own_folders / "config" / "settings.json")
    wait_until(lambda: store.load().tables.get("joint") == wanted)
    # Nonsense that was remembered is ignored.
    kept = desktop.settings.tables
    kept["actuator"] = {"sort": 3, "descending": "x", "columns": [1], "more": None}
    kept["body"] = {"sort": "nothing", "columns": {"name": "yes"}}
    for kind in (StateKind.ACTUATORS, StateKind.BODIES):
        choose(state, kind, wait_until)
        assert state.table.model.sorting[0] == ""
        assert not state.table.view.isColumnHidden(0)
