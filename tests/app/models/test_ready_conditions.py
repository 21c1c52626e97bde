"""What is told of a condition while it is typed."""

import pytest

from stroboscope.app.models.ready_conditions import condition_problem
from stroboscope.debugger_protocol.expressions import table_of
from stroboscope.debugger_protocol.scene_description import ChannelInfo, SceneDescription

TABLE = table_of(
    SceneDescription(
        scene_id=1,
        name="arm",
        channels=(
            ChannelInfo(name="qpos", width=2, names=("hip", "knee")),
            ChannelInfo(name="energy.total"),
        ),
    )
)


@pytest.mark.parametrize("text", ["time > 1", "reward < -5", "user['loss/policy'] > 1"])
def test_what_can_be_watched_or_waited_for_is_no_problem(text: str) -> None:
    assert condition_problem(text, TABLE) == ""


@pytest.mark.parametrize("text", ["qposs > 1", "qpos['hop'] > 1", "energy.x > 1", "reward >"])
def test_what_nothing_that_is_logged_makes_right_is_a_problem(text: str) -> None:
    assert "^" in condition_problem(text, TABLE)
