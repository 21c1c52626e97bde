"""Sensors: rays of range finders up to what they hit, touch zones, and where the others are."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlay_words import Role
from stroboscope.app.models.selection import ElementKind
from stroboscope.app.view3d.overlays.glyphs import (
    Glyphs,
    Layer,
    Shape,
    arrows,
    lines,
    solids,
    spheres,
)
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.app.view3d.resolve import camera_pose
from stroboscope.debugger_protocol.scene_description import GeomInfo, GeomType, SiteInfo
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["sensor_glyphs"]

Floats = NDArray[np.float64]
_FEW_RAYS = 64
_ZONES = {GeomType.BOX: Shape.BOX, GeomType.CYLINDER: Shape.DISC}


def sensor_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield rays and places, whatever is switched on."""
    data = subject.value(Topic.SENSORS, "sensordata", -1)
    if data is None:
        return
    if subject.options.rangefinders:
        yield from _rays(subject, data)
    if subject.options.sensors and len(subject.facts.description.sites):
        pos, mat = subject.site_frames()
        yield from _places(subject, data, pos=pos, mat=mat)


def _rays(subject: Subject, data: Floats) -> Iterator[Glyphs]:
    """Yield lines to what rays hit, balls there, and the normals that they tell."""
    rays = subject.facts.rays
    if not len(rays.sensor):
        return
    pos, mat = _ray_frames(subject)
    # Many rays would hide everything: those of a camera are hairs.
    radius = subject.sizes.arrow_radius * (1.0 if len(rays.sensor) <= _FEW_RAYS else 0.3)
    distance = _told(data, rays.dist, 1)[:, 0]
    point, normal = _told(data, rays.point, 3), _told(data, rays.normal, 3)
    frame_pos, frame_mat = pos[rays.frame], mat[rays.frame]
    start = frame_pos + np.einsum("nij,nj->ni", frame_mat, rays.origin)
    along = np.einsum("nij,nj->ni", frame_mat, rays.direction)
    hit = distance >= 0.0  # -1: nothing was hit; NaN: the ray does not tell
    end = np.where(hit[:, None], start + distance[:, None] * along, point)
    # Of those that tell no distance the point alone is known; one that hits nothing tells zeros.
    marked = hit | (np.isnan(distance) & np.isfinite(point).all(axis=1) & point.any(axis=1))
    pointing = marked & np.isfinite(normal).all(axis=1) & normal.any(axis=1)
    for made, which in (
        (
            lines(start[hit], end[hit], radius=0.2 * radius, pixels=0.6, color=Role.RANGEFINDER),
            hit,
        ),
        (spheres(end[marked], radius=0.7 * radius, color=Role.RANGEFINDER), marked),
        (
            arrows(
                end[pointing],
                subject.sizes.mean * normal[pointing],
                radius=0.4 * radius,
                color=Role.RANGEFINDER,
            ),
            pointing,
        ),
    ):
        yield made.of_elements(ElementKind.SENSOR, rays.sensor[which])


def _ray_frames(subject: Subject) -> tuple[Floats, Floats]:
    """Return where sites, and behind them cameras, are and how they are turned."""
    pos, mat = subject.site_frames()
    cameras = subject.description.cameras
    if not cameras:
        return pos, mat
    poses = [camera_pose(camera, subject.scene) for camera in cameras]
    return (
        np.concatenate([pos, [each for each, _ in poses]]),
        np.concatenate([mat, [each for _, each in poses]]),
    )


def _told(data: Floats, address: NDArray[np.int64], width: int) -> Floats:
    """Return the numbers (n, width) at these addresses of sensordata, NaN where there are none."""
    inside = (address >= 0) & (address + width <= len(data))
    found = np.full((len(address), width), np.nan)
    found[inside] = data[address[inside, None] + np.arange(width)]
    return found


def _places(subject: Subject, data: Floats, *, pos: Floats, mat: Floats) -> Iterator[Glyphs]:
    items, zones = subject.scene.items, subject.facts.touches
    sites = items.infos[items.n_geoms :]
    touched = zones.values(data, missing=0.0) > 0.0
    colors = np.where(touched[:, None], Role.TOUCHED.value, Role.SENSOR.value)
    colors[:, 3] = np.where(touched, 0.75, 0.35)
    shapes = np.array([_ZONES.get(sites[i].type, Shape.BALL).value for i in zones.site.tolist()])
    size = np.array([_half_sizes(sites[i]) for i in zones.site.tolist()]).reshape(-1, 3)
    for name in np.unique(shapes):
        of = shapes == name
        yield solids(
            Shape(name),
            pos=pos[zones.site[of]],
            mat=mat[zones.site[of]],
            size=size[of],
            color=colors[of],
            layer=Layer.SHEER,
            roles=(Role.SENSOR, Role.TOUCHED) if touched[of].any() else (Role.SENSOR,),
        ).of_elements(ElementKind.SENSOR, zones.index[of])
    others = subject.facts.others
    yield spheres(
        pos[others.site], radius=0.15 * subject.sizes.mean, color=Role.SENSOR, layer=Layer.INSIDE
    ).of_elements(ElementKind.SENSOR, others.index)


def _half_sizes(site: GeomInfo | SiteInfo) -> tuple[float, float, float]:
    x, y, z = site.size
    match site.type:
        case GeomType.SPHERE:
            return x, x, x
        case GeomType.CAPSULE:
            return x, x, x + y
        case GeomType.CYLINDER:
            return x, x, y
        case _:
            return x, y, z
