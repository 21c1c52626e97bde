"""Sensors: rays of range finders up to what they hit, touch zones, and where the others are."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.overlay_words import Role
from stroboscope.app.models.selection import ElementKind
from stroboscope.app.view3d.overlays.glyphs import Glyphs, Layer, Shape, lines, solids, spheres
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.debugger_protocol.scene_description import GeomInfo, GeomType, SiteInfo
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["sensor_glyphs"]

Floats = NDArray[np.float64]
_ZONES = {GeomType.BOX: Shape.BOX, GeomType.CYLINDER: Shape.DISC}


def sensor_glyphs(subject: Subject) -> Iterator[Glyphs]:
    """Yield rays and places, whatever is switched on."""
    data = subject.value(Topic.SENSORS, "sensordata", -1)
    if data is None or not len(subject.facts.description.sites):
        return
    pos, mat = subject.site_frames()
    if subject.options.rangefinders:
        yield from _rays(subject, data, pos=pos, mat=mat)
    if subject.options.sensors:
        yield from _places(subject, data, pos=pos, mat=mat)


def _rays(subject: Subject, data: Floats, *, pos: Floats, mat: Floats) -> Iterator[Glyphs]:
    rays = subject.facts.rays
    distance = rays.values(data, missing=-1.0)
    hit = distance >= 0.0  # -1: nothing was hit
    site, which = rays.site[hit], rays.index[hit]
    end = pos[site] + distance[hit, None] * mat[site, :, 2]
    radius = subject.sizes.arrow_radius
    for made in (
        lines(pos[site], end, radius=0.2 * radius, pixels=0.8, color=Role.RANGEFINDER),
        spheres(end, radius=0.7 * radius, color=Role.RANGEFINDER),
    ):
        yield made.of_elements(ElementKind.SENSOR, which)


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
