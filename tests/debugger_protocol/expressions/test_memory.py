"""Functions that remember earlier steps: what they return, and where they are refused."""

import math

import numpy as np
import pytest

from stroboscope.debugger_protocol.expressions import (
    Expression,
    ExpressionError,
    SignalTable,
    compile_expression,
)
from stroboscope.debugger_protocol.scene_description import ChannelInfo

TABLE = SignalTable(
    (ChannelInfo(name="qpos", width=2, names=("hip", "knee")), ChannelInfo(name="contact.depth")),
    geoms=("ball", "wall"),
    geom_bodies=(1, 2),
)


def values(expression: Expression, rows: list[tuple[float, float]]) -> list[float]:
    """Return what one number comes to at each step."""
    keys = [use.key for use in expression.channels]
    found = []
    for row in rows:
        arrays = {"qpos": np.array(row), "contact.depth": np.array((row[0],))}
        found.append(float(expression.evaluate({key: arrays[key] for key in keys})[0]))
    return found


ROWS = [(1.0, 10.0), (2.0, 20.0), (4.0, 15.0)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("first(qpos['hip'])", [1.0, 1.0, 1.0]),
        ("previous(qpos['hip'])", [math.nan, 1.0, 2.0]),
        ("change(qpos['hip'])", [math.nan, 1.0, 2.0]),
        ("max(abs(change(qpos)))", [math.nan, 10.0, 5.0]),
        ("change(change(qpos['hip']))", [math.nan, math.nan, 1.0]),
        ("previous(first(qpos['knee']))", [math.nan, 10.0, 10.0]),
        ("first(qpos)[1] - qpos['hip']", [9.0, 8.0, 6.0]),
        # What is not computed in a step is remembered all the same.
        ("qpos['hip'] > 3 and previous(qpos['knee']) == 20", [0.0, 0.0, 1.0]),
    ],
)
def test_earlier_steps_are_remembered(text: str, expected: list[float]) -> None:
    expression = compile_expression(text, TABLE, remembers=True)
    np.testing.assert_array_equal(values(expression, ROWS), expected)
    expression.forget()
    np.testing.assert_array_equal(values(expression, ROWS), expected)


def test_penetration_is_another_word_for_depth() -> None:
    expression = compile_expression("max(contact.penetration) > 1.5", TABLE)
    assert values(expression, ROWS) == [0.0, 1.0, 1.0]
    pair = compile_expression("contact['ball','wall'].penetration", TABLE)
    assert [use.part for use in pair.channels] == ["depth"]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("1 + previous(qpos['hip'])", "previous"),
        ("contact['ball','wall'].passed", "contact['ball','wall'].passed"),
    ],
)
def test_they_are_refused_where_not_every_step_is_seen(text: str, place: str) -> None:
    with pytest.raises(ExpressionError, match="only conditions") as caught:
        compile_expression(text, TABLE)
    assert text[caught.value.start : caught.value.end] == place


def test_a_bound_expression_is_the_same_as_one_that_is_given_its_values() -> None:
    for text in ("qpos['hip'] > 1.5", "change(qpos['hip'])", "max(qpos)", "1 / (qpos['hip'] - 1)"):
        expression = compile_expression(text, TABLE, remembers=True)
        expected = values(compile_expression(text, TABLE, remembers=True), ROWS)
        arrays = [np.zeros(2)]
        number = expression.bound_to(arrays)
        found = []
        for row in ROWS:
            arrays[0] = np.array(row)
            found.append(number())
        np.testing.assert_array_equal(found, expected)
