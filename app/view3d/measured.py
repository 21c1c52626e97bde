"""Pictures that are measurements: which element each pixel shows, and how far away it is."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlays import OVERLAYS, OverlayGroup
from stroboscope.app.models.view_options import FrameMode, RenderMode, ViewOptions
from stroboscope.app.view3d.camera import View
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.items import Items

__all__ = ["Measured", "depth_range", "measured_options"]

_RIM = 0.05  # of what is between the nearest and the farthest: room for what the boxes leave out
# Everything that lies over the elements or makes one colour out of two of them.
_COVERS = {
    **{each.name: False for each in OVERLAYS if each.group is not OverlayGroup.PICTURE},
    **dict.fromkeys(("shadows", "reflections", "haze", "wireframe", "transparent"), False),
    **dict.fromkeys(("xray_selection", "convex_hull", "triad", "segments"), False),
    "environment_marks": False,
    "tendons": True,
}


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Numbers of a picture's pixels, rows from the top.

    ``item`` (h, w) int64 are the scene's items, -1 for none; ``depth`` (h, w) float32 [m] is along
    the view's axis, inf where nothing is.
    """

    item: NDArray[np.int64]
    depth: NDArray[np.float32]

    def arrays(self, items: Items) -> dict[str, NDArray[np.generic]]:
        """Return ``depth`` and indices (h, w) int32 by kind of element (``geom``, …), -1: none."""
        elements = [items.element(number) for number in range(len(items))]
        found: dict[str, NDArray[np.generic]] = {"depth": self.depth}
        for kind in dict.fromkeys(element.kind for element in elements):
            # One more for the pixels without an item, which are -1.
            index = [element.index if element.kind is kind else -1 for element in elements]
            found[str(kind)] = np.array([*index, -1], dtype=np.int32)[self.item]
        return found


def measured_options(options: ViewOptions) -> ViewOptions:
    """Return what is drawn when ``options`` ask for ids or depth: nothing lies over anything."""
    if options.render is RenderMode.PICTURE:
        return options
    changes: dict[str, object] = {**_COVERS, "tendons": options.tendons, "frames": FrameMode.NONE}
    return dataclasses.replace(options, **changes)  # type: ignore[arg-type]


def depth_range(scene: DrawnScene, options: ViewOptions, view: View) -> tuple[float, float]:
    """Return the depths [m] that are drawn black and white: all of what matters lies between."""
    corners = scene.corners(scene.scene_items(options))
    depth = (corners - view.eye) @ view.forward
    depth = depth[np.isfinite(depth)]
    if not len(depth):
        return view.near, view.far
    low, high = max(float(depth.min()), view.near), float(depth.max())
    rim = _RIM * max(high - low, 1e-3 * abs(high))
    return max(low - rim, view.near), max(high + rim, view.near + 2.0 * rim)
