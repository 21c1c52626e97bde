"""Why each dof accelerates: the joint-space inertia's inverse applied to every source of force.

M qacc = passive - bias + actuator + applied + J'xfrc + constraint. Each term is split into what
caused it; what the split does not explain is a row of its own, so that the rows sum to qacc: what
the solver left when it stopped, and with ``integrator="discrete"`` what the step foresees of
springs and dampers.
"""

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.arrays import Arrays
from stroboscope.debugger_protocol.topics import AccelerationSource
from stroboscope.engine.frames.tendon_forces import tendon_passive_forces
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["acceleration_arrays"]

_KINDS = {source: place for place, source in enumerate(AccelerationSource)}
_MAX_ROWS = 256
_MAX_CELLS = 1 << 18
"""Of a matrix with a row per source and a column per dof: large models have fewer rows."""
_MAX_METRIC = 1000
"""The most dofs for which the dense metric of ``integrator="discrete"`` is solved."""
_UNEXPLAINED, _ROUNDING = 1e-9, 1e-12
"""Relative to qacc, and to the largest of what adds up to it: below, the rows are complete."""

_Matrix = NDArray[np.float64]
_Ints = NDArray[np.int32]


class _Rows:
    """Generalised forces by source, (n, nv)."""

    def __init__(self, nv: int) -> None:
        self._nv = nv
        self.most = min(_MAX_ROWS, max(len(_KINDS), _MAX_CELLS // max(nv, 1)))
        """How many rows are kept apart."""
        self._kinds: list[Any] = []
        self._indices: list[Any] = []
        self._forces: list[_Matrix] = []

    def add(self, source: AccelerationSource, force: _Matrix) -> None:
        """Add one row, (nv,), of the whole model."""
        if force.any():
            self.add_all(np.array([_KINDS[source]]), np.array([-1]), force[None])

    def add_all(self, kind: Any, index: Any, force: _Matrix) -> None:
        """Add rows, (n, nv), with the kind and index of each, (n,)."""
        self._kinds.append(kind)
        self._indices.append(index)
        self._forces.append(force)

    def add_per_joint(self, source: AccelerationSource, model: Any, force: _Matrix) -> None:
        """Add a row for each joint that ``force``, (nv,), acts on."""
        acting = np.flatnonzero(force)
        if acting.size:
            joint_of = np.asarray(model.dof_jntid)
            strength = np.bincount(joint_of[acting], np.abs(force[acting]), minlength=model.njnt)
            joints, weak = _strongest(strength, self.most)
            rows = np.where(joint_of == joints[:, None], force, 0.0)
            self.add_all(np.full(len(joints), _KINDS[source]), joints, rows)
            self.add(source, np.where(weak[joint_of], force, 0.0))

    def collected(self, awake: NDArray[np.bool_] | None) -> tuple[_Ints, _Ints, _Matrix]:
        """Return kind, index and force of all rows that act on dofs that are ``awake``, (nv,)."""
        if not self._forces:
            none = np.zeros(0, dtype=np.int32)
            return none, none, np.zeros((0, self._nv))
        kind = np.concatenate(self._kinds).astype(np.int32)
        index = np.concatenate(self._indices).astype(np.int32)
        force = np.concatenate(self._forces)
        if awake is not None:
            # What sleeps keeps the forces of when it fell asleep; they move nothing.
            force *= awake
        acting = force.any(axis=1)
        kind, index, force = kind[acting], index[acting], force[acting]
        if len(kind) > self.most:
            return _merged(kind, index, force, most=self.most)
        return kind, index, force


def _strongest(strength: NDArray[Any], most: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the ``most`` strongest of all that are not 0, in order, and which others there are."""
    there = strength != 0.0  # what is NaN is evidence
    strong = np.sort(np.argsort(-strength, kind="stable")[: min(most, np.count_nonzero(there))])
    weak = there.copy()
    weak[strong] = False
    return strong, weak


def _merged(
    kind: _Ints, index: _Ints, force: _Matrix, *, most: int
) -> tuple[_Ints, _Ints, _Matrix]:
    """Put the weakest rows of a kind together in one of index -1: a frame must stay small."""
    keep = np.argsort(-np.abs(force).sum(axis=1), kind="stable")
    is_weak = np.ones(len(kind), dtype=bool)
    is_weak[keep[:most]] = False
    is_weak |= (index < 0) & np.isin(kind, kind[is_weak])  # one such row of a kind is enough
    strong, weak = np.flatnonzero(~is_weak), np.flatnonzero(is_weak)
    kinds = np.unique(kind[weak])
    sums = np.stack([force[weak[kind[weak] == k]].sum(axis=0) for k in kinds])
    return (
        np.append(kind[strong], kinds),
        np.append(index[strong], np.full(len(kinds), -1, dtype=np.int32)),
        np.concatenate((force[strong], sums)),
    )


def acceleration_arrays(model: Any, whole: Any, *, adapter: MujocoAdapter) -> Arrays | None:
    """Return the arrays of the topic ACCELERATION; ``whole``: scratch data of that instant.

    None where that would take the owner thread too long.
    """
    if model.nv > _MAX_METRIC and adapter.has_discrete_metric(whole):
        return None
    rows = _Rows(model.nv)
    _add_bias(rows, model, whole, adapter=adapter)
    compensation = _add_passive(rows, model, whole, adapter=adapter)
    _add_actuators(rows, model, whole, compensation=compensation, adapter=adapter)
    rows.add_per_joint(AccelerationSource.APPLIED, model, np.asarray(whole.qfrc_applied))
    _add_body_forces(rows, model, whole, adapter=adapter)
    _add_constraints(rows, model, whole, adapter=adapter)
    awake = None
    if adapter.sleeps(model):
        awake = np.asarray(whole.tree_awake)[np.asarray(model.dof_treeid)] != 0
    kind, index, force = rows.collected(awake)
    metric = adapter.discrete_metric(model, whole)
    solved = _solve(model, whole, force, metric=metric, adapter=adapter)
    total = np.array(whole.qacc, dtype=np.float64)
    if awake is not None:
        total[~awake] = 0.0  # the engine leaves there what it had before they fell asleep
    rest = total - solved.sum(axis=0)
    rounding = _ROUNDING * np.abs(solved).max(initial=0.0)
    if np.abs(rest).max(initial=0.0) > max(rounding, _UNEXPLAINED * np.abs(total).max(initial=0.0)):
        unexplained = np.zeros(model.nv) if metric is None else metric @ rest
        if metric is None:
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
    rows.add(AccelerationSource.GRAVITY, -gravity)
    coriolis = gravity - whole.qfrc_bias
    # Both are sums over the same bodies: what is left of equal ones is rounding.
    coriolis[np.abs(coriolis) < 1e-14 * np.abs(gravity)] = 0.0
    rows.add(AccelerationSource.CORIOLIS, coriolis)


def _add_passive(rows: _Rows, model: Any, whole: Any, *, adapter: MujocoAdapter) -> _Matrix:
    """Add springs, dampers and what else is passive; return gravity compensation by actuators."""
    spring, damper = np.array(whole.qfrc_spring), np.array(whole.qfrc_damper)
    gravcomp, fluid = np.array(whole.qfrc_gravcomp), np.array(whole.qfrc_fluid)
    adhesion = np.array(getattr(whole, "qfrc_adhesion", np.zeros(model.nv)))
    by_actuators = np.where(model.jnt_actgravcomp[model.dof_jntid] != 0, gravcomp, 0.0)
    other = whole.qfrc_passive - spring - damper - fluid - adhesion - (gravcomp - by_actuators)
    size = np.abs(whole.qfrc_passive).max(initial=0.0) + np.abs(spring).max(initial=0.0)
    other[np.abs(other) < 1e-12 * size] = 0.0
    if model.ntendon:
        springs, dampers = tendon_passive_forces(model, whole, adapter=adapter)
        kind = np.full(model.ntendon, _KINDS[AccelerationSource.TENDON])
        rows.add_all(kind, np.arange(model.ntendon), springs + dampers)
        spring, damper = spring - springs.sum(axis=0), damper - dampers.sum(axis=0)
    rows.add_per_joint(AccelerationSource.SPRING, model, spring)
    rows.add_per_joint(AccelerationSource.DAMPER, model, damper)
    rows.add(AccelerationSource.GRAVCOMP, gravcomp - by_actuators)
    rows.add(AccelerationSource.FLUID, fluid)
    # Adhesion pulls at contacts; MuJoCo tells their sum alone.
    rows.add(AccelerationSource.CONTACT, adhesion)
    rows.add(AccelerationSource.CALLBACK, other)
    return by_actuators


def _add_actuators(
    rows: _Rows, model: Any, whole: Any, *, compensation: _Matrix, adapter: MujocoAdapter
) -> None:
    """Add a row per actuator; a joint's limit of actuator forces shortens all of them alike."""
    actuators, outputs = adapter.actuator_count(model), len(whole.actuator_force)
    of_output = np.arange(outputs)
    if outputs != actuators:
        of_output = np.repeat(np.arange(actuators), np.asarray(model.actuator_outnum))
    strength = np.bincount(of_output, np.abs(whole.actuator_force), minlength=actuators)
    chosen, _ = _strongest(strength, rows.most)
    force = _sparse_sums(
        model.nv,
        (whole.actuator_moment, whole.moment_rownnz, whole.moment_rowadr, whole.moment_colind),
        np.asarray(whole.actuator_force),
        group=_places(chosen, count=actuators)[of_output],
        groups=len(chosen) + 1,
    )
    if np.asarray(model.jnt_actfrclimited).any():
        wanted = force.sum(axis=0) + compensation
        used = np.divide(
            whole.qfrc_actuator, wanted, out=np.ones(model.nv), where=np.abs(wanted) > 0.0
        )
        force, compensation = force * used, compensation * used
    kind = np.full(len(chosen) + 1, _KINDS[AccelerationSource.ACTUATOR])
    rows.add_all(kind, np.append(chosen, -1), force)
    rows.add(AccelerationSource.GRAVCOMP, compensation)


def _places(chosen: NDArray[np.intp], *, count: int) -> NDArray[np.intp]:
    """Return for each of ``count`` its place among the chosen ones, (count,); the last: none."""
    places = np.full(count, len(chosen))
    places[chosen] = np.arange(len(chosen))
    return places


def _add_body_forces(rows: _Rows, model: Any, whole: Any, *, adapter: MujocoAdapter) -> None:
    bodies = np.flatnonzero(whole.xfrc_applied.any(axis=1))
    force = np.zeros((len(bodies), model.nv))
    for row, body in zip(force, bodies, strict=True):
        wrench, point = whole.xfrc_applied[body], whole.xipos[body]
        adapter.module.mj_applyFT(model, whole, wrench[:3], wrench[3:], point, int(body), row)
    rows.add_all(np.full(len(bodies), _KINDS[AccelerationSource.BODY_FORCE]), bodies, force)


def _add_constraints(rows: _Rows, model: Any, whole: Any, *, adapter: MujocoAdapter) -> None:
    """Add a row per contact, limit, equality, … from the constraints' own Jacobian."""
    count = int(whole.nefc)
    if not count:
        return
    module = adapter.module
    types, ids = np.array(whole.efc_type), np.array(whole.efc_id)
    begins = np.append(True, (np.diff(types) != 0) | (np.diff(ids) != 0))
    starts = np.flatnonzero(begins)
    types, ids = types[starts], ids[starts]
    kind = _constraint_kinds(module)[types]
    by_dof = types == int(module.mjtConstraint.mjCNSTR_FRICTION_DOF)
    if by_dof.any():
        ids[by_dof] = np.asarray(model.dof_jntid)[ids[by_dof]]
    if not module.mj_isSparse(model):
        jacobian = np.asarray(whole.efc_J).reshape(count, model.nv)
        force = np.add.reduceat(jacobian * whole.efc_force[:, None], starts, axis=0)
        rows.add_all(kind, ids, force)
        return
    group = np.cumsum(begins) - 1
    chosen, weak = _strongest(np.bincount(group, np.abs(whole.efc_force)), rows.most)
    # Of what is weak a row per kind.
    weak_kinds = np.unique(kind[weak])
    place = _places(chosen, count=len(kind))
    place[weak] = len(chosen) + np.searchsorted(weak_kinds, kind[weak])
    groups = len(chosen) + len(weak_kinds)
    place[~weak & (place == len(chosen))] = groups
    force = _sparse_sums(
        model.nv,
        (whole.efc_J, whole.efc_J_rownnz, whole.efc_J_rowadr, whole.efc_J_colind),
        np.asarray(whole.efc_force),
        group=place[group],
        groups=groups + 1,
    )
    index = np.append(ids[chosen], np.full(len(weak_kinds), -1))
    rows.add_all(np.append(kind[chosen], weak_kinds), index, force[:groups])


def _sparse_sums(
    nv: int,
    matrix: tuple[Any, Any, Any, Any],
    weight: NDArray[np.float64],
    *,
    group: NDArray[np.intp],
    groups: int,
) -> _Matrix:
    """Return the weighted rows of a sparse matrix summed over each group, (groups, nv).

    ``matrix``: values, and rownnz, rowadr and colind as MuJoCo keeps them; ``weight`` and
    ``group`` are per row.
    """
    values, counts, begins, columns = (np.asarray(each).ravel() for each in matrix)
    row = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    at = begins[row] + place
    cells = group[row] * nv + columns[at]
    sums = np.bincount(cells, values[at] * weight[row], minlength=groups * nv)
    return sums.astype(np.float64).reshape(groups, nv)


@functools.cache
def _constraint_kinds(module: Any) -> NDArray[np.int64]:
    """Return the kind of row for each of MuJoCo's constraint types."""
    words = {
        "mjCNSTR_EQUALITY": AccelerationSource.EQUALITY,
        "mjCNSTR_FRICTION_DOF": AccelerationSource.FRICTION,
        "mjCNSTR_FRICTION_TENDON": AccelerationSource.TENDON,
        "mjCNSTR_LIMIT_JOINT": AccelerationSource.LIMIT,
        "mjCNSTR_LIMIT_TENDON": AccelerationSource.TENDON,
        "mjCNSTR_CONTACT_FRICTIONLESS": AccelerationSource.CONTACT,
        "mjCNSTR_CONTACT_PYRAMIDAL": AccelerationSource.CONTACT,
        "mjCNSTR_CONTACT_ELLIPTIC": AccelerationSource.CONTACT,
    }
    members = {int(value): name for name, value in module.mjtConstraint.__members__.items()}
    table = [_KINDS[words.get(members.get(i, ""), AccelerationSource.REST)] for i in range(16)]
    return np.array(table)


def _solve(
    model: Any, whole: Any, force: _Matrix, *, metric: _Matrix | None, adapter: MujocoAdapter
) -> _Matrix:
    """Return the accelerations that generalised forces (n, nv) cause, (n, nv)."""
    solved = np.zeros_like(force)
    if not len(force):
        return solved
    if metric is not None:
        return np.ascontiguousarray(np.linalg.solve(metric, force.T).T)
    adapter.module.mj_solveM(model, whole, solved, np.ascontiguousarray(force))
    return solved
