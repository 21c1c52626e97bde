"""The gains of servos as their authors think of them: kp and kv, and what has to be written."""

import dataclasses
from collections.abc import Iterator

from stroboscope.debugger_protocol.scene_description import ActuatorInfo

__all__ = ["ServoGain", "servo_gains"]


@dataclasses.dataclass(frozen=True, slots=True)
class ServoGain:
    """One gain: ``word`` is kp or kv, ``value`` what it is now.

    ``targets``: fields of the model, their index counted flat, and what the gain is multiplied
    with there. Those of kp keep the servo's target.
    """

    word: str
    value: float
    targets: tuple[tuple[str, int, float], ...]


def servo_gains(actuator: ActuatorInfo, index: int) -> Iterator[ServoGain]:
    """Yield the gains of actuator ``index``; nothing where it is no servo."""
    if actuator.bias != "affine" or len(actuator.biasprm) <= 2:
        return
    gain, bias = index * len(actuator.gainprm), index * len(actuator.biasprm)
    fixed = actuator.gain == "fixed" and bool(actuator.gainprm)
    for word, place, value in (("kp", 1, actuator.kp), ("kv", 2, actuator.kv)):
        if value is None:
            continue
        targets = [("actuator_biasprm", bias + place, -1.0)]
        if fixed and value and actuator.gainprm[0] == value:
            targets.insert(0, ("actuator_gainprm", gain, 1.0))
        yield ServoGain(word, value, tuple(targets))
