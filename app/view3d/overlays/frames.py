"""Axes of bodies, geoms, sites, cameras, lights, contacts and the world; icons of cameras, lights.

Red, green and blue are x, y and z.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlay_words import Role
from stroboscope.app.models.selection import ElementKind
from stroboscope.app.models.view_options import FrameMode
from stroboscope.app.view3d.overlays.glyphs import (
    Glyphs,
    Layer,
    Shape,
    arrows,
    frame_along,
    solids,
    spheres,
)
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.app.view3d.rotations import quat_to_matrix
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["AXIS_COLORS", "axes", "camera_frames", "frame_glyphs", "icon_glyphs", "light_rays"]

Floats = NDArray[np.float64]
AXIS_COLORS = (Role.AXIS_X.value, Role.AXIS_Y.value, Role.AXIS_Z.value)
_KINDS = {
    FrameMode.BODY: ElementKind.BODY,
    FrameMode.GEOM: ElementKind.GEOM,
    FrameMode.SITE: ElementKind.SITE,
    FrameMode.CAMERA: ElementKind.CAMERA,
    FrameMode.LIGHT: ElementKind.LIGHT,
}


def axes(
    pos: Floats, mat: Floats, *, length: float, radius: float, layer: Layer = Layer.INSIDE
) -> Glyphs:
    """Return three arrows per frame ``pos`` (n, 3), ``mat`` (n, 3, 3)."""
    return arrows(
        np.repeat(pos, 3, axis=0),
        length * mat.transpose(0, 2, 1).reshape(-1, 3),
        radius=radius,
        color=np.tile(np.array(AXIS_COLORS), (len(pos), 1)),
        layer=layer,
        pixels=1.1,
    )


def frame_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield the axes of the chosen kind of thing."""
    mode, sizes = subject.options.frames, subject.sizes
    length = sizes.scale.framelength * sizes.mean
    radius = 0.5 * sizes.scale.framewidth * sizes.mean
    if mode is FrameMode.NONE:
        return
    if mode is FrameMode.WORLD:
        yield axes(np.zeros((1, 3)), np.eye(3)[None], length=2.0 * length, radius=radius)
        return
    which, pos, mat = _frames(subject, mode)
    found = axes(pos, mat, length=length, radius=radius)
    if mode in _KINDS:
        found = found.of_elements(_KINDS[mode], np.repeat(which, 3))
    yield found


def _frames(subject: Subject, mode: FrameMode) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Return which things of a kind have axes, and their frames in the world."""
    scene, first = subject.scene, subject.scene.items.n_geoms
    match mode:
        case FrameMode.BODY:
            pos, mat = scene.body_pos, scene.body_mat
            shown = np.asarray(np.isfinite(pos).all(axis=1) & (np.arange(len(pos)) > 0))
        case FrameMode.GEOM:
            pos, mat = scene.item_pos[:first], scene.item_mat[:first]
            shown = scene.visible(subject.options)[:first]
        case FrameMode.SITE:
            pos, mat = subject.site_frames()
            shown = scene.visible(subject.options)[first : first + len(pos)]
        case FrameMode.CAMERA:
            pos, mat = camera_frames(subject)
            shown = np.ones(len(pos), dtype=np.bool_)
        case FrameMode.LIGHT:
            pos, direction = light_rays(subject)
            mat = frame_along(direction)
            shown = np.ones(len(pos), dtype=np.bool_)
        case _:
            found = subject.value(Topic.CONTACTS, "pos", -1, 3)
            rows = subject.value(Topic.CONTACTS, "frame", -1, 3, 3)
            if found is None or rows is None:
                found, rows = np.zeros((0, 3)), np.zeros((0, 3, 3))
            pos, mat = found, rows.transpose(0, 2, 1)
            shown = np.ones(len(pos), dtype=np.bool_)
    which = np.flatnonzero(shown)
    return which, pos[which], mat[which]


def camera_frames(subject: Subject) -> tuple[Floats, Floats]:
    """Return where the cameras are (ncam, 3) and how they are turned (ncam, 3, 3)."""
    cameras = subject.description.cameras
    scene = subject.scene
    body = np.clip([c.body for c in cameras], 0, len(scene.body_pos) - 1).astype(np.int64)
    local = np.array([c.pos for c in cameras], dtype=np.float64).reshape(-1, 3)
    turned = quat_to_matrix(np.array([c.quat for c in cameras], dtype=np.float64).reshape(-1, 4))
    mat = scene.body_mat[body]
    pos = scene.body_pos[body] + np.einsum("nij,nj->ni", mat, local)
    return pos, np.matmul(mat, turned)


def light_rays(subject: Subject) -> tuple[Floats, Floats]:
    """Return where the lights are and where they shine (nlight, 3)."""
    lights = subject.description.lights
    scene = subject.scene
    body = np.clip([light.body for light in lights], 0, len(scene.body_pos) - 1).astype(np.int64)
    local = np.array([light.pos for light in lights], dtype=np.float64).reshape(-1, 3)
    ray = np.array([light.dir for light in lights], dtype=np.float64).reshape(-1, 3)
    mat = scene.body_mat[body]
    pos = scene.body_pos[body] + np.einsum("nij,nj->ni", mat, local)
    return pos, np.einsum("nij,nj->ni", mat, ray)


def icon_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield a small box with a viewing arrow per camera, a ball with a ray per light.

    The camera looked through has none: its icon would be all there is to see.
    """
    size = 0.3 * subject.sizes.mean
    thin = 0.6 * subject.sizes.arrow_radius
    ray = 2.0 * subject.sizes.mean
    if subject.options.cameras:
        pos, mat = camera_frames(subject)
        which = np.array([i for i in range(len(pos)) if i != subject.hidden_camera], dtype=np.int64)
        pos, mat = pos[which], mat[which]
        half = size * np.array([[1.0, 0.7, 1.2]])
        for made in (
            solids(Shape.BOX, pos=pos, mat=mat, size=half, color=Role.CAMERA),
            arrows(pos, -ray * mat[:, :, 2], radius=thin, color=Role.CAMERA),
        ):
            yield made.of_elements(ElementKind.CAMERA, which)
    if subject.options.lights:
        pos, direction = light_rays(subject)
        every = np.arange(len(pos))
        for made in (
            spheres(pos, radius=size, color=Role.LIGHT),
            arrows(pos, ray * direction, radius=thin, color=Role.LIGHT),
        ):
            yield made.of_elements(ElementKind.LIGHT, every)
