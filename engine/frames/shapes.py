"""What is drawn of a scene beside its bodies' poses: where tendons run and flexes are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.engine.frames.tendon_forces import tendon_force_totals
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["flex_positions", "tendon_arrays", "tendon_path"]

# In wrap_obj: a pulley divides the tendon here, so the path is interrupted.
_PULLEY = -2

_Vector = NDArray[np.float64]


def tendon_arrays(model: Any, data: Any, *, adapter: MujocoAdapter) -> Arrays:
    """Return TENDONS; ``data`` is evaluated."""
    spring, damper = tendon_force_totals(model, data)
    springs, dampers = adapter.springs_and_dampers(model)
    force = spring * springs + damper * dampers + _of_actuators(model, data, dampers, adapter)
    return {
        "length": np.array(data.ten_length, dtype=np.float64),
        "velocity": np.array(data.ten_velocity, dtype=np.float64),
        "force": force,
        **_path(data),
    }


def tendon_path(model: Any, data: Any, *, adapter: MujocoAdapter) -> Arrays:
    """Return TENDONS with NaN for what the positions alone don't tell.

    ``data`` has its kinematics; its tendons are computed here.
    """
    adapter.module.mj_comPos(model, data)
    adapter.module.mj_tendon(model, data)
    unknown = np.full(model.ntendon, np.nan)
    length = np.array(data.ten_length, dtype=np.float64)
    return {"length": length, "velocity": unknown, "force": unknown, **_path(data)}


def flex_positions(data: Any) -> Arrays:
    """Return DEFORMABLE; the kinematics and flexes of ``data`` are computed."""
    return {"flexvert_xpos": np.array(data.flexvert_xpos, dtype=np.float32).reshape(-1, 3)}


def _path(data: Any) -> Arrays:
    first = np.array(data.ten_wrapadr, dtype=np.int32)
    count = np.array(data.ten_wrapnum, dtype=np.int32)
    used = int((first + count).max(initial=0))
    wrap = np.array(np.asarray(data.wrap_obj).reshape(-1)[:used], dtype=np.int32)
    path = np.array(np.asarray(data.wrap_xpos).reshape(-1, 3)[:used], dtype=np.float32)
    path[wrap == _PULLEY] = np.nan
    return {"path": path, "first": first, "count": count, "wrap": wrap}


def _of_actuators(model: Any, data: Any, dampers: bool, adapter: MujocoAdapter) -> _Vector:
    """Return the forces of actuators and their own damping along each tendon, (ntendon,)."""
    force = np.zeros(model.ntendon)
    transmission = np.asarray(model.actuator_trntype)
    pulling = np.flatnonzero(transmission == int(adapter.module.mjtTrn.mjTRN_TENDON))
    if not len(pulling):
        return force
    tendon = np.asarray(model.actuator_trnid)[pulling, 0]
    output = np.asarray(getattr(model, "actuator_outadr", np.arange(len(transmission))))[pulling]
    gear = np.asarray(model.actuator_gear)[output, 0]
    np.add.at(force, tendon, gear * np.asarray(data.actuator_force)[output])
    if dampers and hasattr(model, "actuator_damping"):
        speed = np.asarray(data.ten_velocity)[tendon]
        damping = np.array(np.asarray(model.actuator_damping)[pulling], dtype=np.float64)
        higher = getattr(model, "actuator_dampingpoly", np.zeros((len(transmission), 0)))
        for order, column in enumerate(higher[pulling].T, start=1):
            damping += column * np.abs(speed) ** order
        np.add.at(force, tendon, -(gear**2) * damping * speed)
    return force
