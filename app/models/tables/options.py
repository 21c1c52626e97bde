"""Physics options by name, out of the topic OPTIONS."""

from stroboscope.app.models.frames import FrameSet
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["gravity_of", "option_choice", "option_value", "timestep_of"]


def _values(d: SceneDescription, frames: FrameSet | None, name: str) -> tuple[float, ...]:
    values = frames.array(Topic.OPTIONS, "values") if frames is not None else None
    if values is None:
        return ()
    at = 0
    for option in d.options:
        if option.name == name:
            return tuple(float(value) for value in values[at : at + option.width])
        at += option.width
    return ()


def option_value(d: SceneDescription, frames: FrameSet | None, name: str) -> float | None:
    """Return an option's first value at an instant, None: not known."""
    values = _values(d, frames, name)
    return values[0] if values else None


def timestep_of(d: SceneDescription, frames: FrameSet | None) -> float:
    """Return the timestep [s] at an instant; where that is not known, the described one."""
    value = option_value(d, frames, "timestep")
    return d.timestep if value is None else value


def gravity_of(d: SceneDescription, frames: FrameSet | None) -> tuple[float, ...]:
    """Return gravity [m/s²], (3,), at an instant; where that is not known, the described one."""
    values = _values(d, frames, "gravity")
    return values if len(values) == 3 else d.gravity


def option_choice(d: SceneDescription, frames: FrameSet | None, name: str) -> str:
    """Return the word of an option that is one of several, empty: not known."""
    value = option_value(d, frames, name)
    option = next((option for option in d.options if option.name == name), None)
    if value is None or option is None or not 0 <= int(value) < len(option.choices):
        return ""
    return option.choices[int(value)]
