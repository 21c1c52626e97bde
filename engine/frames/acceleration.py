"""Why each dof accelerates: the joint-space inertia's inverse applied to every source of force.

M qacc = passive - bias + actuator + applied + J'xfrc + constraint. Each term is split into what
caused it; what the split does not explain is a row of its own, so that the rows sum to qacc.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.topics import AccelerationSource
from stroboscope.engine.frames.tendon_forces import tendon_passive_forces
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["acceleration_arrays"]

_KINDS = {source: place for place, source in enumerate(AccelerationSource)}
_MAX_ROWS_PER_KIND = 128
"""What there is more of is one row, the weakest ones together: a frame must stay small."""
_UNEXPLAINED = 1e-9

_Matrix = NDArray[np.float64]


class _Rows:
    """Generalised forces by source, (n, nv)."""

    def __init__(self, nv: int) -> None:
        self._nv = nv
        self._kinds: list[NDArray[np.int32]] = []
        self._indices: list[NDArray[np.int32]] = []
        self._forces: list[_Matrix] = []

    def add(self, source: AccelerationSource, index: Any, force: _Matrix) -> None:
        """Add rows of one kind, (n, nv), those without any force left out."""
        indices = np.atleast_1d(np.asarray(index, dtype=np.int32))
        rows = force.reshape(-1, self._nv)
        acting = rows.any(axis=1)
        indices, rows = indices[acting], rows[acting]
        if len(rows) > _MAX_ROWS_PER_KIND:
            order = np.argsort(-np.abs(rows).sum(axis=1), kind="stable")
            strong, weak = order[: _MAX_ROWS_PER_KIND - 1], order[_MAX_ROWS_PER_KIND - 1 :]
            indices = np.append(indices[strong], np.int32(-1))
            rows = np.concatenate((rows[strong], rows[weak].sum(axis=0)[None]))
        self._kinds.append(np.full(len(rows), _KINDS[source], dtype=np.int32))
        self._indices.append(indices)
        self._forces.append(rows)

    def add_per_joint(self, source: AccelerationSource, model: Any, force: _Matrix) -> None:
        """Add a row for each joint that ``force``, (nv,), acts on."""
        joint_of = np.asarray(model.dof_jntid)
        joints = np.unique(joint_of[force != 0.0])
        self.add(source, joints, np.where(joint_of == joints[:, None], force, 0.0))

    def collected(self) -> tuple[NDArray[np.int32], NDArray[np.int32], _Matrix]:
        """Return kinds, indices and forces of all rows."""
        return (
            np.concatenate(self._kinds),
            np.concatenate(self._indices),
            np.concatenate(self._forces),
        )


def acceleration_arrays(model: Any, whole: Any, *, adapter: MujocoAdapter) -> Arrays:
    """Return the arrays of the topic ACCELERATION; ``whole``: scratch data of that instant."""
    rows = _Rows(model.nv)
    _add_bias(rows, model, whole, adapter=adapter)
    compensation = _add_passive(rows, model, whole)
    _add_actuators(rows, model, whole, compensation=compensation, adapter=adapter)
    rows.add_per_joint(AccelerationSource.APPLIED, model, np.asarray(whole.qfrc_applied))
    _add_body_forces(rows, model, whole, adapter=adapter)
    _add_constraints(rows, model, whole, adapter=adapter)
    kind, index, force = rows.collected()
    if adapter.sleeps(model):
        # What sleeps keeps the forces of when it fell asleep; they move nothing.
        awake = np.asarray(whole.tree_awake)[np.asarray(model.dof_treeid)] != 0
        force *= awake
        acting = force.any(axis=1)
        kind, index, force = kind[acting], index[acting], force[acting]
    solved = _solve(model, whole, force, adapter=adapter)
    total = np.array(whole.qacc, dtype=np.float64)
    rest = total - solved.sum(axis=0)
    scale = max(1e-300, float(np.abs(solved).max(initial=0.0)), float(np.abs(total).max(initial=0)))
    if np.abs(rest).max(initial=0.0) > _UNEXPLAINED * scale:
        unexplained = np.zeros(model.nv)
        adapter.module.mj_mulM(model, whole, unexplained, rest)
        kind = np.append(kind, np.int32(_KINDS[AccelerationSource.REST]))
        index = np.append(index, np.int32(-1))
        solved = np.concatenate((solved, rest[None]))
        force = np.concatenate((force, unexplained[None]))
    return {"kind": kind, "index": index, "qacc": solved, "qfrc": force, "total": total}


def _add_bias(rows: _Rows, model: Any, whole: Any, *, adapter: MujocoAdapter) -> None:
    """Split the bias force: what is left of it without any velocity is gravity."""
    gravity = np.zeros(model.nv)
    if adapter.has_gravity(model) and model.opt.gravity.any():
        qvel, cvel = np.array(whole.qvel), np.array(whole.cvel)
        whole.qvel[:] = 0.0
        whole.cvel[:] = 0.0
        adapter.module.mj_rne(model, whole, 0, gravity)
        whole.qvel[:], whole.cvel[:] = qvel, cvel
    rows.add(AccelerationSource.GRAVITY, -1, -gravity)
    coriolis = gravity - whole.qfrc_bias
    # Both are sums over the same bodies: what is left of equal ones is rounding.
    coriolis[np.abs(coriolis) < 1e-14 * np.abs(gravity)] = 0.0
    rows.add(AccelerationSource.CORIOLIS, -1, coriolis)


def _add_passive(rows: _Rows, model: Any, whole: Any) -> _Matrix:
    """Add springs, dampers and what else is passive; return gravity compensation by actuators."""
    spring, damper = np.array(whole.qfrc_spring), np.array(whole.qfrc_damper)
    gravcomp, fluid = np.array(whole.qfrc_gravcomp), np.array(whole.qfrc_fluid)
    adhesion = np.array(getattr(whole, "qfrc_adhesion", np.zeros(model.nv)))
    by_actuators = np.where(model.jnt_actgravcomp[model.dof_jntid] != 0, gravcomp, 0.0)
    other = whole.qfrc_passive - spring - damper - fluid - adhesion - (gravcomp - by_actuators)
    size = np.abs(whole.qfrc_passive).max(initial=0.0) + np.abs(spring).max(initial=0.0)
    other[np.abs(other) < 1e-12 * size] = 0.0
    if model.ntendon:
        springs, dampers = tendon_passive_forces(model, whole)
        rows.add(AccelerationSource.TENDON, np.arange(model.ntendon), springs + dampers)
        spring, damper = spring - springs.sum(axis=0), damper - dampers.sum(axis=0)
    rows.add_per_joint(AccelerationSource.SPRING, model, spring)
    rows.add_per_joint(AccelerationSource.DAMPER, model, damper)
    rows.add(AccelerationSource.GRAVCOMP, -1, gravcomp - by_actuators)
    rows.add(AccelerationSource.FLUID, -1, fluid)
    # Adhesion pulls at contacts; MuJoCo tells their sum alone.
    rows.add(AccelerationSource.CONTACT, -1, adhesion)
    rows.add(AccelerationSource.CALLBACK, -1, other)
    return by_actuators


def _add_actuators(
    rows: _Rows, model: Any, whole: Any, *, compensation: _Matrix, adapter: MujocoAdapter
) -> None:
    """Add a row per actuator; a joint's limit of actuator forces shortens all of them alike."""
    outputs = len(whole.actuator_force)
    force = np.zeros((outputs, model.nv))
    if outputs:
        adapter.module.mju_sparse2dense(
            force,
            whole.actuator_moment.ravel(),
            whole.moment_rownnz,
            whole.moment_rowadr,
            whole.moment_colind,
        )
        force *= np.asarray(whole.actuator_force)[:, None]
    if np.asarray(model.jnt_actfrclimited).any():
        wanted = force.sum(axis=0) + compensation
        used = np.divide(
            whole.qfrc_actuator, wanted, out=np.ones(model.nv), where=np.abs(wanted) > 0.0
        )
        force, compensation = force * used, compensation * used
    actuators = adapter.actuator_count(model)
    if outputs != actuators:
        force = np.add.reduceat(force, np.asarray(model.actuator_outadr), axis=0)
    rows.add(AccelerationSource.ACTUATOR, np.arange(actuators), force)
    rows.add(AccelerationSource.GRAVCOMP, -1, compensation)


def _add_body_forces(rows: _Rows, model: Any, whole: Any, *, adapter: MujocoAdapter) -> None:
    bodies = np.flatnonzero(whole.xfrc_applied.any(axis=1))
    force = np.zeros((len(bodies), model.nv))
    for row, body in zip(force, bodies, strict=True):
        wrench, point = whole.xfrc_applied[body], whole.xipos[body]
        adapter.module.mj_applyFT(model, whole, wrench[:3], wrench[3:], point, int(body), row)
    rows.add(AccelerationSource.BODY_FORCE, bodies, force)


def _add_constraints(rows: _Rows, model: Any, whole: Any, *, adapter: MujocoAdapter) -> None:
    """Add a row per contact, limit, equality, … from the constraints' own Jacobian."""
    count = int(whole.nefc)
    if not count:
        return
    module = adapter.module
    if module.mj_isSparse(model):
        jacobian = np.zeros((count, model.nv))
        module.mju_sparse2dense(
            jacobian, whole.efc_J, whole.efc_J_rownnz, whole.efc_J_rowadr, whole.efc_J_colind
        )
    else:
        jacobian = np.array(whole.efc_J).reshape(count, model.nv)
    jacobian *= np.asarray(whole.efc_force)[:, None]
    types, ids = np.asarray(whole.efc_type), np.asarray(whole.efc_id)
    starts = np.flatnonzero(np.append(True, (np.diff(types) != 0) | (np.diff(ids) != 0)))
    force = np.add.reduceat(jacobian, starts, axis=0)
    types, ids = types[starts], ids[starts]
    kinds = module.mjtConstraint
    table: Sequence[tuple[AccelerationSource, Sequence[Any]]] = (
        (AccelerationSource.EQUALITY, (kinds.mjCNSTR_EQUALITY,)),
        (AccelerationSource.FRICTION, (kinds.mjCNSTR_FRICTION_DOF,)),
        (AccelerationSource.LIMIT, (kinds.mjCNSTR_LIMIT_JOINT,)),
        (AccelerationSource.TENDON, (kinds.mjCNSTR_FRICTION_TENDON, kinds.mjCNSTR_LIMIT_TENDON)),
        (
            AccelerationSource.CONTACT,
            (
                kinds.mjCNSTR_CONTACT_FRICTIONLESS,
                kinds.mjCNSTR_CONTACT_PYRAMIDAL,
                kinds.mjCNSTR_CONTACT_ELLIPTIC,
            ),
        ),
    )
    for source, members in table:
        chosen = np.isin(types, [int(member) for member in members])
        index = ids[chosen]
        if source is AccelerationSource.FRICTION:
            index = np.asarray(model.dof_jntid)[index]
        rows.add(source, index, force[chosen])


def _solve(model: Any, whole: Any, force: _Matrix, *, adapter: MujocoAdapter) -> _Matrix:
    """Return the accelerations that generalised forces (n, nv) cause, (n, nv)."""
    solved = np.zeros_like(force)
    if not len(force):
        return solved
    metric = adapter.discrete_metric(model, whole)
    if metric is not None:
        return np.ascontiguousarray(np.linalg.solve(metric, force.T).T)
    adapter.module.mj_solveM(model, whole, solved, np.ascontiguousarray(force))
    return solved
