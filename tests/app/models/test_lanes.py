"""Branches as lanes: the scene's own line on top, what was left behind below it."""

import itertools
import random

from stroboscope.app.models.lanes import MAX_LANES, lay_out
from stroboscope.debugger_protocol.time_messages import Segment, SegmentKind


def segment(number, begin, kind=SegmentKind.EPISODE, parent=-1, episode=0):
    return Segment(segment_id=number, kind=kind, begin=begin, episode=episode, parent_axis=parent)


def rows(segments):
    return [(s.begin, s.end, s.lane, s.fork) for s in lay_out(segments).stretches]


def test_episodes_and_edits_follow_each_other_on_one_line():
    segments = [
        segment(1, 0, SegmentKind.BEGIN),
        segment(2, 100),
        segment(3, 150, SegmentKind.EDIT, parent=149),
        segment(4, 200),
    ]
    assert rows(segments) == [(0, None, 0, -1)]
    assert lay_out(segments).count == 1


def test_a_branch_puts_the_rest_of_the_line_that_it_left_into_a_lane_below():
    segments = [segment(1, 0, SegmentKind.BEGIN), segment(2, 100, SegmentKind.BRANCH, parent=60)]
    assert rows(segments) == [(0, 60, 0, -1), (60, 100, 1, 60), (100, None, 0, 60)]


def test_a_branch_of_what_was_left_behind_takes_that_line_up_again():
    segments = [
        segment(1, 0, SegmentKind.BEGIN),
        segment(2, 100, SegmentKind.BRANCH, parent=60),
        segment(3, 200, SegmentKind.BRANCH, parent=80),
    ]
    found = rows(segments)
    # The present follows from 0 … 80 and from 200 on; 100 … 200 forked at 60.
    assert [(begin, lane) for begin, _, lane, _ in found] == [
        (0, 0),
        (60, 0),
        (80, 2),
        (100, 1),
        (200, 0),
    ]
    assert found[3][3] == 60
    assert found[4][3] == 80


def test_what_was_left_behind_keeps_its_episodes_in_one_lane():
    segments = [
        segment(1, 0, SegmentKind.BEGIN),
        segment(2, 100),
        segment(3, 200),
        segment(4, 300, SegmentKind.BRANCH, parent=50),
    ]
    assert rows(segments) == [(0, 50, 0, -1), (50, 300, 1, 50), (300, None, 0, 50)]


def test_a_branch_from_the_very_first_row_leaves_everything_behind():
    segments = [segment(1, 10, SegmentKind.BEGIN), segment(2, 90, SegmentKind.BRANCH, parent=10)]
    assert rows(segments) == [(10, 90, 1, -1), (90, None, 0, 10)]


def test_a_branch_whose_origin_is_gone_begins_on_its_own():
    segments = [segment(7, 500), segment(8, 600, SegmentKind.BRANCH, parent=40)]
    assert [(s.begin, s.lane) for s in lay_out(segments).stretches] == [(500, 1), (600, 0)]


def test_any_history_covers_the_axis_once_and_its_lanes_never_overlap():
    for seed in range(200):
        chance = random.Random(seed)
        segments, at = [segment(1, 0, SegmentKind.BEGIN)], 0
        for number in range(2, chance.randint(3, 40)):
            at += chance.randint(1, 50)
            kind = chance.choice([SegmentKind.EPISODE, SegmentKind.BRANCH, SegmentKind.RESTORE])
            parent = chance.randint(0, at - 1) if kind is not SegmentKind.EPISODE else -1
            segments.append(segment(number, at, kind, parent))
        lanes = lay_out(segments)
        stretches = lanes.stretches
        assert stretches[0].begin == 0
        assert stretches[-1].end is None
        assert stretches[-1].lane == 0
        for one, following in itertools.pairwise(stretches):
            assert one.end == following.begin
        assert all(0 <= s.lane <= MAX_LANES < lanes.count + MAX_LANES for s in stretches)
        for axis in range(0, at, 7):
            found = lanes.at(axis)
            assert found.begin <= axis
            assert found.end is None or axis < found.end
        # Lane 0 is what the present follows from, found anew the slow way.
        assert {a for a in range(at) if lanes.at(a).lane == 0} == ancestors(segments, at)


def ancestors(segments, live):
    """Return every row below ``live`` that the live state follows from."""
    found, end, number = set(), live, len(segments) - 1
    while number >= 0:
        one = segments[number]
        found |= set(range(one.begin, end))
        is_fork = one.kind is not SegmentKind.EPISODE and 0 <= one.parent_axis < one.begin
        end = one.parent_axis if is_fork else one.begin
        number -= 1
        while number >= 0 and segments[number].begin >= end:
            number -= 1
    return found
