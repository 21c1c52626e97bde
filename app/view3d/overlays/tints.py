"""Colours laid over the bodies themselves: which island each is in, and which are asleep."""

import colorsys
import functools

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlay_words import Role
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["body_tints", "island_color", "item_tints", "segment_color"]

_ISLAND_STRENGTH, _SLEEP_STRENGTH = 0.7, 0.75
_GOLDEN = 0.618034


def island_color(island: int) -> tuple[float, float, float]:
    """Return a colour that neighbours in number don't have."""
    return colorsys.hsv_to_rgb((0.08 + _GOLDEN * island) % 1.0, 0.62, 0.95)


@functools.cache
def segment_color(number: int) -> tuple[float, float, float]:
    """Return a colour for the item of that number; neighbours differ in hue and lightness."""
    hue = (_GOLDEN * number) % 1.0
    return colorsys.hsv_to_rgb(hue, 0.75 - 0.3 * (number % 2), 0.95 - 0.25 * (number % 3 == 2))


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
    of_bodies = body_tints(subject)
    tints = None if of_bodies is None else of_bodies[subject.scene.items.body]
    if not subject.options.segments:
        return tints
    segments = np.ones((len(subject.scene.items), 4), dtype=np.float32)
    segments[:, :3] = [segment_color(number) for number in range(len(segments))]
    # Islands and sleep say more than where a geom ends.
    return segments if tints is None else np.where(tints[:, 3:] > 0.0, tints, segments)
