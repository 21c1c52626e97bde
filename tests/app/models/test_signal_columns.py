"""Columns: bounded, exact, and their extremes are true."""

import numpy as np
import pytest

from stroboscope.app.models.polyline import visible_polyline
from stroboscope.app.models.signal_columns import BLOCK, SignalColumns


def fill(columns, values, *, start=0, segment=0, missing=None, dt=0.001, x=None):
    values = np.asarray(values, float)
    if values.ndim == 1:
        values = values[:, None]
    n = len(values)
    axis = np.arange(start, start + n, dtype=np.int64)
    time = dt * axis if x is None else x
    gaps = np.zeros(n, np.int64)
    for row, count in (missing or {}).items():
        gaps[row] = count
    columns.append(axis, time, time, values, segment=np.full(n, segment, np.int64), missing=gaps)


def test_every_row_comes_back_bit_for_bit():
    columns = SignalColumns(3, limit_bytes=1 << 22)
    values = np.random.default_rng(0).standard_normal((5000, 3))
    for start in range(0, 5000, 37):
        fill(columns, values[start : start + 37], start=start)
    rows = columns.rows()
    assert np.array_equal(rows.values, values)
    assert np.array_equal(rows.axis, np.arange(5000))


def test_memory_is_bounded_and_what_was_given_up_is_counted():
    columns = SignalColumns(2, limit_bytes=1 << 18)
    written = 0
    for start in range(0, 60_000, 1000):
        fill(columns, np.full((1000, 2), float(start)), start=start)
        written += 1000
        assert columns.nbytes <= 1 << 18
        assert columns.count + columns.evicted == written
    assert columns.axis[-1] == 59_999
    assert columns.axis[0] == columns.evicted
    assert columns.count >= 3000  # the newest stay


def test_one_frame_larger_than_everything_keeps_the_newest_rows():
    columns = SignalColumns(1, limit_bytes=1 << 14)
    fill(columns, np.arange(100.0))
    fill(columns, np.arange(100.0, 10_000.0), start=100)
    assert columns.values(0)[-1] == 9999.0
    assert columns.count + columns.evicted == 10_000
    assert np.array_equal(columns.values(0), columns.axis.astype(float))


@pytest.mark.parametrize("rows", [1, BLOCK - 1, BLOCK, 10 * BLOCK + 7, 5000])
def test_extremes_equal_those_of_numpy_for_any_range(rows):
    rng = np.random.default_rng(rows)
    columns = SignalColumns(1, limit_bytes=1 << 22)
    values = rng.standard_normal(rows)
    fill(columns, values)
    for _ in range(50):
        start, end = sorted(rng.integers(0, rows + 1, 2))
        if end > start:
            expected = (values[start:end].min(), values[start:end].max())
            assert columns.extremes(0, int(start), int(end)) == expected


def test_extremes_stay_true_when_the_oldest_rows_go():
    columns = SignalColumns(1, limit_bytes=1 << 15)
    rng = np.random.default_rng(1)
    values = rng.standard_normal(20_000)
    for start in range(0, 20_000, 333):
        fill(columns, values[start : start + 333], start=start)
    kept = values[columns.evicted :]
    assert columns.evicted > 0
    assert np.array_equal(columns.values(0), kept)
    for start, end in ((0, len(kept)), (5, 500), (100, len(kept) - 3)):
        expected = (kept[start:end].min(), kept[start:end].max())
        assert columns.extremes(0, start, end) == expected


@pytest.mark.parametrize("pixels", [50, 300, 1200])
@pytest.mark.parametrize("where", [0, 1, 12_345, 77_777, 99_998, 99_999])
def test_a_spike_of_one_step_survives_at_every_zoom(pixels, where):
    columns = SignalColumns(1, limit_bytes=1 << 24)
    values = np.sin(np.arange(100_000) / 500.0)
    values[where] = 50.0
    fill(columns, values)
    for start, end in ((0.0, 100.0), (where / 1000 - 7.0, where / 1000 + 5.0)):
        line = visible_polyline(columns, 0, start=start, end=end, pixels=pixels)
        assert line.y.max() == 50.0
        assert line.x[np.argmax(line.y)] == pytest.approx(
            where / 1000, abs=2.0 * (end - start) / pixels
        )
        assert len(line.x) <= 6 * pixels


def test_a_close_view_draws_every_row():
    columns = SignalColumns(1, limit_bytes=1 << 24)
    fill(columns, np.arange(100_000.0))
    line = visible_polyline(columns, 0, start=50.0, end=50.2, pixels=400)
    assert np.array_equal(line.y, np.arange(49_999.0, 50_202.0))


@pytest.mark.parametrize("rows", [200, 50_000])
def test_no_line_leads_over_a_gap(rows):
    columns = SignalColumns(1, limit_bytes=1 << 24)
    values = np.zeros(rows)
    values[rows // 2 - 1] = 9.0  # just before the gap
    time = 0.001 * np.arange(rows)
    time[rows // 2 :] += 0.001 * rows
    fill(columns, values, missing={rows // 2: rows}, x=time)
    line = visible_polyline(columns, 0, start=0.0, end=time[-1], pixels=400)
    over = (line.x[:-1] < time[rows // 2]) & (line.x[1:] >= time[rows // 2])
    assert np.count_nonzero(over) == 1
    assert not line.connect[:-1][over].any()
    assert line.x[np.argmax(line.y)] <= time[rows // 2 - 1]
    assert columns.rows().missing[rows // 2] == rows


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("rows", [100, 50_000])
def test_values_that_are_not_finite_are_counted_and_never_drawn(bad, rows):
    columns = SignalColumns(1, limit_bytes=1 << 24)
    values = np.ones(rows)
    values[10:20] = bad
    fill(columns, values)
    line = visible_polyline(columns, 0, start=0.0, end=rows / 1000, pixels=300)
    assert np.all(np.isfinite(line.y))
    assert columns.nonfinite[0] == 10
    if rows == 100:
        gap = np.flatnonzero(~line.connect)
        assert line.x[gap[0]] == pytest.approx(0.009)


def test_a_single_row_between_two_restores_is_a_dot():
    columns = SignalColumns(1, limit_bytes=1 << 20)
    for episode in range(5):
        fill(columns, [float(episode)], start=episode * 100, segment=episode)
    line = visible_polyline(columns, 0, start=0.0, end=1.0, pixels=300)
    assert line.dots.tolist() == [0, 1, 2, 3, 4]
    assert not line.connect.any()


def test_thousands_of_episodes_stay_few_points():
    columns = SignalColumns(1, limit_bytes=1 << 24)
    n = 200_000
    segment = np.arange(n) // 20
    axis = np.arange(n, dtype=np.int64)
    columns.append(
        axis, axis * 0.001, axis * 0.001, np.sin(axis)[:, None],
        segment=segment, missing=np.zeros(n, np.int64),
    )  # fmt: skip
    line = visible_polyline(columns, 0, start=0.0, end=200.0, pixels=500)
    assert len(line.x) < 6 * 500
    assert line.extremes is not None
    assert line.extremes == pytest.approx((-1.0, 1.0), abs=1e-3)


def test_a_row_far_outside_the_view_costs_nothing():
    columns = SignalColumns(1, limit_bytes=1 << 24)
    time = np.concatenate(([0.0], 1e9 + 0.001 * np.arange(5000)))
    fill(columns, np.zeros(5001), x=time)
    line = visible_polyline(columns, 0, start=1e9, end=1e9 + 5.0, pixels=300)
    assert len(line.x) < 6 * 300
