"""What a condition has found, in words: which step, which values, whose."""

import ast
import dataclasses
import logging
import math
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.expressions import REMEMBERING, constants_of
from stroboscope.debugger_protocol.messages import ElementRef
from stroboscope.debugger_protocol.time_messages import ConditionInfo, StopInfo, StopReason
from stroboscope.engine.contacts import contact_forces
from stroboscope.engine.limit_channels import ACTUATOR_LOAD, JOINT_MARGIN, joints_named
from stroboscope.engine.lint.subject import Subject, length
from stroboscope.engine.stops.cause import Cause
from stroboscope.engine.stops.energy_cause import energy_cause
from stroboscope.engine.stops.passing import Passage
from stroboscope.engine.stops.watched import StepValues, WatchedExpression

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["condition_stop"]

_log = logging.getLogger(__name__)
_MOST_VALUES = 4
_FEWEST_DIGITS, _EVERY_DIGIT = 6, 17


@dataclasses.dataclass(slots=True)
class _Found:
    """What is told of the values: ``texts``, and whom the stop names."""

    texts: list[str] = dataclasses.field(default_factory=list)
    against: tuple[float, ...] = ()
    """What the condition compares with: values are written so that they differ from it."""
    elements: tuple[ElementRef, ...] = ()
    dof: int = -1
    joint: str = ""
    body: str = ""
    actuator: str = ""
    value: float | None = None
    cause: Cause | None = None


def condition_stop(
    scene: "Scene",
    info: ConditionInfo,
    watched: WatchedExpression,
    values: StepValues,
    *,
    is_counted: bool,
) -> StopInfo:
    """Return the stop for a condition that became true in the physics step that is just complete.

    ``is_counted``: the application step is counted as well.
    """
    counters = scene.counters
    found = _Found()
    try:
        _look(scene, watched, values, found)
    except Exception:  # noqa: BLE001 - the stop itself must not be lost over its explanation
        _log.exception("scene %r: explaining a condition failed", scene.name)
    step, at = counters.physics_step_count - 1, values.time
    made = f", in the state that step {step - 1} has made" if watched.is_of_state and step else ""
    which = f"{info.name}: {info.expression}" if info.name else info.expression
    times = f" for the {_ordinal(info.hit_count)} time" if info.hit_count > 1 else ""
    shown = _written(at, found.against)
    message = f"“{which}” became true{times} in physics step {step} (t = {shown}\u2009s){made}"
    if found.texts:
        message += f": {'; '.join(found.texts)}"
    cause = found.cause or Cause(text="")
    known = {(each.kind, each.index) for each in found.elements}
    return StopInfo(
        stop_id=0,
        reason=StopReason.CONDITION,
        axis=counters.axis - 1,
        episode=scene.history.episode,
        step=counters.step_count - (1 if is_counted else 0),
        physics_step=step,
        time=at,
        message=message,
        culprit=cause.text,
        advice=cause.advice,
        elements=(
            *found.elements,
            *(each for each in cause.elements if (each.kind, each.index) not in known),
        ),
        dof=found.dof,
        joint=found.joint,
        body=found.body,
        actuator=found.actuator,
        value=found.value,
        condition_id=info.condition_id,
        what_if=cause.offers,
        wall_time=time.time(),
    )


def _written(value: float, against: Iterable[float]) -> str:
    """Return a number with as many digits as tell it from every other number in ``against``.

    Signs count for nothing: what is compared may be an absolute value.
    """
    others = [abs(other) for other in against if abs(other) != abs(value)]
    for more in range(_FEWEST_DIGITS, _EVERY_DIGIT):
        text = f"{value:.{more}g}"
        if all(abs(float(text)) != float(f"{other:.{more}g}") for other in others):
            return text
    return repr(value)


def _ordinal(number: int) -> str:
    last = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{last}"


def _look(scene: "Scene", watched: WatchedExpression, values: StepValues, found: _Found) -> None:
    world = scene.world
    subject = Subject(world.model, values.source, has_contacts=True, adapter=world.adapter)
    if watched.passing is not None and watched.passing.newest is not None:
        _tell_passage(subject, watched.passing.newest, found)
    text = watched.expression.text
    parts: list[tuple[str, WatchedExpression]] = []
    for reference in _references(text):
        try:
            part = WatchedExpression(reference, values.watcher)
        except CommandError:
            continue  # it needs its surroundings
        if part.passing is None:
            parts.append((reference, part))
    others = [float(part.vector(values)[0]) for _, part in parts if part.expression.width == 1]
    found.against = (*constants_of(text, values.watcher.scope.table), *others)
    for reference, part in parts[:_MOST_VALUES]:
        _tell_value(subject, reference, part, values, found)
    for kept in watched.expression.remembered[:_MOST_VALUES]:
        if kept.width == 1 and kept.value is not None:
            word = "at the beginning" if kept.is_first else "the step before"
            text = f"{kept.text} {word} {_written(float(kept.value), found.against)}"
            if text not in found.texts:
                found.texts.append(text)
    channels = {use.channel for use in watched.expression.channels}
    if any(name.startswith("energy.") for name in channels) and watched.expression.remembered:
        drift = _drift(watched)
        found.cause = energy_cause(subject, drift=drift)


def _drift(watched: WatchedExpression) -> float | None:
    """Return how much energy has been gained since the beginning [J], where that is watched."""
    for kept in watched.expression.remembered:
        if kept.is_first and kept.text == "energy.total" and kept.newest is not None:
            return float(kept.newest) - float(kept.value)
    return None


# --- what an expression speaks of


def _references(text: str) -> Iterator[str]:
    """Yield the largest parts of an expression that only name signals, each once."""
    seen: set[str] = set()
    pending: list[ast.AST] = [ast.parse(text, mode="eval").body]
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.Call):
            pending += node.args  # not the name of the function
            continue
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
            source = ast.get_source_segment(text, node) or ""
            if source not in seen and source not in _CONSTANTS:
                seen.add(source)
                yield source
            continue
        pending += ast.iter_child_nodes(node)


_CONSTANTS = frozenset({"pi", "inf", "nan", *REMEMBERING})


def _tell_value(
    subject: Subject, reference: str, part: WatchedExpression, values: StepValues, found: _Found
) -> None:
    expression = part.expression
    vector = np.array(part.vector(values))
    channel = expression.channels[0].channel if expression.channels else ""
    at = 0 if len(vector) == 1 else _extreme(vector, lowest=channel == JOINT_MARGIN)
    value = float(vector[at])
    if found.value is None:
        found.value = value
    name = expression.names[at] if at < len(expression.names) else ""
    unit = expression.units[at]
    if channel == JOINT_MARGIN:
        _tell_margin(subject, name, value, values, found)
        return
    whose = _whose(name, reference, is_one=len(vector) == 1)
    text = f"{reference}{whose} = {_written(value, found.against)} {unit}".rstrip()
    if channel in ("contact", "contact.depth", "contact.force") and found.elements == ():
        use = expression.channels[0]
        text += _tell_contact(subject, use.first or None, use.second, found, channel)
    elif channel in _OF_DOFS:
        _name_joint(subject, name, found)
    elif channel == ACTUATOR_LOAD:
        found.actuator = name
        index = _index(subject, "actuator", name, subject.adapter.actuator_count(subject.model))
        found.elements = (subject.ref("actuator", index),)
    found.texts.append(text)


def _whose(name: str, reference: str, *, is_one: bool) -> str:
    """Return " of trunk.z", or as much of it as ``reference`` does not say."""
    if not name or name in reference:
        return ""
    element, _, component = name.rpartition(".")
    if element and (f"'{element}'" in reference or f'"{element}"' in reference):
        return "" if is_one else f" ({component})"
    return f" of {name}"


_OF_DOFS = frozenset({"qpos", "qvel", "qacc", "qfrc_applied", "qfrc_actuator", "qfrc_constraint"})


def _extreme(vector: Any, *, lowest: bool) -> int:
    ranked = np.where(np.isfinite(vector), vector if lowest else -np.abs(vector), -math.inf)
    return int(np.argmin(ranked))


def _index(subject: Subject, kind: str, name: str, count: int) -> int:
    name_of = getattr(subject.names, kind)
    return next((index for index in range(count) if name_of(index) == name), 0)


def _name_joint(subject: Subject, label: str, found: _Found) -> None:
    """Name the joint that a column of dofs or positions belongs to."""
    model = subject.model
    for joint in range(model.njnt):
        name = subject.names.joint(joint)
        if label == name or label.startswith(f"{name}."):
            _set_joint(subject, joint, found)
            return


def _set_joint(subject: Subject, joint: int, found: _Found) -> None:
    if found.joint:
        return
    model = subject.model
    found.joint = subject.names.joint(joint)
    found.dof = int(model.jnt_dofadr[joint])
    found.body = subject.names.body(int(model.jnt_bodyid[joint]))
    found.elements = (*found.elements, subject.ref("joint", joint))


def _tell_margin(
    subject: Subject, name: str, margin: float, values: StepValues, found: _Found
) -> None:
    """Say which limit of which joint is near or passed, in the joint's own unit."""
    model = subject.model
    joint = int(joints_named((name,), model, adapter=subject.adapter)[0])
    low, high = (float(value) for value in model.jnt_range[joint])
    qpos = values.row[values.watcher.layout.parts["qpos"]]
    position = float(qpos[int(model.jnt_qposadr[joint])])
    side, limit = ("upper", high) if high - position <= position - low else ("lower", low)
    hinge = int(model.jnt_type[joint]) == int(subject.module.mjtJoint.mjJNT_HINGE)
    if hinge:
        amount, shown = f"{math.degrees(abs(margin)):.4g}°", f"{math.degrees(limit):.4g}°"
    else:
        amount, shown = length(abs(margin)), f"{limit:.4g}\u2009m"
    where = "past" if margin < 0.0 else "before"
    _set_joint(subject, joint, found)
    found.value = margin
    found.texts.append(f"joint {name!r} is {amount} {where} its {side} limit of {shown}")


def _tell_contact(
    subject: Subject,
    first: frozenset[int] | None,
    second: frozenset[int] | None,
    found: _Found,
    channel: str,
) -> str:
    """Name the pair that is deepest, or pushes hardest; return that in words."""
    data = subject.data
    if data is None or not data.ncon:
        return ""
    geom = np.asarray(data.contact.geom).reshape(-1, 2)
    chosen = (geom >= 0).all(axis=1)
    if first is not None:
        chosen &= np.isin(geom, sorted(first)).any(axis=1)
    if second is not None:
        chosen &= np.isin(geom, sorted(second)).any(axis=1)
    if not chosen.any():
        return ""
    size = -np.asarray(data.contact.dist)
    if channel == "contact.force":
        size = contact_forces(subject.model, data, adapter=subject.adapter)[:, 0]
    worst = int(np.argmax(np.where(chosen, size, -math.inf)))
    pair = tuple(int(each) for each in geom[worst])
    found.elements = subject.refs("geom", pair)
    bodies = sorted(int(subject.model.geom_bodyid[each]) for each in pair)
    found.body = found.body or subject.names.body(bodies[-1])  # the world comes first
    one, two = (ref.name for ref in found.elements)
    return f" ({one!r} and {two!r})"


def _tell_passage(subject: Subject, passage: Passage, found: _Found) -> None:
    geom, through = subject.names.geom(passage.geom), subject.names.geom(passage.through)
    steps = passage.contact_steps
    found.texts.append(
        f"{geom!r} passed through {through!r}, in contact for {steps} step{'s' * (steps != 1)}, "
        f"exit speed {passage.speed:.4g}\u2009m/s"
    )
    found.value = passage.speed
    found.elements = subject.refs("geom", (passage.geom, passage.through))
    found.body = subject.names.body(int(subject.model.geom_bodyid[passage.geom]))
