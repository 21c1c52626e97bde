"""The ruler's numbers can be read wherever the view stands."""

import itertools

import numpy as np
import pytest
from PySide6.QtGui import QFontMetrics

from stroboscope.app.models.axis_view import AxisView
from stroboscope.app.panels.timeline.geometry import FLAG_PX, RULER_PX
from stroboscope.app.panels.timeline.ruler import TICK_PX, ruler_labels
from stroboscope.app.panels.timeline.scale import AxisScale
from stroboscope.app.panels.timeline.strip import TimelineStrip
from stroboscope.debugger_protocol.time_messages import Segment, SegmentKind
from stroboscope.resources.themes import DARK, LIGHT
from tests.app.panels.timeline.test_strip import scene_with

WIDTH = 700.0


def spans(labels, metrics):
    return [(each.left, each.left + metrics.horizontalAdvance(each.text)) for each in labels]


@pytest.fixture(params=[9, 12, 18])
def metrics(show, request):
    strip = TimelineStrip(DARK, AxisView())
    show(strip, 200, 64)
    font = strip.font()
    font.setPixelSize(request.param)
    return QFontMetrics(font)


def test_the_flag_covers_no_number_and_hides_none_wherever_it_stands(metrics):
    scale = AxisScale(0.0, 2480.0, WIDTH, 12.0)
    ticks = scale.ticks(TICK_PX)
    # Two numbers fit between ticks: one that makes room is never in the way of the one before.
    apart = scale.x(ticks[1]) - scale.x(ticks[0])
    roomy = 2.0 * metrics.horizontalAdvance("2\u202f000") + 2.0 * FLAG_PX + 10.0 < apart
    for axis in np.linspace(0.0, 2480.0, 1500):
        flag = scale.x(float(axis))
        labels = ruler_labels(scale, metrics, flag=flag)
        for left, right in spans(labels, metrics):
            assert right < flag - FLAG_PX or left > flag + FLAG_PX
        # The zero has no room left of itself.
        assert len(labels) >= len(ticks) - (flag < 40.0 or not roomy)


def test_numbers_stay_within_the_picture_beside_their_ticks_and_apart_from_each_other(metrics):
    for end in range(100, 3000, 7):
        scale = AxisScale(0.0, float(end), WIDTH, 12.0)
        ticks = scale.ticks(TICK_PX)
        for flag in (None, scale.x(end), scale.x(ticks[-1]), scale.x(ticks[len(ticks) // 2]) + 20):
            labels = ruler_labels(scale, metrics, flag=flag)
            found = spans(labels, metrics)
            assert all(left >= 0.0 and right <= WIDTH + 24.0 for left, right in found)
            assert all(a[1] < b[0] for a, b in itertools.pairwise(found))
            for label, (left, right) in zip(labels, found, strict=True):
                tick = scale.x(int("".join(c for c in label.text if c.isdigit())))
                assert min(abs(left - tick), abs(right - tick)) <= 2 * FLAG_PX + 7.0


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=["dark", "light"])
def test_the_last_number_is_whole_in_the_picture_while_the_flag_stands_on_it(show, theme):
    segments = [Segment(segment_id=0, kind=SegmentKind.EPISODE, begin=0, episode=0)]
    strip = TimelineStrip(theme, AxisView())
    show(strip, 724, 64)
    scene = scene_with(segments, 2080)
    strip.set_history(scene.history)
    scale, metrics = strip.scale, strip.fontMetrics()
    last = scale.ticks(TICK_PX)[-1]
    label = ruler_labels(scale, metrics, flag=scale.x(2080))[-1]
    assert label.text.endswith(str(last)[-3:])
    picture = strip.grab().toImage()
    right = label.left + metrics.horizontalAdvance(label.text)
    colours = [
        picture.pixelColor(x, y).name()
        for x in range(round(label.left), round(right))
        for y in range(RULER_PX - 4)
    ]
    assert sum(colour != theme.surface0.lower() for colour in colours) > 20
    assert not {theme.accent.lower(), theme.warn.lower()} & set(colours)
