"""Who looks at a scene and what lights it: cameras, lights, fog, and how large markers are.

A part of :mod:`~.scene_description`, which hands it on; its conventions are the same.
"""

import enum

from stroboscope.debugger_protocol.description_base import Info, Vec2, Vec3, Vec4

__all__ = ["CameraInfo", "CameraMode", "FogInfo", "LightInfo", "VisualScale"]


class CameraMode(enum.StrEnum):
    """How a camera or light follows its body."""

    FIXED = "fixed"
    TRACK = "track"
    TRACKCOM = "trackcom"
    TARGETBODY = "targetbody"
    TARGETBODYCOM = "targetbodycom"


class VisualScale(Info, frozen=True, kw_only=True):
    """Sizes of what is drawn beside the bodies, MuJoCo's words: multiples of ``meansize`` [m].

    ``force`` and ``torque`` [m/N, m/N·m] scale arrows, divided by ``meanmass`` as MuJoCo does.
    """

    meansize: float = 0.1
    meanmass: float = 1.0
    force: float = 0.005
    torque: float = 0.1
    forcewidth: float = 0.1
    contactwidth: float = 0.3
    contactheight: float = 0.1
    connect: float = 0.2
    com: float = 0.4
    jointlength: float = 1.0
    jointwidth: float = 0.1
    actuatorlength: float = 0.7
    actuatorwidth: float = 0.2
    framelength: float = 1.0
    framewidth: float = 0.1
    constraint: float = 0.1
    slidercrank: float = 0.2
    frustum: float = 10.0


class CameraInfo(Info, frozen=True, kw_only=True):
    """One camera; looks along its -z with +y up. ``fovy`` in degrees, or [m] orthographic."""

    name: str
    body: int
    pos: Vec3
    quat: Vec4
    fovy: float = 45.0
    mode: CameraMode = CameraMode.FIXED
    target: int = -1
    orthographic: bool = False
    # For TRACK and TRACKCOM: offset in the world from the body's frame or its subtree's centre
    # of mass in the initial configuration, and the orientation it keeps.
    pos0: Vec3 = (0.0, 0.0, 0.0)
    poscom0: Vec3 = (0.0, 0.0, 0.0)
    quat0: Vec4 = (1.0, 0.0, 0.0, 0.0)
    resolution: tuple[int, int] = (1, 1)
    # Focal length and principal point [m], and the sensor's size [m]: 0 where fovy counts.
    intrinsic: Vec4 = (0.0, 0.0, 0.0, 0.0)
    sensorsize: Vec2 = (0.0, 0.0)


class LightInfo(Info, frozen=True, kw_only=True):
    """One light; ``dir`` is where it shines, in the body's frame."""

    name: str
    body: int
    pos: Vec3
    dir: Vec3
    directional: bool = False
    castshadow: bool = True
    active: bool = True
    ambient: Vec3 = (0.0, 0.0, 0.0)
    diffuse: Vec3 = (0.7, 0.7, 0.7)
    specular: Vec3 = (0.3, 0.3, 0.3)
    cutoff: float = 45.0
    exponent: float = 10.0
    attenuation: Vec3 = (1.0, 0.0, 0.0)
    mode: CameraMode = CameraMode.FIXED
    target: int = -1
    pos0: Vec3 = (0.0, 0.0, 0.0)
    poscom0: Vec3 = (0.0, 0.0, 0.0)
    dir0: Vec3 = (0.0, 0.0, -1.0)


class FogInfo(Info, frozen=True, kw_only=True):
    """What hides the distance: fog from ``start`` to ``end``, multiples of the extent, and haze.

    ``haze`` is how much of the way to the horizon it covers, 0 for none.
    """

    start: float = 3.0
    end: float = 10.0
    rgba: Vec4 = (0.0, 0.0, 0.0, 1.0)
    haze: float = 0.3
    haze_rgba: Vec4 = (1.0, 1.0, 1.0, 1.0)
