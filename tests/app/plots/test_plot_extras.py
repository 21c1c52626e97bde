"""What is made of signals, chosen by a click, saved to files, and kept by name."""

import csv

import numpy as np
import pytest
from event_loop import trigger
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from stroboscope.app.models.plot_store import SceneKey
from stroboscope.app.plots.plot_exports import ExportKind

LEFT = Qt.MouseButton.LeftButton


def open_menu(panel, index=0):
    cell = panel.cells[index]
    cell.menu_requested.emit(cell.plot_id, cell.mapToGlobal(QPoint(50, 20)))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    return menu


def entry(menu, *path):
    for text in path:
        (action,) = [a for a in menu.actions() if a.text() == text]
        menu = action.menu() or menu
    return action


def lines_of(panel, wait_until):
    """Return label -> drawn values, once all are drawn."""
    series = panel.plots.all_series()
    cells = panel.cells

    def drawn():
        made = {}
        for each in series:
            cell = next(c for c in cells if each in panel.plots.plot(c.plot_id).series)
            made[panel.store.label(each)] = cell.view.line_data(each)
        return made

    wait_until(lambda: all(len(x) for x, _ in drawn().values()))
    return drawn()


def test_the_menu_makes_derivatives_filters_and_differences(panel, source, wait_until):
    panel.add_signals(source.series("qpos", 1), source.series("qpos", 2))
    source.advance(500)
    menu = open_menu(panel)
    trigger(entry(menu, "qpos[hip]", "Derivative"))
    menu.close()
    menu = open_menu(panel)
    trigger(entry(menu, "qpos[hip]", "Moving average", "100\u202fms"))
    menu.close()
    source.advance(500)
    lines = lines_of(panel, wait_until)
    assert set(lines) == {
        "qpos[hip]", "qpos[knee]", "d/dt qpos[hip]", "mean 100\u202fms qpos[hip]"
    }  # fmt: skip
    x, y = lines["d/dt qpos[hip]"]
    np.testing.assert_allclose(y, 100.0 / 30.0 * np.cos((x / 0.01 - 0.5) / 30.0), atol=1e-3)
    assert [panel.plots.unit(plot) for plot in panel.plots.plots] == ["rad", "rad/s"]
    menu = open_menu(panel)
    trigger(entry(menu, "qpos[hip]", "Difference to", "qpos[knee]"))
    menu.close()
    assert panel.plots.all_series()[-2].channel == "= qpos['hip'] - qpos['knee']"


def test_an_expression_is_typed_into_the_search_and_told_what_is_wrong(panel, source):
    panel.set_shown_scene(source.key)
    popup = panel.open_add_popup()
    QTest.keyClicks(popup.search, "tip height")
    assert popup.note.text() == (
        "Nothing matches “tip height”. What a script logs is found once it has logged it."
    )
    popup.search.clear()
    QTest.keyClicks(popup.search, "= qpos['hipp'] * 2")
    assert popup.texts() == []
    first, _, carets = popup.note.text().split("\n")
    assert first == "qpos has no 'hipp'; did you mean 'hip'?"
    assert carets.strip() == "^^^^^^"
    popup.search.clear()
    QTest.keyClicks(popup.search, "= qpos['hip'] * torque['hip']")
    assert popup.texts() == ["qpos['hip'] * torque['hip']   [rad·N·m]"]
    QTest.keyClick(popup.search, Qt.Key.Key_Return)
    popup.close()
    (series,) = panel.plots.all_series()
    assert series.channel == "= qpos['hip'] * torque['hip']"


def test_a_click_chooses_an_instant_and_the_next_one_there_forgets_it(panel, source, wait_until):
    chosen = []
    panel.instant_chosen.connect(lambda key, axis, time: chosen.append((key, axis, time)))
    panel.add_signals(source.series("qpos", 1))
    source.advance(500)
    view = panel.cells[0].view
    wait_until(lambda: view.time_range[1] >= 5.0)
    spot = QPoint(400, 60)
    QTest.mouseClick(view.viewport(), LEFT, pos=spot)
    wait_until(lambda: chosen)
    key, axis, time = chosen[0]
    assert key == source.key
    assert time == pytest.approx(0.01 * axis)
    assert panel.chosen_instant == pytest.approx(time)
    QTest.mouseMove(panel.cells[0].legend, QPoint(100, 50))
    wait_until(lambda: "chosen" in panel.toolbar.readout.text())
    assert view.cursor_line.times == pytest.approx((time,))
    source.advance(10)
    panel.refresh()
    assert view.cursor_line.times == pytest.approx((time,))
    panel.choose_instant(time)
    assert panel.chosen_instant is None
    assert len(chosen) == 1


def test_a_numpy_export_holds_every_row(panel, source, tmp_path):
    panel.add_signals(
        source.series("qpos", 2), source.series("qpos", 0), source.series("torque", 1)
    )
    source.advance(300)
    messages = []
    panel.message.connect(messages.append)
    path = tmp_path / "signals.npz"
    panel.exports.save(ExportKind.NPZ, path)
    assert messages == ["Saved signals.npz"]
    assert [each.name for each in tmp_path.iterdir()] == ["signals.npz"]
    with np.load(path) as data:
        axis = data["qpos/axis"]
        np.testing.assert_array_equal(axis, np.arange(300))
        names = data["qpos/names"].tolist()
        assert sorted(names) == ["qpos[knee]", "qpos[rail]"]
        values = data["qpos/values"][:, names.index("qpos[knee]")]
        np.testing.assert_array_equal(values, np.cos(axis / 40))
        assert data["torque/units"].tolist() == ["N·m"]
        np.testing.assert_array_equal(data["torque/values"][:, 0], 50.0 * np.cos(axis / 25))


@pytest.mark.parametrize("kind", [ExportKind.NPZ, ExportKind.CSV])
def test_only_the_time_that_is_shown_is_exported_on_request(
    panel, source, tmp_path, wait_until, kind
):
    panel.add_signals(source.series("qpos", 0))
    source.advance(500)
    panel.time_view.choose_span(1.0)
    panel.refresh()
    panel.time_view.pan(-2.0)
    start, end = panel.time_view.range
    path = tmp_path / f"signals.{kind.value[0]}"
    panel.exports.save(kind, path, only_shown=True)
    wait_until(path.exists)
    if kind is ExportKind.NPZ:
        with np.load(path) as data:
            axis = data["qpos/axis"].tolist()
    else:
        with path.open(encoding="utf-8") as file:
            axis = [int(line["step"]) for line in csv.DictReader(file)]
    assert axis == [k for k in range(500) if start <= 0.01 * k <= end]
    assert 90 < len(axis) < 110


def test_a_picture_shows_the_lines_at_twice_their_size(panel, source, tmp_path, wait_until):
    panel.add_signals(source.series("qpos", 1))
    source.advance(500)
    view = panel.cells[0].view
    wait_until(lambda: len(view.line_data(source.series("qpos", 1))[0]) > 100)
    path = tmp_path / "plots.png"
    panel.exports.save(ExportKind.PNG, path)
    image = QImage(str(path))
    assert image.width() == 2 * panel.width()
    colours = {image.pixelColor(x, 120).name() for x in range(image.width())}
    assert len(colours) > 1


def test_an_export_that_can_not_be_written_says_why(panel, source, tmp_path):
    panel.add_signals(source.series("qpos", 1))
    source.advance(5)
    messages = []
    panel.message.connect(messages.append)
    for kind in (ExportKind.NPZ, ExportKind.PNG):
        panel.exports.save(kind, tmp_path / "missing" / "file")
    assert len(messages) == 2
    assert all("could not be written" in text for text in messages)


def test_an_arrangement_is_kept_by_name_and_fits_another_script(
    panel, store, source, make_source, wait_until
):
    panel.add_signals(source.series("qpos", 1), source.series("torque", 0))
    panel.plot_expression(source.key, "norm(torque)")
    panel.layouts.save("  gait ")
    assert list(panel.layouts.kept) == ["gait"]
    panel.plots.clear()
    panel.layouts.load("gait")
    assert [each.channel for each in panel.plots.all_series()] == [
        "qpos",
        "torque",
        "= norm(torque)",
    ]
    panel.plots.clear()
    store.set_stale(source.key)
    other = make_source(store, SceneKey("another", 1), name="Walk", script="walk.py")
    panel.set_shown_scene(other.key)
    panel.layouts.load("gait")
    assert {each.scene for each in panel.plots.all_series()} == {other.key}
    QTest.mouseClick(panel.toolbar.layouts, LEFT)
    menu = QApplication.activePopupWidget()
    trigger(entry(menu, "Delete", "gait"))
    menu.close()
    assert panel.layouts.kept == {}
