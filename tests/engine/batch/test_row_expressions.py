"""Expressions of many environments at once, against the expression of one of them as the oracle."""

import numpy as np
import pytest

from stroboscope.debugger_protocol.expressions import (
    SignalTable,
    compile_expression,
)
from stroboscope.debugger_protocol.expressions.arithmetic import FUNCTIONS
from stroboscope.debugger_protocol.scene_description import ChannelInfo, ChannelKind
from stroboscope.engine.batch.row_arithmetic import FUNCTIONS as ROW_FUNCTIONS
from stroboscope.engine.batch.row_expressions import NotForRows, RowExpression

WIDTHS = {"time": 1, "qpos": 5, "qvel": 3, "ctrl": 3, "act": 70}
TABLE = SignalTable(
    tuple(
        ChannelInfo(
            name=name,
            width=width,
            names=("root.x", "root.y", "root.z", "knee", "hip")
            if name == "qpos"
            else ("knee", "hip", "toe")
            if name in ("qvel", "ctrl")
            else (),
        )
        for name, width in WIDTHS.items()
    ),
    bodies=(),
    sites=(),
    geoms=(),
    geom_bodies=(),
)
COUNT, STEPS = 16, 12
ODD = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e308, -1e-308, 720.0, np.inf, -np.inf, np.nan)
EXPRESSIONS = (
    "time > 1", "qpos[0] > qvel['hip']", "qpos['root'][1] - qpos['root.x'] < 0",
    "abs(qpos)['knee'] >= ctrl[-1]", "(qvel - ctrl)['toe'] != 0", "qpos['root']['z'] == qpos[2]",
    "max(qvel) > 0.5", "min(qpos[1:4]) < 0", "norm(act) > 8", "sum(qpos[::2]) > 1",
    "norm(qpos[:4] * 1e200)", "norm(qpos[:4] * 1e-200)",
    "mean(qvel) >= 0", "dot(qvel, ctrl) > 0", "dot(qpos[0], 2) > 0", "any(qvel > 1)",
    "all(ctrl * 2 < qvel + 3)", "not qpos[3]", "any(not qvel)", "time > 0 and qpos[0] > 0",
    "qpos[0] > 1 or qpos[1] > 1 or time < 0", "-1 < qpos[0] <= 2 < time + 3", "qpos[0] / qpos[1]",
    "qpos[0] % qpos[1]", "qpos[0] ** qpos[1]", "any(qvel / ctrl)", "sum(qvel ** 2)",
    "sum(qvel % ctrl)", "exp(qpos[0]) > 2", "log(qpos[0])", "sqrt(qpos[1])", "sum(log(qvel))",
    "sin(qpos[0]) + cos(qpos[1]) - tan(qpos[2])", "atan2(qpos[0], qpos[1])", "sum(sqrt(ctrl))",
    "min(qpos[0], qpos[1], 3)", "max(qpos[0], qvel[0])", "sum(max(qvel, 1))", "min(qvel[0], nan)",
    "clip(qpos[0], -1, qpos[1])", "sum(clip(qvel, -1, 1))", "where(qpos[0], qpos[1], 5)",
    "sum(where(qvel > 0, qvel, -1))", "sum(where(time > 0, qvel, ctrl))", "sign(qpos[0])",
    "deg(rad(qpos[4]))", "sum(sign(qvel))", "first(qpos[0]) > 0", "qpos[0] - previous(qpos[0])",
    "norm(change(qvel)) > 1", "max(first(qvel) - qvel)", "previous(first(time) + time)",
    "pi * 2 - qpos[0]", "sum(act) * 1e300 * 1e300", "+qpos[0]", "-sum(-qvel)", "sum(qpos * 2 ** 3)",
)  # fmt: skip


def values(chance: np.random.Generator, width: int) -> np.ndarray:
    made = chance.normal(size=(COUNT, width))
    made.flat[chance.integers(made.size, size=made.size // 5)] = chance.choice(ODD)
    return np.where(chance.random((COUNT, width)) < 0.25, chance.choice(ODD, (COUNT, width)), made)


@pytest.mark.parametrize("text", EXPRESSIONS)
@pytest.mark.filterwarnings("error")
def test_every_environment_has_the_value_that_its_own_expression_would_have(text: str) -> None:
    chance = np.random.default_rng(5)
    rows = RowExpression(text, TABLE, count=COUNT)
    alone = [compile_expression(text, TABLE, remembers=True) for _ in range(COUNT)]
    for step in range(STEPS):
        data = {name: values(chance, width) for name, width in WIDTHS.items()}
        counted = chance.random(COUNT) < 0.9
        if step in (5, 9):
            replaced = chance.random(COUNT) < 0.3
            rows.forget(replaced)
            for env in np.flatnonzero(replaced):
                alone[env].forget()
        found = rows.numbers(data.__getitem__, counted)
        assert found.shape == (COUNT,)
        for env in np.flatnonzero(counted):
            own = alone[env].evaluate({name: data[name][env] for name in WIDTHS})[0]
            assert found[env] == pytest.approx(own, rel=1e-12, abs=1e-300, nan_ok=True), (env, data)


def test_every_function_of_the_language_is_one_for_many() -> None:
    assert set(ROW_FUNCTIONS) == set(FUNCTIONS)
    used = "".join(EXPRESSIONS)
    assert all(f"{name}(" in used for name in FUNCTIONS)


@pytest.mark.parametrize("text", ["user['reward'] > 1", "user['reward'] + qpos[0]"])
def test_what_the_script_logs_is_no_environments_own(text: str) -> None:
    table = SignalTable(
        (ChannelInfo(name="qpos", width=2), ChannelInfo(name="reward", kind=ChannelKind.USER)),
        bodies=(), sites=(), geoms=(), geom_bodies=(),
    )  # fmt: skip
    with pytest.raises(NotForRows):
        RowExpression(text, table, count=COUNT)
