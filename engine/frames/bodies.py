"""What each body does: momenta, acceleration, forces; and the scene as a whole."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.engine.contacts import contact_forces, cross, world_forces
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["body_arrays", "energy_arrays", "momenta"]

_ASLEEP = 0  # mjtSleepState; static bodies are -1


def body_arrays(model: Any, whole: Any, *, adapter: MujocoAdapter) -> Arrays:
    """Return the arrays of the topic BODIES; ``whole``: scratch data of that instant."""
    _compute_subtree_velocities(model, whole, adapter=adapter)
    adapter.module.mj_rnePostConstraint(model, whole)
    awake, island = _sleep_and_islands(model, whole)
    acceleration = _accelerations(model, whole, adapter=adapter)
    acceleration[awake == 0] = 0.0  # MuJoCo keeps the qacc of what has fallen asleep
    return {
        "xipos": np.array(whole.xipos),
        "subtree_com": np.array(whole.subtree_com),
        "subtree_linvel": np.array(whole.subtree_linvel),
        "subtree_angmom": np.array(whole.subtree_angmom),
        "acceleration": acceleration,
        "xfrc_applied": np.array(whole.xfrc_applied),
        "contact_force": _contact_sums(model, whole, adapter=adapter),
        "awake": awake,
        "island": island,
    }


def energy_arrays(model: Any, whole: Any, *, adapter: MujocoAdapter) -> Arrays:
    """Return the arrays of the topic ENERGY; ``whole``: scratch data of that instant."""
    module = adapter.module
    adapter.forget_lazy_results(whole)
    module.mj_energyPos(model, whole)
    module.mj_energyVel(model, whole)
    _compute_subtree_velocities(model, whole, adapter=adapter)
    energy = np.array(whole.energy, dtype=np.float64)
    return {
        "potential": energy[:1],
        "kinetic": energy[1:2],
        # The world's subtree is everything; its mass may be 0 when all of it is massless.
        "momentum": whole.subtree_linvel[0] * model.body_subtreemass[0],
        "angular_momentum": np.array(whole.subtree_angmom[0]),
        "com": np.array(whole.subtree_com[0]),
    }


def momenta(model: Any, data: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return momentum (3,) [kg·m/s] and angular momentum (3,) [kg·m²/s] of everything.

    The latter about the centre of mass; from the derived arrays of ``data`` alone, as a physics
    step leaves them.
    """
    mass = np.asarray(model.body_mass)[:, None]
    omega = data.cvel[:, :3]
    arm = data.xipos - data.subtree_com[model.body_rootid]
    velocity = data.cvel[:, 3:] + cross(omega, arm)
    if hasattr(data, "body_awake"):
        # What sleeps keeps the velocity of its last moments.
        moving = (np.asarray(data.body_awake) != _ASLEEP)[:, None]
        velocity, omega = velocity * moving, omega * moving
    axes = data.ximat.reshape(-1, 3, 3)
    local = np.einsum("nji,nj->ni", axes, omega) * model.body_inertia
    spin = np.einsum("nij,nj->i", axes, local)
    momentum = (mass * velocity).sum(axis=0)
    mean = momentum / max(float(mass.sum()), 1e-300)
    orbit = cross(data.xipos - data.subtree_com[0], mass * (velocity - mean)).sum(axis=0)
    return momentum, spin + orbit


def _compute_subtree_velocities(model: Any, whole: Any, *, adapter: MujocoAdapter) -> None:
    # Sleeping subtrees are left out: they don't move, whatever was computed when they last did.
    whole.subtree_linvel[:] = 0.0
    whole.subtree_angmom[:] = 0.0
    adapter.module.mj_subtreeVel(model, whole)


def _accelerations(model: Any, whole: Any, *, adapter: MujocoAdapter) -> NDArray[np.float64]:
    """Return linear then angular acceleration of each body frame, world, (nbody, 6).

    ``cacc`` is spatial, about the tree's centre of mass and relative to free fall; as in
    ``mj_objectAcceleration`` it is moved to the frame and completed by omega × v.
    """
    angular = whole.cacc[:, :3]
    arm = whole.xpos - whole.subtree_com[model.body_rootid]
    omega = whole.cvel[:, :3]
    velocity = whole.cvel[:, 3:] + cross(omega, arm)
    result = np.empty((model.nbody, 6))
    result[:, :3] = whole.cacc[:, 3:] + cross(angular, arm) + cross(omega, velocity)
    result[:, 3:] = angular
    if adapter.has_gravity(model):
        result[:, :3] += model.opt.gravity
    return result


def _contact_sums(model: Any, whole: Any, *, adapter: MujocoAdapter) -> NDArray[np.float64]:
    """Return the sum of contact forces and torques about each body's centre of mass, (nbody, 6).

    Contacts of flexes act on their vertices' bodies in MuJoCo's own proportions and are left out,
    as in its ``cfrc_ext``.
    """
    total = np.zeros((model.nbody, 6))
    if not whole.ncon:
        return total
    force, torque = world_forces(whole.contact, contact_forces(model, whole, adapter=adapter))
    geom = np.asarray(whole.contact.geom).reshape(-1, 2)
    pos = np.asarray(whole.contact.pos).reshape(-1, 3)
    for side, sign in ((0, -1.0), (1, 1.0)):
        chosen = np.flatnonzero(geom[:, side] >= 0)
        body = model.geom_bodyid[geom[chosen, side]]
        wrench = np.empty((len(chosen), 6))
        wrench[:, :3] = force[chosen]
        arm = pos[chosen] - whole.xipos[body]
        wrench[:, 3:] = torque[chosen] + cross(arm, force[chosen])
        np.add.at(total, body, sign * wrench)
    return total


def _sleep_and_islands(model: Any, whole: Any) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    awake = np.ones(model.nbody, dtype=np.int32)
    if hasattr(whole, "body_awake"):
        awake[np.asarray(whole.body_awake) == _ASLEEP] = 0
    island = np.full(model.nbody, -1, dtype=np.int32)
    if hasattr(whole, "tree_island") and whole.nisland:
        tree = np.asarray(model.body_treeid)
        moving = tree >= 0
        island[moving] = whole.tree_island[tree[moving]]
        island[awake == 0] = -1  # islands are of what moves; MuJoCo leaves the old ones here
    return awake, island
