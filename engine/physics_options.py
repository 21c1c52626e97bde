"""The physics options of a compiled model that may be changed while it runs, by MuJoCo's names.

What the installed MuJoCo does not have is left out. Flags are named ``disable.contact`` and
``enable.energy``; actuator groups ``disable.actuatorgroup.0`` …
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.backend import Stayed
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.host.edit_texts import option_stayed
from stroboscope.debugger_protocol.near_names import suggestion
from stroboscope.debugger_protocol.scene_description import OptionInfo, OptionKind
from stroboscope.engine.model_option_fields import (
    FIELD_OPTION,
    read_field_option,
    write_field_option,
)
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = [
    "check_option",
    "describe_options",
    "option_info",
    "option_values",
    "options_stayed",
    "read_option",
    "write_option",
]

_ACTUATOR_GROUPS = 6
# No step can be interrupted: with more than this it might take hours.
_MOST_ITERATIONS = 10_000
# These multiply: each pair of geoms descends as often from as many starting points.
_MOST_SDF_ITERATIONS = 1_000
# Memory for all of them is taken from the arena, half a kB each, in the step that needs it.
_MOST_CCD_ITERATIONS = 1_000


def _number(name: str, tip: str, **more: Any) -> OptionInfo:
    return OptionInfo(name=name, kind=OptionKind.NUMBER, tip=tip, **more)


def _integer(
    name: str, tip: str, *, minimum: int = 0, maximum: int = _MOST_ITERATIONS
) -> OptionInfo:
    return OptionInfo(
        name=name, kind=OptionKind.INTEGER, tip=tip, minimum=float(minimum), maximum=float(maximum)
    )


_SHORTEST = 1e-9
# Beyond, products overflow and states diverge: MuJoCo's own mjMAXVAL for what it computes.
_LARGEST = 1e10
_SCALARS = (
    _number("timestep", "Time that one physics step simulates", unit="s",
            minimum=_SHORTEST, maximum=1.0),
    _number("gravity", "Acceleration of everything that falls", width=3, unit="m/s²"),
    _number("wind", "Velocity of the medium; only felt where density or viscosity is not 0",
            width=3, unit="m/s"),
    _number("magnetic", "Global magnetic flux, for magnetometers", width=3, unit="T"),
    _number("density", "Density of the medium: drag and lift that grow with speed squared",
            unit="kg/m³", minimum=0.0),
    _number("viscosity", "Viscosity of the medium: drag that grows with speed", unit="Pa·s",
            minimum=0.0),
    _number("impratio", "Impedance of friction over that of the normal: above 1 slips less",
            minimum=1e-9),
    _integer("iterations", "Most iterations of the constraint solver", minimum=1),
    _number("tolerance", "The solver stops when it improves by less", minimum=0.0),
    _integer("ls_iterations", "Most iterations of each line search", minimum=1),
    _number("ls_tolerance", "The line search stops at this relative slope", minimum=0.0),
    _integer("noslip_iterations", "Passes of the solver that takes slip out of friction; 0: none"),
    _number("noslip_tolerance", "That solver stops when it improves by less", minimum=0.0),
    _integer("ccd_iterations", "Most iterations of convex collision", minimum=1,
             maximum=_MOST_CCD_ITERATIONS),
    _number("ccd_tolerance", "Convex collision stops at this precision", unit="m", minimum=0.0),
    _integer("sdf_iterations", "Most iterations of SDF collision", minimum=1,
             maximum=_MOST_SDF_ITERATIONS),
    _integer("sdf_initpoints", "Starting points of SDF collision", minimum=1,
             maximum=_MOST_SDF_ITERATIONS),
    _number("sleep_tolerance", "Islands that move less fall asleep", unit="m/s", minimum=0.0),
    _number("o_margin", "Contact margin of all contacts while enable.override is on", unit="m"),
    _number("o_solref", "solref of all contacts while enable.override is on", width=2),
    _number("o_solimp", "solimp of all contacts while enable.override is on", width=5),
    _number("o_friction", "Friction of all contacts while enable.override is on", width=5,
            minimum=0.0),
)  # fmt: skip

_CHOICES = (
    ("integrator", "mjtIntegrator", "mjINT_", "How a step goes from accelerations to positions"),
    ("cone", "mjtCone", "mjCONE_", "Shape of the friction cone"),
    ("jacobian", "mjtJacobian", "mjJAC_", "How the constraint Jacobian is stored"),
    ("solver", "mjtSolver", "mjSOL_", "Which constraint solver"),
)

_FLAGS = (
    ("disable", "disableflags", "mjtDisableBit", "mjDSBL_"),
    ("enable", "enableflags", "mjtEnableBit", "mjENBL_"),
)


@dataclasses.dataclass(frozen=True, slots=True)
class _Option:
    """How one option is read from and written into a model's ``opt``; codes as MuJoCo's."""

    info: OptionInfo
    read: Callable[[Any], tuple[float, ...]]
    write: Callable[[Any, Sequence[float]], None]


def describe_options(model: Any, *, adapter: MujocoAdapter) -> tuple[OptionInfo, ...]:
    """Return the options of ``model`` that may be edited, in the order of their values."""
    return tuple(option.info for option in _options(adapter).values())


def option_values(model: Any, *, adapter: MujocoAdapter) -> NDArray[np.float64]:
    """Return the values of all options, one after the other, each as wide as it is described."""
    values = [v for option in _options(adapter).values() for v in option.read(model.opt)]
    return np.array(values, dtype=np.float64)


def option_info(name: str, *, adapter: MujocoAdapter) -> OptionInfo:
    """Return the description of one option; CommandError when there is none."""
    return _option(name, adapter).info


def read_option(model: Any, name: str, *, adapter: MujocoAdapter) -> tuple[float, ...]:
    """Return the values of one option; CommandError when there is none.

    Or of a field that environments had values of their own of, ``model.body_mass``.
    """
    if name.startswith(FIELD_OPTION):
        return read_field_option(model, name)
    return _option(name, adapter).read(model.opt)


def write_option(
    model: Any,
    name: str,
    values: Sequence[float],
    *,
    known: Sequence[float] | None = None,
    adapter: MujocoAdapter,
) -> None:
    """Set one option, or raise CommandError and change nothing.

    ``known`` values have been the model's own: they are good whatever our limits say. Fields of a
    model (:func:`read_option`) are only written with those.
    """
    if known is not None and name.startswith(FIELD_OPTION):
        write_field_option(model, name, values)
        return
    option = _option(name, adapter)
    if known is None or tuple(values) != tuple(known):
        check_option(option.info, values)
    option.write(model.opt, values)


def options_stayed(
    field: str, *, then: NDArray[Any], now: NDArray[Any], adapter: MujocoAdapter
) -> list[Stayed]:
    """Return which options are others than when ``field`` of a model was ``then``."""
    owner, _, name = field.partition(".")
    if owner != "opt":
        return []
    plain = adapter.module.MjOption()
    before, after = _OneOther(plain, name, then), _OneOther(plain, name, now)
    return [
        option_stayed(option.info, then=old, now=new)
        for option in _options(adapter).values()
        if (old := option.read(before)) != (new := option.read(after))
    ]


class _OneOther:
    """The options of a model, one of whose fields is another."""

    def __init__(self, opt: Any, name: str, value: NDArray[Any]) -> None:
        self._opt, self._name, self._value = opt, name, value

    def __getattr__(self, name: str) -> Any:
        return self._value if name == self._name else getattr(self._opt, name)


def check_option(info: OptionInfo, values: Sequence[float]) -> None:
    """Raise CommandError unless ``values`` fit the option."""
    name = info.name
    if len(values) != info.width:
        raise CommandError(f"{name} has {info.width} values, not {len(values)}")
    if not all(map(math.isfinite, values)):
        raise CommandError(f"{name} takes finite numbers only, not {_listed(values)}")
    if info.kind is not OptionKind.NUMBER and any(value != int(value) for value in values):
        raise CommandError(f"{name} takes whole numbers only, not {_listed(values)}")
    low, high = _limits(info)
    for value in values:
        if not low <= value <= high:
            raise CommandError(f"{name} must be {_range_text(info)}, not {value:g}")


def _limits(info: OptionInfo) -> tuple[float, float]:
    if info.kind is OptionKind.FLAG:
        return 0.0, 1.0
    if info.kind is OptionKind.CHOICE:
        return 0.0, len(info.choices) - 1.0
    low = -_LARGEST if info.minimum is None else info.minimum
    return low, _LARGEST if info.maximum is None else info.maximum


def _range_text(info: OptionInfo) -> str:
    if info.kind is OptionKind.FLAG:
        return "0 (off) or 1 (on)"
    if info.kind is OptionKind.CHOICE:
        return ", ".join(f"{i} ({choice})" for i, choice in enumerate(info.choices))
    low, high = _limits(info)
    if low == _SHORTEST and high < _LARGEST:
        return f"above 0 and at most {high:g} {info.unit}".rstrip()
    return f"{low:g}…{high:g}"


def _listed(values: Sequence[float]) -> str:
    return f"[{', '.join(f'{value:g}' for value in values)}]"


def _option(name: str, adapter: MujocoAdapter) -> _Option:
    options = _options(adapter)
    option = options.get(name)
    if option is None:
        near = suggestion(name, options) or ": see the description's options"
        raise CommandError(f"there is no physics option {name!r}{near}")
    return option


@functools.cache
def _options(adapter: MujocoAdapter) -> dict[str, _Option]:
    """Return what the installed MuJoCo has, by name."""
    known = adapter.module.MjOption
    options = [_scalar(info) for info in _SCALARS if hasattr(known, info.name)]
    at = next(i for i, option in enumerate(options) if option.info.name == "iterations")
    options[at:at] = [_choice(*choice, adapter=adapter) for choice in _CHOICES]
    for word, attribute, enum, prefix in _FLAGS:
        for member, value in _members(adapter, enum, prefix):
            options.append(_flag(f"{word}.{member.lower()}", attribute, value))
    if hasattr(known, "disableactuator"):
        options += [
            _flag(f"disable.actuatorgroup.{group}", "disableactuator", 1 << group)
            for group in range(_ACTUATOR_GROUPS)
        ]
    return {option.info.name: option for option in options}


def _members(adapter: MujocoAdapter, enum: str, prefix: str) -> list[tuple[str, int]]:
    found = getattr(adapter.module, enum).__members__.items()
    return [(n.removeprefix(prefix), int(v)) for n, v in found if n.startswith(prefix)]


def _scalar(info: OptionInfo) -> _Option:
    name = info.name

    def read(opt: Any) -> tuple[float, ...]:
        return tuple(map(float, np.atleast_1d(getattr(opt, name))))

    def write(opt: Any, values: Sequence[float]) -> None:
        if info.width > 1:
            getattr(opt, name)[:] = values
        elif info.kind is OptionKind.INTEGER:
            setattr(opt, name, int(values[0]))
        else:
            setattr(opt, name, float(values[0]))

    return _Option(info, read, write)


def _choice(name: str, enum: str, prefix: str, tip: str, *, adapter: MujocoAdapter) -> _Option:
    members = _members(adapter, enum, prefix)
    codes = [code for _, code in members]
    info = OptionInfo(
        name=name,
        kind=OptionKind.CHOICE,
        choices=tuple(member.lower() for member, _ in members),
        tip=tip,
    )

    def write(opt: Any, values: Sequence[float]) -> None:
        setattr(opt, name, codes[int(values[0])])

    return _Option(info, lambda opt: (float(codes.index(int(getattr(opt, name)))),), write)


def _flag(name: str, attribute: str, bit: int) -> _Option:
    def write(opt: Any, values: Sequence[float]) -> None:
        flags = int(getattr(opt, attribute))
        setattr(opt, attribute, flags | bit if values[0] else flags & ~bit)

    info = OptionInfo(name=name, kind=OptionKind.FLAG)
    return _Option(info, lambda opt: (float(bool(int(getattr(opt, attribute)) & bit)),), write)
