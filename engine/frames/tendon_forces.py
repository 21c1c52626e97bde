"""Springs and dampers of tendons, one by one."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["tendon_force_totals", "tendon_jacobian", "tendon_passive_forces"]

_Matrix = NDArray[np.float64]


def tendon_jacobian(model: Any, data: Any) -> _Matrix:
    """Return the derivative of each tendon's length by the dofs, (ntendon, nv)."""
    jacobian = np.zeros((model.ntendon, model.nv))
    # Where the sparsity stands has moved from the data to the model.
    owner = model if hasattr(model, "ten_J_rowadr") else data
    values = np.asarray(data.ten_J)
    if not hasattr(owner, "ten_J_rowadr") or values.size == jacobian.size == 0:
        return values.reshape(jacobian.shape) if values.size == jacobian.size else jacobian
    values = values.ravel()
    row = np.repeat(np.arange(model.ntendon), owner.ten_J_rownnz)
    first = np.repeat(np.asarray(owner.ten_J_rowadr), owner.ten_J_rownnz)
    within = np.arange(len(row)) - np.repeat(
        np.cumsum(owner.ten_J_rownnz) - owner.ten_J_rownnz, owner.ten_J_rownnz
    )
    at = first + within
    jacobian[row, np.asarray(owner.ten_J_colind).ravel()[at]] = values[at]
    return jacobian


def tendon_force_totals(model: Any, data: Any) -> tuple[_Matrix, _Matrix]:
    """Return the forces of tendons' own springs and dampers along them, (ntendon,) each [N]."""
    length, velocity = np.asarray(data.ten_length), np.asarray(data.ten_velocity)
    lower, upper = np.asarray(model.tendon_lengthspring).T
    stretch = np.where(length > upper, length - upper, np.minimum(length - lower, 0.0))
    spring = -stretch * _coefficient(model, "stiffness", stretch)
    damper = -velocity * _coefficient(model, "damping", np.abs(velocity))
    return spring, damper


def tendon_passive_forces(model: Any, data: Any) -> tuple[_Matrix, _Matrix]:
    """Return the generalised forces of each tendon's spring and damper, (ntendon, nv) each."""
    jacobian = tendon_jacobian(model, data)
    spring, damper = tendon_force_totals(model, data)
    if not np.asarray(data.qfrc_spring).any():
        spring = np.zeros_like(spring)  # switched off, as nothing at all is sprung
    if not np.asarray(data.qfrc_damper).any():
        damper = np.zeros_like(damper)
    return jacobian * spring[:, None], jacobian * damper[:, None]


def _coefficient(model: Any, name: str, x: _Matrix) -> _Matrix:
    """Return stiffness or damping at ``x``: linear, and since 4.0 with higher orders."""
    value = np.array(getattr(model, f"tendon_{name}"), dtype=np.float64)
    orders = getattr(model, f"tendon_{name}poly", None)
    if orders is not None:
        for place in range(orders.shape[1]):
            value += orders[:, place] * x ** (place + 1)
    return value
