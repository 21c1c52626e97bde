"""How an application step is cut into physics steps."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stroboscope.engine.step_plan import StepPlan, checked_nstep, plan_step

timesteps = st.floats(1e-4, 0.05)


@given(timestep=timesteps, count=st.integers(1, 200))
def test_an_exact_multiple_uses_the_models_timestep(timestep: float, count: int) -> None:
    if count * timestep <= 1.0:
        assert plan_step(count * timestep, timestep=timestep) == StepPlan(count, None)


@given(timestep=timesteps, time_step=st.floats(1e-6, 1.0))
def test_the_parts_are_equal_not_too_long_and_add_up(timestep: float, time_step: float) -> None:
    plan = plan_step(time_step, timestep=timestep)
    part = plan.timestep if plan.timestep is not None else timestep
    assert plan.count == max(1, math.ceil(time_step / timestep - 1e-9))
    assert part <= timestep * (1 + 1e-9)
    assert abs(math.fsum([part] * plan.count) - time_step) <= 1e-12


@pytest.mark.parametrize("decimal", [0.1, 0.3, 0.7, 0.006, 0.01, 1.0])
def test_decimals_that_are_multiples_only_by_rounding_count_as_multiples(decimal: float) -> None:
    assert plan_step(decimal, timestep=0.002).timestep is None


@pytest.mark.parametrize("bad", [math.nan, 0.0, -0.01, 1.0000001, math.inf, -math.inf])
def test_an_impossible_time_step_is_refused_with_the_allowed_range(bad: float) -> None:
    with pytest.raises(ValueError, match=r"\(0, 1\] s"):
        plan_step(bad, timestep=0.002)


def test_nstep_is_an_integer_of_one_or_more() -> None:
    assert checked_nstep(3) == 3
    for bad in (0, -1, 10**30):
        with pytest.raises(ValueError, match=r"nstep must be 1(,000,000,000 or less| or more)"):
            checked_nstep(bad)
    for wrong in (2.0, True, None, "2"):
        with pytest.raises(TypeError, match="nstep must be a whole number"):
            checked_nstep(wrong)  # type: ignore[arg-type]
