"""A frame at the feet of the environment that is looked at, among others beside it."""

from collections.abc import Iterator

import numpy as np

from stroboscope.app.view3d.environments import base_height
from stroboscope.app.view3d.overlays.glyphs import Glyphs, lines
from stroboscope.app.view3d.overlays.subject import Subject

__all__ = ["environment_frame"]

_WIDTH = 0.44  # half the frame's side, as a part of what an environment has for itself
_RADIUS = 0.005  # of that place
_PIXELS = 0.9
_AROUND = ((-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0))


def environment_frame(subject: Subject) -> Iterator[Glyphs]:
    """Yield the four sides of the frame."""
    grid = subject.scene.environments
    if grid is None or not subject.options.environment_marks or grid.selected not in grid.numbers:
        return
    center = np.array(grid.pos[grid.place])
    radius = _RADIUS * grid.side
    center[2] = base_height(subject.scene) + radius
    if not np.isfinite(center).all():
        return
    half = _WIDTH * grid.side
    corners = np.array([[x, y, 0.0] for x, y in _AROUND]) * half + center
    ends = np.roll(corners, -1, axis=0)
    yield lines(corners, ends, radius=radius, color=grid.colors[0], pixels=_PIXELS)
