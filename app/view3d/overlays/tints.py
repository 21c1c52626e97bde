"""Colours laid over the bodies themselves: which island each is in, and which are asleep."""

import colorsys

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlays import Role
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["body_tints", "island_color", "item_tints"]

_ISLAND_STRENGTH, _SLEEP_STRENGTH = 0.7, 0.75
_GOLDEN = 0.618034


def island_color(island: int) -> tuple[float, float, float]:
    """Return a colour that neighbours in number don't have."""
    return colorsys.hsv_to_rgb((0.08 + _GOLDEN * island) % 1.0, 0.62, 0.95)


def body_tints(subject: Subject) -> NDArray[np.float32] | None:
    """Return (nbody, 4) rgb and how much of it, 0…1; None when nothing is coloured."""
    options, count = subject.options, len(subject.scene.body_pos)
    if not options.islands and not options.sleep:
        return None
    tints = np.zeros((count, 4), dtype=np.float32)
    island = subject.value(Topic.BODIES, "island", count)
    if options.islands and island is not None:
        for number in np.unique(island[island >= 0]).astype(int).tolist():
            tints[island == number] = (*island_color(number), _ISLAND_STRENGTH)
    awake = subject.value(Topic.BODIES, "awake", count)
    if options.sleep and awake is not None:
        asleep = (awake == 0) & ~subject.facts.bodies.fixed
        tints[asleep] = (*Role.ASLEEP.value[:3], _SLEEP_STRENGTH)
    return tints


def item_tints(subject: Subject) -> NDArray[np.float32] | None:
    """Return (nitem, 4) for geoms and sites in the order of the scene's items."""
    tints = body_tints(subject)
    return None if tints is None else tints[subject.scene.items.body]
