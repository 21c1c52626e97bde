"""Servos that are too stiff for what they move: the words, and what would make them stable.

The limits are those of :mod:`~stroboscope.engine.lint.servo_stability`, taken in the state in which
the step went wrong.
"""

import copy
import dataclasses
import math

import numpy as np

from stroboscope.engine.lint.servo_stability import (
    Servo,
    servos,
    share_of_limit,
    takes_damping_implicitly,
)
from stroboscope.engine.lint.subject import Subject
from stroboscope.engine.physics_options import option_info
from stroboscope.engine.stops.cause import Cause, Offer, field_edit, option_edit

__all__ = ["servo_cause"]

_SAFE_SHARE = 0.5
"""How far towards instability what is offered may come."""
_MAX_HALVINGS = 120


def servo_cause(subject: Subject, *, dof: int, actuator: int = -1) -> Cause | None:
    """Return the servo that blows up what ``dof`` belongs to, None when none does by itself.

    ``actuator``: the one that pushes the dof most, -1 when none stands out; a servo elsewhere in
    the same tree counts as well, the worst first.
    """
    model = subject.model
    unstable = [
        (share, servo)
        for servo in servos(subject)
        if (share := share_of_limit(subject, servo)) >= 1.0
    ]
    if not unstable:
        return None

    def rank(item: tuple[float, Servo]) -> tuple[bool, bool, float]:
        share, servo = item
        moves = dof >= 0 and bool(servo.moment[dof])
        return servo.actuator == actuator, moves, share

    share, servo = max(unstable, key=rank)
    tree = np.asarray(model.dof_treeid)
    moved = np.flatnonzero(servo.moment)
    if dof >= 0 and not np.isin(tree[dof], tree[moved]):
        return None
    return _cause(subject, servo, share)


def _cause(subject: Subject, servo: Servo, share: float) -> Cause:
    names, dt = subject.names, subject.timestep
    joints = np.unique(np.asarray(subject.model.dof_jntid)[np.flatnonzero(servo.moment)])
    moved = subject.listed("joint", joints)
    name = names.actuator(servo.actuator)
    kv, kp = servo.kv * dt / servo.inertia, servo.kp * dt * dt / servo.inertia
    explicit = not takes_damping_implicitly(subject)
    limit = (
        "stable while kv·dt/I is below about 2 and kp·dt²/I below about 4"
        if explicit
        else "stable while kp·dt²/I is below 4 + 2·kv·dt/I"
    )
    offers = _offers(subject, servo)
    words = ", ".join(label for label, _ in offers)
    return Cause(
        text=(
            f"likely the servo {name!r}, too stiff for what it moves ({moved}): "
            f"kv·dt/I = {kv:.4g}, kp·dt²/I = {kp:.4g} ({limit}; kp {servo.kp:.4g}, "
            f"kv {servo.kv:.4g}, dt {dt:.4g}\u2009s, I {servo.inertia:.3g}), "
            f"{share:.3g} times what this integrator can take"
        ),
        advice=f"Try {words}; each can be simulated again from here" if offers else "",
        elements=(subject.ref("actuator", servo.actuator), *subject.refs("joint", joints[:4])),
        actuator=servo.actuator,
        offers=tuple(offers),
    )


def _offers(subject: Subject, servo: Servo) -> list[Offer]:
    """Return what makes the servo stable by the same calculation; the least invasive first."""
    offers: list[Offer] = []
    half = 0.5 * subject.timestep
    if _share_at(subject, servo, half) < 1.0:
        offers.append(("half the timestep", (option_edit("timestep", half),)))
    implicit = _implicitfast(subject, servo)
    if implicit is not None:
        offers.append(implicit)
    armature = _armature(subject, servo)
    if armature is not None:
        offers.append(armature)
    gains = _gains(subject, servo)
    if gains is not None:
        offers.append(gains)
    if _share_at(subject, servo, half) >= 1.0:
        timestep = _rounded_down(_stable_timestep(subject, servo))
        offers.append((f"a timestep of {timestep:g}\u2009s", (option_edit("timestep", timestep),)))
    return offers


def _share_at(subject: Subject, servo: Servo, timestep: float) -> float:
    other = copy.copy(subject)
    other.timestep = timestep
    return share_of_limit(other, servo)


def _stable_timestep(subject: Subject, servo: Servo) -> float:
    """Return a timestep at which the servo is well away from its limit, by halving [s]."""
    timestep = subject.timestep
    for _ in range(_MAX_HALVINGS):
        timestep *= 0.5
        if _share_at(subject, servo, timestep) <= _SAFE_SHARE:
            break
    return timestep


def _implicitfast(subject: Subject, servo: Servo) -> Offer | None:
    """Offer the integrator that takes damping implicitly, where that is enough."""
    if takes_damping_implicitly(subject):
        return None
    choices = option_info("integrator", adapter=subject.adapter).choices
    dt, inertia = subject.timestep, servo.damped_inertia
    a, b = servo.kp * dt * dt / inertia, servo.kv * dt / inertia
    if "implicitfast" not in choices or a / (4.0 + 2.0 * b) > _SAFE_SHARE:
        return None
    edit = option_edit("integrator", choices.index("implicitfast"))
    return 'integrator="implicitfast"', (edit,)


def _armature(subject: Subject, servo: Servo) -> Offer | None:
    """Offer armature for a servo of one joint: it adds to the inertia along that joint."""
    moved = np.flatnonzero(servo.moment)
    if len(moved) != 1:
        return None
    dof = int(moved[0])
    # More inertia divides both ratios.
    needed = servo.inertia * _needed_factor(subject, servo)
    now = float(subject.model.dof_armature[dof])
    armature = _rounded_up(now + (needed - servo.inertia) * float(servo.moment[dof]) ** 2)
    joint = subject.names.joint(int(subject.model.dof_jntid[dof]))
    label = (
        f"armature {armature:g} for {joint!r} (kv·dt/I = {_kv_ratio(subject, servo, needed):.2g})"
    )
    return label, (field_edit("dof_armature", dof, armature),)


def _gains(subject: Subject, servo: Servo) -> Offer | None:
    """Offer kp and kv divided by the same number."""
    model, index = subject.model, servo.actuator
    divisor = max(10.0, _rounded_up(_needed_factor(subject, servo)))
    bias = np.asarray(model.actuator_biasprm)
    width = bias.shape[1]
    edits = [
        field_edit("actuator_biasprm", index * width + place, float(bias[index, place]) / divisor)
        for place in (1, 2)
        if bias[index, place]
    ]
    gain = float(model.actuator_gainprm[index, 0])
    if gain and gain == -float(bias[index, 1]):  # a position servo: its target stays the same
        at = index * int(np.asarray(model.actuator_gainprm).shape[1])
        edits.insert(0, field_edit("actuator_gainprm", at, gain / divisor))
    return (f"kp and kv of {subject.names.actuator(index)!r} / {divisor:g}", tuple(edits))


def _needed_factor(subject: Subject, servo: Servo) -> float:
    """Return by what both ratios have to be divided for the servo to be well within its limit."""
    for exponent in range(1, _MAX_HALVINGS):
        factor = math.sqrt(2.0) ** exponent
        weaker = dataclasses.replace(servo, kp=servo.kp / factor, kv=servo.kv / factor)
        if share_of_limit(subject, weaker) <= _SAFE_SHARE:
            return factor
    return factor


def _kv_ratio(subject: Subject, servo: Servo, inertia: float) -> float:
    return servo.kv * subject.timestep / inertia


def _rounded_up(value: float) -> float:
    """Return the next number of two digits that is not smaller."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.2g}")


def _rounded_down(value: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / unit + 1e-9) * unit:.2g}")
