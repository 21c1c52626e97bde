"""What holds bodies together: equality constraints with their residual, and the skeleton."""

from collections.abc import Iterator

import numpy as np

from stroboscope.app.models.overlay_words import Role
from stroboscope.app.models.selection import ElementKind
from stroboscope.app.view3d.overlays.glyphs import Glyphs, Layer, lines, spheres
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["connection_glyphs", "equality_glyphs", "wrap_glyphs"]


def equality_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield the two points of every active constraint and the line across an opened loop."""
    anchors = subject.value(Topic.CONSTRAINTS, "eq_anchor", -1, 2, 3)
    if not subject.options.equalities or anchors is None:
        return
    active = subject.value(Topic.CONSTRAINTS, "eq_active", len(anchors))
    shown = np.isfinite(anchors).all(axis=(1, 2))
    if active is not None:
        shown &= active > 0.0
    which = np.flatnonzero(shown)
    if not len(which):
        return
    radius = 0.9 * subject.sizes.scale.constraint * subject.sizes.mean
    yield spheres(
        anchors[which].reshape(-1, 3), radius=radius, color=Role.CONSTRAINT, layer=Layer.INSIDE
    ).of_elements(ElementKind.EQUALITY, np.repeat(which, 2))
    yield lines(
        anchors[which, 0],
        anchors[which, 1],
        radius=0.4 * radius,
        pixels=1.4,
        color=Role.CONSTRAINT,
        layer=Layer.INSIDE,
    ).of_elements(ElementKind.EQUALITY, which)


def connection_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield MuJoCo's autoconnect: from a body's centre over its joints to its parent's centre."""
    if not subject.options.autoconnect:
        return
    anchor, _ = subject.joint_frames
    points = np.concatenate([subject.centers_of_mass, anchor])
    links = subject.facts.links
    yield lines(
        points[links[:, 0]],
        points[links[:, 1]],
        radius=0.35 * subject.sizes.scale.connect * subject.sizes.mean,
        color=Role.CONNECT,
        layer=Layer.INSIDE,
    )


def wrap_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield the points where tendons touch the geoms they wrap around."""
    path = subject.value(Topic.TENDONS, "path", -1, 3)
    wrap = subject.value(Topic.TENDONS, "wrap", -1)
    if not subject.options.tendon_wraps or path is None or wrap is None or len(wrap) != len(path):
        return
    geom = wrap.astype(np.int64)
    touching = geom >= 0
    yield spheres(
        path[touching],
        radius=0.12 * subject.sizes.mean,
        color=Role.WRAP,
        layer=Layer.INSIDE,
    ).of_elements(ElementKind.GEOM, geom[touching])
