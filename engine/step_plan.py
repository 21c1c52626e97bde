"""How an application step is cut into physics steps."""

import dataclasses
import math

__all__ = ["MAX_TIME_STEP", "StepPlan", "plan_step"]

MAX_TIME_STEP = 1.0
"""The longest ``time_step`` of one call [s]."""

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
    if not 0.0 < time_step <= MAX_TIME_STEP:
        raise ValueError(
            f"time_step must be in (0, {MAX_TIME_STEP:g}] s, not {time_step!r}; "
            "call step() several times to go further"
        )
    count = max(1, math.ceil(time_step / timestep - _ROUNDING))
    if abs(count * timestep - time_step) <= max(_SAME_TIME, time_step * 4e-16):
        return StepPlan(count, None)
    return StepPlan(count, time_step / count)


def checked_nstep(nstep: int) -> int:
    """Return ``nstep`` as an int; raises ValueError below 1 and TypeError for no integer."""
    if type(nstep) is int and nstep >= 1:
        return nstep
    try:
        count = nstep.__index__()
    except AttributeError:
        raise TypeError(
            f"nstep must be an integer of 1 or more, not {type(nstep).__name__}"
        ) from None
    if isinstance(nstep, bool) or count < 1:
        raise ValueError(f"nstep must be an integer of 1 or more, not {nstep!r}")
    return count
