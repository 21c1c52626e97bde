"""Whatever is typed: an expression that evaluates, or an ExpressionError; nothing else."""

import os

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stroboscope.debugger_protocol.expressions import ExpressionError, compile_expression

EXAMPLES = int(1500 * float(os.environ.get("STROBOSCOPE_FUZZ_FACTOR", "0.2")))
PIECES = (
    "qpos", "ctrl", "obs", "time", "contact", "['knee']", "['foot','floor']", ".force", ".depth",
    "[0]", "[1:2]", "[-1]", "norm(", "where(", "max(", "exp(", ")", ",", "+", "-", "*", "/", "**",
    "%", "<", "==", " and ", " or ", "not ", "1", "0", "1e308", "2.5", ".", "(", "[", "]", "'",
    "\"", ":", " ", "lambda", "user", "__class__", "\\", "\n", "\0", "ö", "𝒳", "0x1", "1_0", "é",
    "inf", "nan",
)  # fmt: skip
texts = st.one_of(
    st.text(max_size=60),
    st.text(st.characters(codec=None, exclude_categories=()), max_size=20),
    st.lists(st.sampled_from(PIECES), max_size=20).map("".join),
)


def compiled(text, table):
    """Return the expression, or the documented error."""
    try:
        return compile_expression(text, table)
    except ExpressionError as error:
        return error


def filled(expression, values):
    """Return values for all that the expression reads: contacts of any pair too."""
    return {use.key: values.get(use.key, np.zeros(use.width)) for use in expression.channels}


@settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(text=texts)
def test_only_documented_errors_escape(table, values, text):
    expression = compiled(text, table)
    if isinstance(expression, ExpressionError):
        assert expression.problem
        assert 0 <= expression.start <= len(text)
        return
    result = expression.evaluate(filled(expression, values))
    assert result.shape == (expression.width,)
    assert "it failed" not in expression.problem, text


operands = st.sampled_from(
    ["time", "qvel", "obs[1:3]", "ctrl", "qpos['hip']", "0", "1.5", "1e300", "-1", "reward"]
)


def _grow(inner):
    binary = st.tuples(
        inner, st.sampled_from(["+", "-", "*", "/", "%", "**", "<", "==", "!="]), inner
    )
    functions = ["abs", "sqrt", "exp", "log", "norm", "sum", "sin", "deg", "sign", "any", "min"]
    one = st.tuples(st.sampled_from(functions), inner)
    return st.one_of(
        binary.map(lambda t: f"({t[0]} {t[1]} {t[2]})"), one.map(lambda t: f"{t[0]}({t[1]})")
    )


@settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(text=st.recursive(operands, _grow, max_leaves=8))
def test_every_well_formed_expression_of_fitting_widths_has_a_value(table, values, text):
    expression = compiled(text, table)
    if isinstance(expression, ExpressionError):
        assert "bytes" in expression.problem or "nested" in expression.problem, text
        return
    result = expression.evaluate(values)
    assert "it failed" not in expression.problem, text
    assert bool(np.isfinite(result).all()) or expression.problem, text
