"""Rows of the inspector: a label with a number and its unit, or a text; all of one instant."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.elements import element_name
from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.debugger_protocol.messages import EditField
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = [
    "Array",
    "EditTarget",
    "ElementValues",
    "Level",
    "Section",
    "ValueRow",
    "first",
    "margin_row",
    "name_of",
    "row",
    "sub",
    "value_at",
    "vector",
    "with_edits",
]

Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, slots=True)
class EditTarget:
    """Where an edited number goes."""

    field: EditField
    index: int


class Level:
    """How much attention a row asks for."""

    NORMAL = ""
    WARN = "warn"
    STOP = "stop"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ValueRow:
    """One line: ``value`` with ``unit``, or ``text``; ``note`` stands muted behind it.

    ``channel`` and ``column`` name the signal that plots this number, where there is one.
    """

    label: str
    value: float | None = None
    unit: str = ""
    decimals: int = 3
    text: str = ""
    note: str = ""
    level: str = Level.NORMAL
    edit: EditTarget | None = None
    channel: str = ""
    column: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Section:
    """Rows under one heading."""

    title: str
    rows: tuple[ValueRow, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ElementValues:
    """Everything about one element; ``known`` is False while no values have arrived."""

    name: str
    kind: str
    sections: tuple[Section, ...]
    known: bool


def value_at(frames: FrameSet | None, topic: Topic, name: str, index: int) -> float | None:
    """Return one number of an array, None when it did not come."""
    array = frames.array(topic, name) if frames is not None else None
    if array is None or not 0 <= index < array.size:
        return None
    return float(array.reshape(-1)[index])


def row(
    label: str,
    value: float | None,
    unit: str = "",
    *,
    decimals: int = 3,
    note: str = "",
    level: str = Level.NORMAL,
    edit: EditTarget | None = None,
    channel: str = "",
    column: int = 0,
) -> ValueRow:
    """Return a row with a number; what did not come is said to be not computed."""
    bad = value is not None and not np.isfinite(value)
    return ValueRow(
        label=label,
        value=value,
        unit=unit,
        decimals=decimals,
        text="" if value is not None else "not computed",
        note=note,
        level=Level.STOP if bad else level,
        edit=edit if value is not None else None,
        channel=channel,
        column=column,
    )


def margin_row(
    position: float, low: float, high: float, unit: str = "", *, decimals: int = 3
) -> ValueRow:
    """Return how far ``position`` is from the nearer end of its range; negative: beyond it."""
    if not np.isfinite(position):
        # A side could only be guessed; the position itself says that it is none.
        return ValueRow(label="margin", text="unknown: the position is no number")
    below, above = position - low, high - position
    margin, side = min(below, above), "upper" if above < below else "lower"
    return row(
        "margin",
        margin,
        unit,
        decimals=decimals,
        note=f"beyond {side}" if margin < 0 else side,
        level=Level.WARN if margin < 0 else Level.NORMAL,
    )


def vector(
    label: str, array: Array | None, names: str, unit: str, *, channel: str = "", column: int = 0
) -> tuple[ValueRow, ...]:
    """Return a row per component, called ``label`` and a letter of ``names``."""
    return tuple(
        row(
            f"{label} {name}".strip(),
            None if array is None else float(array[n]),
            unit,
            channel=channel,
            column=column + n,
        )
        for n, name in enumerate(names)
    )


def sub(frames: FrameSet | None, topic: Topic, name: str, rows: slice) -> Array | None:
    """Return some rows of an array, None when they did not all come."""
    array = frames.array(topic, name) if frames is not None else None
    if array is None:
        return None
    part = array[rows]
    return part if part.shape[0] == rows.stop - rows.start else None


def first(array: Array | None) -> Array | None:
    """Return the first row."""
    return None if array is None else array[0]


def with_edits(rows: tuple[ValueRow, ...], field: EditField, start: int) -> tuple[ValueRow, ...]:
    """Return ``rows`` so that each can be edited: ``field`` from ``start`` on."""
    return tuple(
        dataclasses.replace(each, edit=EditTarget(field, start + n))
        if each.value is not None
        else each
        for n, each in enumerate(rows)
    )


def name_of(d: SceneDescription, kind: ElementKind, index: int) -> str:
    """Return an element's name; "none" for -1."""
    return element_name(d, Element(kind, index)) if index >= 0 else "none"
