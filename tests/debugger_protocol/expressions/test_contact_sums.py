"""Sums over the contacts of a pair: which ones, in which direction."""

import numpy as np
import pytest

from stroboscope.debugger_protocol.expressions import contact_part

FLOOR, FOOT, BALL = 0, 1, 2
AXES = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
ARRAYS = {
    "geom": np.array([[FLOOR, FOOT], [FLOOR, FOOT], [FOOT, BALL]], np.int32),
    "frame": np.stack([AXES, AXES, AXES]),
    "dist": np.array([-0.001, -0.003, 0.002]),
    "force": np.array(
        [
            [10.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            [20.0, 2.0, 4.0, 0.0, 0.0, 0.0],
            [5.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        ]
    ),
}


@pytest.mark.parametrize(
    ("part", "first", "second", "expected"),
    [
        ("force", FOOT, FLOOR, [3.0, 4.0, 30.0]),
        ("force", FLOOR, FOOT, [-3.0, -4.0, -30.0]),
        ("force", FOOT, None, [3.0, 4.0, 25.0]),
        ("normal", FOOT, FLOOR, [30.0]),
        ("friction", FOOT, FLOOR, [5.0]),
        ("friction", FLOOR, FOOT, [5.0]),
        ("count", FOOT, None, [3.0]),
        ("count", FLOOR, BALL, [0.0]),
        ("depth", FLOOR, FOOT, [0.003]),
        ("depth", FOOT, BALL, [0.0]),
        ("force", FLOOR, BALL, [0.0, 0.0, 0.0]),
        ("normal", FLOOR, BALL, [0.0]),
    ],
)
def test_the_forces_of_a_pair_act_on_the_one_named_first(part, first, second, expected):
    other = None if second is None else frozenset({second})
    result = contact_part(part, ARRAYS, frozenset({first}), other)
    np.testing.assert_allclose(result, expected)
