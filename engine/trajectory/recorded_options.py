"""Physics options that a recorded run says were edited: believed only as far as they can't harm.

They may lie outside of the limits that edits have, as the recorded model's own did. MuJoCo uses
some of them as lengths and to choose between its functions: others than there are end the process.
"""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.scene_description import OptionKind
from stroboscope.engine.files.errors import FileDamagedError
from stroboscope.engine.history.segments import Options, Stretch
from stroboscope.engine.model_fields import read_field
from stroboscope.engine.model_option_fields import FIELD_OPTION, read_field_option
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.option_codes import CHOICES, MOST_ITERATIONS, endless_option, option_codes
from stroboscope.engine.physics_options import option_info

__all__ = ["check_options"]

_MOST_BITS: Final = (1 << 31) - 1
_OPTIONS: Final = f"{FIELD_OPTION}opt."
_FLAGS: Final = ("disableflags", "enableflags", "disableactuator")


def check_options(
    path: Path, stretches: Iterable[Stretch], model: Any, *, adapter: MujocoAdapter
) -> None:
    """Raise FileDamagedError, which names it, for an option that no recorded run can have had."""
    for stretch in stretches:
        if wrong := _wrong_in(stretch.options, model, adapter):
            raise FileDamagedError(
                path,
                f"has an impossible option from physics step {stretch.segment.begin:,} on: {wrong}",
                "take it from its source again",
            )


def _wrong_in(options: Options, model: Any, adapter: MujocoAdapter) -> str:
    """Return what is wrong with the options of a stretch; empty when nothing."""
    for name, values in options.items():
        try:
            wrong = _wrong_with(name, values, model, adapter)
        except CommandError as error:
            wrong = str(error)
        if wrong:
            return wrong

    def value_of(name: str) -> float:
        told = [options[each] for each in (f"{_OPTIONS}{name}", name) if each in options]
        return max((values[0] for values in told), default=float(getattr(model.opt, name, 0)))

    return endless_option(value_of)


def _wrong_with(name: str, values: tuple[float, ...], model: Any, adapter: MujocoAdapter) -> str:
    """Return what is wrong with an option; empty when nothing. Raises CommandError for none."""
    known: range | frozenset[int] | None
    if name.startswith(_OPTIONS) and (plain := name.removeprefix(_OPTIONS)) in (*CHOICES, *_FLAGS):
        width, whole = 1, True
        known = _codes(plain, adapter)
    elif name.startswith(FIELD_OPTION):
        width = len(read_field_option(model, name))
        whole = read_field(model, name.removeprefix(FIELD_OPTION)).dtype.kind != "f"
        most = MOST_ITERATIONS if name.startswith(_OPTIONS) else _MOST_BITS
        known = range(-most, most + 1)
    else:
        info = option_info(name, adapter=adapter)
        width, whole = info.width, info.kind is not OptionKind.NUMBER
        known = {
            OptionKind.FLAG: range(2),
            OptionKind.CHOICE: range(len(info.choices)),
            OptionKind.INTEGER: range(-MOST_ITERATIONS, MOST_ITERATIONS + 1),
        }.get(info.kind)
    if len(values) != width:
        return f"{name} has {len(values):,} values, not {width:,}"
    for value in values if whole else ():
        is_whole = math.isfinite(value) and value == int(value)
        if not is_whole or (known is not None and int(value) not in known):
            return f"{name} is {value:g}, which it can't be"
    return ""


def _codes(name: str, adapter: MujocoAdapter) -> range | frozenset[int]:
    """Return the values that a choice, or a set of flags, of MuJoCo's options may have."""
    if name in _FLAGS:
        return range(-_MOST_BITS - 1, _MOST_BITS + 1)
    return option_codes(name, adapter)
