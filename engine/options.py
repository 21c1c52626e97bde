"""How a scene's model is changed from what its file says."""

import dataclasses
import enum
import math
from typing import Any

from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["Integrator", "Playback", "SceneOptions", "Solver"]


class Playback(enum.StrEnum):
    """Whether a scene obeys the debugger's playback."""

    FOLLOW = "follow"
    FREE = "free"


class Integrator(enum.StrEnum):
    """MuJoCo's integrators."""

    EULER = "Euler"
    RK4 = "RK4"
    IMPLICIT = "implicit"
    IMPLICITFAST = "implicitfast"
    DISCRETE = "discrete"


class Solver(enum.StrEnum):
    """MuJoCo's constraint solvers."""

    PGS = "PGS"
    CG = "CG"
    NEWTON = "Newton"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SceneOptions:
    """Physics options of a scene; None leaves what the model says.

    ``timestep`` [s], ``gravity`` (3,) [m/s²], ``iterations`` of the solver, its ``tolerance``.
    Raises ValueError for values that no model can have.
    """

    timestep: float | None = None
    gravity: tuple[float, float, float] | None = None
    integrator: Integrator | None = None
    solver: Solver | None = None
    iterations: int | None = None
    tolerance: float | None = None

    def __post_init__(self) -> None:
        """Refuse values that no model can have."""
        if self.timestep is not None and not 0.0 < self.timestep <= 1.0:
            raise ValueError(f"timestep must be in (0, 1] s, not {self.timestep!r}")
        if self.gravity is not None and (
            len(self.gravity) != 3 or not all(math.isfinite(g) for g in self.gravity)
        ):
            raise ValueError(f"gravity must be three finite numbers [m/s²], not {self.gravity!r}")
        if self.iterations is not None and self.iterations < 1:
            raise ValueError(f"iterations must be 1 or more, not {self.iterations!r}")
        if self.tolerance is not None and not self.tolerance >= 0.0:
            raise ValueError(f"tolerance must be 0 or more, not {self.tolerance!r}")

    def is_default(self) -> bool:
        """Return whether nothing is changed."""
        return self == SceneOptions()

    def apply(self, option: Any, *, adapter: MujocoAdapter) -> None:
        """Write what is set into ``option``: a model's ``opt`` or a spec's ``option``."""
        if self.timestep is not None:
            option.timestep = self.timestep
        if self.gravity is not None:
            option.gravity[:] = self.gravity
        if self.integrator is not None:
            known = _integrators(adapter)
            if self.integrator not in known:
                raise ValueError(
                    f"MuJoCo {adapter.version} has no integrator {self.integrator!r}; "
                    f"it has {', '.join(known)}"
                )
            option.integrator = known[self.integrator]
        if self.solver is not None:
            option.solver = int(_solvers(adapter)[self.solver])
        if self.iterations is not None:
            option.iterations = self.iterations
        if self.tolerance is not None:
            option.tolerance = self.tolerance


def options_in_force(model: Any, *, adapter: MujocoAdapter) -> SceneOptions:
    """Return the options that ``model`` has now."""
    opt = model.opt
    integrators = {int(value): key for key, value in _integrators(adapter).items()}
    solvers = {int(value): key for key, value in _solvers(adapter).items()}
    x, y, z = (float(g) for g in opt.gravity)
    return SceneOptions(
        timestep=float(opt.timestep),
        gravity=(x, y, z),
        integrator=integrators.get(int(opt.integrator)),
        solver=solvers.get(int(opt.solver)),
        iterations=int(opt.iterations),
        tolerance=float(opt.tolerance),
    )


def _integrators(adapter: MujocoAdapter) -> dict[Integrator, int]:
    """Return the integrators that the installed MuJoCo has."""
    members = adapter.module.mjtIntegrator.__members__
    return {
        integrator: int(members[f"mjINT_{integrator.upper()}"])
        for integrator in Integrator
        if f"mjINT_{integrator.upper()}" in members
    }


def _solvers(adapter: MujocoAdapter) -> dict[Solver, int]:
    enum_ = adapter.module.mjtSolver
    return {
        Solver.PGS: int(enum_.mjSOL_PGS),
        Solver.CG: int(enum_.mjSOL_CG),
        Solver.NEWTON: int(enum_.mjSOL_NEWTON),
    }
