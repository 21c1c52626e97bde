"""Options of a model that MuJoCo believes blindly: which of its functions to use, and how long.

It does not check them when it loads a model: a friction cone of 99 ends the process, and so does an
amount of memory that overflows.
"""

from collections.abc import Callable
from typing import Any, Final

from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["CHOICES", "MOST_ITERATIONS", "endless_option", "impossible_option", "option_codes"]

CHOICES: Final = {
    "integrator": "mjtIntegrator",
    "cone": "mjtCone",
    "jacobian": "mjtJacobian",
    "solver": "mjtSolver",
}
"""The enum of each option that chooses between functions."""
MOST_ITERATIONS: Final = 1 << 20
"""More of them, some hundred bytes each, are an amount that overflows."""

_TAKE_MEMORY: Final = ("ccd_iterations", "sdf_initpoints")
# A step with a tolerance of 0 goes through all of them; those of a pair within each other.
_TAKE_TIME: Final = (
    ("iterations", "ls_iterations"), ("sdf_initpoints", "sdf_iterations"), ("noslip_iterations",),
)  # fmt: skip
_MOST_IN_A_STEP: Final = 1 << 24


def option_codes(name: str, adapter: MujocoAdapter) -> frozenset[int]:
    """Return the numbers that an option of :data:`CHOICES` may have."""
    members = getattr(adapter.module, CHOICES[name]).__members__.values()
    return frozenset(int(member) for member in members)


def impossible_option(model: Any, *, adapter: MujocoAdapter) -> str:
    """Return which option of a model no compiler has written; empty when none."""
    option = model.opt
    for name in CHOICES:
        value = int(getattr(option, name))
        if value not in option_codes(name, adapter):
            return f"its option {name} is {value}, which MuJoCo does not have"
    for name in _TAKE_MEMORY:
        value = int(getattr(option, name, 0))
        if not 0 <= value <= MOST_ITERATIONS:
            return f"its option {name} is {value:,}, of 0 to {MOST_ITERATIONS:,}"
    too_long = endless_option(lambda name: float(getattr(option, name, 0)))
    return f"its {too_long}" if too_long else ""


def endless_option(value_of: Callable[[str], float]) -> str:
    """Return which options would have a step take all day; empty when none.

    ``value_of`` returns what an option has by its name.
    """
    for names in _TAKE_TIME:
        product = 1.0
        for name in names:
            product *= max(1.0, value_of(name))
        if product > _MOST_IN_A_STEP:
            told = " and ".join(f"option {name} is {value_of(name):,.0f}" for name in names)
            return f"{told}: at most {_MOST_IN_A_STEP:,} iterations in all may be in a step"
    return ""
