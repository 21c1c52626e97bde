"""Contact forces and body velocities as arrays, without a Python call per element."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["body_velocities", "contact_arrays", "contact_forces"]


def contact_forces(model: Any, data: Any, *, adapter: MujocoAdapter) -> NDArray[np.float64]:
    """Return force and torque per contact in the contact's frame, (ncon, 6) [N, N·m].

    The same as ``mj_contactForce`` for each contact: zero for contacts that were left out of
    the constraints; pyramidal edges are combined as in MuJoCo's ``mju_decodePyramid``.
    """
    contact = data.contact
    count = int(data.ncon)
    force = np.zeros((count, 6))
    if count == 0:
        return force
    if adapter.hidden_state_reason(model):
        # The ipc solver keeps contact forces elsewhere; only MuJoCo itself can read them.
        for index in range(count):
            adapter.module.mj_contactForce(model, data, index, force[index])
        return force
    address = np.asarray(contact.efc_address)
    dimension = np.asarray(contact.dim)
    efc_force = data.efc_force
    pyramidal = int(model.opt.cone) == int(adapter.module.mjtCone.mjCONE_PYRAMIDAL)
    friction = np.asarray(contact.friction).reshape(count, 5)
    for size in (1, 3, 4, 6):
        chosen = np.flatnonzero((address >= 0) & (dimension == size))
        if chosen.size == 0:
            continue
        if size == 1 or not pyramidal:
            force[chosen, :size] = efc_force[address[chosen, None] + np.arange(size)]
            continue
        edges = efc_force[address[chosen, None] + np.arange(2 * (size - 1))]
        force[chosen, 0] = edges.sum(axis=1)
        force[chosen, 1:size] = (edges[:, 0::2] - edges[:, 1::2]) * friction[chosen, : size - 1]
    return force


def contact_arrays(
    model: Any, data: Any, *, adapter: MujocoAdapter
) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of the topic CONTACTS, fresh copies."""
    contact = data.contact
    count = int(data.ncon)
    return {
        "pos": np.array(contact.pos, dtype=np.float64).reshape(count, 3),
        "frame": np.array(contact.frame, dtype=np.float64).reshape(count, 3, 3),
        "dist": np.array(contact.dist, dtype=np.float64).reshape(count),
        "force": contact_forces(model, data, adapter=adapter),
        "geom": np.array(contact.geom, dtype=np.int32).reshape(count, 2),
    }


def body_velocities(model: Any, data: Any) -> NDArray[np.float64]:
    """Return linear [m/s] then angular [rad/s] velocity of each body frame, world, (nbody, 6).

    ``cvel`` is the velocity at the centre of mass of the body's tree; it is moved to the body's
    own origin: v = v_com + omega × (xpos - com).
    """
    angular = data.cvel[:, :3]
    arm = data.xpos - data.subtree_com[model.body_rootid]
    velocity = np.empty((model.nbody, 6))
    velocity[:, :3] = data.cvel[:, 3:] + np.cross(angular, arm)
    velocity[:, 3:] = angular
    return velocity
