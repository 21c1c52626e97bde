"""A model's own lights, as lamps of the same shaders that draw the studio."""

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.view_options import Lighting
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.light_rig import Color, Lamp, LightRig
from stroboscope.app.view3d.resolve import light_pose
from stroboscope.app.view3d.shaders import MOST_LAMPS
from stroboscope.debugger_protocol.scene_description import LightInfo, SceneDescription, Vec3

__all__ = ["rig_for", "uses_model_lights"]

# What lamps and head light give together to a surface that faces them all: more is dimmed, for
# many models light everything to white, and MuJoCo cuts that off where this curve bends.
_FULL = 1.5
# Of the studio's light from everywhere, this much stays: without it shadows are black holes.
_SURROUND = 0.38


def uses_model_lights(description: SceneDescription | None, lighting: Lighting) -> bool:
    """Return whether the model's lights shine.

    AUTO leaves plain lamps alone: most robots bring one weak white spot from straight above, in
    which they look flat and stand on nothing. Colours, and a bright slanting light that casts
    shadows, are somebody's intention.
    """
    if description is None or lighting is Lighting.STUDIO:
        return False
    lights = [light for light in description.lights if _shines(light)]
    if lighting is Lighting.MODEL:
        return bool(lights) or description.headlight_active
    return any(_is_designed(light) for light in lights)


def _is_designed(light: LightInfo) -> bool:
    if max(light.diffuse) - min(light.diffuse) > 0.08:
        return True
    x, y, z = light.dir
    slants = math.hypot(x, y) > 0.3 * abs(z)
    return slants and light.directional and light.castshadow and _gray(light.diffuse) >= 0.5


def rig_for(scene: DrawnScene, studio: LightRig, lighting: Lighting) -> LightRig:
    """Return the lamps of this instant: the model's where it has any, else the ``studio``."""
    description = scene.description
    if description is None or not uses_model_lights(description, lighting):
        return studio
    indexed = [(i, light) for i, light in enumerate(description.lights) if _shines(light)]
    # One shadow: of the brightest that casts any, and a lamp for all is better than a spot.
    indexed.sort(key=lambda each: _rank(each[1]), reverse=True)
    indexed = indexed[:MOST_LAMPS]
    head: Vec3 = description.headlight_diffuse if description.headlight_active else (0.0, 0.0, 0.0)
    total = _gray(head) + sum(_gray(light.diffuse) for _, light in indexed)
    exposure = min(1.0, _FULL / max(total, 1e-6))
    ambient = np.sum([light.ambient for _, light in indexed] or [(0.0, 0.0, 0.0)], axis=0)
    if description.headlight_active:
        ambient = ambient + np.array(description.headlight_ambient)
    soft = np.minimum(ambient, 0.6)
    return dataclasses.replace(
        studio,
        lamps=tuple(_lamp(scene, index, light, exposure) for index, light in indexed),
        casts_shadow=bool(indexed) and indexed[0][1].castshadow,
        fill=(0.0, 0.0, 0.0),
        head=_times(head, 0.75 * exposure),
        sky_light=_least(soft, studio.sky_light),
        ground_light=_least(0.6 * soft, studio.ground_light),
    )


def _shines(light: LightInfo) -> bool:
    return light.active and max(light.diffuse) > 0.0


def _rank(light: LightInfo) -> tuple[bool, float]:
    reach = 1.0 if light.directional or light.cutoff >= 90.0 else 0.6
    return light.castshadow, reach * _gray(light.diffuse)


def _lamp(scene: DrawnScene, index: int, light: LightInfo, exposure: float) -> Lamp:
    pos, direction = light_pose(scene, index)
    gray = _gray(light.diffuse)
    return Lamp(
        direction=direction,
        color=_times(light.diffuse, exposure),
        gloss=min(_gray(light.specular) / max(gray, 1e-6), 1.0),
        pos=None if light.directional else pos,
        cutoff=180.0 if light.directional or light.cutoff > 90.0 else light.cutoff,
        exponent=light.exponent,
        attenuation=light.attenuation,
    )


def _gray(color: Vec3) -> float:
    return sum(color) / 3.0


def _times(color: Vec3, factor: float) -> Color:
    return color[0] * factor, color[1] * factor, color[2] * factor


def _least(light: NDArray[np.float64], studio: Color) -> Color:
    values = np.maximum(light, _SURROUND * np.array(studio))
    return float(values[0]), float(values[1]), float(values[2])
