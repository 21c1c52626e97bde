"""Edits as people write them: options and their choices by name, and numbers of named elements.

option.timestep=0.001    integrator=implicitfast    disable.contact=on
kp.wrist=50              kp=80       kp.*hip*=x1.5         kv=2
actuator_gainprm.wrist=100,0,0       dof_damping.elbow=1
ctrl.wrist=0.3           qfrc_applied.elbow=2              geom_solref[4]=0.01
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.near_names import suggestion
from stroboscope.debugger_protocol.scene_description import (
    OptionInfo,
    OptionKind,
    SceneDescription,
)
from stroboscope.debugger_protocol.servo_gains import GAIN_WORDS
from stroboscope.debugger_protocol.time_messages import EditKind, WhatIf

__all__ = [
    "EditValue",
    "WhatIfEdits",
    "check_fit",
    "control_index",
    "named_place",
    "option_values",
    "state_index",
    "what_ifs",
]

EditValue = float | str | Sequence[float | str]
"""A number, the name of a choice (``rk4``), ``on`` or ``off``, a factor (``x1.5``) of gains; or
several numbers."""
WhatIfEdits = Mapping[str, EditValue] | Iterable[WhatIf | str]
"""``{"kp.wrist": 50}``, or edits one by one: as messages, or as text (``"kp.wrist=50"``)."""

# The second as in MuJoCo's model.opt.timestep.
_OPTION: Final = re.compile(r"(?:option|opt)\.(?P<name>.+)")
# What each one's own gain is multiplied with.
_FACTOR: Final = re.compile(r"[x×]\s*(?P<number>\S+)", re.IGNORECASE)
# What the several numbers of one element are told apart by.
_PART: Final = re.compile(r"\.(?:[xyz]|r[xyz]|q[wxyz])|\[\d+\]")
# Behind a name: where to begin among its numbers.
_INDEX: Final = re.compile(r"(?P<name>.*\S)\s*\[\s*(?P<index>\d{1,9})\s*\]", re.DOTALL)
_FLAG_WORDS: Final = {"off": 0.0, "on": 1.0}
_EXAMPLES: Final = (
    "option.timestep=0.001, integrator=implicitfast, ctrl.NAME=0.5, kp.NAME=50, kp=x1.5, "
    "actuator_gainprm.NAME=100,0,0 or dof_damping[2]=0.1"
)


def option_values(info: OptionInfo, values: Iterable[float | str]) -> tuple[float, ...]:
    """Return the values of an option that may be names: a choice's, ``on`` and ``off``."""
    return tuple(_option_value(info, value) for value in values)


def _option_value(info: OptionInfo, value: float | str) -> float:
    words: Mapping[str, float] = {}
    if info.kind is OptionKind.FLAG:
        words = _FLAG_WORDS
    elif info.kind is OptionKind.CHOICE:
        words = {choice.casefold(): float(at) for at, choice in enumerate(info.choices)}
    if isinstance(value, str) and (word := _unquoted(value).casefold()) in words:
        return words[word]
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        if words:
            allowed = ", ".join(_FLAG_WORDS if info.kind is OptionKind.FLAG else info.choices)
            raise CommandError(
                f"{info.name} can't be {_shown(value)}; allowed: {allowed}"
            ) from None
        raise CommandError(f"{info.name} takes numbers, not {_shown(value)}") from None


def control_index(description: SceneDescription, name: str | int) -> int:
    """Return the number of a control, given that or a name; CommandError where there is none."""
    if not isinstance(name, str):
        return int(name)
    if name.isdecimal() and name not in _labels(description, EditKind.CONTROL):
        return int(name)
    return state_index(description, EditKind.CONTROL, name)


def state_index(
    description: SceneDescription, field: str, name: str | int, *, count: int = 1
) -> int:
    """Return where ``count`` values of a state array begin, given that or the name of the first.

    Raises CommandError where there is no such name, or where they are more than it has.
    """
    if not isinstance(name, str):
        return name
    labels = _labels(description, field)
    if not labels:
        raise CommandError(f"the values of {field} have no names: give an index")
    first, size = named_place(labels, name, what=field)
    check_fit(f"{field}.{name}", size=size, index=0, count=count)
    return first


def named_place(labels: Sequence[str], name: str, *, what: str) -> tuple[int, int]:
    """Return where what is called ``name`` begins among ``labels``, and how many there are of it.

    ``arm`` is all of ``arm.x``, ``arm.y`` …, or of ``arm[0]``, ``arm[1]`` … Raises CommandError
    with names that are near, or all where they are few.
    """
    found = [at for at, label in enumerate(labels) if label == name]
    if not found:
        found = [
            at
            for at, label in enumerate(labels)
            if label.startswith(name) and _PART.fullmatch(label, len(name))
        ]
    elif len(found) > 1:
        raise CommandError(
            f"{len(found)} of {what} are called {name!r}: write an index, {found[0]} for the first"
        )
    if not found:
        raise CommandError(f"{what} has no {name!r}{suggestion(name, labels)}")
    return found[0], len(found)


def check_fit(name: str, *, size: int, index: int, count: int) -> None:
    """Raise CommandError unless so many values from an index on fit into ``size``."""
    if index < 0 or index + count > size:
        has = "1 value" if size == 1 else f"{size} values"
        raise CommandError(f"{name} has {has}; {count} from index {index} on do not fit")


def what_ifs(
    edits: WhatIfEdits, *, description: Callable[[], SceneDescription]
) -> tuple[WhatIf, ...]:
    """Return what a re-simulation is told to change; edits in words need the ``description``.

    Names of the model's elements are left to the engine, which knows all of them. Raises
    CommandError, which says what is allowed, for what is no edit.
    """
    if isinstance(edits, Mapping):
        known = description()
        return tuple(each for name, value in edits.items() for each in _what_if(known, name, value))
    found: list[WhatIf] = []
    for edit in (edits,) if isinstance(edits, str) else edits:
        if isinstance(edit, WhatIf):
            found.append(edit)
        elif isinstance(edit, str):
            # Names may have an equals sign, values have none.
            name, _, values = edit.rpartition("=")
            found += _what_if(description(), name, values.replace(",", " ").split(), written=edit)
        else:
            raise CommandError(f"{_shown(edit)} is no edit: write {_EXAMPLES}")
    return tuple(found)


def _what_if(
    description: SceneDescription, what: str, value: EditValue, *, written: str = ""
) -> tuple[WhatIf, ...]:
    """Return the edit that ``ctrl.wrist[0]`` and its values mean."""
    is_one = isinstance(value, str) or not isinstance(value, Iterable)
    values: tuple[float | str, ...] = (value,) if is_one else tuple(value)  # type: ignore[arg-type, assignment]
    what = what.strip() if isinstance(what, str) else ""
    indexed = _INDEX.fullmatch(what)
    name, index = (indexed["name"], int(indexed["index"])) if indexed else (what, 0)
    if not name or not values:
        raise CommandError(f"{_shown(written or what)} is no edit: write {_EXAMPLES}")
    options = {option.name: option for option in description.options}
    option = _OPTION.fullmatch(name)
    if option is not None or name in options:
        return (_option_edit(options, option["name"] if option else name, index, values),)
    field, _, element = name.partition(".")
    if field.rstrip("*") in GAIN_WORDS:
        return (_gain_edit(what, values),)
    numbers = _numbers(name, values)
    if field in (EditKind.CONTROL, EditKind.FORCE):
        kind = EditKind(field)
        if element:
            first, count = named_place(_labels(description, field), element, what=field)
            check_fit(name, size=count, index=index, count=len(numbers))
            index += first
        return (WhatIf(kind=kind, index=index, values=numbers),)
    return (WhatIf(kind=EditKind.MODEL, name=name, index=index, values=numbers),)


def _option_edit(
    options: Mapping[str, OptionInfo], name: str, index: int, values: Sequence[float | str]
) -> WhatIf:
    info = options.get(name)
    # What is not described may be an option of a re-simulation only, like memory.
    numbers = option_values(info, values) if info is not None else _numbers(name, values)
    return WhatIf(kind=EditKind.OPTION, name=name, index=index, values=numbers)


def _gain_edit(what: str, values: Sequence[float | str]) -> WhatIf:
    """Return what gives servos another gain (``kp``, ``kp.wrist``, ``kp.*hip*``)."""
    word = what.partition(".")[0]
    if word not in GAIN_WORDS or what.endswith("."):
        plain = word.rstrip("*")
        raise CommandError(
            f"{_shown(what)} is no gain: write {plain}=50 for all servos, {plain}.NAME=50 for "
            f"one, {plain}=x1.5 for 1.5 times its own"
        )
    if len(values) != 1:
        raise CommandError(f"{what} is one number, not {len(values)}")
    factor = _FACTOR.fullmatch(_unquoted(values[0])) if isinstance(values[0], str) else None
    (number,) = _numbers(what, (factor["number"],) if factor else values)
    kind = EditKind.GAIN_FACTOR if factor else EditKind.GAIN
    return WhatIf(kind=kind, name=what, values=(number,))


def _labels(description: SceneDescription, field: str) -> tuple[str, ...]:
    """Return what the numbers of a state array are called; empty: nothing."""
    for channel in description.channels:
        if channel.name == field and channel.names:
            return channel.names
    if field == EditKind.CONTROL:  # of an engine that doesn't name them
        return tuple(each.name for each in description.actuators)
    return ()


def _numbers(name: str, values: Iterable[object]) -> tuple[float, ...]:
    numbers = []
    for value in values:
        try:
            numbers.append(float(value))  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            only = ""
            if isinstance(value, str) and _FACTOR.fullmatch(value):
                only = "; factors are for the gains of servos, kp and kv"
            raise CommandError(f"{name} takes numbers, not {_shown(value)}{only}") from None
    return tuple(numbers)


def _unquoted(text: str) -> str:
    return text.strip().strip("\"'")


def _shown(value: object) -> str:
    """Return a value as it was written, in a line of bounded length."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
