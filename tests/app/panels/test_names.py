"""Long names keep the part that tells them from their neighbours."""

import pytest
from PySide6.QtGui import QFontMetrics

from stroboscope.app.panels.names import elided_name
from stroboscope.app.panels.style import ui_font


@pytest.fixture
def metrics(qapp):
    return QFontMetrics(ui_font())


def test_what_robots_share_goes_before_what_is_a_bodys_own(metrics):
    name = "vx300s_left/upper_forearm_link"
    assert elided_name(name, metrics, metrics.horizontalAdvance(name)) == name
    room = metrics.horizontalAdvance("…/upper_forearm_link")
    assert elided_name(name, metrics, room) == "…/upper_forearm_link"


def test_what_still_does_not_fit_is_elided_in_the_middle(metrics):
    room = metrics.horizontalAdvance("left_shoulder")
    for name in ("arm/left_shoulder_pitch_joint", "left_shoulder_pitch_joint", "left_shoulder_pi/"):
        short = elided_name(name, metrics, room)
        assert metrics.horizontalAdvance(short) <= room
        assert "…" in short
        assert short[-1] == name[-1]


def test_a_name_that_people_have_given_keeps_its_beginning(metrics):
    name = "Sweep of learning rates/left_arm/shoulder_pitch"
    assert elided_name(name, metrics, metrics.horizontalAdvance("Sweep of learning")).startswith(
        "Sw"
    )
