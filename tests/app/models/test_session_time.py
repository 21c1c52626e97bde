"""Session time: accumulated, monotone, the same for every channel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stroboscope.app.models.session_time import Moment, SessionTime


def rows(start, stop, first_time, dt=0.01):
    axis = np.arange(start, stop, dtype=np.int64)
    return axis, first_time + dt * np.arange(stop - start)


def test_session_time_is_the_scenes_time_while_nothing_was_restored():
    clock = SessionTime(timestep=0.01)
    axis, time = rows(0, 100, 0.0)
    session, segment = clock.locate(axis, time)
    assert np.array_equal(session, time)
    assert set(segment) == {0}


def test_a_late_first_row_stands_where_its_steps_put_it():
    clock = SessionTime(timestep=0.01)
    session, _ = clock.locate(*rows(500, 510, 0.0))  # five seconds, then a reset
    assert session[0] == pytest.approx(5.0)


def test_a_late_first_row_without_a_restore_has_exactly_the_scenes_time():
    clock = SessionTime(timestep=0.002)
    axis, time = rows(1500, 1600, 3.0 + 1e-13, dt=0.002)
    session, _ = clock.locate(axis, time)
    assert np.array_equal(session, time)


def test_time_that_falls_goes_on_one_step_later_in_a_new_segment():
    clock = SessionTime(timestep=0.01)
    axis = np.arange(8, dtype=np.int64)
    time = np.array([0.0, 0.01, 0.02, 0.03, 0.0, 0.01, 0.02, 0.03])
    session, segment = clock.locate(axis, time)
    assert session == pytest.approx(0.01 * np.arange(8))
    assert segment.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert [(mark.axis, mark.reason) for mark in clock.marks] == [(4, "time went back")]


# A jump ahead can only be known from its message, so there the message comes first.
@pytest.mark.parametrize(
    ("restored_to", "message_first"),
    [(0.0, True), (0.0, False), (0.02, True), (0.02, False), (7.0, True)],
)
def test_a_restore_leaves_no_hole_whatever_its_time_and_order_of_arrival(
    restored_to, message_first
):
    clock = SessionTime(timestep=0.01)
    first = rows(0, 50, 0.0)
    second = rows(50, 80, restored_to)
    if message_first:
        clock.mark_restore(axis=50, time=restored_to, reason="restore")
        session_a, _ = clock.locate(*first)
        session_b, segment = clock.locate(*second)
    else:
        session_a, _ = clock.locate(*first)
        session_b, segment = clock.locate(*second)
        clock.mark_restore(axis=50, time=restored_to, reason="restore")
    assert np.concatenate((session_a, session_b)) == pytest.approx(0.01 * np.arange(80))
    assert len(set(segment)) == 1
    assert [mark.axis for mark in clock.marks if mark.reason == "restore"] == [50]
    assert clock.marks[0].session_time == pytest.approx(0.5)


def test_the_message_first_and_then_the_late_rows_of_another_channel():
    clock = SessionTime(timestep=0.01)
    clock.locate(*rows(0, 40, 0.0))
    clock.mark_restore(axis=50, time=0.0, reason="reset")
    late, _ = clock.locate(*rows(40, 50, 0.4))
    new, _ = clock.locate(*rows(50, 60, 0.0))
    assert late == pytest.approx(0.01 * np.arange(40, 50))
    assert new == pytest.approx(0.01 * np.arange(50, 60))


def test_two_restores_without_a_step_between_count_from_the_last():
    clock = SessionTime(timestep=0.01)
    clock.locate(*rows(0, 10, 0.0))
    clock.mark_restore(axis=10, time=5.0, reason="restore")
    clock.mark_restore(axis=10, time=0.0, reason="restore")
    session, _ = clock.locate(*rows(10, 12, 0.0))
    assert session == pytest.approx([0.10, 0.11])


def test_a_status_moves_now_but_never_hides_a_reset_that_is_still_to_come():
    clock = SessionTime(timestep=0.01)
    clock.locate(*rows(0, 100, 0.0))
    clock.observe(150, 1.5)
    assert clock.now is not None
    assert clock.now.session_time == pytest.approx(1.5)
    clock.observe(170, 0.1)  # reset at 160, whose message and rows are still on their way
    session, segment = clock.locate(*rows(100, 160, 1.0))
    after, segment_after = clock.locate(*rows(160, 180, 0.0))
    assert np.concatenate((session, after)) == pytest.approx(0.01 * np.arange(100, 180))
    assert segment[-1] != segment_after[0]


def test_session_time_never_falls_for_random_resets_and_messages():
    rng = np.random.default_rng(3)
    clock = SessionTime(timestep=0.01)
    axis, time, last = 0, 0.0, -np.inf
    for _ in range(300):
        n = int(rng.integers(1, 20))
        if rng.random() < 0.5:
            time = float(rng.random())
            if rng.random() < 0.5:
                clock.mark_restore(axis=axis, time=time, reason="restore")
        session, _ = clock.locate(*rows(axis, axis + n, time))
        assert session[0] >= last
        assert np.all(np.diff(session) >= 0.0)
        last, axis, time = float(session[-1]), axis + n, time + 0.01 * n


def test_rows_without_a_time_stay_in_order():
    clock = SessionTime(timestep=0.01)
    clock.locate(*rows(0, 10, 0.0))
    session, _ = clock.locate(np.arange(10, 13, dtype=np.int64), np.array([0.1, np.nan, 0.12]))
    assert np.all(np.isfinite(session))
    assert np.all(np.diff(session) >= 0.0)


def test_a_moment_tells_episode_time_and_step():
    clock = SessionTime(timestep=0.01)
    clock.locate(*rows(0, 50, 0.0))
    clock.mark_restore(axis=50, time=0.0, reason="reset")
    clock.locate(*rows(50, 80, 0.0))
    moment = clock.moment_at(0.6)
    assert moment is not None
    assert moment.episode_time == pytest.approx(0.1)
    assert moment.axis == 60


def test_a_row_logged_before_a_restore_at_the_same_step_stays_with_what_was_left():
    # while attached: step(); log(): the value is logged at the step before which the restore comes.
    clock = SessionTime(timestep=0.01)
    clock.locate(*rows(0, 100, 0.0))  # engine rows
    clock.mark_restore(axis=120, time=0.0, reason="initial state restored")
    clock.locate(*rows(100, 120, 1.0))
    clock.locate(*rows(120, 130, 0.0))
    logged = np.r_[np.arange(101, 121), np.arange(121, 131)].astype(np.int64)
    times = np.r_[0.01 * np.arange(101, 121), 0.01 * np.arange(1, 11)]
    session, segment = clock.locate(logged, times)
    assert session == pytest.approx(0.01 * logged)
    assert segment.tolist() == [0] * 20 + [1] * 10
    assert clock.now is not None
    assert clock.now.session_time == pytest.approx(1.30)
    after, _ = clock.locate(*rows(130, 140, 0.1))
    assert after == pytest.approx(0.01 * np.arange(130, 140))
    assert [mark.reason for mark in clock.marks] == ["initial state restored"]


def test_a_logged_row_that_comes_first_does_not_move_the_restore():
    clock = SessionTime(timestep=0.01)
    clock.locate(*rows(0, 120, 0.0))
    clock.mark_restore(axis=120, time=0.0, reason="restore")
    clock.locate(np.array([120], np.int64), np.array([1.2]))
    session, _ = clock.locate(*rows(120, 130, 0.0))
    assert session == pytest.approx(0.01 * np.arange(120, 130))


def test_resets_of_which_only_the_newest_is_told_are_found_in_the_rows():
    clock = SessionTime(timestep=0.01)
    clock.locate(*rows(0, 10, 0.0))
    clock.mark_restore(axis=40, time=0.0, reason="reset")  # those at 20 and 30 were joined to it
    axis = np.arange(10, 50, dtype=np.int64)
    time = 0.01 * np.where(axis < 20, axis, axis % 10)
    session, segment = clock.locate(axis, time)
    assert session == pytest.approx(0.01 * axis)
    assert segment.tolist() == [0] * 10 + [1] * 10 + [2] * 10 + [3] * 10


def test_a_step_that_takes_longer_before_a_restore_leaves_no_hole():
    clock = SessionTime(timestep=0.01)
    clock.locate(*rows(0, 10, 0.0))
    clock.mark_restore(axis=30, time=0.0, reason="restore")
    before, _ = clock.locate(*rows(10, 30, 0.1, dt=0.02))
    after, _ = clock.locate(*rows(30, 40, 0.0, dt=0.02))
    assert before[-1] == pytest.approx(0.48)
    assert after[0] == pytest.approx(0.50)
    assert clock.marks[0].session_time == pytest.approx(0.50)


def test_a_late_message_names_the_restore_that_was_found_before():
    clock = SessionTime(timestep=0.01)
    clock.locate(np.array([10, 20, 35], np.int64), np.array([0.1, 0.2, 0.05]))
    clock.mark_restore(axis=30, time=0.0, reason="restore")
    assert [(mark.axis, mark.reason) for mark in clock.marks] == [(30, "restore")]
    assert clock.marks[0].session_time == pytest.approx(0.30)
    session, _ = clock.locate(np.array([40], np.int64), np.array([0.1]))
    assert session == pytest.approx([0.40])


_DT = 0.01


@st.composite
def recordings(draw, *, told_first):
    """Streams in the order of each: (axis, time) frames of two channels, and restore messages.

    Both channels have a row for every physics step, but the script's is logged after it. With
    ``told_first`` states are also replaced by later ones.
    """
    lengths = draw(st.lists(st.integers(2, 12), min_size=2, max_size=6))
    engine, user, restores = [], [], []
    axis = start = last = 0
    for number, length in enumerate(lengths):
        if number:
            start = draw(st.integers(0, last + 30 if told_first else last - 1))
            restores.append((axis, _DT * start))
        engine += [(axis + n, _DT * (start + n)) for n in range(length)]
        user += [(axis + n + 1, _DT * (start + n + 1)) for n in range(length)]
        axis += length
        last = start + length
    return _cut(draw, engine), _cut(draw, user), restores


def _cut(draw, stream):
    frames = []
    while stream:
        n = draw(st.integers(1, 15))
        frames.append(stream[:n])
        stream = stream[n:]
    return frames


def _feed(clock, frame):
    axis = np.array([row[0] for row in frame], np.int64)
    session, segment = clock.locate(axis, np.array([row[1] for row in frame]))
    np.testing.assert_allclose(session, _DT * axis, rtol=1e-6, atol=1e-12)
    return session, segment


@pytest.mark.parametrize("faster", [0.1, 0.4, 2.0, 10.0])
def test_a_timestep_that_is_edited_while_nothing_is_plotted_is_noticed(faster):
    clock = SessionTime(timestep=0.01)
    clock.observe(0, 0.0)
    clock.observe(100, 1.0)
    for steps in (100, 200, 300):
        clock.observe(100 + steps, 1.0 + faster * 0.01 * steps)
    assert clock.now.axis == 400
    assert clock.now.session_time == pytest.approx(1.0 + faster * 3.0)


def test_a_replaced_state_whose_message_is_late_is_no_other_timestep():
    clock = SessionTime(timestep=0.01)
    clock.observe(100, 1.0)
    for axis in (210, 220, 230):
        clock.observe(axis, 5.0 + 0.01 * axis)  # a restore to a later time at 205
    assert clock.now.axis == 100


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_every_row_stands_at_its_step_when_restores_are_told_before_their_rows(data):
    engine, user, restores = data.draw(recordings(told_first=True))
    clock = SessionTime(timestep=_DT)
    streams = [engine, user]
    while any(streams):
        stream = data.draw(st.sampled_from([each for each in streams if each]))
        frame = stream.pop(0)
        early = data.draw(st.integers(0, 2))
        while restores and (restores[0][0] <= frame[-1][0] or early):
            axis, time = restores.pop(0)
            clock.mark_restore(axis=axis, time=time, reason="restore")
            early = max(early - 1, 0)
        _feed(clock, frame)
    assert [mark.axis for mark in clock.marks if mark.reason != "restore"] == []
    assert [m.session_time for m in clock.marks] == pytest.approx(
        [_DT * m.axis for m in clock.marks]
    )


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_every_row_stands_at_its_step_in_whatever_order_things_arrive(data):
    engine, user, restores = data.draw(recordings(told_first=False))
    clock = SessionTime(timestep=_DT)
    streams = [engine, user, restores]
    while any(streams):
        stream = data.draw(st.sampled_from([each for each in streams if each]))
        if stream is restores:
            axis, time = restores.pop(0)
            clock.mark_restore(axis=axis, time=time, reason="restore")
        else:
            _feed(clock, stream.pop(0))
    assert [m.session_time for m in clock.marks] == pytest.approx(
        [_DT * m.axis for m in clock.marks]
    )


def test_a_timestep_that_is_told_after_the_first_instant_still_says_what_was_before_it():
    """The end of a recorded run of three episodes is seen first, and then its description."""
    time = SessionTime()
    time.observe(1500, 1.2)
    time.learn_timestep(0.002)
    assert time.now.session_time == pytest.approx(3.0)
    axis = np.arange(0, 1500, 10)
    of_episode = 0.002 * np.where(axis >= 900, axis - 900, np.where(axis >= 400, axis - 400, axis))
    session, _ = time.locate(axis, of_episode)
    assert session[0] == pytest.approx(0.0, abs=1e-9)
    assert session[-1] == pytest.approx(2.98, abs=1e-6)
    assert time.now.session_time == pytest.approx(3.0)
    time.learn_timestep(0.002)  # told again: nothing moves
    assert time.session_at(0) == pytest.approx(0.0, abs=1e-9)


def test_a_first_instant_of_which_nothing_was_before_stays_where_it_is():
    time = SessionTime()
    time.observe(10, 0.02)
    time.learn_timestep(0.002)
    assert time.now == Moment(10, 0.02, 0.02)
