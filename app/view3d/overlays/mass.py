"""Where mass is: centres of mass, and boxes or ellipsoids of the same inertia."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlay_words import Role
from stroboscope.app.models.selection import ElementKind
from stroboscope.app.view3d.overlays.facts import BodyFacts
from stroboscope.app.view3d.overlays.glyphs import Glyphs, Layer, Shape, lines, solids, spheres
from stroboscope.app.view3d.overlays.subject import Subject

__all__ = ["BOX_EDGES", "inertia_sizes", "mass_glyphs", "tree_centers"]

Floats = NDArray[np.float64]
WATER = 1000.0  # [kg/m³]
# Drawn over the body and not, as in MuJoCo, inside it: the body shall stay visible, so the solid is
# a breath of colour between clear edges.
_INERTIA_ALPHA = 0.10
_EDGE_ALPHA = 0.9
_SEGMENTS = 16


def inertia_sizes(bodies: BodyFacts, *, ellipsoids: bool, water: bool) -> Floats:
    """Return half sizes (nbody, 3) [m] of the solids with each body's inertia; 0 without mass.

    ``water``: scaled so that each has its body's mass at water's density, as MuJoCo does.
    """
    mass = np.maximum(bodies.mass, 1e-15)[:, None]
    total = bodies.inertia.sum(axis=1, keepdims=True)
    squared = np.maximum(total - 2.0 * bodies.inertia, 0.0) / mass
    half = np.sqrt(2.5 * squared) if ellipsoids else np.sqrt(6.0 * squared) / 2.0
    if water:
        volume = half.prod(axis=1) * (4.0 / 3.0 * np.pi if ellipsoids else 8.0)
        density = bodies.mass / np.maximum(volume, 1e-15)
        half = half * np.cbrt(density / WATER)[:, None]
    return np.where(bodies.mass[:, None] > 0.0, half, 0.0)


def tree_centers(bodies: BodyFacts, com: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the moving bodies below the world (n,) and the centres of their trees (n, 3) [m]."""
    mass = np.zeros(len(com))
    weighted = np.zeros((len(com), 3))
    np.add.at(mass, bodies.root, bodies.mass)
    np.add.at(weighted, bodies.root, bodies.mass[:, None] * com)
    count = np.bincount(bodies.root[~bodies.fixed], minlength=len(com))
    roots = np.flatnonzero((mass > 0.0) & (count > 0))
    roots = roots[roots > 0]
    return roots, weighted[roots] / mass[roots, None]


def _box_edges() -> Floats:
    """Return both ends of the edges (12, 2, 3) of a cube of half size 1."""
    edges = []
    for axis in range(3):
        others = [n for n in range(3) if n != axis]
        for a in (-1.0, 1.0):
            for b in (-1.0, 1.0):
                ends = np.zeros((2, 3))
                ends[:, axis] = (-1.0, 1.0)
                ends[:, others] = (a, b)
                edges.append(ends)
    return np.array(edges)


def _great_circles() -> Floats:
    """Return both ends of the segments (n, 2, 3) of the unit sphere's three great circles."""
    angles = np.linspace(0.0, 2.0 * np.pi, _SEGMENTS + 1)
    circles = []
    for axis in range(3):
        points = np.zeros((len(angles), 3))
        points[:, (axis + 1) % 3], points[:, (axis + 2) % 3] = np.cos(angles), np.sin(angles)
        circles.append(np.stack([points[:-1], points[1:]], axis=1))
    return np.concatenate(circles)


BOX_EDGES = _box_edges()
_ELLIPSES = _great_circles()


def mass_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield centres of mass and inertias, whatever is switched on."""
    bodies, options, sizes = subject.facts.bodies, subject.options, subject.sizes
    com = subject.centers_of_mass
    usable = (bodies.mass > 0.0) & np.isfinite(com).all(axis=1)
    usable[:1] = False
    which = np.flatnonzero(usable)
    if options.inertia:
        half = inertia_sizes(
            bodies, ellipsoids=options.inertia_ellipsoids, water=options.scale_inertia
        )
        turned = np.matmul(subject.scene.body_mat[which], bodies.imat[which])
        edges = _ELLIPSES if options.inertia_ellipsoids else BOX_EDGES
        ends = com[which, None, None] + np.einsum(
            "bij,eaj->beai", turned * half[which, None], edges
        )
        yield lines(
            ends[:, :, 0].reshape(-1, 3),
            ends[:, :, 1].reshape(-1, 3),
            radius=0.0,
            color=(*Role.INERTIA.value[:3], _EDGE_ALPHA),
            layer=Layer.INSIDE,
        ).of_elements(ElementKind.BODY, np.repeat(which, len(edges)))
        yield solids(
            Shape.BALL if options.inertia_ellipsoids else Shape.BOX,
            pos=com[which],
            mat=turned,
            size=half[which],
            color=(*Role.INERTIA.value[:3], _INERTIA_ALPHA),
            roles=(Role.INERTIA,),
            layer=Layer.SHEER,
        ).of_elements(ElementKind.BODY, which)
    radius = sizes.scale.com * sizes.mean
    if options.com:
        yield spheres(
            com[which], radius=0.4 * radius, color=Role.COM, layer=Layer.INSIDE
        ).of_elements(ElementKind.BODY, which)
    if options.subtree_com:
        trees, center = tree_centers(bodies, com)
        chosen = _selected_subtree(subject, com)
        if chosen is not None:
            trees, center = np.append(trees, chosen[0]), np.concatenate([center, chosen[1][None]])
        yield spheres(
            center, radius=0.8 * radius, color=Role.SUBTREE_COM, layer=Layer.INSIDE
        ).of_elements(ElementKind.BODY, trees)


def _selected_subtree(subject: Subject, com: Floats) -> tuple[int, Floats] | None:
    selection = subject.selection
    if selection is None or selection.kind is not ElementKind.BODY or selection.index <= 0:
        return None
    if selection.index >= len(com):
        return None
    return selection.index, np.asarray(subject.scene.subtree_center(selection.index))
