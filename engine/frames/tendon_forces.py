"""Springs and dampers of tendons, one by one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["tendon_force_totals", "tendon_jacobian", "tendon_passive_forces"]

_Matrix = NDArray[np.float64]


def tendon_jacobian(model: Any, data: Any, *, adapter: MujocoAdapter) -> _Matrix:
    """Return the derivative of each tendon's length by the dofs, (ntendon, nv)."""
    # Where it says what is not zero has moved from the data to the model.
    owner = model if hasattr(model, "ten_J_rowadr") else data
    if owner is data and not adapter.module.mj_isSparse(model):
        return np.array(data.ten_J, dtype=np.float64).reshape(model.ntendon, model.nv)
    jacobian = np.zeros((model.ntendon, model.nv))
    counts, columns = np.asarray(owner.ten_J_rownnz), np.asarray(owner.ten_J_colind).ravel()
    row = np.repeat(np.arange(model.ntendon), counts)
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    at = np.repeat(np.asarray(owner.ten_J_rowadr), counts) + place
    jacobian[row, columns[at]] = np.asarray(data.ten_J).ravel()[at]
    return jacobian


def tendon_force_totals(model: Any, data: Any) -> tuple[_Matrix, _Matrix]:
    """Return the forces of tendons' own springs and dampers along them, (ntendon,) each [N]."""
    length, velocity = np.asarray(data.ten_length), np.asarray(data.ten_velocity)
    lower, upper = np.asarray(model.tendon_lengthspring).T
    stretch = np.where(length > upper, length - upper, np.minimum(length - lower, 0.0))
    spring = -stretch * _coefficient(model, "stiffness", stretch)
    damper = -velocity * _coefficient(model, "damping", np.abs(velocity))
    return spring, damper


def tendon_passive_forces(
    model: Any, data: Any, *, adapter: MujocoAdapter
) -> tuple[_Matrix, _Matrix]:
    """Return the generalised forces of each tendon's spring and damper, (ntendon, nv) each."""
    jacobian = tendon_jacobian(model, data, adapter=adapter)
    spring, damper = tendon_force_totals(model, data)
    springs, dampers = adapter.springs_and_dampers(model)
    return jacobian * (spring * springs)[:, None], jacobian * (damper * dampers)[:, None]


def _coefficient(model: Any, name: str, x: _Matrix) -> _Matrix:
    """Return stiffness or damping at ``x``: linear, and since 4.0 with higher orders."""
    value = np.array(getattr(model, f"tendon_{name}"), dtype=np.float64)
    orders = getattr(model, f"tendon_{name}poly", None)
    if orders is not None:
        for place in range(orders.shape[1]):
            value += orders[:, place] * x ** (place + 1)
    return value
