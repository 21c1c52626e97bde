"""Sensors, and what they are attached to."""

from typing import Any

from stroboscope.debugger_protocol.scene_description import SensorInfo
from stroboscope.engine.describe.columns import scalars
from stroboscope.engine.describe.part import Part
from stroboscope.engine.signal_channels import sensor_kind, sensor_unit

__all__ = ["describe_sensors"]

# The description's words, of objects that it has a list of.
_OBJECT_KINDS = {
    "BODY": "body",
    "XBODY": "body",
    "JOINT": "joint",
    "GEOM": "geom",
    "SITE": "site",
    "CAMERA": "camera",
    "LIGHT": "light",
    "TENDON": "tendon",
    "ACTUATOR": "actuator",
    "SENSOR": "sensor",
    "EQUALITY": "equality",
    "FLEX": "flex",
    "SKIN": "skin",
    "MESH": "mesh",
    "HFIELD": "hfield",
    "MATERIAL": "material",
    "TEXTURE": "texture",
    "PAIR": "pair",
    "KEY": "keyframe",
}


def describe_sensors(part: Part) -> tuple[SensorInfo, ...]:
    """Return the sensors."""
    model, adapter = part.model, part.adapter
    objects = adapter.module.mjtObj
    words = {int(getattr(objects, f"mjOBJ_{name}")): w for name, w in _OBJECT_KINDS.items()}
    owners = _owners(model)
    kind, target = scalars(model.sensor_objtype), scalars(model.sensor_objid)
    against, reference = scalars(model.sensor_reftype), scalars(model.sensor_refid)
    adr, dim = scalars(model.sensor_adr), scalars(model.sensor_dim)
    cutoff = scalars(model.sensor_cutoff)

    has_rays = hasattr(adapter.module, "mjtRayDataField")
    # Before 4.0 a range finder told its distance and nothing else.
    told = adapter.members("mjtRayDataField", "mjRAYDATA_") if has_rays else ("dist",)
    bits = scalars(model.sensor_intprm[:, 0]) if has_rays else [1] * model.nsensor

    def describe(index: int) -> SensorInfo:
        sensed = sensor_kind(model, index, adapter=adapter)
        rays = told if sensed == "rangefinder" else ()
        word, at = words.get(kind[index], ""), target[index]
        other, other_at = words.get(against[index], ""), reference[index]
        body = _body_of(word, at, owners)
        if word == "mesh":  # a tactile sensor's, which stands in its geom's frame
            body = _body_of(other, other_at, owners)
        return SensorInfo(
            name=part.names.sensor(index),
            kind=sensed,
            adr=adr[index],
            dim=dim[index],
            object=part.names.any_object(kind[index], at),
            body=body,
            unit=sensor_unit(model, index, adapter=adapter),
            object_kind=word if at >= 0 else "",
            object_index=at if word else -1,
            reference_kind=other if other_at >= 0 else "",
            reference_index=other_at if other else -1,
            cutoff=cutoff[index],
            data=tuple(word for bit, word in enumerate(rays) if bits[index] >> bit & 1),
        )

    return tuple(describe(i) for i in range(model.nsensor))


def _owners(model: Any) -> dict[str, Any]:
    """Return the body of each element of the kinds that belong to one."""
    return {
        "geom": model.geom_bodyid,
        "site": model.site_bodyid,
        "joint": model.jnt_bodyid,
        "camera": model.cam_bodyid,
        "light": model.light_bodyid,
    }


def _body_of(word: str, target: int, owners: dict[str, Any]) -> int:
    """Return the body that an object belongs to, or -1."""
    if target < 0:
        return -1
    if word == "body":
        return target
    bodies = owners.get(word)
    return -1 if bodies is None else int(bodies[target])
