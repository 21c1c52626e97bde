"""The plot store: every row, bounded, honest about what is missing; and its CSV."""

import csv
import io

import numpy as np
import pytest

from stroboscope.app.models.plot_colours import PLOT_COLOURS, PlotColours
from stroboscope.app.models.plot_store import (
    PlotSeriesId,
    PlotStore,
    SceneKey,
    decode_signals,
    encode_signals,
)
from stroboscope.app.models.signal_csv import CsvExport
from stroboscope.debugger_protocol.scene_description import ChannelInfo, ChannelKind

KEY = SceneKey("session", 1)
QPOS = ChannelInfo(name="qpos", width=2, names=("hip", "knee"), units=("m", "rad"))
REWARD = ChannelInfo(name="reward", kind=ChannelKind.USER)


def make_store(**kwargs):
    store = PlotStore(**kwargs)
    store.add_scene(KEY, name="Rollout, 1", timestep=0.01)
    store.set_channels(KEY, [QPOS, REWARD])
    store.want(KEY, "qpos")
    store.want(KEY, "reward")
    return store


def feed(store, start, stop, *, time=None, lost=0, key=KEY):
    axis = np.arange(start, stop, dtype=np.int64)
    values = np.stack((np.sin(axis), np.cos(axis)), axis=1)
    store.append(key, axis, 0.01 * axis if time is None else time, {"qpos": values}, lost=lost)
    return values


def exported(store, series):
    text = io.StringIO()
    fractions = list(CsvExport(store, series).write(text))
    assert fractions[-1] == 1.0
    return list(csv.DictReader(io.StringIO(text.getvalue())))


def test_every_physics_step_is_in_the_csv_with_the_same_bits():
    store = make_store()
    values = [feed(store, start, start + 17) for start in range(0, 17 * 600, 17)]
    series = [PlotSeriesId(KEY, "qpos", 1), PlotSeriesId(KEY, "qpos", 0)]
    lines = exported(store, series)
    assert [int(line["step"]) for line in lines] == list(range(17 * 600))
    knee = np.array([float(line["qpos_knee"]) for line in lines])
    hip = np.array([float(line["qpos_hip"]) for line in lines])
    assert np.array_equal(np.stack((hip, knee), axis=1), np.concatenate(values))
    assert lines[0]["scene"] == "Rollout, 1"


def test_a_gap_is_counted_breaks_the_line_and_shows_in_the_csv():
    store = make_store()
    feed(store, 0, 10)
    feed(store, 25, 30, lost=15)
    columns = store.columns(KEY, "qpos")
    assert columns.lost == 15
    assert columns.breaks.tolist() == [0, 10]
    lines = exported(store, [PlotSeriesId(KEY, "qpos", 0)])
    assert [int(line["missing"]) for line in lines] == [0] * 10 + [15] + [0] * 4


def test_a_gap_that_nobody_announced_breaks_the_line_of_an_engine_channel_too():
    store = make_store()
    feed(store, 0, 10)
    feed(store, 20, 30)
    columns = store.columns(KEY, "qpos")
    assert columns.lost == 0
    assert columns.breaks.tolist() == [0, 10]
    assert columns.missing_before(10) == 10


def test_logging_now_and_then_is_no_gap():
    store = make_store()
    axis = np.array([0, 50, 50, 120], np.int64)
    store.append(KEY, axis, 0.01 * axis, {"reward": np.arange(4.0)[:, None]})
    columns = store.columns(KEY, "reward")
    assert columns.breaks.tolist() == [0]
    lines = exported(store, [PlotSeriesId(KEY, "reward")])
    assert [line["reward"] for line in lines] == ["0.0", "1.0", "2.0", "3.0"]


def test_rows_that_come_again_are_taken_once():
    store = make_store()
    feed(store, 0, 10)
    feed(store, 5, 15)
    assert store.columns(KEY, "qpos").axis.tolist() == list(range(15))
    assert store.columns(KEY, "qpos").breaks.tolist() == [0]


def test_channels_of_different_rates_meet_in_one_csv_by_step():
    store = make_store()
    values = feed(store, 0, 6)
    axis = np.array([2, 4], np.int64)
    store.append(KEY, axis, 0.01 * axis, {"reward": np.array([[0.1], [np.nan]])})
    lines = exported(store, [PlotSeriesId(KEY, "qpos", 0), PlotSeriesId(KEY, "reward")])
    assert [line["reward"] for line in lines] == ["", "", "0.1", "", "nan", ""]
    assert [float(line["qpos_hip"]) for line in lines] == values[:, 0].tolist()


def test_two_scenes_have_their_own_lines_and_column_titles():
    store = make_store()
    other = SceneKey("session", 2)
    store.add_scene(other, name="Source", timestep=0.01)
    store.set_channels(other, [QPOS])
    store.want(other, "qpos")
    feed(store, 0, 3)
    feed(store, 0, 2, key=other)
    lines = exported(store, [PlotSeriesId(KEY, "qpos", 0), PlotSeriesId(other, "qpos", 0)])
    assert [line["scene"] for line in lines] == ["Rollout, 1"] * 3 + ["Source"] * 2
    assert lines[0]["Source_qpos_hip"] == ""
    assert lines[4]["Rollout_1_qpos_hip"] == ""


def test_a_restore_starts_a_new_segment_further_right():
    store = make_store()
    feed(store, 0, 10)
    store.mark_restore(KEY, axis=10, time=0.0, reason="restore initial state")
    feed(store, 10, 20, time=0.01 * np.arange(10))
    columns = store.columns(KEY, "qpos")
    assert columns.session_time == pytest.approx(0.01 * np.arange(20))
    assert columns.breaks.tolist() == [0, 10]
    marks = store.scenes[KEY].time.marks
    assert [(mark.axis, mark.reason) for mark in marks] == [(10, "restore initial state")]


def test_all_channels_together_stay_within_the_budget():
    store = PlotStore(budget_bytes=1 << 20)
    store.add_scene(KEY, name="A", timestep=0.01)
    store.set_channels(KEY, [ChannelInfo(name=f"c{i}") for i in range(10)])
    n = 3000
    for start in range(0, 30_000, n):
        axis = np.arange(start, start + n, dtype=np.int64)
        channels = {f"c{i}": np.ones((n, 1)) for i in range(1 + start // n)}
        store.want(KEY, f"c{start // n}")
        store.append(KEY, axis, 0.01 * axis, channels)
        assert store.nbytes <= 1 << 20
    columns = store.columns(KEY, "c0")
    assert columns.axis[-1] == 29_999
    assert columns.evicted + columns.count == 30_000


def test_a_channel_nobody_wants_makes_room_first():
    store = PlotStore(budget_bytes=1 << 20)
    store.add_scene(KEY, name="A", timestep=0.01)
    store.set_channels(KEY, [ChannelInfo(name="old"), ChannelInfo(name="new")])
    axis = np.arange(20_000, dtype=np.int64)
    store.want(KEY, "old")
    store.append(KEY, axis, 0.01 * axis, {"old": np.ones((20_000, 1))})
    store.retire(KEY, "old")
    assert store.columns(KEY, "old") is not None
    store.want(KEY, "new")
    store.append(KEY, axis, 0.01 * axis, {"new": np.ones((20_000, 1))})
    assert store.columns(KEY, "old") is None
    assert store.columns(KEY, "new").count == 20_000


def test_shapes_that_do_not_fit_are_refused_and_nothing_is_taken():
    store = make_store()
    axis = np.arange(3, dtype=np.int64)
    with pytest.raises(ValueError, match=r"'qpos' has \(2, 2\) values for 3 steps"):
        store.append(KEY, axis, 0.01 * axis, {"qpos": np.zeros((2, 2))})
    with pytest.raises(ValueError, match="fall"):
        store.append(KEY, axis[::-1], 0.01 * axis, {"qpos": np.zeros((3, 2))})
    assert store.columns(KEY, "qpos").count == 0


def test_rows_that_arrive_after_the_last_plot_is_gone_take_no_room():
    store = make_store(budget_bytes=1 << 16)
    feed(store, 0, 10)
    store.retire(KEY, "qpos")
    feed(store, 10, 5000)
    assert store.columns(KEY, "qpos").count == 10
    store.want(KEY, "qpos")
    feed(store, 5000, 5010)
    assert store.columns(KEY, "qpos").breaks.tolist() == [0, 10]


def test_clear_drops_rows_and_goes_on_with_the_next_ones():
    store = make_store()
    feed(store, 0, 10)
    store.clear()
    assert store.columns(KEY, "qpos").count == 0
    feed(store, 10, 15)
    assert store.columns(KEY, "qpos").axis.tolist() == [10, 11, 12, 13, 14]


def test_names_and_units_of_components():
    store = make_store()
    assert store.label(PlotSeriesId(KEY, "qpos", 1)) == "qpos[knee]"
    assert store.unit(PlotSeriesId(KEY, "qpos", 0)) == "m"
    assert store.label(PlotSeriesId(KEY, "reward")) == "reward"
    assert store.unit(PlotSeriesId(KEY, "reward")) == ""


def test_a_dragged_payload_survives_and_anything_else_is_refused():
    series = [PlotSeriesId(KEY, "qpos", 1), PlotSeriesId(KEY, "reward")]
    assert decode_signals(encode_signals(series)) == series
    for payload in (b"", b"3", b"[3]", b'[{"session": 1}]', b'"x"', b"\xff"):
        with pytest.raises(ValueError, match=r"."):
            decode_signals(payload)


def test_a_signal_keeps_its_colour_and_neighbours_differ():
    colours = PlotColours()
    series = [PlotSeriesId(KEY, "qpos", i) for i in range(PLOT_COLOURS)]
    first = [colours.assign(each, beside=series) for each in series]
    assert sorted(first) == list(range(PLOT_COLOURS))
    other = PlotSeriesId(KEY, "reward")
    assert colours.assign(other, beside=series[:3]) not in first[:3]
    assert [colours.assign(each, beside=[other]) for each in series] == first


def test_a_restarted_script_gets_the_old_colours():
    colours = PlotColours()
    colours.assign(PlotSeriesId(KEY, "qpos", 0))
    second = colours.assign(PlotSeriesId(KEY, "qpos", 1), beside=[PlotSeriesId(KEY, "qpos", 0)])
    new = SceneKey("other session", 7)
    colours.rebind(KEY, new)
    assert colours.index(PlotSeriesId(new, "qpos", 1)) == second
    assert colours.index(PlotSeriesId(KEY, "qpos", 1)) is None
