"""The lattices that move flexes of few degrees of freedom: nodes and the lines between them."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlay_words import Role
from stroboscope.app.models.selection import ElementKind
from stroboscope.app.view3d.overlays.glyphs import Glyphs, Layer, lines, spheres
from stroboscope.app.view3d.overlays.subject import Subject

__all__ = ["cage_glyphs"]


def cage_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield the cages of all flexes that are shown and have one."""
    if not subject.options.flex_cages:
        return
    scene = subject.scene
    shown = scene.visible(subject.options)
    for index, info in enumerate(subject.facts.description.flexes):
        arrays = scene.asset(info.digest)
        if arrays is None or not shown[scene.items.of_flex(index)[0]]:
            continue
        cage = _cage(arrays, len(scene.body_pos))
        if cage is None:
            continue
        body, local, ends = cage
        nodes = scene.body_pos[body] + np.einsum("nij,nj->ni", scene.body_mat[body], local)
        good = np.isfinite(nodes).all(axis=1)
        ends = ends[good[ends].all(axis=1)]
        radius = subject.sizes.arrow_radius
        for made, count in (
            (
                lines(
                    nodes[ends[:, 0]],
                    nodes[ends[:, 1]],
                    radius=0.0,
                    pixels=0.8,
                    color=Role.CAGE,
                    layer=Layer.SURFACE,
                ),
                len(ends),
            ),
            (spheres(nodes[good], radius=0.5 * radius, color=Role.CAGE), int(good.sum())),
        ):
            yield made.of_elements(ElementKind.FLEX, np.full(count, index))


def _cage(
    arrays: Mapping[str, NDArray[np.generic]], n_bodies: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]] | None:
    """Return bodies (n,), places (n, 3) and lines (m, 2); None without, or where it is damaged."""
    if not {"node_body", "node_pos", "cage"} <= arrays.keys():
        return None
    body = np.asarray(arrays["node_body"], dtype=np.int64).reshape(-1)
    local = np.asarray(arrays["node_pos"], dtype=np.float64)
    ends = np.asarray(arrays["cage"], dtype=np.int64)
    if local.shape != (len(body), 3) or ends.ndim != 2 or ends.shape[1] != 2 or not len(body):
        return None
    known = body.min() >= 0 and body.max() < n_bodies
    known = known and (not len(ends) or (ends.min() >= 0 and ends.max() < len(body)))
    return (body, local, ends) if known else None
