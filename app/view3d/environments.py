"""Many environments of one scene side by side: which is which, and which one the mouse is on."""

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.selection import Element

if TYPE_CHECKING:
    from stroboscope.app.models.view_options import ViewOptions
    from stroboscope.app.view3d.camera import View
    from stroboscope.app.view3d.drawn_scene import DrawnScene

__all__ = ["EnvironmentGrid", "EnvironmentHit", "base_height", "environment_on_ray", "slack_at"]

Floats = NDArray[np.float64]
Rgba = tuple[float, float, float, float]

# A pole that is a pixel wide is still met this far [px] beside it.
_SLACK_PX = 4.0
# Cosine between up and the normal of what counts as a floor.
_LEVEL = 0.98


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class EnvironmentGrid:
    """Where environments stand: ``pos`` (k, 3) [m] of each one's first body that moves.

    ``selected`` is drawn as the scene itself; ``side`` [m] is the width of a place. Colours are
    those of the selected one, of those that have ``failed``, and of the others.
    """

    numbers: tuple[int, ...]
    pos: Floats
    selected: int
    failed: frozenset[int]
    side: float
    colors: tuple[Rgba, Rgba, Rgba]

    @property
    def place(self) -> int:
        """Which of ``numbers`` is the selected one, 0 when none is."""
        return self.numbers.index(self.selected) if self.selected in self.numbers else 0

    @property
    def offsets(self) -> Floats:
        """How far (k, 3) [m] each stands from the selected one."""
        return np.asarray(self.pos - self.pos[self.place])

    def color(self, number: int) -> Rgba:
        """Return the colour that an environment is written in."""
        if number in self.failed:
            return self.colors[1]
        return self.colors[0] if number == self.selected else self.colors[2]

    def around(self, points: Floats) -> Floats:
        """Return ``points`` (n, 3) of the selected one for all environments, (k n, 3)."""
        offsets = self.offsets[np.isfinite(self.pos).all(axis=1)]
        return np.asarray((points[None] + offsets[:, None]).reshape(-1, 3))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class EnvironmentHit:
    """What of another environment the mouse is on, and the point (3,) [m] where it is."""

    number: int
    element: Element | None
    point: Floats


def base_height(scene: "DrawnScene") -> float:
    """Return the height [m] that environments stand at: of the floor, or of what hangs over it."""
    items = scene.items
    level = items.is_plane & (items.body == 0)
    level = np.asarray(level & (scene.item_mat[:, 2, 2] > _LEVEL))
    floor = float(scene.item_pos[level, 2].max()) if level.any() else -np.inf
    return max(floor, scene.foot_height)


def slack_at(view: "View", grid: EnvironmentGrid, *, height: float) -> float:
    """Return how many metres beside a thing still count as on it, in a picture so high [px]."""
    known = grid.pos[np.isfinite(grid.pos).all(axis=1)]
    if not len(known):
        return 0.0
    ends = np.array([known.mean(axis=0), known.mean(axis=0) + view.up])
    x, y, _ = view.project(ends, width=view.aspect * height, height=height).T
    pixels = float(np.hypot(x[1] - x[0], y[1] - y[0]))
    return _SLACK_PX / max(pixels, 1e-6)


def environment_on_ray(
    scene: "DrawnScene",
    *,
    origin: Floats,
    direction: Floats,
    options: "ViewOptions",
    slack: float,
    before: float,
) -> EnvironmentHit | None:
    """Return the nearest other environment whose boxes, ``slack`` wider, a ray goes through.

    ``before`` [m] along the ray is where the scene itself is hit.
    """
    items = np.flatnonzero(_pickable(scene, options))
    found: tuple[float, int, int] | None = None
    for number, distance in _entered(scene, items, origin, direction, slack):
        nearest = int(np.argmin(distance)) if len(distance) else 0
        if len(distance) and distance[nearest] < min(before, found[0] if found else np.inf):
            found = float(distance[nearest]), number, int(items[nearest])
    if found is None:
        return None
    distance_m, number, item = found
    return EnvironmentHit(number, scene.items.element(item), origin + distance_m * direction)


def _pickable(scene: "DrawnScene", options: "ViewOptions") -> NDArray[np.bool_]:
    buffers = scene.buffers()
    return np.asarray(scene.visible(options) & ~scene.items.is_plane & (buffers.low[:, 0] < np.inf))


def _entered(
    scene: "DrawnScene",
    items: NDArray[np.int64],
    origin: Floats,
    direction: Floats,
    slack: float,
) -> Iterator[tuple[int, Floats]]:
    """Yield each other environment, and where [m] the ray enters each item's box; inf: nowhere."""
    buffers = scene.buffers()
    low, high = buffers.low[items] - slack, buffers.high[items] + slack
    moving = scene.items.body[items] > 0
    for other in scene.others:
        if other.env < 0:
            continue
        mat = other.mat[items]
        start = np.einsum("nji,nj->ni", mat, origin - other.pos[items])
        along = np.einsum("nji,j->ni", mat, direction)
        along = np.where(np.abs(along) < 1e-12, 1e-12, along)
        near, far = (low - start) / along, (high - start) / along
        enter = np.minimum(near, far).max(axis=1)
        leave = np.maximum(near, far).min(axis=1)
        yield (
            other.env,
            np.where(moving & (leave >= enter) & (leave >= 0.0), np.maximum(enter, 0.0), np.inf),
        )
