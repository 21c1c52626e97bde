"""Actuators that do nothing, too much, or wind a joint up."""

import numpy as np

from stroboscope.debugger_protocol.messages import Finding, LogLevel
from stroboscope.engine.lint.servo_stability import (
    servos,
    share_of_limit,
    takes_damping_implicitly,
)
from stroboscope.engine.lint.subject import Subject

__all__ = ["idle_actuators", "unlimited_servos", "violent_actuators"]

_VIOLENT = 1e4


def idle_actuators(subject: Subject) -> list[Finding]:
    """Find actuators that can't have any effect."""
    model = subject.model
    found = []
    for index in range(subject.adapter.actuator_count(model)):
        reason = _why_idle(subject, index)
        if reason:
            found.append(
                Finding(
                    rule="idle-actuator",
                    level=LogLevel.WARNING,
                    text=f"{subject.names.actuator(index)} has no effect: {reason}",
                    advice="Correct it, or leave the actuator out.",
                    elements=(subject.ref("actuator", index),),
                )
            )
    return found


def _why_idle(subject: Subject, index: int) -> str:
    model, module = subject.model, subject.module
    controls, outputs = subject.adapter.actuator_slices(model, index)
    limited, ranges = (each[controls] for each in subject.adapter.control_ranges(model))
    body = int(getattr(module.mjtTrn, "mjTRN_BODY", -1))
    # Adhesion takes no gear.
    if not model.actuator_gear[outputs].any() and int(model.actuator_trntype[index]) != body:
        return "its gear is zero"
    if limited.size and limited.all() and not ranges.any():
        return "its ctrlrange is 0 to 0"
    if model.actuator_forcelimited[index] and not model.actuator_forcerange[index].any():
        return "its forcerange is 0 to 0"
    fixed = int(model.actuator_gaintype[index]) == int(module.mjtGain.mjGAIN_FIXED)
    unbiased = int(model.actuator_biastype[index]) == int(module.mjtBias.mjBIAS_NONE)
    if fixed and unbiased and not model.actuator_gainprm[index, 0]:
        return "its gain is zero"
    return ""


def _has_control_range(subject: Subject, index: int) -> bool:
    controls, _ = subject.adapter.actuator_slices(subject.model, index)
    limited, _ = subject.adapter.control_ranges(subject.model)
    return bool(limited[controls].any())


def violent_actuators(subject: Subject) -> list[Finding]:
    """Find servos without any limit that one unit of control makes explode."""
    found = []
    model = subject.model
    for servo in servos(subject):
        index = servo.actuator
        if _has_control_range(subject, index) or model.actuator_forcelimited[index]:
            continue
        gain = abs(float(model.actuator_gainprm[index, 0]))
        # Where kv is taken implicitly it resists already within the step.
        resisting = servo.kv * subject.timestep if takes_damping_implicitly(subject) else 0.0
        jump = gain * subject.timestep / (servo.inertia + resisting)
        if jump < _VIOLENT or share_of_limit(subject, servo) >= 1.0:  # the latter is told anyway
            continue
        found.append(
            Finding(
                rule="violent-actuator",
                level=LogLevel.WARNING,
                text=(
                    f"{subject.names.actuator(index)} has neither ctrlrange nor forcerange, and "
                    f"one unit of control changes the speed by {jump:.3g} per second within one "
                    f"timestep (gain {gain:.3g}, effective inertia {servo.inertia:.3g})"
                ),
                advice="Give it a forcerange that the real motor has, and a ctrlrange.",
                elements=(subject.ref("actuator", index),),
            )
        )
    return found


def unlimited_servos(subject: Subject) -> list[Finding]:
    """Find position servos on joints without limits that take any target."""
    model, module = subject.model, subject.module
    transmission = np.asarray(model.actuator_trntype)
    found = []
    for servo in servos(subject):
        index = servo.actuator
        if servo.kp <= 0.0 or int(transmission[index]) != int(module.mjtTrn.mjTRN_JOINT):
            continue
        joint = int(model.actuator_trnid[index, 0])
        hinge = int(model.jnt_type[joint]) == int(module.mjtJoint.mjJNT_HINGE)
        if not hinge or model.jnt_limited[joint] or _has_control_range(subject, index):
            continue
        found.append(
            Finding(
                rule="unlimited-servo",
                level=LogLevel.INFO,
                text=(
                    f"{subject.names.actuator(index)} holds the position of "
                    f"{subject.names.joint(joint)}, which has no limits, and takes any target: "
                    "a target that is a turn away makes it turn all the way"
                ),
                advice="Give the joint a range, or the actuator a ctrlrange (inheritrange).",
                elements=(subject.ref("actuator", index), subject.ref("joint", joint)),
            )
        )
    return found
