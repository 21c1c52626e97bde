"""Lost rows are gaps in the timeline's line: seen however narrow, and without their colour."""

import itertools

import msgspec
import numpy as np
import pytest
from PySide6.QtGui import QImage

from stroboscope.app.models.axis_view import AxisView
from stroboscope.app.models.file_health import LostFrames
from stroboscope.app.models.lanes import lay_out
from stroboscope.app.panels.timeline.lost_places import (
    LEAST_GAP_PX,
    LostGap,
    LostPlaces,
    whole_parts,
)
from stroboscope.app.panels.timeline.scale import AxisScale
from stroboscope.app.panels.timeline.stretches import LaneStretches
from stroboscope.app.panels.timeline.strip import TimelineStrip
from stroboscope.debugger_protocol.time_messages import Segment, SegmentKind
from stroboscope.resources.themes import DARK, LIGHT
from tests.app.panels.timeline.test_strip import scene_with

ONE_LANE = LaneStretches()
BEGIN = Segment(segment_id=1, kind=SegmentKind.BEGIN, begin=0, episode=0)


def lost(first, last):
    return LostFrames("A", first, last + 1, first, last)


def test_gaps_stand_where_the_rows_are_and_those_that_touch_are_one():
    scale = AxisScale(0.0, 1000.0, 1000.0, 12.0)
    places = LostPlaces([lost(64, 79), lost(80, 95), lost(300, 399)])
    assert places.visible(scale, 1000, ONE_LANE) == [
        LostGap(0, 12.0 + 64, 12.0 + 96),
        LostGap(0, 12.0 + 300, 12.0 + 400),
    ]


@pytest.mark.parametrize("axis", [0, 1, 12_345, 499_999, 999_999])
def test_one_row_of_a_million_is_wide_enough_to_be_seen(axis):
    scale = AxisScale(0.0, 1e6, 900.0, 12.0)
    (gap,) = LostPlaces([lost(axis, axis)]).visible(scale, 10**6, ONE_LANE)
    assert gap.right - gap.left >= LEAST_GAP_PX
    assert gap.left - 1.0 <= scale.x(axis) <= gap.right + 1.0


def test_what_is_not_in_sight_is_no_gap_and_what_reaches_beyond_goes_on_there():
    places = LostPlaces([lost(10, 19), lost(500, 899)])
    assert places.visible(AxisScale(100.0, 400.0, 900.0), 1000, ONE_LANE) == []
    (gap,) = places.visible(AxisScale(600.0, 700.0, 900.0), 1000, ONE_LANE)
    assert (gap.left, gap.right) == (-900.0, 2700.0)
    assert LostPlaces().visible(AxisScale(0.0, 1.0, 900.0), 1000, ONE_LANE) == []


def test_a_lost_last_frame_is_seen_at_the_end_of_the_line():
    scale = AxisScale(0.0, 1000.0, 1000.0)
    (gap,) = LostPlaces([lost(1000, 1000)]).visible(scale, 1000, ONE_LANE)
    assert (gap.left, gap.right) == (999.0, 1002.0)


def test_gaps_are_as_many_as_fit_however_much_is_lost():
    scale = AxisScale(0.0, 1e6, 900.0)
    places = LostPlaces([lost(axis, axis + 3) for axis in range(0, 10**6, 20)])
    assert len(places.visible(scale, 10**6, ONE_LANE)) == 1
    apart = LostPlaces([lost(axis, axis) for axis in range(0, 10**6, 10**4)])
    assert len(apart.visible(scale, 10**6, ONE_LANE)) == 100


def test_a_gap_is_in_the_lane_of_its_rows_and_ends_with_it():
    branch = Segment(segment_id=2, kind=SegmentKind.BRANCH, begin=900, episode=0, parent_axis=400)
    stretches = LaneStretches(lay_out([BEGIN, branch]))
    assert [(s.lane, s.begin) for s in stretches.lanes.stretches] == [(0, 0), (1, 400), (0, 900)]
    scale = AxisScale(0.0, 1000.0, 1000.0)
    places = LostPlaces([lost(100, 149), lost(350, 449), lost(950, 959)])
    assert places.visible(scale, 1000, stretches) == [
        LostGap(0, 100.0, 150.0),
        LostGap(0, 350.0, 400.0),
        LostGap(0, 950.0, 960.0),
        LostGap(1, 400.0, 450.0),
    ]


def test_pieces_of_many_spans_cover_what_the_spans_do():
    segments = [
        Segment(
            segment_id=n, kind=SegmentKind.BRANCH, begin=n * 7, episode=0, parent_axis=n * 7 - 3
        )
        for n in range(1, 400)
    ]
    stretches = LaneStretches(lay_out([BEGIN, *segments]))
    begin = np.arange(0.0, 2700.0, 31.0)
    lanes, begins, ends = stretches.pieces(begin, begin + 17.0)
    covered = np.concatenate([np.arange(a, b) for a, b in zip(begins, ends, strict=True)])
    assert covered.tolist() == [axis for a in begin.tolist() for axis in np.arange(a, a + 17.0)]
    for lane, a, b in zip(lanes.tolist(), begins.tolist(), ends.tolist(), strict=True):
        assert {stretches.lanes.at(axis).lane for axis in range(int(a), int(b))} == {lane}


def test_whole_parts_are_what_the_gaps_of_the_lane_leave():
    gaps = [LostGap(0, 10.0, 20.0), LostGap(0, 50.0, 60.0), LostGap(1, 0.0, 100.0)]
    assert list(whole_parts(gaps, 0, 0.0, 100.0)) == [(0.0, 10.0), (20.0, 50.0), (60.0, 100.0)]
    assert list(whole_parts(gaps, 0, 15.0, 55.0)) == [(20.0, 50.0)]
    assert list(whole_parts(gaps, 1, 5.0, 50.0)) == []
    assert list(whole_parts([], 0, 5.0, 50.0)) == [(5.0, 50.0)]


# --- as it is painted


def contrast(one, other):
    """Return the contrast of two colours, 1 to 21, as WCAG has it."""

    def luminance(color):
        parts = [color.redF(), color.greenF(), color.blueF()]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.fixture(params=[DARK, LIGHT], ids=["dark", "light"])
def strip(show, request):
    strip = TimelineStrip(request.param, AxisView())
    show(strip, 1024, 64)
    scene = scene_with([BEGIN], 1000)
    strip.set_history(scene.history)
    strip._range.show(0.0, 1000.0)
    yield strip
    strip.set_history(None)


def row_of(strip, image: QImage, x):
    ratio = image.width() / strip.width()
    y = strip.rows.line_top + strip.rows.line_height // 2
    return image.pixelColor(int(x * ratio), int(y * ratio))


def test_a_gap_is_hatched_between_edges_that_differ_from_the_line_in_lightness(strip):
    whole = strip.grab().toImage()
    strip._history.set_lost((lost(300, 399),))
    image = strip.grab().toImage()
    left, right = (round(strip.scale.x(axis)) for axis in (300, 400))
    changed = [
        x for x in range(strip.width()) if row_of(strip, whole, x) != row_of(strip, image, x)
    ]
    assert (changed[0], changed[-1]) == (left, right - 1)
    for edge, line in ((left, left - 1), (right - 1, right)):
        assert row_of(strip, image, edge).name() == strip._palette.warn.lower()
        assert contrast(row_of(strip, image, edge), row_of(strip, image, line)) > 3.0
    inside = [row_of(strip, image, x) for x in range(left + 1, right - 1)]
    assert sum(color.name() == strip._palette.surface0.lower() for color in inside) > 20
    strokes = [contrast(each, inside[0]) > 1.5 for each in inside]
    assert 10 <= sum(b and not a for a, b in itertools.pairwise(strokes)) <= 20


def test_a_gap_narrower_than_a_pixel_is_two_bars_with_a_cross_above(strip):
    strip._range.show(0.0, 100_000.0)
    strip.refresh()
    strip._range.show(0.0, 100_000.0)
    before = strip.grab().toImage()
    strip._history.set_lost((lost(500, 503),))
    image = strip.grab().toImage()
    changed = [
        x for x in range(strip.width()) if row_of(strip, before, x) != row_of(strip, image, x)
    ]
    assert len(changed) == LEAST_GAP_PX
    names = [row_of(strip, image, x).name() for x in changed]
    warn, ground = strip._palette.warn.lower(), strip._palette.surface0.lower()
    assert names == [warn, ground, warn]
    ratio = image.width() / strip.width()
    y = int((strip.rows.marks_top + 6) * ratio)
    middle = image.pixelColor(int((changed[0] + 1) * ratio), y)
    assert contrast(middle, image.pixelColor(2, y)) > 3.0


def test_the_name_of_an_episode_stands_behind_a_gap_and_not_on_it(strip):
    def unlike(first, other, steps):
        """Return how many pixels of the line look unlike those as far from another row."""
        left, right = (round(strip.scale.x(axis)) for axis in (first, other))
        top, height = strip.rows.line_top, strip.rows.line_height
        return sum(
            contrast(image.pixelColor(left + x, y), image.pixelColor(right + x, y)) > 1.3
            for x in range(steps)
            for y in range(top, top + height)
        )

    told = strip._history.told
    strip._history.receive(msgspec.structs.replace(told, dense=0))
    image = strip.grab().toImage()
    assert unlike(1, 501, 90)  # there it is written
    strip._history.set_lost((lost(0, 99), lost(120, 129), lost(500, 599), lost(620, 629)))
    image = strip.grab().toImage()
    assert unlike(0, 500, 130) == 0
    assert unlike(130, 630, 90)


def test_the_tooltip_says_which_frames_are_lost_and_that_they_can_be_left_out(strip):
    strip._history.set_lost((lost(64, 79), LostFrames("A", 80, 96, 800, 815)))
    told = strip.text_at(strip.scale.x(70)).split("\n")
    assert told[0] == "✕ lost: frames 64 to 79"
    assert (
        told[1]
        == "the file is damaged: Repair… (right click) writes a copy of all that can be read"
    )
    assert "step 70" in told[2]
    assert strip.text_at(strip.scale.x(810)).startswith(
        "✕ lost: frames 80 to 95 (physics steps 800 to 815)"
    )
    for axis in (60, 83, 500):
        assert "lost" not in strip.text_at(strip.scale.x(axis))


def test_many_losses_under_the_pointer_are_counted(strip):
    strip._history.set_lost(tuple(lost(axis, axis) for axis in range(0, 100_000, 10)))
    strip._range.show(0.0, 100_000.0)
    told = strip.text_at(strip.scale.x(50_000)).split("\n")
    assert sum(line.startswith("✕ lost: frame ") for line in told) == 3
    assert told[3].startswith("✕ and more at ")


@pytest.mark.parametrize(("count", "more"), [(3, ""), (4, "1 other place"), (6, "3 other places")])
def test_the_last_losses_under_the_pointer_are_told_as_a_number(strip, count, more):
    strip._history.set_lost(tuple(lost(2 * n, 2 * n) for n in range(count)))
    strip._range.show(0.0, 100_000.0)
    told = strip.text_at(strip.scale.x(2)).split("\n")
    assert [line for line in told if "more" in line] == [f"✕ and more at {more} here"] * bool(more)


def test_a_narrow_gap_is_told_wherever_the_pointer_is_on_it(strip):
    strip._range.show(0.0, 100_000.0)
    strip._history.set_lost((lost(50_000, 50_000),))
    gaps = LostPlaces(strip._history.lost)
    (gap,) = gaps.visible(strip.scale, 100_000, strip.lanes)
    for x in np.arange(gap.left, gap.right, 0.5):
        assert strip.text_at(float(x)).startswith("✕ lost: frame 50")


def test_another_scene_has_none_of_these_gaps(strip):
    strip._history.set_lost((lost(300, 399),))
    strip.grab()
    other = scene_with([BEGIN], 1000)
    strip.set_history(other.history)
    strip._range.show(0.0, 1000.0)
    image = strip.grab().toImage()
    names = {row_of(strip, image, x).name() for x in range(40, 800)}
    assert strip._palette.warn.lower() not in names
    assert "lost" not in strip.text_at(strip.scale.x(350))
