"""What hides the distance: haze, into which everything fades, and MuJoCo's fog.

MuJoCo draws haze as a white ring on endless floors that stand under a sky; here all that is far
away fades into the horizon, or into the haze of the model's own colour where it names one. Fog is
MuJoCo's: linear in the depth along the view, from ``fogstart`` to ``fogend``.
"""

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.view_options import ViewOptions
from stroboscope.app.view3d.camera import View
from stroboscope.app.view3d.light_rig import Color
from stroboscope.debugger_protocol.scene_description import FogInfo, SceneDescription

__all__ = ["haze_color", "haze_distance", "mist_at_sky", "mist_uniforms"]

_NEVER = 1e6
_WHITE = FogInfo().haze_rgba
# MuJoCo's sky stands at this part of the far plane, which is so many extents away by default.
_SKY, _FAR = 0.7, 50.0


def haze_distance(
    view: View,
    options: ViewOptions,
    *,
    description: SceneDescription | None,
    center: NDArray[np.float64],
    extent: float,
) -> float:
    """Return the distance [m] at which two thirds of a colour are haze."""
    none = description is not None and description.fog.haze <= 0.0
    if view.orthographic or none or not options.haze:
        return _NEVER * extent
    # What one looks at stays clear, also where it is small and the camera far from it.
    away = float(np.linalg.norm(view.eye - center))
    return max(0.055 * view.far, 5.0 * away)


def haze_color(description: SceneDescription | None, horizon: Color) -> Color:
    """Return what the distance fades into under a model's own sky, whose horizon has ``horizon``.

    White is what MuJoCo gives to models that say nothing about haze.
    """
    if description is None or description.fog.haze_rgba == _WHITE:
        return horizon
    r, g, b, _ = description.fog.haze_rgba
    return r, g, b


def _range(description: SceneDescription | None, options: ViewOptions) -> tuple[float, float]:
    """Return where fog begins [m] and how much of it there is per metre from there."""
    if description is None or not options.fog:
        return 0.0, 0.0
    fog, extent = description.fog, max(description.extent, 1e-6)
    length = (fog.end - fog.start) * extent
    return fog.start * extent, 1.0 / max(length, 1e-6)


def mist_uniforms(
    view: View, description: SceneDescription | None, options: ViewOptions
) -> dict[str, tuple[float, ...]]:
    """Return what lit shaders need; without perspective there is no fog, as there is no haze."""
    begin, slope = _range(description, options)
    rgba = description.fog.rgba if description is not None else FogInfo().rgba
    return {
        "u_mist": (0.0, 0.0) if view.orthographic else (begin, slope),
        "u_mist_color": rgba[:3],
    }


def mist_at_sky(
    view: View, description: SceneDescription | None, options: ViewOptions
) -> tuple[float, float, float, float]:
    """Return the colour of the fog before the sky, and how much of the sky it hides, 0…1."""
    begin, slope = _range(description, options)
    if description is None or view.orthographic:
        return 0.0, 0.0, 0.0, 0.0
    far = _SKY * (description.zfar or _FAR) * description.extent
    r, g, b, _ = description.fog.rgba
    return r, g, b, min(max((far - begin) * slope, 0.0), 1.0)
