"""What publishing costs, over the steps that were looked at."""

import math

from stroboscope.app.models.tables.profile import PublishingCost


def test_the_cost_of_publishing_is_the_mean_over_all_steps_and_says_of_what_its_part_is():
    cost = PublishingCost()
    assert cost.text == ""
    cost.take(100, publish=60e-6, step=40e-6)
    assert cost.text == ("publishing 60.0\u202fµs per step, 150.0\u202f% of a step's own time")
    cost.take(199, publish=1e-6, step=40e-6)
    assert cost.text == "publishing 1.6\u202fµs per step, 4.0\u202f% of a step's own time"


def test_what_was_seen_already_is_not_counted_twice_and_no_number_spoils_nothing():
    cost = PublishingCost()
    cost.take(10, publish=2e-6, step=10e-6)
    before = cost.text
    cost.take(10, publish=9e-6, step=10e-6)
    cost.take(4, publish=9e-6, step=10e-6)
    cost.take(20, publish=math.nan, step=10e-6)
    cost.take(20, publish=None, step=10e-6)
    cost.take(20, publish=9e-6, step=None)
    assert cost.text == before
