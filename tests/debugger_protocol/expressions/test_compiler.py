"""Expressions: what they give, in what unit, and what is said about wrong ones."""

import contextlib
import math
from pathlib import Path

import numpy as np
import pytest
from interrupting import Late, interrupted_after

from stroboscope.debugger_protocol import expressions
from stroboscope.debugger_protocol.expressions import (
    ExpressionError,
    SignalTable,
    channel_reference,
    compile_expression,
)
from stroboscope.debugger_protocol.scene_description import ChannelInfo


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3 - 4 / 8", [6.5]),
        ("-2 ** 2", [-4.0]),
        ("2 ** -1", [0.5]),
        ("7 % 4", [3.0]),
        ("-7.5 % 2", [0.5]),
        ("1 < 2", [1.0]),
        ("1 < 2 < 2", [0.0]),
        ("1 < 2 <= 2 != 3", [1.0]),
        ("3 < 2 < 1/0", [0.0]),
        ("1 == 1 and not 2 > 3 or 0", [1.0]),
        ("qpos['knee'] - ctrl['knee']", [-0.45]),
        ("qpos['root']", [1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0]),
        ("qpos['root']['z']", [3.0]),
        ("qpos['root.z']", [3.0]),
        ("qpos[0:3]", [1.0, 2.0, 3.0]),
        ("qpos[-1]", [-0.25]),
        ("qpos[8:6:-1]", [-0.25, 0.5]),
        ("(qpos[-2:] - ctrl)['knee']", [-0.45]),
        ("sensordata['imu'][2]", [2.0]),
        ("norm(sensor['imu'])", [3.0]),
        ("sensor['touch']", [7.0]),
        ("xpos['hand'][2]", [8.0]),
        ("xpos['hand']['y']", [7.0]),
        ("site_xpos['tip']", [5.0, 6.0, 7.0]),
        ("energy.total", [12.5]),
        ("contact.count", [3.0]),
        ("time", [1.5]),
        ("reward * 2", [1.5]),
        ("obs[3]", [1.0]),
        ("user['loss/policy']", [0.125]),
        ("norm(contact['foot','floor'].force)", [5.0]),
        ("contact['hand', 'floor'].depth", [0.001]),
        ("norm(qvel)", [5.0]),
        ("norm(qvel * 1e200)", [5e200]),
        ("norm(qvel * 1e-200)", [5e-200]),
        ("norm(qvel * 0)", [0.0]),
        ("abs(qpos['knee'])", [0.25]),
        ("min(obs)", [1.0]),
        ("max(obs, 2.5)", [4.0, 3.0, 2.5, 2.5]),
        ("min(3, 1, 2)", [1.0]),
        ("sqrt(obs[0])", [2.0]),
        ("sin(0) + cos(0)", [1.0]),
        ("atan2(1, 1)", [math.pi / 4]),
        ("exp(log(3))", [3.0000000000000004]),
        ("sum(obs)", [10.0]),
        ("mean(obs)", [2.5]),
        ("dot(qvel, ctrl)", [3.0 * 0.1 + 4.0 * 0.2]),
        ("clip(obs, 2, 3)", [3.0, 3.0, 2.0, 2.0]),
        ("deg(pi)", [180.0]),
        ("rad(180)", [math.pi]),
        ("sign(ctrl - 0.15)", [-1.0, 1.0]),
        ("any(obs > 3)", [1.0]),
        ("all(obs > 3)", [0.0]),
        ("where(time > 1, 10, 20)", [10.0]),
        ("where(obs > 2, obs, 0)", [4.0, 3.0, 0.0, 0.0]),
        ("qvel / 2", [1.5, 2.0]),
        ("  time\t", [1.5]),
    ],
)
def test_the_value_is_right(value, text, expected):
    assert value(text) == pytest.approx(expected, rel=1e-15, abs=0)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("qpos['knee'] - ctrl['knee']", "rad"),
        ("qpos['knee'] + 0.1", "rad"),
        ("2 * qvel", "rad/s"),
        ("actuator_force * qvel", "N·m·rad/s"),
        ("qpos['root.x'] / time", "m/s"),
        ("1 / time", "1/s"),
        ("qpos['root.x'] ** 2", "m²"),
        ("norm(xpos['hand'])", "m"),
        ("sqrt(xpos['hand'][0] ** 2)", "m"),
        ("dot(xpos['hand'], contact['foot','floor'].force)", "m·N"),
        ("qpos['knee'] > 1", ""),
        ("sin(qpos['knee'])", ""),
        ("deg(qpos['knee'])", "°"),
        ("contact['foot'].normal", "N"),
        ("sensor['imu'] * time", "m/s"),
        ("qpos['root.x'] + time", ""),
        ("qpos['root']", ""),
        ("2", ""),
        ("time / time", ""),
        ("time ** inf", ""),
        ("time ** nan", ""),
    ],
)
def test_units_follow_where_they_can(table, text, unit):
    assert compile_expression(text, table).unit == unit


def test_names_of_columns_are_kept(table):
    expression = compile_expression("2 * qpos['root'][0:2] - 1", table)
    assert expression.names == ("root.x", "root.y")
    assert expression.width == 2


def test_an_expression_says_what_it_reads(table):
    text = "qpos['knee'] + contact['foot','floor'].normal * reward"
    uses = compile_expression(text, table).channels
    assert [use.key for use in uses] == ["qpos", "contact['foot','floor'].normal", "reward"]
    assert uses[1].first == frozenset({2})
    assert uses[1].second == frozenset({0})
    assert uses[2].is_user


def test_a_body_stands_for_its_geoms_unless_a_geom_has_the_name(table):
    (use,) = compile_expression("contact['hand'].count", table).channels
    assert use.first == frozenset({2, 3})
    assert use.second is None
    (use,) = compile_expression("contact['trunk', 'hand'].count", table).channels
    assert use.first == frozenset({1})


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("qpoos['knee']", "qpoos", "there is no signal 'qpoos'; did you mean 'qpos'"),
        ("1 + qpos['kne']", "'kne'", "qpos has no 'kne'; did you mean 'knee'"),
        ("qpos[9]", "9", "there is no value 9: there are 9, 0 … 8"),
        ("obs['x']", "'x'", "these values have no names: use numbers 0 … 3"),
        ("nrm(qvel)", "nrm", "there is no function 'nrm'; did you mean 'norm'"),
        ("norm", "norm", "norm is a function: norm(vector)"),
        ("norm(qvel, 2)", "norm(qvel, 2)", "norm takes 1 argument, not 2: norm(vector)"),
        ("qpos - ctrl", "qpos - ctrl", "these have 9 and 2 values"),
        ("contact['foot','flor'].force", "'flor'", "no geom or body 'flor'; did you mean 'floor'"),
        ("contact['foot'].forse", "forse", "contacts have no 'forse'; did you mean 'force'"),
        ("contact['foot']", "contact['foot']", "say what of these contacts: .force"),
        ("contact", "contact", "say which contacts"),
        ("energy.totl", "energy.totl", "did you mean 'energy.total'"),
        ("obs and 1", "obs and 1", "use any(…) or all(…)"),
        ("qpos['a' 'b']", "'b'", "two texts stand side by side"),
        ("'knee'", "'knee'", "a number is needed here"),
        ("qpos[knee]", "knee", "a name in quotes, or a whole number is needed"),
        ("qpos[3:3]", "3:3", "this slice is empty"),
        ("a = 3", "=", "comparing is written =="),
        ("qpos[0] ^ 2", "^", "powers are written **"),
        ("qpos['knee", "'", "this text has no end"),
        ("2 if time else 3", "2 if time else 3", "write where(condition, a, b)"),
        ("(1 + 2", "(", "never closed"),
        ("__import__('os')", "__import__", "there is no function '__import__'"),
        ("time.__class__", "time.__class__", "there is no signal 'time.__class__'"),
        ("(lambda: 1)()", "lambda: 1", "there are no functions of one's own"),
        ("[x for x in obs]", "[x for x in obs]", "there are no comprehensions"),
        ("f'{time}'", "'{time}'", "something is missing"),
        ("norm(x=1)", "x=1", ""),
        ("3time", "time", "something is missing between these two"),
        ("1 // 2", "1 // 2", "there is no such operator"),
        ("größe + 1", "größe", "there is no signal 'größe'"),
        ("  ", " ", "an expression is needed"),
        ("1 +", "", "this can't be read"),
        ("tip height < 0.65", "", "a name of several words is written user['tip height']"),
    ],
)
def test_a_wrong_expression_is_told_with_its_place(table, text, place, words):
    with pytest.raises(ExpressionError) as caught:
        compile_expression(text, table)
    error = caught.value
    assert words in error.problem
    if place and words:
        assert text[error.start : error.end] == place
    first, shown, carets = str(error).split("\n")
    assert first == error.problem
    assert shown.strip() == text.strip()
    assert carets.index("^") == 4 + error.start


@pytest.mark.parametrize("text", ["-" * 40 + "1", "(" * 30 + "1" + ")" * 30 + "+" + "abs(" * 30])
def test_depth_is_bounded(table, text):
    with pytest.raises(ExpressionError):
        compile_expression(text, table)


def test_deeply_nested_comparisons_compute_each_part_once(table):
    text = "time"
    for _ in range(22):
        text = f"0<({text})<2"
    reads = []

    class Time:
        def __getitem__(self, index):
            reads.append(index)
            return 1.5

    assert compile_expression(text, table).evaluate_list([Time()])[0] == 1.0
    assert len(reads) == 1


def test_length_is_bounded_to_what_fits_a_channels_name(table):
    assert compile_expression("1" * 253, table).width == 1
    with pytest.raises(ExpressionError, match="has 254 bytes, 253 are allowed"):
        compile_expression("1" * 254, table)


def test_width_is_bounded():
    table = SignalTable([ChannelInfo(name="obs", width=2000)])
    with pytest.raises(ExpressionError, match="2000 values, 1024 are allowed"):
        compile_expression("obs", table)
    assert compile_expression("norm(obs)", table).width == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1 / (time - time)", "division by zero"),
        ("log(-time)", "logarithm of a number that is not above 0"),
        ("sqrt(-time)", "root of a negative number"),
        ("(-time) ** 0.5", "this power has no real value"),
        ("exp(1000 * time)", "exp is too large"),
        ("time % (time - time)", "remainder of a division by zero"),
    ],
)
def test_what_has_no_value_is_nan_with_a_note(table, values, text, problem):
    expression = compile_expression(text, table)
    assert np.isnan(expression.evaluate(values)).all()
    assert expression.problem == problem
    sound = compile_expression("time", table)
    sound.evaluate(values)
    assert sound.problem == ""


@pytest.mark.parametrize("few", ["qvel", "qpos"])
def test_a_length_with_no_number_in_it_is_none(table, values, few):
    expression = compile_expression(f"norm({few})", table)
    for numbers in ([0.0, np.nan], [np.nan, 0.0], [1e-300, np.nan, 0.0]):
        arrays = {few: np.resize(numbers, values[few].shape)}
        assert np.isnan(expression.evaluate(arrays)).all()
        assert expression.problem == ""


@pytest.mark.parametrize("of", ["time", "qvel", "norm(qvel)"])
@pytest.mark.parametrize(
    "text", ["{} * 1e300 * 1e300", "{0} * 1e300 * 1e300 - {0} * 1e300 * 1e300"]
)
def test_what_overflows_has_a_note_and_what_reads_nan_or_infinity_has_none(table, values, of, text):
    expression = compile_expression(text.format(of), table)
    assert not np.isfinite(expression.evaluate(values)).any()
    assert expression.problem == "a number in it is beyond 1.8e308"
    arrays = [values[each.key] for each in expression.channels]
    if expression.width == 1:
        assert not np.isfinite(expression.bound_to(arrays)())
        assert expression.problem == "a number in it is beyond 1.8e308"
    for hurt in (np.nan, np.inf):
        again = compile_expression(text.format(of), table)
        wrong = [np.full_like(each, hurt) for each in arrays]
        assert not np.isfinite(again.evaluate_list(wrong)).any()
        assert again.problem == ""
        if again.width == 1:
            again.bound_to(wrong)()
            assert again.problem == ""


def test_only_the_elements_without_a_value_are_nan(table, values):
    expression = compile_expression("1 / (obs - 2)", table)
    np.testing.assert_array_equal(expression.evaluate(values), [0.5, 1.0, np.nan, -1.0])
    assert expression.problem == "division by zero"


def test_the_branch_that_is_not_taken_causes_no_note(table, values):
    expression = compile_expression("where(time > 0, 1 / time, 1 / (time - time))", table)
    assert expression.evaluate(values)[0] == pytest.approx(1 / 1.5)
    assert expression.problem == ""


def test_a_column_of_a_channel_is_written_as_the_language_reads_it(table):
    channels = [
        ChannelInfo(name="qpos", width=2, names=("it's", "knee")),
        ChannelInfo(name="obs", width=3),
        ChannelInfo(name="energy.total"),
        ChannelInfo(name="loss/policy", width=2),
        ChannelInfo(name="twice", width=2, names=("a", "a")),
    ]
    table = SignalTable(channels)
    texts = [channel_reference(each, each.width - 1) for each in channels]
    assert texts == ["qpos['knee']", "obs[2]", "energy.total", "user['loss/policy'][1]", "twice[1]"]
    texts.append(channel_reference(channels[0], 0))
    assert texts[-1] == 'qpos["it\'s"]'
    for text in texts:
        assert compile_expression(text, table).width == 1


@pytest.mark.parametrize("text", ["norm(obs)", "time + 1"])
def test_what_a_handler_of_a_signal_raises_within_one_is_no_problem_of_it(
    table: SignalTable, text: str
) -> None:
    expression = compile_expression(text, table)
    arrays = [np.ones(use.width) for use in expression.channels]
    expression.evaluate_list(arrays)
    folder = str(Path(expressions.__file__).parent)
    for run in (expression.bound_to(arrays), lambda: expression.evaluate_list(arrays)):
        for calls in range(3):
            with interrupted_after(calls, within=(folder,)) as one, contextlib.suppress(Late):
                run()
                assert not one.came
    assert expression.problem == ""
