"""Rollouts and their ghosts: a table, curves beside the scene's own, two of them compared."""

import itertools
from pathlib import Path

import pytest
from event_loop import trigger
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu

from stroboscope.app.main.plot_feed import scene_key
from stroboscope.app.models.ghosts import ghost_colour
from stroboscope.app.models.plot_store import PlotSeriesId
from stroboscope.app.models.rollouts import rollout_ref
from stroboscope.app.panels.travel.kept_table import KeptTable
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco")

SERVO = Path(__file__).with_name("servo_process.py").read_text()
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def tried(desktop, run_script, wait_until, click):
    """The scene after two of the offers of its stop were tried, Rollouts in front."""
    run_script(SERVO)
    window = desktop.window
    window.resize(1280, 900)
    window.panels.show("stops")
    wait_until(lambda: desktop.sessions.shown.latest(Topic.POSE) is not None)
    wait_until(lambda: desktop.sessions.shown.session.has_control)
    scene = desktop.sessions.shown
    window.plots.add_signals(PlotSeriesId(scene_key(scene), "qpos", 1))
    desktop.sessions.play()
    wait_until(lambda: scene.stops.standing is not None)
    details = window.stops.details
    wait_until(lambda: len(details.offers) >= 2)
    for label in list(details.offers)[:2]:
        count = len(scene.rollouts.rollouts)
        wait_until(details.offers[label].isEnabled)
        details.ensureWidgetVisible(details.offers[label])
        click(details.offers[label])
        wait_until(lambda n=count: len(scene.rollouts.rollouts) > n)
    window.panels.show("rollouts")
    wait_until(lambda: window.rollouts.table.table is not None)
    wait_until(lambda: window.rollouts.table.table.count == 2)
    return scene


def _click_cell(panel: KeptTable, key, column: str) -> None:
    view, model = panel.table.view, panel.table.model
    index = model.index(model.row_of_key(key), view.column_at(column))
    place = view.visualRect(index).center()
    QTest.mouseClick(view.viewport(), LEFT, Qt.KeyboardModifier.NoModifier, place)


def _colours(panel: KeptTable, key, column: str) -> set[str]:
    """Return the colours in a cell, as #rrggbb."""
    view, model = panel.table.view, panel.table.model
    index = model.index(model.row_of_key(key), view.column_at(column))
    image = view.viewport().grab(view.visualRect(index)).toImage()
    places = itertools.product(range(image.width()), range(image.height()))
    return {image.pixelColor(x, y).name() for x, y in places}


def test_two_rollouts_are_rows_ghosts_dashed_curves_and_a_comparison(
    desktop, tried, wait_until, click
):
    window, scene = desktop.window, tried
    panel = window.rollouts
    # Numbers are columns that sort.
    table = panel.table.table
    titles = [column.title for column in table.columns]
    assert "max |qvel|" in titles
    assert "energy drift" in titles
    drift = next(column for column in table.columns if column.title == "energy drift")
    assert drift.unit == "J"
    section = panel.table.view.column_at(drift.key)
    panel.table.view.horizontalHeader().sectionClicked.emit(section)
    rows = panel.table.model.shown_rows()
    values = [table.number(drift.key, int(row)) for row in rows]
    assert values == sorted(values)
    # Two that are ticked are compared.
    first, second = (rollout_ref(scene.scene_id, r.rollout_id) for r in scene.rollouts.rollouts)
    wait_until(lambda: {e.ref for e in scene.ghosts.entries} == {first, second})
    for entry in scene.ghosts.entries:
        colour = ghost_colour(window.palette_tokens, entry.colour).lower()
        wait_until(lambda e=entry, c=colour: c in _colours(panel, e.ref, "tick"))
    wait_until(lambda: panel.comparison.result is not None)
    result = panel.comparison.result
    assert result.differences
    assert result.first_bit >= 0
    wait_until(panel.compared.isVisible)
    wait_until(lambda: "first other bit: step" in panel.compared.facts.full_text)
    assert "first other bit: step" in panel.compared.facts.full_text
    table = panel.compared.table.table
    assert table.number("difference", 0) == pytest.approx(
        result.differences[0].second - result.differences[0].first
    )
    window.panels.show("plots")
    (cell,) = window.plots.cells
    wait_until(lambda: len(cell.view.dashed_keys()) == 2)
    names = [row.name for row in cell.legend.rows if row.dashed]
    assert names == [
        f"{rollout.name} · {window.store.label(PlotSeriesId(scene_key(scene), 'qpos', 1))}"
        for rollout in scene.rollouts.rollouts
    ]
    # The height that is clicked in a plot becomes a condition.
    wait_until(lambda: cell.view.isVisible() and cell.view.height() > 40)
    low, high = cell.view.value_range
    place = cell.view.mapToGlobal(QPoint(cell.view.width() // 2, cell.view.height() // 2))
    cell.menu_requested.emit(cell.plot_id, place)
    menu = next(each for each in window.plots.findChildren(QMenu) if each.isVisible())
    texts = {}
    for sub in menu.findChildren(QMenu):
        texts |= {action.text(): action for action in sub.actions()}
    above = next(text for text in texts if text.startswith("Stop when qpos['wrist'] > "))
    assert low <= float(above.rpartition(" ")[2]) <= high
    trigger(texts[above])
    menu.close()
    wait_until(window.stops.conditions.isVisible)
    assert window.stops.conditions.field.line.text() == above.removeprefix("Stop when ")
    window.stops.conditions.field.enter()
    wait_until(lambda: len(scene.conditions.conditions) == 1)
    # Ghosts go with their curve, with their tick, and when they are dropped.
    window.panels.show("plots")
    button = cell.legend.remove_button_center(next(r.series for r in cell.legend.rows if r.dashed))
    target = cell.legend.viewport().childAt(cell.legend.viewport().mapFromGlobal(button))
    QTest.mouseClick(target, LEFT, Qt.KeyboardModifier.NoModifier, target.mapFromGlobal(button))
    wait_until(lambda: [e.ref for e in scene.ghosts.entries] == [second])
    wait_until(lambda: len(cell.view.dashed_keys()) == 1)
    window.panels.show("rollouts")
    wait_until(panel.table.isVisible)
    panel.comparison.clear()
    wait_until(lambda: not panel.compared.isVisible())
    _click_cell(panel, second, "tick")
    wait_until(lambda: not scene.ghosts.entries)
    panel.choose(first)
    wait_until(panel.drop_button.isEnabled)
    click(panel.drop_button)
    wait_until(lambda: [r.rollout_id for r in scene.rollouts.rollouts] == [second.number])


def test_a_number_that_somebody_asks_for_becomes_a_column(desktop, tried, wait_until, click):
    scene = tried
    panel = desktop.window.rollouts
    wait_until(panel.number_button.isEnabled)
    menu = panel.number_menu()
    titles = {action.text(): action for action in menu.actions()}
    assert not titles["Deepest penetration"].isEnabled(), "every rollout has it already"
    trigger(titles["Largest acceleration"])
    menu.close()
    wait_until(lambda: all("max |qacc|" in dict(e.numbers) for e in scene.rollouts.rollouts))
    wait_until(lambda: "max |qacc|" in panel.table.as_text(everything=True))
    panel._ask_number()
    wait_until(lambda: panel.dialog is not None and panel.dialog.isVisible())
    panel.dialog.setTextValue("qpos[0] * 2")
    panel.dialog.accept()
    wait_until(lambda: "max qpos[0] * 2" in panel.table.as_text(everything=True))
