"""The state and what follows from it per dof and actuator, as arrays."""

from typing import Any

import numpy as np

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.engine.contacts import body_velocities
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["STATE_INPUTS", "state_arrays", "state_inputs", "unknown_state_arrays"]

STATE_INPUTS = (
    "qpos",
    "qvel",
    "act",
    "ctrl",
    "qfrc_applied",
    "mocap_pos",
    "mocap_quat",
    "userdata",
)
"""What a physics step reads."""

_DERIVED = (
    "qacc",
    "qfrc_actuator",
    "qfrc_passive",
    "qfrc_constraint",
    "qfrc_bias",
    "qfrc_spring",
    "qfrc_damper",
    "qfrc_gravcomp",
    "qfrc_fluid",
    "actuator_force",
    "actuator_length",
    "actuator_velocity",
    "act_dot",
)


def state_inputs(data: Any) -> Arrays:
    """Return copies of what the coming physics step of ``data`` reads."""
    inputs: Arrays = {name: np.array(getattr(data, name)) for name in STATE_INPUTS}
    return {**inputs, "eq_active": np.array(data.eq_active, dtype=np.float64)}


def state_arrays(model: Any, data: Any, *, adapter: MujocoAdapter) -> Arrays:
    """Return what the topic STATE holds beside its inputs."""
    derived: Arrays = {name: np.array(getattr(data, name)) for name in _DERIVED}
    return {
        **derived,
        "dof_inertia": adapter.inertia_diagonal(model, data),
        "body_velocity": body_velocities(model, data),
    }


def unknown_state_arrays(model: Any, data: Any) -> Arrays:
    """Return NaN for all that :func:`state_arrays` returns: nobody has computed it."""
    unknown: Arrays = {name: np.full(getattr(data, name).shape, np.nan) for name in _DERIVED}
    return {
        **unknown,
        "dof_inertia": np.full(model.nv, np.nan),
        "body_velocity": np.full((model.nbody, 6), np.nan),
    }
