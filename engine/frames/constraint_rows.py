"""Constraint rows and how the solver went, as arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays

__all__ = ["constraint_arrays", "solver_arrays"]


def constraint_arrays(source: Any) -> Arrays:
    """Return the arrays of the topic CONSTRAINTS, fresh copies."""
    return {
        "pos": np.array(source.efc_pos, dtype=np.float64),
        "vel": np.array(source.efc_vel, dtype=np.float64),
        "force": np.array(source.efc_force, dtype=np.float64),
        "type": np.array(source.efc_type, dtype=np.int32),
        "id": np.array(source.efc_id, dtype=np.int32),
        "state": np.array(source.efc_state, dtype=np.int32),
    }


def solver_arrays(source: Any) -> Arrays:
    """Return iterations and convergence per island; without islands all is the first one."""
    rows = len(source.solver_niter)
    used = min(rows, max(1, int(source.nisland))) if int(source.nefc) else 0
    iterations = np.array(source.solver_niter[:used], dtype=np.int32)
    per_island = len(source.solver.improvement) // rows
    kept = min(per_island, int(iterations.max(initial=0)))

    def first(values: Any) -> NDArray[np.float64]:
        table = np.asarray(values, dtype=np.float64).reshape(rows, per_island)
        return table[:used, :kept].copy()

    return {
        "niter": iterations,
        "improvement": first(source.solver.improvement),
        "gradient": first(source.solver.gradient),
    }
