"""Whether the state of a scene can be edited now, and if not, why."""

from stroboscope.app.models.scene import SceneModel
from stroboscope.debugger_protocol.messages import PlaybackMode

__all__ = ["parsed_number", "why_not_changeable", "why_not_editable"]


def why_not_changeable(scene: SceneModel | None) -> str:
    """Return why nothing of ``scene`` can be changed from here now, empty: it can."""
    if scene is None or scene.is_stale:
        return "The scene is not live."
    if not scene.session.has_control:
        return "Another client controls this application: take control first."
    return ""


def why_not_editable(scene: SceneModel | None) -> str:
    """Return why numbers of ``scene`` can't be edited now, empty: they can."""
    problem = why_not_changeable(scene)
    if not problem and scene is not None and scene.mode is not PlaybackMode.PAUSED:
        return "Pause to edit."
    return problem


def parsed_number(text: str) -> float | None:
    """Return the number that somebody typed, with a real minus sign or a comma too."""
    try:
        return float(text.strip().replace("\u2212", "-").replace(",", "."))
    except ValueError:
        return None
