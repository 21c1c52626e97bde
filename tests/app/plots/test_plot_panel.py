"""The plot panel on a real screen, with a real mouse."""

import csv

import numpy as np
import pytest
from PySide6 import __version_info__ as PYSIDE_VERSION
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QDragEnterEvent, QDropEvent, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu

from stroboscope.app.models.plot_store import SIGNAL_MIME_TYPE, SceneKey, encode_signals
from stroboscope.resources.themes import DARK, LIGHT


def drop(panel, payload, position):
    mime = QMimeData()
    mime.setData(SIGNAL_MIME_TYPE, payload)
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    # Qt 6.12 deprecates the whole-pixel constructor, before it there is no other.
    entry = position if PYSIDE_VERSION < (6, 12) else QPointF(position)
    enter = QDragEnterEvent(entry, Qt.DropAction.CopyAction, mime, buttons, keys)
    QApplication.sendEvent(panel, enter)
    assert enter.isAccepted()
    event = QDropEvent(QPointF(position), Qt.DropAction.CopyAction, mime, buttons, keys)
    QApplication.sendEvent(panel, event)


def wheel(view, position, notches, *, modifiers=Qt.KeyboardModifier.NoModifier):
    viewport = view.viewport()
    event = QWheelEvent(
        QPointF(position),
        QPointF(viewport.mapToGlobal(position)),
        QPoint(),
        QPoint(0, 120 * notches),
        Qt.MouseButton.NoButton,
        modifiers,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(viewport, event)


def colours_in(widget):
    image = widget.grab().toImage()
    return {
        image.pixelColor(x, y).name()
        for x in range(0, image.width(), 1)
        for y in range(0, image.height(), 1)
    }


def test_an_empty_panel_says_what_to_do_and_subscribes_to_nothing(panel):
    subscriptions = []
    panel.subscriptions_changed.connect(lambda *args: subscriptions.append(args))
    assert "Drag a value" in panel._empty._text.text()
    assert panel._empty.add.isVisible()
    assert not panel.toolbar.export.isEnabled()
    assert "Nothing is plotted" in panel.toolbar.export.toolTip()
    assert subscriptions == []


def test_typing_and_enter_in_the_popup_adds_a_signal_and_subscribes_to_its_channel(
    panel, source, wait_until
):
    subscriptions = []
    panel.subscriptions_changed.connect(lambda *args: subscriptions.append(args))
    QTest.mouseClick(panel.toolbar.add, Qt.MouseButton.LeftButton)
    popup = QApplication.activePopupWidget()
    QTest.keyClicks(popup.search, "qpos kn")
    assert popup.texts() == ["qpos[knee]   [rad]"]
    QTest.keyClick(popup.search, Qt.Key.Key_Return)
    popup.close()
    assert panel.plots.all_series() == [source.series("qpos", 2)]
    assert subscriptions == [(source.key, ("qpos",))]
    source.advance(300)
    wait_until(lambda: len(panel.cells[0].view.line_data(source.series("qpos", 2))[0]) == 300)


def test_a_click_in_the_popup_adds_and_another_removes(panel, source):
    popup = panel.open_add_popup()
    popup.search.setText("reward")
    center = popup.view.visualRect(popup.view.model().index(0)).center()
    QTest.mouseClick(popup.view.viewport(), Qt.MouseButton.LeftButton, pos=center)
    assert panel.plots.all_series() == [source.series("reward")]
    QTest.mouseClick(popup.view.viewport(), Qt.MouseButton.LeftButton, pos=center)
    assert panel.plots.all_series() == []
    popup.close()


def test_what_is_drawn_has_the_colour_of_the_legend_in_both_themes(panel, source, wait_until):
    series = source.series("qpos", 1)
    panel.add_signals(series)
    source.advance(300)
    for palette in (DARK, LIGHT):
        panel.set_theme(palette)
        wait_until(lambda p=palette: p.plot[0].lower() in colours_in(panel.cells[0].view))
        assert panel.cells[0].legend.rows[0].colour == palette.plot[0]
        background = panel.cells[0].view.grab().toImage().pixelColor(2, 2)
        assert background == QColor(palette.surface0)


def test_signals_of_one_unit_share_a_plot_and_another_unit_gets_its_own(panel, source):
    panel.add_signals(source.series("qpos", 1), source.series("qpos", 2))
    panel.add_signals(source.series("torque", 0))
    assert [len(plot.series) for plot in panel.plots.plots] == [2, 1]


def test_a_drop_on_a_plot_of_another_unit_makes_a_plot_and_says_why(panel, source):
    messages = []
    panel.message.connect(messages.append)
    drop(panel, encode_signals([source.series("qpos", 1)]), QPoint(300, 100))
    drop(panel, encode_signals([source.series("torque", 0)]), QPoint(300, 100))
    assert [len(plot.series) for plot in panel.plots.plots] == [1, 1]
    assert messages == ["torque[hip] is in N·m, this plot in rad: it has a plot of its own."]


def test_a_drop_of_nonsense_changes_nothing(panel):
    messages = []
    panel.message.connect(messages.append)
    drop(panel, b"[1]", QPoint(300, 100))
    assert panel.plots.all_series() == []
    assert len(messages) == 1


def test_more_than_eight_signals_get_a_second_plot(panel, store, source, make_source):
    others = [
        make_source(store, SceneKey("session", 2 + i), name=f"Rollout {2 + i}") for i in range(4)
    ]
    plot_id = None
    for each in (source, *others):
        for component in (1, 2):
            panel.add_signals(each.series("qpos", component), plot_id=plot_id)
            plot_id = panel.plots.plots[0].plot_id
    assert [len(plot.series) for plot in panel.plots.plots] == [8, 2]
    first = panel.plots.plots[0].series
    assert len({panel.plots.colours.index(each) for each in first}) == 8


def test_the_legend_names_scenes_only_when_there_are_several(
    panel, store, source, make_source, wait_until
):
    panel.add_signals(source.series("qpos", 1))
    source.advance(10)
    wait_until(lambda: [r.name for r in panel.cells[0].legend.rows] == ["qpos[hip]"])
    other = make_source(store, SceneKey("session", 2), name="Source")
    panel.add_signals(other.series("qpos", 1))
    wait_until(
        lambda: (
            [r.name for c in panel.cells for r in c.legend.rows]
            == ["Rollout 1 · qpos[hip]", "Source · qpos[hip]"]
        )
    )


def test_clicking_the_cross_in_the_legend_removes_and_unsubscribes(panel, source, wait_until):
    subscriptions = []
    panel.add_signals(source.series("qpos", 1), source.series("torque", 0))
    source.advance(10)
    wait_until(lambda: panel.cells[1].legend.rows)
    panel.subscriptions_changed.connect(lambda *args: subscriptions.append(args))
    legend = panel.cells[1].legend
    content = legend.widget()
    position = content.mapFromGlobal(legend.remove_button_center(source.series("torque", 0)))
    QTest.mouseClick(content, Qt.MouseButton.LeftButton, pos=position)
    assert panel.plots.all_series() == [source.series("qpos", 1)]
    assert subscriptions == [(source.key, ("qpos",))]
    assert len(panel.cells) == 1


def test_the_wheel_zooms_time_about_now_while_following(panel, source, wait_until):
    panel.add_signals(source.series("qpos", 1))
    source.advance(3000)
    view = panel.cells[0].view
    wait_until(lambda: view.time_range[1] > 30.0)
    before = view.time_range
    wheel(view, QPoint(400, 60), 3)
    wait_until(lambda: view.time_range != before)
    start, end = view.time_range
    assert end - start == pytest.approx((before[1] - before[0]) / 1.25**3)
    assert panel.time_view.follows
    assert start < 29.99 < end


def test_dragging_pans_and_stops_following_and_the_button_follows_again(panel, source, wait_until):
    panel.add_signals(source.series("qpos", 1))
    source.advance(3000)
    view = panel.cells[0].view
    wait_until(lambda: view.time_range[1] > 30.0)
    before = view.time_range
    viewport = view.viewport()
    left = Qt.MouseButton.LeftButton
    QTest.mousePress(viewport, left, pos=QPoint(300, 60))
    for x in (310, 340, 400, 420):
        QTest.mouseMove(viewport, QPoint(x, 60))
        QTest.qWait(20)
    QTest.mouseRelease(viewport, left, pos=QPoint(420, 60))
    wait_until(lambda: view.time_range[0] < before[0] - 0.3)
    assert not panel.time_view.follows
    assert not panel.toolbar.follow.isChecked()
    wait_until(lambda: view.time_range == panel.time_view.range)
    frozen = view.time_range
    source.advance(500)
    QTest.qWait(100)
    assert view.time_range == frozen
    QTest.mouseClick(panel.toolbar.follow, left)
    wait_until(lambda: view.time_range[1] > 35.0)


def test_ctrl_wheel_zooms_values_and_double_click_shows_everything(panel, source, wait_until):
    panel.add_signals(source.series("qpos", 1))
    source.advance(2000)
    view = panel.cells[0].view
    wait_until(lambda: view.value_range[1] >= 1.0)
    wheel(view, QPoint(400, 60), 4, modifiers=Qt.KeyboardModifier.ControlModifier)
    assert view.value_range[1] < 1.0
    assert not view.automatic_values
    QTest.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(400, 60))
    QTest.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(400, 60))
    wait_until(lambda: view.time_range[0] < 0.0 and view.time_range[1] > 19.9)
    wait_until(lambda: view.value_range[1] >= 1.0)


def test_the_cursor_reads_values_of_one_step_in_all_plots(panel, source, wait_until):
    panel.add_signals(source.series("qpos", 1), source.series("torque", 0))
    source.advance(500)
    view = panel.cells[0].view
    wait_until(lambda: panel.cells[1].legend.rows and view.time_range[1] >= 5.0)
    QTest.mouseMove(view.viewport(), QPoint(500, 50))
    wait_until(lambda: "cursor" in panel.toolbar.readout.text())
    step = int(panel.toolbar.readout.text().split("step")[1].replace("\u202f", ""))
    assert 0 < step < 499
    expected = (np.sin(step / 30), 100.0 * np.sin(step / 25))
    shown = [float(c.legend.rows[0].value.replace("−", "-")) for c in panel.cells]
    assert shown == pytest.approx(expected, abs=0.06)
    for cell in panel.cells:
        assert cell.view.cursor_line.times == pytest.approx((0.01 * step,))
    QTest.mouseMove(panel.cells[0].legend, QPoint(100, 50))
    wait_until(lambda: "cursor" not in panel.toolbar.readout.text())


def test_a_restore_is_marked_and_the_readout_knows_both_times(panel, store, source, wait_until):
    panel.add_signals(source.series("qpos", 1))
    source.advance(200)
    store.mark_restore(source.key, axis=200, time=0.0, reason="restore initial state")
    source.advance(101, time=0.0)
    view = panel.cells[0].view
    wait_until(lambda: len(view.restores.times) == 1)
    assert view.restores.times == pytest.approx((2.0,))
    assert "session 3.0000" in panel.toolbar.readout.text()
    assert "episode 1.0000" in panel.toolbar.readout.text()
    # The line is there in pixels, whatever the size of the values.
    at = view.getPlotItem().vb.mapViewToScene(QPointF(2.0, 0.0)).x()
    image = view.grab().toImage()
    column = {image.pixelColor(round(at) + d, y).name() for y in range(10, 90) for d in (-1, 0, 1)}
    assert DARK.muted.lower() in column


def test_a_scene_that_was_put_elsewhere_and_waits_has_nothing_executed_there(
    panel, store, source, wait_until
):
    def value():
        return [row.value for row in panel.cells[0].legend.rows]

    panel.add_signals(source.series("qpos", 1))
    source.advance(200)
    store.observe(source.key, axis=200, time=2.0, paused=True)
    readout = panel.toolbar.readout
    wait_until(lambda: readout.text().startswith("EXECUTED: session 1.9900"))
    store.mark_restore(source.key, axis=200, time=0.0, reason="restore initial state")
    wait_until(lambda: readout.text().startswith("NOW, no step since: session 2.0000"))
    assert "episode 0.0000" in readout.text()
    assert panel.cells[0].view.now_line.times == pytest.approx((2.0,))
    assert value() == ["–"]
    source.advance(1, time=0.0)
    store.observe(source.key, axis=201, time=0.01, paused=True)
    wait_until(lambda: readout.text().startswith("EXECUTED: "))
    assert "episode 0.0000" in readout.text()
    assert value() != ["–"]
    # While it runs the rows are only on their way.
    store.observe(source.key, axis=201, time=0.01, paused=False)
    store.mark_restore(source.key, axis=201, time=0.0, reason="restore initial state")
    panel.refresh()
    assert readout.text().startswith("EXECUTED: ")


def test_lost_steps_are_shown_and_break_the_line(panel, source, wait_until):
    panel.add_signals(source.series("qpos", 1))
    source.advance(100)
    source.step += 40
    source.advance(100, lost=40)
    wait_until(lambda: "40 steps lost" in panel.toolbar.note.text())
    assert "faster than they could be sent" in panel.toolbar.note.toolTip()


def test_a_hidden_panel_draws_nothing_and_catches_up_when_shown(panel, source, wait_until):
    series = source.series("qpos", 1)
    panel.add_signals(series)
    source.advance(10)
    wait_until(lambda: len(panel.cells[0].view.line_data(series)[0]) == 10)
    panel.hide()
    source.advance(50)
    QTest.qWait(100)
    assert not panel._timer.isActive()
    assert len(panel.cells[0].view.line_data(series)[0]) == 10
    panel.show()
    wait_until(lambda: len(panel.cells[0].view.line_data(series)[0]) == 60)


def test_nothing_runs_while_nothing_changes(panel, source, wait_until):
    panel.add_signals(source.series("qpos", 1))
    source.advance(10)
    wait_until(lambda: not panel._timer.isActive())
    QTest.qWait(100)
    assert not panel._timer.isActive()


def test_export_writes_every_step_and_leaves_no_other_file(panel, source, tmp_path, wait_until):
    panel.add_signals(source.series("qpos", 1), source.series("torque", 0))
    source.advance(9000)
    path = tmp_path / "signals.csv"
    panel.export_csv(path)
    wait_until(path.exists)
    with path.open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [int(line["step"]) for line in lines] == list(range(9000))
    hip = np.array([float(line["qpos_hip"]) for line in lines])
    assert np.array_equal(hip, np.sin(np.arange(9000) / 30))
    assert [each.name for each in tmp_path.iterdir()] == ["signals.csv"]


def test_a_cancelled_export_leaves_nothing_behind(panel, source, tmp_path, wait_until):
    panel.add_signals(source.series("qpos", 1))
    source.advance(50_000)
    panel.export_csv(tmp_path / "signals.csv")
    wait_until(panel.toolbar.cancel.isVisible)
    QTest.mouseClick(panel.toolbar.cancel, Qt.MouseButton.LeftButton)
    wait_until(lambda: panel.toolbar.progress.text() == "CSV cancelled")
    assert list(tmp_path.iterdir()) == []


def test_an_export_that_fails_says_where_and_why(panel, source, tmp_path, wait_until):
    messages = []
    panel.message.connect(messages.append)
    panel.add_signals(source.series("qpos", 1))
    source.advance(10)
    panel.export_csv(tmp_path / "missing" / "signals.csv")
    wait_until(lambda: messages)
    assert "could not be written: No such file or directory" in messages[0]


def test_the_menu_of_a_plot_removes_it(panel, source, wait_until):
    panel.add_signals(source.series("qpos", 1), source.series("torque", 0))
    cell = panel.cells[1]
    cell.menu_requested.emit(cell.plot_id, cell.mapToGlobal(QPoint(50, 20)))
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    texts = [action.text() for action in menu.actions() if action.text()]
    assert "torque[hip]" in texts
    next(a for a in menu.actions() if a.text() == "Remove this plot").trigger()
    menu.close()
    assert panel.plots.all_series() == [source.series("qpos", 1)]


def test_many_plots_scroll_instead_of_shrinking(panel, store, source, wait_until):
    panel.add_signals(
        source.series("qpos", 0), source.series("qpos", 1),
        source.series("torque", 0), source.series("reward"),
    )  # fmt: skip
    assert len(panel.cells) == 4
    wait_until(lambda: panel._scroll.verticalScrollBar().maximum() > 0)
    assert all(cell.height() >= cell.minimumHeight() for cell in panel.cells)
    source.advance(500)
    # The labels of the time axis stay in sight, below the grid lines they belong to.
    wait_until(lambda: len(panel._strip.labels) > 2)
    assert panel._strip.isVisible()
    view = panel.cells[0].view
    for x, text in panel._strip.labels:
        point = view.getPlotItem().vb.mapViewToScene(QPointF(float(text.split("\u202f")[0]), 0.0))
        assert x == pytest.approx(point.x(), abs=1.0)


def test_plots_survive_a_restart_of_the_window(panel, store, source, show):
    from stroboscope.app.models.plot_store import PlotStore
    from stroboscope.app.plots.plot_panel import PlotPanel

    panel.add_signals(source.series("torque", 1), source.series("qpos", 2))
    panel.time_view.choose_span(3.0)
    state = panel.state()
    other_store = PlotStore()
    other = show(PlotPanel(other_store, DARK), 800, 260)
    other.restore_state(state)
    subscriptions = []
    other.subscriptions_changed.connect(lambda *args: subscriptions.append(args))
    assert other.plots.all_series() == []
    new = type(source)(other_store, SceneKey("another session", 5))
    assert other.plots.all_series() == [new.series("torque", 1), new.series("qpos", 2)]
    assert {channel for _, names in subscriptions for channel in names} == {"torque", "qpos"}
    assert other.time_view.span == 3.0
    for old_series, new_series in zip(
        panel.plots.all_series(), other.plots.all_series(), strict=True
    ):
        assert panel.plots.colours.index(old_series) == other.plots.colours.index(new_series)


def test_plots_go_on_with_a_restarted_script(panel, store, source, wait_until):
    series = source.series("qpos", 1)
    panel.add_signals(series)
    colour = panel.plots.colours.index(series)
    source.advance(100)
    store.set_stale(source.key)
    new = type(source)(store, SceneKey("later session", 3))
    assert panel.plots.all_series() == [new.series("qpos", 1)]
    assert panel.plots.colours.index(new.series("qpos", 1)) == colour
    new.advance(20)
    wait_until(lambda: len(panel.cells[0].view.line_data(new.series("qpos", 1))[0]) == 20)


def test_a_session_that_comes_back_is_subscribed_again(panel, store, source):
    panel.add_signals(source.series("qpos", 1))
    subscriptions = []
    panel.subscriptions_changed.connect(lambda *args: subscriptions.append(args))
    store.set_stale(source.key)
    store.add_scene(source.key, name="Rollout 1", script="train.py", timestep=0.01)
    assert subscriptions[-1] == (source.key, ("qpos",))


@pytest.mark.parametrize(
    "state",
    [{}, {"version": 99}, {"version": 1, "plots": 3}, {"version": 1, "plots": [3, [4], [{}]]},
     {"version": 1, "plots": [[{"script": 1}]], "span": "wide", "follow": None}],
)  # fmt: skip
def test_a_damaged_layout_is_left_out(panel, state):
    panel.restore_state(state)
    assert panel.plots.all_series() == []


def test_a_million_steps_with_one_spike_show_the_spike(panel, store, source, wait_until):
    series = source.series("reward")
    panel.add_signals(series)
    axis = np.arange(1_000_000, dtype=np.int64)
    values = np.zeros((1_000_000, 1))
    values[654_321] = 5.0
    store.append(source.key, axis, 0.01 * axis, {"reward": values})
    QTest.mouseClick(panel.toolbar.fit, Qt.MouseButton.LeftButton)
    wait_until(lambda: len(panel.cells[0].view.line_data(series)[0]) > 100)
    x, y = panel.cells[0].view.line_data(series)
    assert y.max() == 5.0
    assert len(x) < 10_000


def test_a_log_value_of_an_earlier_step_is_shown_as_held(panel, store, source, wait_until):
    panel.add_signals(source.series("qpos", 1), source.series("reward"))
    source.advance(100)
    store.append(source.key, np.array([50], np.int64), np.array([0.5]), {"reward": np.ones((1, 1))})
    store.observe(source.key, axis=130, time=1.3)
    wait_until(
        lambda: panel.cells[1].legend.rows and panel.cells[1].legend.rows[0].value == "1.0000"
    )
    assert panel.cells[1].legend.rows[0].held
    assert not panel.cells[0].legend.rows[0].held


def test_long_texts_never_make_the_panel_wide(panel, source, wait_until):
    panel.add_signals(source.series("qpos", 1))
    source.advance(100)
    source.step += 40
    source.advance(100, lost=40)
    panel.toolbar.show_progress("x" * 500)
    wait_until(lambda: panel.toolbar.note.text())
    assert panel.minimumSizeHint().width() < 420


def test_thousands_of_scenes_that_came_and_went_leave_nothing(panel, store, source, make_source):
    panel.add_signals(source.series("qpos", 1))
    for scene_id in range(100, 400):
        key = SceneKey("session", scene_id)
        make_source(store, key, name=f"env {scene_id}").advance(3)
        store.set_stale(key)
    assert list(store.scenes) == [source.key]
    source.advance(10)
    store.set_stale(source.key)  # plotted: what is known of it stays
    assert store.columns(source.key, "qpos").count == 10
    panel.plots.remove(source.series("qpos", 1))
    store.set_stale(source.key)
    assert not store.scenes
    assert store.nbytes == 0


def test_what_the_script_logs_comes_first_in_the_list_of_signals(panel, source):
    popup = panel.open_add_popup()
    assert popup.texts()[0] == "reward"
    assert "qpos" in popup.texts()[1]
    popup.close()


def test_legends_name_scene_and_script_when_several_applications_are_plotted(
    panel, source, store, make_source, wait_until
):
    def names():
        return [row.name for cell in panel.cells for row in cell.legend.rows]

    panel.add_signals(source.series("qpos", 2))
    source.advance(5)
    wait_until(lambda: names() == ["qpos[knee]"])
    sibling = make_source(store, SceneKey("session", 2), "Rollout 2")
    panel.add_signals(sibling.series("qpos", 2))
    sibling.advance(5)
    wait_until(lambda: names() == ["Rollout 1 · qpos[knee]", "Rollout 2 · qpos[knee]"])
    other = make_source(store, SceneKey("other", 1), "Rollout 1", "/x/crash.py")
    panel.add_signals(other.series("qpos", 2))
    other.advance(5)
    wait_until(lambda: "crash.py › Rollout 1 · qpos[knee]" in names())
    assert "train.py › Rollout 1 · qpos[knee]" in names()


def test_a_legend_says_which_instant_its_value_belongs_to(panel, source, wait_until):
    panel.add_signals(source.series("qpos", 2))
    source.advance(5)
    wait_until(lambda: [row.value for row in panel.cells[0].legend.rows if row.value != "–"])
    (row,) = panel.cells[0].legend.rows
    assert "EXECUTED: of physics step 4, t 0.04 s. NOW is one step later." in row.tooltip
    assert panel.toolbar.readout.text().startswith("EXECUTED: ")


def test_a_legend_names_the_scene_when_another_one_is_shown(panel, source, wait_until):
    panel.add_signals(source.series("qpos", 2))
    source.advance(5)
    panel.set_shown_scene(SceneKey("session", 1))
    wait_until(lambda: [r.name for r in panel.cells[0].legend.rows] == ["qpos[knee]"])
    panel.set_shown_scene(SceneKey("other", 1))
    named = ["train.py › Rollout 1 · qpos[knee]"]
    wait_until(lambda: [r.name for r in panel.cells[0].legend.rows] == named)


def test_legends_are_wider_while_they_name_whose_signal_it_is(panel, source, wait_until):
    panel.add_signals(source.series("qpos", 2))
    source.advance(5)
    wait_until(lambda: panel.cells[0].legend.rows)
    narrow = panel.cells[0].legend.width()
    panel.set_shown_scene(SceneKey("other", 1))
    wait_until(lambda: panel.cells[0].legend.width() > narrow + 80)
    panel.set_shown_scene(source.key)
    wait_until(lambda: panel.cells[0].legend.width() == narrow)


def test_a_long_script_name_leaves_room_for_the_signals(panel, store, make_source, wait_until):
    long = make_source(store, SceneKey("a", 1), "Rollout 1", "/x/cross_thread_restore_demo.py")
    panel.add_signals(long.series("qpos", 2))
    long.advance(5)
    panel.set_shown_scene(SceneKey("other", 1))
    named = ["cross_thread_… › Rollout 1 · qpos[knee]"]
    wait_until(lambda: [r.name for r in panel.cells[0].legend.rows] == named)
    assert "cross_thread_restore_demo.py" in panel.cells[0].legend.rows[0].tooltip
