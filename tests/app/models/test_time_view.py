"""The time view follows now or stands still."""

import pytest

from stroboscope.app.models.time_view import TimeView


def test_it_follows_now_with_a_little_room_to_the_right():
    view = TimeView()
    view.track(0.0, 100.0)
    start, end = view.range
    assert end - start == 10.0
    assert end == pytest.approx(100.0 + 0.2)


def test_a_whole_run_is_in_view_until_somebody_chooses_a_span():
    view = TimeView()
    view.set_whole(True)
    view.track(2.0, 102.0)
    assert view.range == (1.0, 103.0)
    assert view.follows
    view.track(2.0, 202.0)
    assert view.range == (0.0, 204.0)
    view.choose_span(20.0)
    view.track(2.0, 202.0)
    assert view.range[1] - view.range[0] == 20.0
    view = TimeView()
    view.set_whole(True)
    view.track(2.0, 102.0)
    view.set_whole(False)
    view.track(2.0, 102.0)
    assert view.range[1] - view.range[0] == 10.0


def test_the_first_second_does_not_move():
    view = TimeView()
    seen = set()
    for now in (0.0, 0.3, 0.7, 0.9):
        view.track(0.0, now)
        seen.add(view.range)
    assert seen == {(0.0, 1.0)}


def test_panning_freezes_and_following_goes_on_from_now():
    view = TimeView()
    view.track(0.0, 100.0)
    before = view.range
    view.pan(-5.0)
    view.track(0.0, 200.0)
    assert view.range == (before[0] - 5.0, before[1] - 5.0)
    view.set_follow(True)
    view.track(0.0, 200.0)
    assert view.range[1] > 200.0


def test_zooming_keeps_the_point_under_the_pointer():
    view = TimeView()
    view.track(0.0, 100.0)
    view.set_follow(False)
    start, end = view.range
    about = start + 0.25 * (end - start)
    view.zoom(0.5, about)
    new_start, new_end = view.range
    assert new_end - new_start == pytest.approx(0.5 * (end - start))
    assert (about - new_start) / (new_end - new_start) == pytest.approx(0.25)


def test_zooming_for_ever_stays_finite():
    view = TimeView()
    for factor in (1e-3, 1e3):
        for _ in range(100):
            view.zoom(factor, 5.0)
        start, end = view.range
        assert 1e-6 < end - start <= 1e7
