"""Cameras and lights."""

from typing import Any

import numpy as np

from stroboscope.debugger_protocol.scene_description import CameraInfo, LightInfo, Vec4
from stroboscope.engine.describe.columns import scalars, tuples
from stroboscope.engine.describe.part import CAMERA_MODES, Part

__all__ = ["describe_cameras", "describe_lights"]

# A cone that leaves nothing out: OpenGL's number for a light that shines all around.
_ALL_AROUND = 180.0


def describe_cameras(part: Part) -> tuple[CameraInfo, ...]:
    """Return the cameras."""
    model, adapter = part.model, part.adapter
    body, target = scalars(model.cam_bodyid), scalars(model.cam_targetbodyid)
    pos, quat = tuples(model.cam_pos), tuples(model.cam_quat)
    fovy, mode = scalars(model.cam_fovy), scalars(model.cam_mode)
    pos0, poscom0 = tuples(model.cam_pos0), tuples(model.cam_poscom0)
    resolution = tuples(model.cam_resolution)
    intrinsic, sensorsize = tuples(model.cam_intrinsic), tuples(model.cam_sensorsize)
    return tuple(
        CameraInfo(
            name=part.names.camera(i),
            body=body[i],
            pos=pos[i],
            quat=quat[i],
            fovy=fovy[i],
            mode=CAMERA_MODES[mode[i]],
            target=target[i],
            orthographic=adapter.camera_is_orthographic(model, i),
            pos0=pos0[i],
            poscom0=poscom0[i],
            quat0=_quaternion(part, model.cam_mat0[i]),
            resolution=resolution[i],
            intrinsic=intrinsic[i],
            sensorsize=sensorsize[i],
        )
        for i in range(model.ncam)
    )


def describe_lights(part: Part) -> tuple[LightInfo, ...]:
    """Return the lights."""
    model, adapter = part.model, part.adapter
    body, target = scalars(model.light_bodyid), scalars(model.light_targetbodyid)
    pos, direction = tuples(model.light_pos), tuples(model.light_dir)
    castshadow, active = scalars(model.light_castshadow), scalars(model.light_active)
    ambient, diffuse = tuples(model.light_ambient), tuples(model.light_diffuse)
    specular, attenuation = tuples(model.light_specular), tuples(model.light_attenuation)
    cutoff, exponent = scalars(model.light_cutoff), scalars(model.light_exponent)
    mode, pos0 = scalars(model.light_mode), tuples(model.light_pos0)
    poscom0, dir0 = tuples(model.light_poscom0), tuples(model.light_dir0)
    return tuple(
        LightInfo(
            name=part.names.light(i),
            body=body[i],
            pos=pos[i],
            dir=direction[i],
            directional=adapter.light_is_directional(model, i),
            castshadow=bool(castshadow[i]),
            active=bool(active[i]),
            ambient=ambient[i],
            diffuse=diffuse[i],
            specular=specular[i],
            cutoff=_ALL_AROUND if adapter.light_is_point(model, i) else cutoff[i],
            exponent=exponent[i],
            attenuation=attenuation[i],
            mode=CAMERA_MODES[mode[i]],
            target=target[i],
            pos0=pos0[i],
            poscom0=poscom0[i],
            dir0=dir0[i],
        )
        for i in range(model.nlight)
    )


def _quaternion(part: Part, matrix: Any) -> Vec4:
    quat = np.empty(4)
    part.adapter.module.mju_mat2Quat(quat, np.array(matrix, dtype=np.float64).ravel())
    w, x, y, z = quat.tolist()
    return w, x, y, z
