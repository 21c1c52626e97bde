"""Derivatives and filters: known answers, in any slices; anew where a state was replaced."""

import numpy as np
import pytest

from stroboscope.app.models.derived_signals import (
    Derivation,
    DerivedKind,
    DerivedRows,
    derivation_of,
    sources_of,
)
from stroboscope.app.models.plot_layout import PlotLayout
from stroboscope.app.models.plot_store import PlotSeriesId, PlotStore, SceneKey
from stroboscope.debugger_protocol.scene_description import ChannelInfo

KEY = SceneKey("session", 1)
CHANNEL = ChannelInfo(name="qpos", width=2, names=("rail", "knee"), units=("m", "rad"))


def computed(derivation, time, values, segment=None, slices=1):
    rows = DerivedRows(derivation)
    segment = np.zeros(len(time), np.int64) if segment is None else segment
    parts = np.array_split(np.arange(len(time)), slices)
    made = [rows.compute(time[part], values[part], segment[part]) for part in parts]
    return np.concatenate(made)


@pytest.mark.parametrize("slices", [1, 7, 100])
def test_the_derivative_of_a_ramp_is_its_slope_also_where_steps_are_uneven(slices):
    time = np.cumsum(np.tile([0.002, 0.001, 0.004], 34))[:100]
    values = np.stack((3.0 * time, -time), axis=1)
    rate = computed(Derivation(DerivedKind.DERIVATIVE, "qpos"), time, values, slices=slices)
    assert np.isnan(rate[0]).all()
    np.testing.assert_allclose(rate[1:], np.tile([3.0, -1.0], (99, 1)), rtol=1e-9)


def test_a_new_segment_starts_without_a_derivative_instead_of_a_spike():
    time = np.array([0.0, 0.01, 0.02, 0.0, 0.01])
    values = np.array([[0.0], [1.0], [2.0], [9.0], [9.5]])
    segment = np.array([0, 0, 0, 1, 1])
    rate = computed(Derivation(DerivedKind.DERIVATIVE, "q"), time, values, segment)
    np.testing.assert_allclose(rate[:, 0], [np.nan, 100.0, 100.0, np.nan, 50.0])


@pytest.mark.parametrize("slices", [1, 3, 50])
def test_the_moving_average_is_the_mean_of_the_window(slices):
    time = 0.01 * np.arange(50)
    values = np.random.default_rng(0).normal(size=(50, 2))
    values[20, 0] = np.nan
    mean = computed(Derivation(DerivedKind.AVERAGE, "qpos", 0.05), time, values, slices=slices)
    for row in range(50):
        window = values[max(row - 4, 0) : row + 1]
        np.testing.assert_allclose(mean[row], np.nanmean(window, axis=0), atol=1e-12)


@pytest.mark.parametrize("slices", [1, 4])
def test_a_low_pass_answers_a_step_like_one_minus_e_to_the_minus_t(slices):
    time = 0.001 * np.arange(300)
    values = np.where(time > 0.0005, 1.0, 0.0)[:, None]
    result = computed(Derivation(DerivedKind.LOWPASS, "q", 0.05), time, values, slices=slices)
    np.testing.assert_allclose(result[:, 0], 1.0 - np.exp(-time / 0.05), atol=1e-9)


def test_names_carry_how_a_signal_is_made():
    inner = Derivation(DerivedKind.LOWPASS, "qpos", 0.05)
    outer = Derivation(DerivedKind.DERIVATIVE, inner.name)
    assert derivation_of(outer.name) == outer
    assert sources_of(outer.name) == ("qpos", inner.name, outer.name)
    assert sources_of("reward") == ("reward",)
    for nonsense in ("~", "~cube 1 qpos", "~lowpass x qpos", "~lowpass nan qpos", "~lowpass 1"):
        assert derivation_of(nonsense) is None


def feed(store, first, count, *, lost=0):
    axis = np.arange(first, first + count)
    values = np.stack((0.5 * axis * 0.01, np.sin(0.01 * axis)), axis=1)
    store.append(KEY, axis, 0.01 * axis, {"qpos": values}, lost=lost)


@pytest.fixture
def store():
    store = PlotStore()
    store.add_scene(KEY, name="Arm", script="arm.py", timestep=0.01)
    store.set_channels(KEY, [CHANNEL])
    return store


def test_a_derived_signal_has_the_past_of_its_source_and_follows_it(store):
    layout = PlotLayout(store)
    subscribed = {}
    layout.subscriptions_changed.connect(lambda key, names: subscribed.update({key: names}))
    layout.add(PlotSeriesId(KEY, "qpos", 0))
    feed(store, 0, 40)
    name = Derivation(DerivedKind.DERIVATIVE, "qpos").name
    series = PlotSeriesId(KEY, name, 0)
    layout.add(series)
    feed(store, 40, 10)
    columns = store.columns(KEY, name)
    np.testing.assert_array_equal(columns.axis, np.arange(50))
    np.testing.assert_allclose(columns.values(0)[1:], 0.5)
    assert store.unit(series) == "m/s"
    assert store.label(series) == "d/dt qpos[rail]"
    assert subscribed == {KEY: ("qpos",)}
    assert list(columns.breaks) == [0]
    layout.remove(PlotSeriesId(KEY, "qpos", 0))
    feed(store, 50, 10)
    assert store.columns(KEY, name).count == 60
    layout.remove(series)
    assert subscribed == {KEY: ()}


def test_lost_rows_break_a_derived_line_too(store):
    layout = PlotLayout(store)
    name = Derivation(DerivedKind.LOWPASS, "qpos", 0.1).name
    layout.add(PlotSeriesId(KEY, name, 1))
    feed(store, 0, 10)
    feed(store, 15, 10, lost=5)
    columns = store.columns(KEY, name)
    assert list(columns.breaks) == [0, 10]
    assert columns.missing_before(10) == 5


def test_an_expression_is_a_signal_with_name_unit_and_width(store):
    layout = PlotLayout(store)
    series = PlotSeriesId(KEY, "= 2 * qpos['knee']", 0)
    assert store.unit(series) == "rad"
    assert store.label(series) == "2 * qpos['knee']"
    layout.add(series)
    assert store.columns(KEY, series.channel).width == 1
    assert store.info(KEY, "= qpos['nee']") is None
    rate = PlotSeriesId(KEY, Derivation(DerivedKind.DERIVATIVE, series.channel).name)
    layout.add(rate)
    assert store.label(rate) == "d/dt 2 * qpos['knee']"
    remembered = layout.to_dict()
    again = PlotLayout(store)
    again.restore(remembered)
    assert again.all_series() == layout.all_series()
