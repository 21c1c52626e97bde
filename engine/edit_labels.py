"""What people call what they edit, beside the values that have a channel."""

from typing import Any

from stroboscope.engine.element_names import ElementNames
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["label"]

_POSITION_AXES = ("x", "y", "z")
_QUATERNION_AXES = ("w", "x", "y", "z")
_WRENCH_AXES = ("fx", "fy", "fz", "tx", "ty", "tz")


def label(model: Any, kind: str, index: int, *, adapter: MujocoAdapter) -> tuple[str, str]:
    """Return the name of an element (``body``, …) or of a value of a state array, and its unit."""
    names = ElementNames(model, adapter=adapter)
    match kind:
        case "body":
            return names.body(index), ""
        case "eq_active":
            return names.equality(index), ""
        case "keyframe":
            return names.keyframe(index), ""
        case "mocap_pos":
            return f"{_mocap_body(model, index // 3, names)}.{_POSITION_AXES[index % 3]}", "m"
        case "mocap_quat":
            return f"{_mocap_body(model, index // 4, names)}.{_QUATERNION_AXES[index % 4]}", ""
        case "xfrc_applied":
            axis = _WRENCH_AXES[index % 6]
            return f"{names.body(index // 6)}.{axis}", "N" if axis[0] == "f" else "N·m"
    return f"{kind}[{index}]", ""


def _mocap_body(model: Any, mocap: int, names: ElementNames) -> str:
    bodies = [body for body in range(model.nbody) if int(model.body_mocapid[body]) == mocap]
    return names.body(bodies[0]) if bodies else f"mocap {mocap}"
