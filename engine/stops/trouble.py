"""What a physics step did wrong, as evidence; and a plain account of it.

``Trouble`` is made where the step was taken back, on the owner thread; a :data:`Diagnose` turns it
into the :class:`StopInfo` that clients read.
"""

import dataclasses
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.time_messages import StopInfo, StopReason
from stroboscope.engine.element_names import ElementNames
from stroboscope.engine.mujoco_adapter import MujocoAdapter

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["Diagnose", "Trouble", "owner_of", "plain_diagnosis"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """One physics step that must not count, or must not begin.

    ``row``: ``mjSTATE_INTEGRATION`` just before the step, the inputs as the step read them, a copy.
    ``array``, ``index``, ``value``: the number that is wrong, where one is: ``qpos``, ``qvel``,
    ``qacc``, or an input (``ctrl``, ``qfrc_applied``, ``xfrc_applied``, ``mocap_pos``, …), flat.
    ``dof`` -1 where none is to blame. ``before``: what the largest speed was before the step.
    ``speeds``: ``qvel`` (nv,) that the step has computed, where it wasn't reset.
    ``warning``: MuJoCo's ``mjWARN_…``, and its ``warning_info``. ``error``: what the step raised.
    """

    reason: StopReason
    row: NDArray[np.float64]
    timestep: float
    array: str = ""
    index: int = -1
    value: float | None = None
    dof: int = -1
    before: float | None = None
    speeds: NDArray[np.float64] | None = None
    time_after: float | None = None
    warning: str = ""
    warning_info: int = -1
    error: Exception | None = None
    is_reset: bool = False
    """Whether MuJoCo has reset the state in that step, whatever it is called."""
    is_before_step: bool = False
    """Whether it was found in the state or the inputs before the step was taken."""

    @property
    def time(self) -> float:
        """The time before the step [s]."""
        return float(self.row[0])

    @property
    def key(self) -> tuple[StopReason, str]:
        """What is the same trouble when the next step has it again."""
        return self.reason, self.array or self.warning


Diagnose = Callable[["Scene", Trouble], StopInfo]
"""Says in words what happened; the scene stands at the row, nothing of the step is left."""


def plain_diagnosis(scene: "Scene", trouble: Trouble) -> StopInfo:
    """Return what happened, with names and numbers, without looking for the cause."""
    world, counters = scene.world, scene.counters
    names = ElementNames(world.model, adapter=world.adapter)
    dof = trouble.dof
    joint = body = actuator = ""
    if dof >= 0:
        joint = names.joint(int(world.model.dof_jntid[dof]))
        body = names.body(int(world.model.dof_bodyid[dof]))
    if trouble.index >= 0:
        owner = owner_of(world.model, trouble.array, trouble.index, adapter=world.adapter)
        if owner is not None and owner[0] == "actuator":
            actuator = names.actuator(owner[1])
        elif owner is not None:
            body = names.body(owner[1])
    return StopInfo(
        stop_id=0,
        reason=trouble.reason,
        axis=counters.axis,
        episode=scene.history.episode,
        step=counters.step_count,
        physics_step=counters.physics_step_count,
        time=trouble.time,
        message=_message(trouble, joint=joint, body=body, actuator=actuator),
        dof=dof,
        joint=joint,
        body=body,
        actuator=actuator,
        value=trouble.value,
        wall_time=time.time(),
        is_before_step=trouble.is_before_step,
    )


def owner_of(
    model: Any, array: str, index: int, *, adapter: MujocoAdapter
) -> tuple[str, int] | None:
    """Return the body or actuator that a number of a row belongs to, by kind and index.

    None for those of joints, which a dof says, and of nothing in particular.
    """
    match array:
        case "xfrc_applied":
            return "body", index // 6
        case "mocap_pos" | "mocap_quat":
            mocap = index // (3 if array == "mocap_pos" else 4)
            found = np.flatnonzero(np.asarray(model.body_mocapid) == mocap).tolist()
            return ("body", found[0]) if found else None
        case "act":
            first, count = np.asarray(model.actuator_actadr), np.asarray(model.actuator_actnum)
            found = np.flatnonzero((first <= index) & (index < first + count)).tolist()
            return ("actuator", found[0]) if found else None
        case "ctrl":
            for actuator in range(adapter.actuator_count(model)):
                controls, _outputs = adapter.actuator_slices(model, actuator)
                if controls.start <= index < controls.stop:
                    return "actuator", actuator
    return None


def _message(trouble: Trouble, *, joint: str, body: str, actuator: str) -> str:
    value = "" if trouble.value is None else f"{trouble.value:.6g}"
    where = ""
    if joint:
        where = f" of joint {joint!r} (dof {trouble.dof})"
    elif actuator:
        where = f" of actuator {actuator!r}"
    elif body:
        where = f" of body {body!r}"
    what = f"{trouble.array}[{trouble.index}]" if trouble.array else ""
    warning = f" ({trouble.warning})" if trouble.warning else ""
    match trouble.reason:
        case StopReason.BAD_INPUT:
            return f"the input {what}{where} is {value or 'not usable'}{warning}"
        case StopReason.NON_FINITE:
            return f"{what}{where} is {value}"
        case StopReason.EXPLODING:
            grown = "" if trouble.before is None else f", from at most {trouble.before:.6g}"
            return f"{what}{where} went to {value} in one physics step{grown}"
        case StopReason.AUTORESET:
            after = math.nan if trouble.time_after is None else trouble.time_after
            how = "did not advance" if after == trouble.time else "went back"
            if after > trouble.time:
                how = "looks normal, as it began at 0"
            return (
                f"automatic reset: time {how} ({trouble.time:g} s, then {after:g} s): MuJoCo found "
                f"{what}{where} no number or too large{warning} and began anew"
            )
        case StopReason.ARENA:
            return (
                f"MuJoCo ran out of memory for contacts or constraints and left some out{warning}"
            )
        case StopReason.FATAL | StopReason.CALLBACK:
            return f"the physics step raised {type(trouble.error).__name__}: {trouble.error}"
        case _:
            about = f" about {what or 'the inertia'}{where}" if what or where else ""
            return f"MuJoCo warned{warning}{about}"
