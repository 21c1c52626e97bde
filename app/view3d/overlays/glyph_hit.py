"""Which glyph is under a pixel: found by projecting them, so that thin ones can be hit too."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.view3d.camera import View
from stroboscope.app.view3d.overlays.glyphs import MIN_ARROW_PIXELS, Glyphs, Layer, Shape
from stroboscope.app.view3d.overlays.picture import OverlayPicture

__all__ = ["GlyphHit", "glyph_at"]

Floats = NDArray[np.float64]
REACH_PIXELS = 4.0
# Sheer ones are large and lie over bodies: only those that nothing else would select count.
_SHEER_KINDS = (ElementKind.SENSOR,)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class GlyphHit:
    """The element of a glyph and the point (3,) [m] of it that was hit."""

    element: Element
    point: Floats


def glyph_at(
    picture: OverlayPicture,
    view: View,
    *,
    size: tuple[int, int],
    at: tuple[float, float],
    pixel_ratio: float,
    depth: float | None,
    xray: bool,
) -> GlyphHit | None:
    """Return the glyph nearest to ``at`` (x, y down) in a picture of ``size`` [px], or None.

    ``depth`` [m] is that of the surface there, None for the sky: what is behind it counts only
    with ``xray``.
    """
    best: tuple[float, float, Glyphs, int, Floats] | None = None
    reach = REACH_PIXELS * pixel_ratio
    for part in picture.parts:
        sheer = part.layer is Layer.SHEER and part.kind not in _SHEER_KINDS
        if part.kind is None or part.shape is Shape.RING or sheer:
            continue
        miss, away, points = _distances(part, view, size=size, at=at, pixel_ratio=pixel_ratio)
        near = (miss <= reach) & (away > view.near)
        if depth is not None and part.layer is Layer.SURFACE and not xray:
            near &= away <= depth * 1.01
        if not near.any():
            continue
        candidates = np.flatnonzero(near)
        # Of those that are under the pixel, the nearest to the eye.
        order = np.lexsort((away[candidates], np.floor(miss[candidates])))
        index = int(candidates[order[0]])
        score = (float(np.floor(miss[index])), float(away[index]))
        if best is None or score < best[:2]:
            best = (*score, part, index, points[index])
    if best is None:
        return None
    element = best[2].element(best[3])
    return GlyphHit(element, best[4]) if element is not None else None


def _distances(
    part: Glyphs,
    view: View,
    *,
    size: tuple[int, int],
    at: tuple[float, float],
    pixel_ratio: float,
) -> tuple[Floats, Floats, Floats]:
    """Return how far [px] each glyph is from ``at``, its depth [m] and its nearest point (n, 3)."""
    texels = part.texels.astype(np.float64)
    width, height = size
    here = np.array(at)
    if not part.shape.is_stretched:
        center = texels[:, :3, 3]
        seen = view.project(center, width=width, height=height)
        reach = np.linalg.norm(texels[:, :3, :3], axis=1).max(axis=1)
        radius = reach / _pixel_sizes(view, seen[:, 2], height)
        aside = np.linalg.norm(seen[:, :2] - here, axis=1)
        if part.shape is Shape.HOOP:
            return np.abs(aside - radius), seen[:, 2], center
        return np.maximum(aside - radius, 0.0), seen[:, 2], center
    start, vector = texels[:, 0, :3], texels[:, 1, :3]
    first = view.project(start, width=width, height=height)
    last = view.project(start + vector, width=width, height=height)
    along = last[:, :2] - first[:, :2]
    length = np.linalg.norm(along, axis=1)
    least = MIN_ARROW_PIXELS * pixel_ratio if part.shape is Shape.ARROW else 1e-9
    stretch = np.maximum(1.0, least / np.maximum(length, 1e-9))
    along = along * np.minimum(stretch, 1e3)[:, None]
    squared = np.maximum(np.einsum("ni,ni->n", along, along), 1e-12)
    part_of = np.clip(np.einsum("ni,ni->n", here - first[:, :2], along) / squared, 0.0, 1.0)
    nearest = first[:, :2] + part_of[:, None] * along
    depth = first[:, 2] + part_of * (last[:, 2] - first[:, 2])
    radius = texels[:, 0, 3] / _pixel_sizes(view, depth, height)
    miss = np.maximum(np.linalg.norm(nearest - here, axis=1) - radius, 0.0)
    behind = (first[:, 2] <= view.near) | (last[:, 2] <= view.near)
    return np.where(behind, np.inf, miss), depth, start + part_of[:, None] * vector


def _pixel_sizes(view: View, depth: Floats, height: int) -> Floats:
    one = view.pixel_size(1.0, height=height)
    return np.full(len(depth), one) if view.orthographic else np.maximum(depth, 1e-9) * one
