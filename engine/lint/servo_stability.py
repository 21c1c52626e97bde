"""Servos too stiff for the inertia that they move and the timestep.

With a = kp·dt²/I and b = kv·dt/I, one step of the semi-implicit Euler method maps (q, v) by a
matrix of trace 2 - a - b and determinant 1 - b: stable for a + 2b < 4. Where the integrator takes
the damping implicitly the trace is 1 + (1 - a)/(1 + b): stable for a < 4 + 2b. RK4 multiplies each
mode z² + bz + a = 0 by 1 + z + z²/2 + z³/6 + z⁴/24.
"""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.messages import Finding, LogLevel
from stroboscope.engine.lint.subject import Subject

__all__ = ["Servo", "servos", "share_of_limit", "takes_damping_implicitly", "unstable_servos"]

_MAX_DOFS = 1000


@dataclasses.dataclass(frozen=True, slots=True)
class Servo:
    """An actuator that pulls back with kp and brakes with kv."""

    actuator: int
    kp: float
    kv: float
    moment: NDArray[np.float64]
    """Its length by the dofs, (nv,)."""
    inertia: float
    """What it has to move, along its length: 1 / (J M⁻¹ Jᵀ)."""
    damped_inertia: float
    """The same with the joints' own damping where the integrator takes that implicitly."""


def servos(subject: Subject) -> list[Servo]:
    """Return the actuators whose force depends on their own position or velocity."""
    model, data, adapter = subject.model, subject.data, subject.adapter
    module = subject.module
    affine = np.asarray(model.actuator_biastype) == int(module.mjtBias.mjBIAS_AFFINE)
    chosen = np.flatnonzero(affine)
    if not chosen.size or model.nv > _MAX_DOFS or subject.is_disabled("mjDSBL_ACTUATION"):
        return []
    moments = np.zeros((len(data.actuator_force), model.nv))
    module.mju_sparse2dense(
        moments,
        data.actuator_moment.ravel(),
        data.moment_rownnz,
        data.moment_rowadr,
        data.moment_colind,
    )
    outputs = [adapter.actuator_slices(model, int(a))[1] for a in chosen]
    rows = np.stack([moments[out.start] for out in outputs])
    inertia = adapter.full_inertia(model, data)
    damped = inertia.copy()
    if _damps_joints_implicitly(subject):
        damped[np.diag_indices(model.nv)] += subject.timestep * np.asarray(model.dof_damping)
    try:
        inverse = (np.linalg.solve(inertia, rows.T).T * rows).sum(axis=1)
        damped_inverse = (np.linalg.solve(damped, rows.T).T * rows).sum(axis=1)
    except np.linalg.LinAlgError:
        return []  # links without mass, which are the worse mistake
    found = []
    for place, actuator in enumerate(chosen.tolist()):
        out, bias = outputs[place], model.actuator_biasprm[actuator]
        kp, kv = -float(bias[1]), -float(bias[2])
        if out.stop - out.start == 1 and (kp > 0.0 or kv > 0.0) and inverse[place] > 0.0:
            moved, felt = 1.0 / inverse[place], 1.0 / damped_inverse[place]
            found.append(Servo(actuator, max(kp, 0.0), max(kv, 0.0), rows[place], moved, felt))
    return found


def unstable_servos(subject: Subject) -> list[Finding]:
    """Find servos that blow up by themselves, and those near it."""
    findings = []
    for servo in servos(subject):
        share = share_of_limit(subject, servo)
        if share > _NEAR:
            findings.append((share, _finding(subject, servo, share)))
    findings.sort(key=lambda item: -item[0])
    return [finding for _, finding in findings]


_NEAR = 0.75


def _is(subject: Subject, *integrators: str) -> bool:
    kinds = subject.module.mjtIntegrator.__members__
    chosen = [int(kinds[name]) for name in integrators if name in kinds]
    return int(subject.model.opt.integrator) in chosen


def _damps_joints_implicitly(subject: Subject) -> bool:
    if _is(subject, "mjINT_EULER"):
        return not subject.is_disabled("mjDSBL_EULERDAMP")
    return not _is(subject, "mjINT_RK4")


def takes_damping_implicitly(subject: Subject) -> bool:
    """Return whether the integrator takes the damping of actuators implicitly."""
    return not _is(subject, "mjINT_EULER", "mjINT_RK4")


def share_of_limit(subject: Subject, servo: Servo) -> float:
    """Return how far a servo has come towards instability: from 1 on it is unstable."""
    dt, inertia = subject.timestep, servo.damped_inertia
    a, b = servo.kp * dt * dt / inertia, servo.kv * dt / inertia
    if _is(subject, "mjINT_EULER"):
        return (a + 2.0 * b) / 4.0
    if _is(subject, "mjINT_RK4"):
        return _share_of_rk4(a, b + _joint_damping(subject, servo) * dt / inertia)
    if _is(subject, "mjINT_IMPLICIT", "mjINT_IMPLICITFAST"):
        return a / (4.0 + 2.0 * b)
    return 0.0  # "discrete" takes both implicitly


def _joint_damping(subject: Subject, servo: Servo) -> float:
    """Return the damping of the joints that a servo moves, along its length."""
    squares = servo.moment**2
    return float((squares * subject.model.dof_damping).sum() / squares.sum() ** 2)


def _share_of_rk4(a: float, b: float) -> float:
    modes = np.roots([1.0, b, a]) if a > 0.0 else np.array([-b])
    size = float(np.abs(modes).max())
    if _grows(modes):
        return max(1.0, size / 2.78)
    return _NEAR + 0.05 if _grows(modes / 0.8) else 0.0


def _grows(z: NDArray[Any]) -> bool:
    factor = 1.0 + z + z**2 / 2.0 + z**3 / 6.0 + z**4 / 24.0
    return bool((np.abs(factor) > 1.0 + 1e-9).any())


def _finding(subject: Subject, servo: Servo, share: float) -> Finding:
    dt, names = subject.timestep, subject.names
    kp_ratio, kv_ratio = servo.kp * dt * dt / servo.inertia, servo.kv * dt / servo.inertia
    joints = np.unique(np.asarray(subject.model.dof_jntid)[servo.moment != 0.0])
    explicit = not takes_damping_implicitly(subject)
    integrator = str(subject.module.mjtIntegrator(int(subject.model.opt.integrator)).name)
    word = integrator.removeprefix("mjINT_").lower()
    limits = (
        "which takes both explicitly, kv·dt/I must stay below about 2 and kp·dt²/I below about 4"
        if explicit
        else "which damps implicitly, only kp·dt²/I is limited: to 4 + 2·kv·dt/I"
    )
    moved = subject.listed("joint", joints)
    verdict = "unstable" if share >= 1.0 else "close to instability"
    advice = [f"use a timestep below {_stable_timestep(subject, servo):.2g}\u2009s"]
    implicit = servo.kp * dt * dt / servo.damped_inertia < 4.0 + 2.0 * kv_ratio
    if explicit and servo.kv > 0.0 and implicit:
        advice.insert(0, 'set integrator="implicitfast", which takes kv implicitly')
    advice.append(f"give {moved} more armature (now I = {servo.inertia:.3g})")
    text = ", ".join(advice) + ", or lower the gains."
    return Finding(
        rule="servo-stability",
        level=LogLevel.ERROR if share >= 1.0 else LogLevel.WARNING,
        text=(
            f"{names.actuator(servo.actuator)} is {verdict} on {moved}: "
            f"kv·dt/I = {kv_ratio:.4g}, kp·dt²/I = {kp_ratio:.4g} "
            f"(kp {servo.kp:.4g}, kv {servo.kv:.4g}, dt {dt:.4g}\u2009s, effective inertia "
            f"{servo.inertia:.3g}); with integrator {word}, {limits}"
        ),
        advice=text[0].upper() + text[1:],
        elements=(subject.ref("actuator", servo.actuator), *subject.refs("joint", joints[:4])),
    )


def _stable_timestep(subject: Subject, servo: Servo) -> float:
    """Return half the timestep at which the servo becomes unstable under explicit Euler."""
    a, b = servo.kp / servo.damped_inertia, 2.0 * servo.kv / servo.damped_inertia
    if takes_damping_implicitly(subject):
        b = 0.0
    if a <= 0.0:
        return 0.5 * 4.0 / b
    return float(0.5 * (-b + np.sqrt(b * b + 16.0 * a)) / (2.0 * a))
