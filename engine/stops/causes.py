"""Looking for what made a physics step go wrong, in the state that it began with.

The accelerations of the step are split into what caused each (see
:mod:`~stroboscope.engine.frames.acceleration`); what pushes the dof in question most is looked at
more closely. All of it is computed on scratch data; nothing of the scene is read or written.
"""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.topics import AccelerationSource
from stroboscope.engine.frames.acceleration import acceleration_arrays
from stroboscope.engine.lint.collisions import penetrations
from stroboscope.engine.lint.inertia import tiny_inertia
from stroboscope.engine.lint.subject import Subject
from stroboscope.engine.stops.cause import Cause, field_edit, option_edit
from stroboscope.engine.stops.contact_cause import contact_cause
from stroboscope.engine.stops.servo_cause import servo_cause

__all__ = ["Push", "find_cause", "strongest_push"]

_HUGE_CONTROL = 1e6
_OVER_RANGE = 100.0
_YOUNG_STEPS = 100
"""An overlap is one of the start only so many physics steps after it."""
_SOURCES = tuple(AccelerationSource)


@dataclasses.dataclass(frozen=True, slots=True)
class Push:
    """What accelerates a dof most: of the source ``kind`` the element ``index``, -1 for several.

    ``acceleration`` of the dof by it [rad/s², m/s²]; ``share`` of all that pushes the dof, 0 to 1.
    """

    kind: AccelerationSource
    index: int
    acceleration: float
    share: float


def strongest_push(subject: Subject, dof: int) -> Push | None:
    """Return what accelerates a dof most in evaluated scratch data; None when nothing does."""
    arrays = acceleration_arrays(subject.model, subject.data, adapter=subject.adapter)
    if arrays is None or not len(arrays["kind"]):
        return None
    by_source = np.asarray(arrays["qacc"], dtype=np.float64)[:, dof]
    size = np.where(np.isfinite(by_source), np.abs(by_source), np.inf)
    strongest = int(np.argmax(size))
    total = float(size.sum())
    if not total:
        return None
    share = 1.0 if not np.isfinite(total) else float(size[strongest]) / total
    return Push(
        _SOURCES[int(arrays["kind"][strongest])],
        int(arrays["index"][strongest]),
        float(by_source[strongest]),
        share,
    )


def find_cause(subject: Subject, *, dof: int, location: str, steps: int) -> Cause | None:
    """Return what likely makes ``dof`` (-1: none in particular) go wrong; None when nothing shows.

    ``subject``: the model and scratch data evaluated in the state before the step. ``location``
    of the script that asked for the step; ``steps`` physics steps since the episode began.
    """
    if dof < 0:
        return servo_cause(subject, dof=-1)
    push = strongest_push(subject, dof)
    actuator = push.index if push is not None and push.kind is AccelerationSource.ACTUATOR else -1
    huge = _huge_control(subject, actuator, location)
    cause = huge or servo_cause(subject, dof=dof, actuator=actuator)
    cause = cause or _massless(subject, dof)
    if cause is None and push is not None:
        cause = _by_push(subject, dof, push, location=location, steps=steps)
    return cause


def _by_push(subject: Subject, dof: int, push: Push, *, location: str, steps: int) -> Cause | None:
    names = subject.names
    strength = f"{push.acceleration:.3g}\u2009{_unit(subject, dof)}"
    by = f"{push.share:.0%} of what accelerates it ({strength})"
    match push.kind:
        case AccelerationSource.ACTUATOR if push.index >= 0:
            name = names.actuator(push.index)
            return Cause(
                text=f"likely the actuator {name!r}: {by} comes from its force",
                advice="Look at its control and gains; limit it with forcerange or ctrlrange",
                elements=(subject.ref("actuator", push.index),),
                actuator=push.index,
            )
        case AccelerationSource.SPRING | AccelerationSource.DAMPER:
            return _spring(subject, dof, push, by)
        case AccelerationSource.CONTACT:
            return _overlap(subject, steps) or contact_cause(subject, dof=dof, by=by)
        case AccelerationSource.LIMIT if push.index >= 0:
            joint = names.joint(push.index)
            return Cause(
                text=f"likely the limit of joint {joint!r}: {by} comes from it",
                advice="See how far the joint is past its range, and its solreflimit",
                elements=(subject.ref("joint", push.index),),
            )
        case AccelerationSource.EQUALITY if push.index >= 0:
            return Cause(
                text=(
                    f"likely the equality constraint {names.equality(push.index)!r}: {by} "
                    "comes from it"
                ),
                advice="See whether its two sides are far apart, and its solref",
                elements=(subject.ref("equality", push.index),),
            )
        case AccelerationSource.APPLIED | AccelerationSource.BODY_FORCE:
            return _applied(subject, dof, push, by, location)
        case AccelerationSource.TENDON if push.index >= 0:
            return Cause(
                text=f"likely the tendon {names.tendon(push.index)!r}: {by} comes from it",
                advice="See its stiffness, damping and limits",
                elements=(subject.ref("tendon", push.index),),
            )
        case AccelerationSource.CALLBACK:
            return Cause(
                text=f"likely the script's passive callback: {by} comes from it",
                advice="Look at what mjcb_passive writes",
            )
        case AccelerationSource.CORIOLIS:
            return _speeds(subject, dof, by)
    return None


def _unit(subject: Subject, dof: int) -> str:
    return "m/s²" if subject.names.dof_is_linear()[dof] else "rad/s²"


def _huge_control(subject: Subject, actuator: int, location: str) -> Cause | None:
    """Blame a control that no actuator is made for, and who wrote it."""
    if actuator < 0:
        return None
    controls, _ = subject.adapter.actuator_slices(subject.model, actuator)
    values = np.asarray(subject.data.ctrl)[controls]
    if not values.size:
        return None
    value = float(values[np.argmax(np.abs(values))])
    limited, ranges = (each[controls] for each in subject.adapter.control_ranges(subject.model))
    if limited.all():
        return None  # MuJoCo clamps it
    largest = float(np.abs(ranges).max(initial=0.0))
    if abs(value) < max(_HUGE_CONTROL, _OVER_RANGE * largest):
        return None
    name = subject.names.actuator(actuator)
    return Cause(
        text=(
            f"likely the control input: actuator {name!r} got {value:.4g}"
            f"{f', written before {location}' if location else ''}"
        ),
        advice="Look at what computes the control; a ctrlrange would have clamped it",
        elements=(subject.ref("actuator", actuator),),
        actuator=actuator,
    )


def _massless(subject: Subject, dof: int) -> Cause | None:
    joint = int(subject.model.dof_jntid[dof])
    for finding in tiny_inertia(subject):
        if finding.elements[0].index == joint:
            armature = field_edit("dof_armature", dof, 0.01)
            return Cause(
                text=f"likely a link without mass: {finding.text}",
                advice=finding.advice.removesuffix("."),
                elements=finding.elements,
                offers=((f"armature 0.01 for {subject.names.joint(joint)!r}", (armature,)),),
            )
    return None


def _spring(subject: Subject, dof: int, push: Push, by: str) -> Cause:
    """Blame a joint's spring or damper, with what one step makes of it."""
    model, dt = subject.model, subject.timestep
    joint = int(model.dof_jntid[dof])
    name = subject.names.joint(joint)
    inertia = _felt_inertia(subject, dof)
    what = "spring" if push.kind is AccelerationSource.SPRING else "damper"
    stiffness = float(np.ravel(model.jnt_stiffness[joint])[0])
    damping = float(np.ravel(model.dof_damping[dof])[0])
    ratios = f"stiffness·dt²/I = {stiffness * dt * dt / inertia:.4g}"
    if damping:
        ratios += f", damping·dt/I = {damping * dt / inertia:.4g}"
    unstable = stiffness * dt * dt / inertia > 4.0
    verdict = ", too stiff for the timestep (stable below about 4)" if unstable else ""
    offers = [("half the timestep", (option_edit("timestep", 0.5 * dt),))]
    if stiffness:
        softer = 0.4 * inertia / (dt * dt) if unstable else 0.1 * stiffness
        at = joint * np.asarray(model.jnt_stiffness)[0].size
        edit = field_edit("jnt_stiffness", at, softer)
        offers.insert(0, (f"stiffness {softer:.3g} for {name!r}", (edit,)))
    return Cause(
        text=(
            f"likely the {what} of joint {name!r}{verdict}: {ratios} (dt {dt:.4g}\u2009s, "
            f"I {inertia:.3g}); {by} comes from it"
        ),
        advice="Try a smaller timestep or a softer spring; both can be simulated again from here",
        elements=(subject.ref("joint", joint),),
        offers=tuple(offers),
    )


def _felt_inertia(subject: Subject, dof: int) -> float:
    """Return what a force on one dof has to move: 1 / (M⁻¹)ᵢᵢ."""
    unit: NDArray[np.float64] = np.zeros((1, subject.model.nv))
    unit[0, dof] = 1.0
    solved = np.zeros_like(unit)
    subject.module.mj_solveM(subject.model, subject.data, solved, unit)
    return 1.0 / max(float(solved[0, dof]), 1e-300)


def _overlap(subject: Subject, steps: int) -> Cause | None:
    """Blame geoms that overlap, where the episode has just begun."""
    if steps > _YOUNG_STEPS:
        return None
    findings = penetrations(subject)
    if not findings:
        return None
    worst = findings[0]
    more = f" (+{len(findings) - 1} more)" if len(findings) > 1 else ""
    return Cause(
        text=f"likely an overlap at the start: {worst.text.rstrip('.')}{more}",
        advice=worst.advice.removesuffix("."),
        elements=worst.elements,
    )


def _applied(subject: Subject, dof: int, push: Push, by: str, location: str) -> Cause:
    data: Any = subject.data
    where = f", written before {location}" if location else ""
    if push.kind is AccelerationSource.BODY_FORCE and push.index >= 0:
        force = float(np.linalg.norm(data.xfrc_applied[push.index][:3]))
        name = subject.names.body(push.index)
        return Cause(
            text=f"likely the force applied to body {name!r} ({force:.4g}\u2009N{where}): {by}",
            advice="Look at what writes xfrc_applied",
            elements=(subject.ref("body", push.index),),
        )
    joint = int(subject.model.dof_jntid[dof])
    value = float(data.qfrc_applied[dof])
    return Cause(
        text=(
            f"likely the force applied to joint {subject.names.joint(joint)!r} "
            f"(qfrc_applied {value:.4g}{where}): {by}"
        ),
        advice="Look at what writes qfrc_applied",
        elements=(subject.ref("joint", joint),),
    )


def _speeds(subject: Subject, dof: int, by: str) -> Cause:
    speeds = np.abs(np.asarray(subject.data.qvel))
    fastest = int(np.argmax(speeds))
    joint = int(subject.model.dof_jntid[fastest])
    return Cause(
        text=(
            f"likely speeds that were huge before: qvel of joint {subject.names.joint(joint)!r} "
            f"was {float(subject.data.qvel[fastest]):.4g}; {by} comes from centrifugal forces"
        ),
        advice="Step back to where the speeds began to grow",
        elements=(subject.ref("joint", joint),),
    )
