"""Physics options by name, out of the topic OPTIONS."""

from stroboscope.app.models.frames import FrameSet
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["option_choice", "option_value"]


def option_value(d: SceneDescription, frames: FrameSet | None, name: str) -> float | None:
    """Return an option's first value at an instant, None: not known."""
    values = frames.array(Topic.OPTIONS, "values") if frames is not None else None
    if values is None:
        return None
    at = 0
    for option in d.options:
        if option.name == name:
            return float(values[at]) if at < values.size else None
        at += option.width
    return None


def option_choice(d: SceneDescription, frames: FrameSet | None, name: str) -> str:
    """Return the word of an option that is one of several, empty: not known."""
    value = option_value(d, frames, name)
    option = next((option for option in d.options if option.name == name), None)
    if value is None or option is None or not 0 <= int(value) < len(option.choices):
        return ""
    return option.choices[int(value)]
