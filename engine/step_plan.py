"""How an application step is cut into physics steps."""

import dataclasses
import math

from stroboscope.engine.arguments import number, shown, whole_number

__all__ = [
    "MAX_TIME_STEP",
    "MOST_PHYSICS_STEPS",
    "StepPlan",
    "checked_nstep",
    "checked_time_step",
    "plan_step",
]

MAX_TIME_STEP = 1.0
"""The longest ``time_step`` of one call [s]."""

MOST_PHYSICS_STEPS = 1_000_000_000
"""Physics steps of one call at most: more would be a mistake that nobody lives to see."""

_ROUNDING = 1e-9
_SAME_TIME = 1e-13


@dataclasses.dataclass(frozen=True, slots=True)
class StepPlan:
    """``count`` physics steps; ``timestep`` [s] None means the model's own, bit for bit."""

    count: int
    timestep: float | None


def plan_step(time_step: float, *, timestep: float) -> StepPlan:
    """Cut ``time_step`` seconds into equal physics steps of at most ``timestep`` seconds.

    A multiple of the model's timestep uses that timestep; anything else an equal smaller one.
    Raises ValueError when ``time_step`` is NaN, not positive, or above one second.
    """
    checked_time_step(time_step)
    count = max(1, math.ceil(time_step / timestep - _ROUNDING))
    if abs(count * timestep - time_step) <= max(_SAME_TIME, time_step * 4e-16):
        return StepPlan(count, None)
    return StepPlan(count, time_step / count)


def checked_time_step(time_step: float) -> float:
    """Return ``time_step`` [s] as a float; TypeError for no number, ValueError out of range."""
    seconds = time_step if type(time_step) is float else number(time_step, "time_step", unit=" [s]")
    if not 0.0 < seconds <= MAX_TIME_STEP:
        raise ValueError(
            f"time_step must be in (0, {MAX_TIME_STEP:g}] s, not {shown(time_step)}; "
            "call step() several times to go further"
        )
    return seconds


def checked_nstep(nstep: int) -> int:
    """Return ``nstep`` as an int; raises ValueError out of range and TypeError for no integer."""
    if type(nstep) is int and 1 <= nstep <= MOST_PHYSICS_STEPS:
        return nstep
    return whole_number(nstep, "nstep", least=1, most=MOST_PHYSICS_STEPS)
