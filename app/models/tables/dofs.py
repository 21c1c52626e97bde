"""Where each dof and position of a description stands, as arrays made once per description."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.elements import element_name
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.debugger_protocol.scene_description import JointType, SceneDescription

__all__ = ["DofRow", "dof_rows", "joint_of_dof", "names_of", "reflected_stiffness"]


@dataclasses.dataclass(frozen=True, slots=True)
class DofRow:
    """One number of a joint: ``qpos`` and ``dof`` are its addresses, -1 when it has none.

    A free joint has three positions, three rotation rates and four parts of a quaternion.
    """

    joint: int
    name: str
    qpos: int
    dof: int
    linear: bool


def dof_rows(d: SceneDescription) -> tuple[DofRow, ...]:
    """Return the rows of all joints, in the order of the joints."""
    rows: list[DofRow] = []
    for index, joint in enumerate(d.joints):
        name = element_name(d, Element(ElementKind.JOINT, index))
        nq = joint.type.n_qpos
        if nq == 1:
            linear = joint.type is JointType.SLIDE
            rows.append(DofRow(index, name, joint.qpos, joint.dof, linear))
            continue
        qpos, dof = joint.qpos, joint.dof
        if joint.type is JointType.FREE:
            rows += [DofRow(index, f"{name} {axis}", qpos + n, dof + n, True) for n, axis in _XYZ]
            qpos, dof = qpos + 3, dof + 3
        rows += [DofRow(index, f"{name} ω{axis}", -1, dof + n, False) for n, axis in _XYZ]
        rows += [DofRow(index, f"{name} q{part}", qpos + n, -1, False) for n, part in _WXYZ]
    return tuple(rows)


_XYZ = tuple(enumerate("xyz"))
_WXYZ = tuple(enumerate("wxyz"))


def joint_of_dof(d: SceneDescription, dof: int) -> int:
    """Return the joint that a dof belongs to, -1: none."""
    for index, joint in enumerate(d.joints):
        if joint.dof <= dof < joint.dof + joint.type.n_dof:
            return index
    return -1


def reflected_stiffness(
    d: SceneDescription, actuator: int, *, inertia: NDArray[np.float64] | None, timestep: float
) -> tuple[float | None, float | None]:
    """Return kp·dt²/I and kv·dt/I of a servo that drives one slide or hinge; None: unknown.

    ``inertia`` (nv,) is the diagonal of the joint-space inertia, ``timestep`` [s] the one that
    holds. A gear g makes both gains g² times as large at the joint. Above 1 and 2 an explicit
    integrator is at its limit of stability.
    """
    info = d.actuators[actuator]
    if inertia is None or not 0 <= info.joint < len(d.joints):
        return None, None
    joint = d.joints[info.joint]
    single = joint.type.n_dof == 1
    if not single or joint.dof >= len(inertia) or not inertia[joint.dof] > 0.0:
        return None, None
    gear = info.gear[0] if info.gear else 1.0
    at_joint = gear * gear / float(inertia[joint.dof])
    kp = None if info.kp is None else info.kp * at_joint * timestep * timestep
    kv = None if info.kv is None else info.kv * at_joint * timestep
    return kp, kv


def names_of(d: SceneDescription, kind: ElementKind, count: int) -> Sequence[str]:
    """Return the names of the first ``count`` elements of a kind."""
    return [element_name(d, Element(kind, n)) for n in range(count)]
