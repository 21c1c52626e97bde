"""Actuators: what they drive, and how they turn a control into a force."""

from typing import Any

from stroboscope.debugger_protocol.scene_description import ActuatorInfo, Vec2
from stroboscope.engine.describe.columns import ranges, scalars, tuples
from stroboscope.engine.describe.part import Part
from stroboscope.engine.element_names import actuator_kind, actuator_units

__all__ = ["describe_actuators"]


def describe_actuators(part: Part) -> tuple[ActuatorInfo, ...]:
    """Return the actuators."""
    model, adapter = part.model, part.adapter
    module, count = adapter.module, adapter.actuator_count(model)
    forcerange = ranges(model.actuator_forcerange, model.actuator_forcelimited)
    ctrlrange = ranges(model.actuator_ctrlrange, model.actuator_ctrllimited)
    actrange = ranges(model.actuator_actrange, model.actuator_actlimited)
    act, nact = scalars(model.actuator_actadr), scalars(model.actuator_actnum)
    group, gear = scalars(model.actuator_group), tuples(model.actuator_gear)
    trntype, trnid = scalars(model.actuator_trntype), tuples(model.actuator_trnid)
    crank, crank_length = int(module.mjtTrn.mjTRN_SLIDERCRANK), scalars(model.actuator_cranklength)
    gain, bias = tuples(model.actuator_gainprm), tuples(model.actuator_biasprm)
    dynamics_words = _words(module.mjtDyn, scalars(model.actuator_dyntype), "mjDYN_")
    gain_words = _words(module.mjtGain, scalars(model.actuator_gaintype), "mjGAIN_")
    bias_words = _words(module.mjtBias, scalars(model.actuator_biastype), "mjBIAS_")

    def describe(index: int) -> ActuatorInfo:
        control_unit, force_unit = actuator_units(model, index, adapter=adapter)
        controls, outputs = adapter.actuator_slices(model, index)
        kp, kv = _servo_gains(gain_words[index], bias_words[index], gain[index], bias[index])
        kind, target, name = _target(part, index)
        return ActuatorInfo(
            name=part.names.actuator(index),
            kind=actuator_kind(model, index, adapter=adapter),
            joint=target if kind == "joint" else -1,
            target=name,
            ctrlrange=_control_range(ctrlrange, index, controls, per_control=model.nu),
            forcerange=forcerange[index],
            ctrl_unit=control_unit,
            force_unit=force_unit,
            group=group[index],
            ctrl=controls.start,
            nctrl=controls.stop - controls.start,
            output=outputs.start,
            noutput=outputs.stop - outputs.start,
            act=act[index],
            nact=nact[index] if act[index] >= 0 else 0,
            actrange=actrange[index],
            kp=kp,
            kv=kv,
            dynamics=dynamics_words[index],
            gain=gain_words[index],
            bias=bias_words[index],
            gainprm=gain[index],
            biasprm=bias[index],
            # Per output since 4.0, per actuator before; the first output's here.
            gear=gear[outputs.start] if outputs.start < len(gear) else (),
            tendon=target if kind == "tendon" else -1,
            site=target if kind == "site" else -1,
            body=target if kind == "body" else -1,
            slider_site=int(trnid[index][1]) if trntype[index] == crank else -1,
            crank_length=crank_length[index],
        )

    return tuple(describe(i) for i in range(count))


def _words(enum: Any, numbers: list[int], prefix: str) -> list[str]:
    words = {int(m): n.removeprefix(prefix).lower() for n, m in enum.__members__.items()}
    return [words.get(number, "") for number in numbers]


def _servo_gains(
    gain_word: str, bias_word: str, gain: tuple[float, ...], bias: tuple[float, ...]
) -> tuple[float | None, float | None]:
    """Return by how much the force falls per position and per velocity; None: not at all.

    force = gain(length, velocity) · control + bias(length, velocity), and what a servo takes back
    stands in its bias: bias = b₀ − kp · length − kv · velocity. A damper's is its gain, at a
    control of 1.
    """
    if bias_word in ("affine", "so3"):
        kp, kv = -bias[1], -bias[2]
        if kp != 0.0 or kv != 0.0:
            return (kp if kp != 0.0 else None), kv + 0.0
    if gain_word == "affine" and bias_word == "none" and gain[2] != 0.0:
        return None, -gain[2]
    return None, None


def _control_range(
    given: list[Vec2 | None], index: int, controls: slice, *, per_control: int
) -> Vec2 | None:
    """Return the range of an actuator's first control; arrays are per control since 4.0."""
    if len(given) != per_control:
        return given[index]
    return given[controls.start] if controls.start < controls.stop else None


def _target(part: Part, index: int) -> tuple[str, int, str]:
    """Return the kind, the index and the name of what an actuator drives; "", -1, "": nothing."""
    model, kinds = part.model, part.adapter.module.mjtTrn
    kind, target = int(model.actuator_trntype[index]), int(model.actuator_trnid[index, 0])
    if target < 0:
        return "", -1, ""
    joints = ("mjTRN_JOINT", "mjTRN_JOINTINPARENT", "mjTRN_SO3")
    if kind in (int(getattr(kinds, name)) for name in joints if hasattr(kinds, name)):
        return "joint", target, part.names.joint(target)
    if kind == int(kinds.mjTRN_TENDON):
        return "tendon", target, part.names.tendon(target)
    if kind in (int(kinds.mjTRN_SITE), int(kinds.mjTRN_SLIDERCRANK)):
        return "site", target, part.names.site(target)
    if kind == int(kinds.mjTRN_BODY):
        return "body", target, part.names.body(target)
    return "", -1, ""
