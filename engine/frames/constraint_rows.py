"""Constraint rows and how the solver went, as arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["constraint_arrays", "equality_anchors", "solver_arrays"]


def constraint_arrays(model: Any, data: Any, *, adapter: MujocoAdapter) -> Arrays:
    """Return the arrays of the topic CONSTRAINTS, fresh copies."""
    rows = int(data.nefc)
    island = np.full(rows, -1, dtype=np.int32)
    if data.nisland and len(data.efc_island) == rows:
        island[:] = data.efc_island
    return {
        "pos": np.array(data.efc_pos, dtype=np.float64),
        "vel": np.array(data.efc_vel, dtype=np.float64),
        "force": np.array(data.efc_force, dtype=np.float64),
        "type": np.array(data.efc_type, dtype=np.int32),
        "id": np.array(data.efc_id, dtype=np.int32),
        "state": np.array(data.efc_state, dtype=np.int32),
        "margin": np.array(data.efc_margin, dtype=np.float64),
        "aref": np.array(data.efc_aref, dtype=np.float64),
        # Stiffness, damping, impedance and its derivative.
        "impedance": np.array(np.asarray(data.efc_KBIP).reshape(rows, 4)[:, 2]),
        "regularization": np.array(data.efc_R, dtype=np.float64),
        "frictionloss": np.array(data.efc_frictionloss, dtype=np.float64),
        "island": island,
        "eq_anchor": equality_anchors(model, data, adapter=adapter),
        "eq_active": np.array(data.eq_active, dtype=np.int32),
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


def equality_anchors(model: Any, data: Any, *, adapter: MujocoAdapter) -> NDArray[np.float64]:
    """Return the two world points that a connect or weld pulls together, (neq, 2, 3) [m]."""
    module = adapter.module
    points = np.full((model.neq, 2, 3), np.nan)
    if not model.neq:
        return points
    kind = np.asarray(model.eq_type)
    connect = kind == int(module.mjtEq.mjEQ_CONNECT)
    weld = kind == int(module.mjtEq.mjEQ_WELD)
    by_site = np.asarray(model.eq_objtype) == int(module.mjtObj.mjOBJ_SITE)
    for side, objects in enumerate((model.eq_obj1id, model.eq_obj2id)):
        sites = np.flatnonzero((connect | weld) & by_site)
        points[sites, side] = data.site_xpos[objects[sites]]
        # A connect keeps its anchors in the order of its bodies, a weld the other way round.
        for chosen, at in ((connect, 3 * side), (weld, 3 * (1 - side))):
            rows = np.flatnonzero(chosen & ~by_site)
            body = objects[rows]
            local = model.eq_data[rows, at : at + 3]
            turned = np.einsum("nij,nj->ni", data.xmat[body].reshape(-1, 3, 3), local)
            points[rows, side] = data.xpos[body] + turned
    return points
