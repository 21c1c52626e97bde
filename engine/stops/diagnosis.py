"""From a physics step in trouble to a stop in words: what, where, why, and what to try.

Asked once per stop, on the owner thread, while the live data still stands after the step: all that
is looked at is the row before it, on scratch data.
"""

import logging
import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from stroboscope.debugger_protocol.host.script_end import describe_error, error_location
from stroboscope.debugger_protocol.messages import ElementRef
from stroboscope.debugger_protocol.time_messages import StopInfo, StopReason
from stroboscope.engine.lint.subject import Subject
from stroboscope.engine.stops.cause import Cause, Offer, option_edit
from stroboscope.engine.stops.causes import find_cause
from stroboscope.engine.stops.memory import memory_cause
from stroboscope.engine.stops.places import script_location
from stroboscope.engine.stops.trouble import Trouble, owner_of, plain_diagnosis

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["diagnose"]

_log = logging.getLogger(__name__)

_PHYSICAL = (
    StopReason.EXPLODING,
    StopReason.NON_FINITE,
    StopReason.AUTORESET,
    StopReason.WARNING,
)


def diagnose(scene: "Scene", trouble: Trouble) -> StopInfo:
    """Return what happened and what likely caused it; never raises."""
    stop = plain_diagnosis(scene, trouble)
    try:
        return _with_cause(scene, trouble, stop)
    except Exception:  # noqa: BLE001 - the stop itself must not be lost over its explanation
        _log.exception("scene %r: looking for the cause of a stop failed", scene.name)
        return stop


def _with_cause(scene: "Scene", trouble: Trouble, stop: StopInfo) -> StopInfo:
    cause = _cause(scene, trouble, stop)
    message = stop.message
    if trouble.reason is StopReason.AUTORESET and scene.stops.resets:
        times = scene.stops.resets
        message += (
            f"; it has done so {times} time{'s' * (times > 1)} before, although its own counter "
            "never passes 1: this scene is resetting, not running"
        )
    elif trouble.error is not None:
        where = error_location(trouble.error)
        message = f"the physics step raised {describe_error(trouble.error)}"
        message += f" ({where})" if where else ""
    elements = _elements(scene, trouble)
    if cause is None:
        return msgspec.structs.replace(stop, message=message, elements=elements)
    known = {(each.kind, each.index) for each in elements}
    more = tuple(each for each in cause.elements if (each.kind, each.index) not in known)
    actuator = stop.actuator
    if cause.actuator >= 0 and not actuator:
        actuator = next((e.name for e in cause.elements if e.kind == "actuator"), "")
    return msgspec.structs.replace(
        stop,
        message=message,
        culprit=cause.text,
        advice=cause.advice,
        elements=(*elements, *more),
        actuator=actuator,
        what_if=cause.offers,
    )


def _elements(scene: "Scene", trouble: Trouble) -> tuple[ElementRef, ...]:
    world = scene.world
    if trouble.dof < 0:
        return _owner(scene, trouble)
    subject = Subject(world.model, None, has_contacts=False, adapter=world.adapter)
    return (
        subject.ref("joint", int(world.model.dof_jntid[trouble.dof])),
        subject.ref("body", int(world.model.dof_bodyid[trouble.dof])),
    )


def _cause(scene: "Scene", trouble: Trouble, stop: StopInfo) -> Cause | None:
    reason, world = trouble.reason, scene.world
    if reason is StopReason.BAD_INPUT:
        return _input(scene, trouble, stop)
    if reason is StopReason.ARENA or (
        reason is StopReason.FATAL and "memory" in str(trouble.error).lower()
    ):
        has_raised = reason is StopReason.FATAL
        return memory_cause(world.model, trouble.row, adapter=world.adapter, has_raised=has_raised)
    if trouble.error is not None:
        return _raised(trouble.error)
    if reason not in _PHYSICAL:
        return None
    if not np.isfinite(trouble.row).all():
        return _outside(scene, trouble, "the step before left only finite numbers")
    if _was_too_large_before(scene, trouble):
        left = f"it is {trouble.value:.4g}, which the step before can't have left"
        return _outside(scene, trouble, left)
    wrong = world.codec.fields.first_nan(world.model)
    if wrong:
        return _of_model(wrong)
    scratch = world.frames.recompute(trouble.row)
    if scratch is None:
        return None
    subject = Subject(world.model, scratch, has_contacts=True, adapter=world.adapter)
    cause = find_cause(
        subject,
        dof=trouble.dof,
        location=script_location(),
        steps=scene.counters.physics_step_count,
    )
    return _with_half_timestep(cause, subject)


def _with_half_timestep(cause: Cause | None, subject: Subject) -> Cause:
    """Always let people try a shorter timestep: what goes away with it was numerical."""
    half: Offer = ("half the timestep", (option_edit("timestep", 0.5 * subject.timestep),))
    if cause is None:
        return Cause(
            text="no single cause stands out",
            advice=(
                "Step back to see what grew first; half the timestep, which can be simulated "
                "again from here, tells whether it is numerical"
            ),
            offers=(half,),
        )
    if any(label == half[0] for label, _ in cause.offers):
        return cause
    return Cause(
        text=cause.text,
        advice=cause.advice,
        elements=cause.elements,
        actuator=cause.actuator,
        offers=(*cause.offers, half),
    )


def _owner(scene: "Scene", trouble: Trouble) -> tuple[ElementRef, ...]:
    """Return the body or actuator that the wrong number belongs to."""
    if trouble.index < 0:
        return ()
    world = scene.world
    owner = owner_of(world.model, trouble.array, trouble.index, adapter=world.adapter)
    subject = Subject(world.model, None, has_contacts=False, adapter=world.adapter)
    return () if owner is None else (subject.ref(*owner),)


def _input(scene: "Scene", trouble: Trouble, stop: StopInfo) -> Cause:
    """Blame an input that is no number, and say that the state is not to blame."""
    world = scene.world
    index, location = trouble.index, script_location()
    value = math.nan if trouble.value is None else trouble.value
    match trouble.array:
        case "ctrl":
            what = f"of actuator {stop.actuator!r}" if stop.actuator else f"{index}"
            text = f"the control input {what} (ctrl[{index}] = {value:g}), not the physics"
        case "qfrc_applied" if trouble.dof >= 0:
            text = f"the force applied to joint {stop.joint!r} (qfrc_applied[{index}] = {value:g})"
        case "xfrc_applied":
            text = f"the force applied to body {stop.body!r} ({value:g})"
        case "mocap_pos" | "mocap_quat":
            text = f"the pose of mocap body {stop.body!r} ({trouble.array}[{index}] = {value:g})"
        case _:
            text = f"the input {trouble.array}[{index}] = {value:g}"
    if world.adapter.has_control_callback() and trouble.array == "ctrl":
        text += ", from the script (or its mjcb_control)"
    elif location:
        text += f", written before {location}"
    return Cause(
        text=text,
        advice=(
            "The state itself is clean, every number in it is finite: look at what computes the "
            "input"
        ),
        elements=_owner(scene, trouble),
    )


def _of_model(wrong: str) -> Cause:
    location = script_location()
    return Cause(
        text=(
            f"the model itself, not the state: {wrong}"
            f"{f', written before {location}' if location else ''}"
        ),
        advice="Look at what writes into the model, such as what makes it random",
    )


def _raised(error: BaseException) -> Cause | None:
    where = error_location(error)
    if not where:
        return None
    return Cause(
        text=f"the script's callback at {where}",
        advice="The step was taken back: the state is the one that the callback was called with",
    )


def _was_too_large_before(scene: "Scene", trouble: Trouble) -> bool:
    """Return whether a number that MuJoCo refuses was one already before the last step.

    That step would have been stopped for it, so that it was written since. False in doubt.
    """
    world = scene.world
    largest, parts = float(world.adapter.module.mjMAXVAL), world.state_layout.parts
    # What the stages of a Runge-Kutta step have added can't be told afterwards.
    if trouble.value is None or trouble.dof < 0 or world.adapter.is_runge_kutta(world.model):
        return False
    match trouble.array:
        case "qpos":
            rate = trouble.row[parts["qvel"]][trouble.dof]
        case "qvel":
            # Where the solver begins is the acceleration of the last step; an implicit integrator
            # has added less than that.
            rate = trouble.row[parts["warmstart"]][trouble.dof]
        case _:
            return False
    return bool(abs(trouble.value) - abs(rate) * trouble.timestep > largest)


def _outside(scene: "Scene", trouble: Trouble, left: str) -> Cause:
    """Blame whoever wrote a wrong number into the state between two steps; ``left``: how known."""
    location = script_location()
    return Cause(
        text=(
            f"likely written into {trouble.array} between two steps"
            f"{f', before {location}' if location else ''}: {left}"
        ),
        advice="Look at what the script writes into the state, or restore an earlier one",
        elements=_owner(scene, trouble),
    )
