"""The one wording for a place on the axis of time."""

from stroboscope.debugger_protocol.step_words import step_words


def test_a_step_and_its_place_on_the_axis_are_told_apart() -> None:
    assert step_words(120, 340) == "step 120 (axis 340)"
    assert step_words(1200, 3400, number="{:,}".format) == "step 1,200 (axis 3,400)"


def test_one_number_is_enough_where_both_are_the_same() -> None:
    assert step_words(120, 120) == "step 120"
