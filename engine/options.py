"""How a scene is made: the physics options that its model gets, and whether it follows playback."""

import dataclasses
import enum
import math
from collections.abc import Iterable, Sequence, Set
from typing import Any

import numpy as np

from stroboscope.engine.arguments import number, number_array, shown, whole_number
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["Cone", "Integrator", "Jacobian", "Playback", "SceneOptions", "Solver"]


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


class Cone(enum.StrEnum):
    """MuJoCo's friction cones."""

    PYRAMIDAL = "pyramidal"
    ELLIPTIC = "elliptic"


class Jacobian(enum.StrEnum):
    """How MuJoCo stores the constraint Jacobian."""

    DENSE = "dense"
    SPARSE = "sparse"
    AUTO = "auto"


_Vector = tuple[float, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SceneOptions:
    """All that a scene is made with besides its model; None leaves what the model says.

    MuJoCo's options by MuJoCo's names: ``timestep`` [s], ``gravity`` [m/s²] and ``wind`` [m/s]
    (3,), ``integrator``, ``solver``, ``cone``, …. ``disable`` and ``enable`` are all flags that are
    on, as in ``enable={"sleep"}``; ``disabled_actuator_groups`` likewise. ``playback``: "follow" or
    "free". ``scene.options`` has every one of them, so ``create_scene(options=other.options)``
    makes a scene as another was made. Raises ValueError for values that no model can have.
    """

    timestep: float | None = None
    gravity: _Vector | None = None
    integrator: Integrator | None = None
    solver: Solver | None = None
    cone: Cone | None = None
    jacobian: Jacobian | None = None
    iterations: int | None = None
    tolerance: float | None = None
    ls_iterations: int | None = None
    ls_tolerance: float | None = None
    noslip_iterations: int | None = None
    noslip_tolerance: float | None = None
    ccd_iterations: int | None = None
    ccd_tolerance: float | None = None
    sdf_iterations: int | None = None
    sdf_initpoints: int | None = None
    sleep_tolerance: float | None = None
    impratio: float | None = None
    density: float | None = None
    viscosity: float | None = None
    wind: _Vector | None = None
    magnetic: _Vector | None = None
    o_margin: float | None = None
    o_solref: _Vector | None = None
    o_solimp: _Vector | None = None
    o_friction: _Vector | None = None
    disable: frozenset[str] | None = None
    enable: frozenset[str] | None = None
    disabled_actuator_groups: frozenset[int] | None = None
    playback: Playback | None = None

    def __post_init__(self) -> None:
        """Refuse values that no model can have."""
        for name in ("timestep", "tolerance", *_SCALARS):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, _checked_scalar(name, value))
        for name, width in _VECTORS.items():
            if (vector := getattr(self, name)) is not None:
                object.__setattr__(self, name, _checked_vector(name, vector, width))
        for name in ("disable", "enable"):
            if (flags := getattr(self, name)) is not None:
                object.__setattr__(self, name, _checked_flags(name, flags))
        if self.disabled_actuator_groups is not None:
            groups = _checked_groups(self.disabled_actuator_groups)
            object.__setattr__(self, "disabled_actuator_groups", groups)
        for name, kind in (_CHOICES | {"playback": Playback}).items():
            if (word := getattr(self, name)) is not None:
                object.__setattr__(self, name, _checked_word(name, word, kind))

    def is_default(self) -> bool:
        """Return whether nothing is changed."""
        return self == SceneOptions()

    def apply(self, option: Any, *, adapter: MujocoAdapter) -> None:
        """Write what is set into ``option``: a model's ``opt`` or a spec's ``option``.

        Raises ValueError for what the installed MuJoCo does not have.
        """
        for name in (*_SCALARS, "timestep", "tolerance"):
            value = getattr(self, name)
            if value is not None:
                _check_known(option, name, adapter)
                setattr(option, name, value)
        for name in _VECTORS:
            vector = getattr(self, name)
            if vector is not None:
                _check_known(option, name, adapter)
                getattr(option, name)[:] = vector
        for name in _CHOICES:
            chosen = getattr(self, name)
            if chosen is not None:
                codes = _codes(name, adapter)
                if chosen not in codes:
                    raise ValueError(
                        f"MuJoCo {adapter.version} has no {name} {str(chosen)!r}; "
                        f"it has {', '.join(codes)}"
                    )
                setattr(option, name, codes[chosen])
        if self.disable is not None:
            option.disableflags = _flags(self.disable, "disable", adapter)
        if self.enable is not None:
            option.enableflags = _flags(self.enable, "enable", adapter)
        if self.disabled_actuator_groups is not None:
            option.disableactuator = sum(1 << group for group in self.disabled_actuator_groups)


_VECTORS = {"gravity": 3, "wind": 3, "magnetic": 3, "o_solref": 2, "o_solimp": 5, "o_friction": 5}
_WORDS = {2: "two", 3: "three", 5: "five"}
# Besides timestep and tolerance.
_SCALARS = (
    "iterations", "ls_iterations", "ls_tolerance", "noslip_iterations", "noslip_tolerance",
    "ccd_iterations", "ccd_tolerance", "sdf_iterations", "sdf_initpoints", "sleep_tolerance",
    "impratio", "density", "viscosity", "o_margin",
)  # fmt: skip
_LEAST = {name: 0.0 for name in (*_SCALARS, "tolerance") if name != "o_margin"} | {
    "iterations": 1.0
}
_WHOLE = frozenset(name for name in _SCALARS if name.endswith(("iterations", "initpoints")))
_MOST_ITERATIONS = 2**31 - 1
_CHOICES: dict[str, type[enum.StrEnum]] = {
    "integrator": Integrator, "solver": Solver, "cone": Cone, "jacobian": Jacobian,
}  # fmt: skip
_ENUMS = {
    "integrator": ("mjtIntegrator", "mjINT_"), "solver": ("mjtSolver", "mjSOL_"),
    "cone": ("mjtCone", "mjCONE_"), "jacobian": ("mjtJacobian", "mjJAC_"),
    "disable": ("mjtDisableBit", "mjDSBL_"), "enable": ("mjtEnableBit", "mjENBL_"),
}  # fmt: skip
_LAST_GROUP = 30


def _checked_scalar(name: str, value: object) -> float:
    """Return a number as it goes into the model's options: of an integer field an ``int``."""
    if name in _WHOLE:
        return whole_number(value, name, least=int(_LEAST[name]), most=_MOST_ITERATIONS)
    made = number(value, name)
    if name == "timestep":
        if not 0.0 < made <= 1.0:
            raise ValueError(f"timestep must be in (0, 1] s, not {shown(value)}")
        return made
    least = _LEAST.get(name, -math.inf)
    if not (math.isfinite(made) and made >= least):
        at_least = "a finite number" if least == -math.inf else f"{least:g} or more"
        raise ValueError(f"{name} must be {at_least}, not {shown(value)}")
    return made


def _checked_vector(name: str, vector: object, width: int) -> _Vector:
    unit = " [m/s²]" if name == "gravity" else ""
    what = f"{name} must be {_WORDS[width]} finite numbers{unit}, not {shown(vector)}"
    try:
        numbers = number_array(vector, name)
    except (TypeError, ValueError) as error:
        raise type(error)(what) from None
    if numbers.shape != (width,) or not np.isfinite(numbers).all():
        raise ValueError(what)
    return tuple(numbers.tolist())


def _checked_flags(name: str, flags: object) -> frozenset[str]:
    if isinstance(flags, str) or not isinstance(flags, Set | Sequence):
        raise ValueError(f"{name} must be a set of flags, not {shown(flags)}")
    if wrong := [flag for flag in flags if not isinstance(flag, str)]:
        raise ValueError(f"{name} must be a set of flags by name, not {shown(wrong[0])}")
    return frozenset(str(flag).lower() for flag in flags)


def _checked_groups(groups: object) -> frozenset[int]:
    if isinstance(groups, str | bytes) or not isinstance(groups, Set | Sequence):
        raise ValueError(
            f"disabled_actuator_groups must be a set of 0…{_LAST_GROUP}, not {shown(groups)}"
        )
    for group in groups:
        if not isinstance(group, int) or not 0 <= group <= _LAST_GROUP:
            raise ValueError(f"actuator groups are 0…{_LAST_GROUP}, not {shown(group)}")
    return frozenset(groups)


def _checked_word(name: str, word: object, kind: type[enum.StrEnum]) -> enum.StrEnum:
    for each in kind:
        if isinstance(word, str) and word == each:
            return each
    allowed = ", ".join(repr(each.value) for each in kind)
    raise ValueError(f"{name} must be one of {allowed}, not {shown(word)}")


def options_in_force(model: Any, *, adapter: MujocoAdapter) -> SceneOptions:
    """Return all physics options that ``model`` has now."""
    opt = model.opt
    values: dict[str, Any] = {}
    for name in (*_SCALARS, "timestep", "tolerance"):
        if hasattr(opt, name):
            value = getattr(opt, name)
            values[name] = value if isinstance(value, int) else float(value)
    for name in _VECTORS:
        if hasattr(opt, name):
            values[name] = tuple(float(each) for each in np.asarray(getattr(opt, name)))
    for name in _CHOICES:
        known = {code: member for member, code in _codes(name, adapter).items()}
        values[name] = known.get(int(getattr(opt, name)))
    for name in ("disable", "enable"):
        bits = int(getattr(opt, f"{name}flags"))
        values[name] = frozenset(
            flag for flag, bit in _members(name, adapter).items() if bits & bit
        )
    if hasattr(opt, "disableactuator"):
        off = int(opt.disableactuator)
        values["disabled_actuator_groups"] = frozenset(
            group for group in range(_LAST_GROUP + 1) if off >> group & 1
        )
    return SceneOptions(**values)


def _check_known(option: Any, name: str, adapter: MujocoAdapter) -> None:
    if not hasattr(option, name):
        raise ValueError(f"MuJoCo {adapter.version} has no option {name!r}: leave it unset")


def _members(name: str, adapter: MujocoAdapter) -> dict[str, int]:
    enum_name, prefix = _ENUMS[name]
    found = getattr(adapter.module, enum_name).__members__.items()
    return {n.removeprefix(prefix).lower(): int(v) for n, v in found if n.startswith(prefix)}


def _codes(name: str, adapter: MujocoAdapter) -> dict[enum.StrEnum, int]:
    """Return what the installed MuJoCo has of a choice."""
    members = _members(name, adapter)
    return {each: members[each.lower()] for each in _CHOICES[name] if each.lower() in members}


def _flags(flags: Iterable[str], word: str, adapter: MujocoAdapter) -> int:
    known = _members(word, adapter)
    if unknown := sorted(set(flags) - set(known)):
        raise ValueError(
            f"MuJoCo {adapter.version} has no flag {word}.{unknown[0]}; it has {', '.join(known)}"
        )
    return sum(known[flag] for flag in set(flags))
