"""Fields of a compiled model that environments of a batch may have of their own, as options.

A recorded run says which values of options were in force since when. So it does of such fields,
by the name of the field behind ``model.`` (``model.body_mass``, ``model.opt.gravity``), flat.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.engine.model_fields import read_field, write_field

__all__ = [
    "FIELD_OPTION",
    "SAID_OF_ROWS",
    "field_width",
    "is_recordable",
    "read_field_option",
    "write_field_option",
]

FIELD_OPTION: Final = "model."
# Whole numbers point to places in other fields, which a file must not say. These don't.
_WHOLE: Final = frozenset({
    "geom_contype", "geom_conaffinity", "body_contype", "body_conaffinity", "opt.disableflags",
    "opt.enableflags", "opt.disableactuator", "opt.integrator", "opt.cone", "opt.jacobian",
    "opt.solver", "opt.iterations", "opt.ls_iterations", "opt.noslip_iterations",
    "opt.ccd_iterations", "opt.sdf_iterations", "opt.sdf_initpoints",
})  # fmt: skip
# What mj_setConst finds of a model, and steps ask first.
_FLAG: Final = "flg_"
_LARGEST_WHOLE: Final = (1 << 31) - 1
MEAN_INERTIA: Final = "stat.meaninertia"
"""The one of a model's statistics that a step reads: the solver's scale."""
SAID_OF_ROWS: Final = "opt.timestep"
"""What is said with every row."""


def is_recordable(name: str, values: NDArray[Any]) -> bool:
    """Return whether the values of a field can be in a file: numbers that point nowhere."""
    is_real = values.dtype.kind == "f" and values.size > 0
    is_flag = values.dtype.kind == "b" and name.startswith(_FLAG)
    return name != SAID_OF_ROWS and (is_real or is_flag or name in _WHOLE)


def read_field_option(model: Any, name: str) -> tuple[float, ...]:
    """Return the values of a field, flat; CommandError where there is no such field."""
    return tuple(map(float, _field(model, name).reshape(-1)))


def field_width(model: Any, name: str) -> int:
    """Return how many numbers of a field belong to one object; all, where it is the model's."""
    field = _field(model, name)
    plain = name.removeprefix(FIELD_OPTION)
    is_whole = field.ndim == 0 or plain.startswith(("opt.", "stat."))
    return max(1, int(field.size if is_whole else np.prod(field.shape[1:])))


def write_field_option(model: Any, name: str, values: Sequence[float]) -> None:
    """Write a field, all of it, or raise CommandError and change nothing."""
    field = _field(model, name)
    if len(values) != field.size:
        raise CommandError(f"{name} has {field.size} values, not {len(values)}")
    if field.dtype.kind == "f":
        numbers = np.array(values, dtype=field.dtype)
    elif field.dtype.kind == "b":
        if any(value not in (0.0, 1.0) for value in values):
            raise CommandError(f"{name} takes 0 or 1 only")
        numbers = np.array(values, dtype=field.dtype)
    elif all(math.isfinite(v) and abs(v) <= _LARGEST_WHOLE and v == int(v) for v in values):
        numbers = np.array([int(value) for value in values], dtype=field.dtype)
    else:
        raise CommandError(f"{name} takes whole numbers of 32 bits only")
    write_field(model, name.removeprefix(FIELD_OPTION), numbers.reshape(field.shape))


def _field(model: Any, name: str) -> NDArray[Any]:
    field = name.removeprefix(FIELD_OPTION)
    plain = "meaninertia" if field == MEAN_INERTIA else field.removeprefix("opt.")
    if plain.isidentifier() and not plain.startswith("_"):
        try:
            found = read_field(model, field)
        except AttributeError:
            found = np.empty(0)
        if found.dtype.kind in "fiub" and is_recordable(field, found):
            return found
    raise CommandError(f"there is no field {name!r} of the model that a recorded run may change")
