"""Conditions that are wanted often, as expressions with numbers to fill in.

They are written in the language of all conditions, so that one can begin with them and go on from
there.
"""

import dataclasses
import enum
import math
import numbers
import re
from collections.abc import Mapping
from typing import Final

__all__ = ["READY_MADE", "Parameter", "ParameterKind", "ReadyMade", "ready_made"]


class ParameterKind(enum.StrEnum):
    """What is to be filled in."""

    NUMBER = "number"
    """A number in :attr:`Parameter.unit`."""
    COLLIDER = "collider"
    """The name of a geom, or of a body, which stands for all its geoms."""
    JOINT = "joint"
    """The name of a joint with a limit."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One blank: ``default`` None where there is none that suits every scene."""

    name: str
    title: str
    kind: ParameterKind = ParameterKind.NUMBER
    unit: str = ""
    default: float | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ReadyMade:
    """One condition: ``template`` with ``{name}`` for each of its parameters."""

    name: str
    title: str
    template: str
    parameters: tuple[Parameter, ...] = ()

    def expression(self, values: Mapping[str, float | str] | None = None) -> str:
        """Return the expression with the blanks filled in.

        Raises ValueError for what is missing, of another kind, or no parameter of this condition.
        """
        values = dict(values or {})
        written: dict[str, str] = {}
        for parameter in self.parameters:
            value = values.pop(parameter.name, parameter.default)
            if value is None:
                raise ValueError(
                    f"{self.name} needs {parameter.name} ({parameter.title}); its parameters are "
                    f"{self._listed()}"
                )
            written[parameter.name] = _written(self.name, parameter, value)
        if values:
            raise ValueError(
                f"{self.name} has no parameter {', '.join(sorted(values))}; it has {self._listed()}"
            )
        return _ZERO.sub("0", self.template.format(**written))

    def _listed(self) -> str:
        return ", ".join(parameter.name for parameter in self.parameters) or "none"


def _written(condition: str, parameter: Parameter, value: float | str) -> str:
    """Return a value as it stands in an expression."""
    if parameter.kind is ParameterKind.NUMBER:
        number = _number_in(value)
        if not math.isfinite(number):
            raise ValueError(
                f"{condition}: {parameter.name} is a finite number, not {value!r} "
                f"({type(value).__name__})"
            )
        return f"{number:.15g}"
    text = str(value)
    quote = '"' if "'" in text else "'"
    if not text or "\\" in text or quote in text:
        raise ValueError(
            f"{condition}: {parameter.name} is the name of an element without quotes or "
            f"backslashes, not {value!r}"
        )
    return f"{quote}{text}{quote}"


def _number_in(value: object) -> float:
    """Return a number, NumPy's too; NaN for anything else, and for what no float holds."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


_ZERO: Final = re.compile(r"-0\b(?![.e])")


def _number(name: str, title: str, default: float, unit: str = "") -> Parameter:
    return Parameter(name=name, title=title, default=default, unit=unit)


_PAIR: Final = (
    Parameter(name="first", title="geom or body", kind=ParameterKind.COLLIDER),
    Parameter(name="second", title="geom or body", kind=ParameterKind.COLLIDER),
)

_ALL: Final = (
    ReadyMade(
        name="penetration",
        title="Anything penetrates deeper than",
        template="contact.penetration > {depth}",
        parameters=(_number("depth", "depth", 5e-3, "m"),),
    ),
    ReadyMade(
        name="contact_force",
        title="All contacts together push harder than",
        template="contact.force > {force}",
        parameters=(_number("force", "normal force", 1000.0, "N"),),
    ),
    ReadyMade(
        name="pair_force",
        title="Two things push on each other harder than",
        template="contact[{first},{second}].normal > {force}",
        parameters=(*_PAIR, _number("force", "normal force", 100.0, "N")),
    ),
    ReadyMade(
        name="contact_made",
        title="Two things touch",
        template="contact[{first},{second}].count > 0",
        parameters=_PAIR,
    ),
    ReadyMade(
        name="contact_lost",
        title="Two things touch no more",
        template=(
            "previous(contact[{first},{second}].count) > 0 and contact[{first},{second}].count == 0"
        ),
        parameters=_PAIR,
    ),
    ReadyMade(
        name="passed_through",
        title="One thing has gone through another",
        template="contact[{first},{second}].passed",
        parameters=_PAIR,
    ),
    ReadyMade(
        name="joint_limit",
        title="Any joint is past its limit by more than",
        template="min(joint.margin) < -{margin}",
        parameters=(_number("margin", "how far", 0.0, "rad or m"),),
    ),
    ReadyMade(
        name="one_joint_limit",
        title="A joint is past its limit by more than",
        template="joint.margin[{joint}] < -{margin}",
        parameters=(
            Parameter(name="joint", title="joint", kind=ParameterKind.JOINT),
            _number("margin", "how far", 0.0, "rad or m"),
        ),
    ),
    ReadyMade(
        name="equality_residual",
        title="An equality constraint is off by more than",
        template="max(equality.residual) > {residual}",
        parameters=(_number("residual", "how far", 0.01, "m or rad"),),
    ),
    ReadyMade(
        name="actuator_saturation",
        title="An actuator is at the end of its range",
        template="max(actuator.load) >= {load}",
        parameters=(_number("load", "share of the range", 1.0),),
    ),
    ReadyMade(
        name="energy_drift",
        title="The energy has changed since the beginning by more than",
        template=("abs(energy.total - first(energy.total)) > {share} * abs(first(energy.total))"),
        parameters=(_number("share", "share of what there was", 0.01),),
    ),
    ReadyMade(
        name="speed",
        title="Anything moves faster than",
        template="max(abs(qvel)) > {speed}",
        parameters=(_number("speed", "speed", 100.0, "rad/s or m/s"),),
    ),
    ReadyMade(
        name="jump",
        title="A speed changes in one step by more than",
        template="max(abs(change(qvel))) > {change}",
        parameters=(_number("change", "change", 10.0, "rad/s or m/s"),),
    ),
)

READY_MADE: Final[Mapping[str, ReadyMade]] = {each.name: each for each in _ALL}
"""All of them by name, in the order in which people are shown them."""


def ready_made(name: str, **parameters: float | str) -> str:
    """Return the expression of a ready-made condition: ``ready_made("penetration", depth=5e-3)``.

    Raises ValueError, saying what there is, for another name or other parameters.
    """
    if not isinstance(name, str):
        raise TypeError(
            f"the name of a ready-made condition is text, not {type(name).__name__}; there are: "
            f"{', '.join(READY_MADE)}"
        )
    condition = READY_MADE.get(name)
    if condition is None:
        raise ValueError(
            f"there is no ready-made condition {name!r}; there are: {', '.join(READY_MADE)}"
        )
    return condition.expression(parameters)
