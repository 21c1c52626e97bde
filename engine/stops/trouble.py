"""What a physics step did wrong, as evidence; and a plain account of it.

``Trouble`` is made where the step was taken back, on the owner thread; a :data:`Diagnose` turns it
into the :class:`StopInfo` that clients read.
"""

import dataclasses
import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from stroboscope.debugger_protocol.time_messages import StopInfo, StopReason
from stroboscope.engine.element_names import ElementNames
from stroboscope.engine.mujoco_adapter import MujocoAdapter

if TYPE_CHECKING:
    import numpy as np

    from stroboscope.engine.scene import Scene

__all__ = ["Diagnose", "Trouble", "plain_diagnosis"]


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
    row: "NDArray[np.float64]"
    timestep: float
    array: str = ""
    index: int = -1
    value: float | None = None
    dof: int = -1
    before: float | None = None
    speeds: "NDArray[np.float64] | None" = None
    time_after: float | None = None
    warning: str = ""
    warning_info: int = -1
    error: Exception | None = None
    is_reset: bool = False
    """Whether MuJoCo has reset the state in that step, whatever it is called."""

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
    if trouble.array == "ctrl" and trouble.index >= 0:
        actuator = _actuator_of(world.model, trouble.index, names, world.adapter)
    return StopInfo(
        stop_id=0,
        reason=trouble.reason,
        axis=counters.axis,
        episode=scene.history.episode,
        step=counters.step_count,
        physics_step=counters.physics_step_count,
        time=trouble.time,
        message=_message(trouble, joint=joint, actuator=actuator),
        dof=dof,
        joint=joint,
        body=body,
        actuator=actuator,
        value=trouble.value,
        wall_time=time.time(),
    )


def _actuator_of(model: Any, control: int, names: ElementNames, adapter: MujocoAdapter) -> str:
    for index in range(adapter.actuator_count(model)):
        controls, _outputs = adapter.actuator_slices(model, index)
        if controls.start <= control < controls.stop:
            return names.actuator(index)
    return ""


def _message(trouble: Trouble, *, joint: str, actuator: str) -> str:
    value = "" if trouble.value is None else f"{trouble.value:.6g}"
    where = f" of joint {joint!r} (dof {trouble.dof})" if joint else ""
    what = f"{trouble.array}[{trouble.index}]" if trouble.array else ""
    warning = f" ({trouble.warning})" if trouble.warning else ""
    match trouble.reason:
        case StopReason.BAD_INPUT:
            whose = f" of actuator {actuator!r}" if actuator else ""
            return f"the input {what}{whose} is {value or 'not usable'}{warning}"
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
            return f"MuJoCo warned{warning}{f' about {what}{where}' if what else ''}"
