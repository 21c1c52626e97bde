"""The state of a scene as JSON for people: every joint and actuator by name, with units."""

import json
import math
import os
import pathlib
from typing import TYPE_CHECKING, Any

from stroboscope.engine.arguments import shown
from stroboscope.engine.describe.bodies import JOINT_TYPES
from stroboscope.engine.element_names import (
    ElementNames,
    actuator_kind,
    actuator_units,
    joint_units,
)
from stroboscope.engine.files.atomic import write_file

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["write_state_file"]

# Units of position, velocity and force.
_WIDE_UNITS = {
    "free": ("m (x, y, z), quaternion (w, x, y, z)", "m/s, rad/s", "N, N·m"),
    "ball": ("quaternion (w, x, y, z)", "rad/s", "N·m"),
}


def write_state_file(scene: "Scene", path: str | os.PathLike[str]) -> None:
    """Write the state of ``scene`` as JSON, replacing the file only when it is complete.

    It is for reading and diffing, not for restoring: use ``capture_state_to_bytes`` for that.
    Raises FileWriteError.
    """
    target = pathlib.Path(path)
    if not target.name:
        raise ValueError(f"path must name a file, not {shown(path)}")
    text = json.dumps(_state(scene), indent=2, ensure_ascii=False) + "\n"
    write_file(target, text.encode("utf-8"))


def _state(scene: "Scene") -> dict[str, Any]:
    world = scene.world
    model, data, adapter = world.model, world.live(), world.adapter
    names = ElementNames(model, adapter=adapter)
    return {
        "format": "stroboscope state for reading, 1",
        "scene": scene.name,
        "engine": f"MuJoCo {adapter.version}",
        "model_digest": world.codec.digest.hex(),
        "source": world.source.origin,
        "time": {"value": float(data.time), "unit": "s"},
        "timestep": {"value": scene.timestep_of_state, "unit": "s"},
        "step_count": scene.counters.step_count,
        "physics_step_count": scene.counters.physics_step_count,
        "joints": {
            names.joint(i): _joint(model, data, i, adapter=adapter) for i in range(model.njnt)
        },
        "actuators": {
            names.actuator(i): _actuator(model, data, i, names=names, adapter=adapter)
            for i in range(adapter.actuator_count(model))
        },
        "mocap_bodies": {
            names.body(i): {
                "position": _numbers(data.mocap_pos[model.body_mocapid[i]]),
                "quaternion": _numbers(data.mocap_quat[model.body_mocapid[i]]),
                "unit": "m, quaternion (w, x, y, z)",
            }
            for i in range(model.nbody)
            if model.body_mocapid[i] >= 0
        },
        "applied_forces": {
            names.body(i): {"force": _numbers(data.xfrc_applied[i]), "unit": "N, N·m"}
            for i in range(model.nbody)
            if data.xfrc_applied[i].any()
        },
    }


def _joint(model: Any, data: Any, index: int, *, adapter: Any) -> dict[str, Any]:
    kind = JOINT_TYPES[int(model.jnt_type[index])]
    positions, dofs = kind.n_qpos, kind.n_dof
    units = _WIDE_UNITS.get(kind) or joint_units(model, index, adapter=adapter)
    qpos, dof = int(model.jnt_qposadr[index]), int(model.jnt_dofadr[index])
    entry: dict[str, Any] = {
        "type": kind.value,
        "position": _values(data.qpos[qpos : qpos + positions], units[0]),
        "velocity": _values(data.qvel[dof : dof + dofs], units[1]),
        "applied_force": _values(data.qfrc_applied[dof : dof + dofs], units[2]),
    }
    if kind in ("slide", "hinge") and model.jnt_limited[index]:
        entry["range"] = {"value": _numbers(model.jnt_range[index]), "unit": units[0]}
    return entry


def _actuator(
    model: Any, data: Any, index: int, *, names: ElementNames, adapter: Any
) -> dict[str, Any]:
    controls, _ = adapter.actuator_slices(model, index)
    control_unit, _ = actuator_units(model, index, adapter=adapter)
    entry: dict[str, Any] = {
        "kind": actuator_kind(model, index, adapter=adapter),
        "control": _values(data.ctrl[controls], control_unit),
    }
    first, count = int(model.actuator_actadr[index]), int(model.actuator_actnum[index])
    if first >= 0 and count:
        entry["activation"] = _values(data.act[first : first + count], "")
    return entry


def _values(values: Any, unit: str) -> dict[str, Any]:
    numbers = _numbers(values)
    return {"value": numbers[0] if len(numbers) == 1 else numbers, "unit": unit}


def _numbers(values: Any) -> list[float | str]:
    """Return plain numbers; JSON has no NaN, so what is not finite becomes a word."""
    return [float(v) if math.isfinite(v) else str(float(v)) for v in values]
