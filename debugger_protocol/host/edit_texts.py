"""Sentences about edits: names, then old and new values."""

from collections.abc import Sequence

from stroboscope.debugger_protocol.backend import SceneBackend, Stayed
from stroboscope.debugger_protocol.messages import EditField
from stroboscope.debugger_protocol.scene_description import OptionInfo, OptionKind

__all__ = ["change_text", "option_stayed", "option_text", "override_text", "state_text"]

# More values than people read in a line.
_MOST = 7


def state_text(
    backend: SceneBackend,
    field: EditField,
    index: int,
    *,
    old: Sequence[float],
    new: Sequence[float],
) -> str:
    """Return "qpos of knee: 0 → 0.5 rad"."""
    name, unit = backend.label(field.value, index)
    if field is EditField.EQ_ACTIVE:
        words = [["off", "on"][bool(values[0])] for values in (old, new)]
        if len(new) == 1:
            return f"equality {name}: {words[0]} → {words[1]}"
    if len(new) > 1:
        last, _ = backend.label(field.value, index + len(new) - 1)
        name = f"{name} … {last}"
    return f"{field.value} of {name}: {change_text(old, new, unit)}"


def option_text(info: OptionInfo, old: Sequence[float], new: Sequence[float]) -> str:
    """Return "timestep: 0.002 → 0.001 s"."""
    unit = f" {info.unit}" if info.unit else ""
    return f"{info.name}: {_option_word(info, old)} → {_option_word(info, new)}{unit}"


def option_stayed(info: OptionInfo, *, then: Sequence[float], now: Sequence[float]) -> Stayed:
    """Return "timestep stays 0.001 s: it was 0.002 s then"."""
    unit = f" {info.unit}" if info.unit else ""
    words = [f"{_option_word(info, values)}{unit}" for values in (now, then)]
    text = f"{info.name} stays {words[0]}: it was {words[1]} then"
    return Stayed(text, info.name, tuple(then))


def _option_word(info: OptionInfo, values: Sequence[float]) -> str:
    if info.kind is OptionKind.FLAG:
        return ["off", "on"][bool(values[0])]
    if info.kind is OptionKind.CHOICE:
        return info.choices[int(values[0])]
    return _numbers(values)


def override_text(name: str, unit: str, *, old: float | None, new: float | None) -> str:
    """Return "ctrl of elbow: overridden with 0.5 N·m"."""
    if new is None:
        said = f"given back to the script, was overridden with {_number(old or 0.0)}"
    elif old is None:
        said = f"overridden with {_number(new)}"
    else:
        said = f"override {_number(old)} → {_number(new)}"
    return f"ctrl of {name}: {said}{f' {unit}' if unit else ''}"


def change_text(old: Sequence[float], new: Sequence[float], unit: str) -> str:
    """Return "0.1 → 0.5 rad", or "(0, 0) → (1, 0) m"."""
    text = f"{_numbers(old)} → {_numbers(new)}"
    return f"{text} {unit}" if unit else text


def _numbers(values: Sequence[float]) -> str:
    if len(values) == 1:
        return _number(values[0])
    shown = ", ".join(map(_number, values[:_MOST]))
    more = f", +{len(values) - _MOST} more" if len(values) > _MOST else ""
    return f"({shown}{more})"


def _number(value: float) -> str:
    return f"{value:.6g}".replace("-", "−")
