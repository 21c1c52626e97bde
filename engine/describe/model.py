"""The description as a whole: its parts, the scene's own numbers, and what must be told."""

from typing import Any

from stroboscope.debugger_protocol.scene_description import (
    FogInfo,
    SceneDescription,
    Vec3,
    Vec4,
    VisualScale,
)
from stroboscope.engine.describe.actuators import describe_actuators
from stroboscope.engine.describe.bodies import (
    describe_bodies,
    describe_geoms,
    describe_joints,
    describe_sites,
)
from stroboscope.engine.describe.cameras import describe_cameras, describe_lights
from stroboscope.engine.describe.constraints import (
    describe_equalities,
    describe_keyframes,
    describe_pairs,
    describe_tendons,
)
from stroboscope.engine.describe.deformables import describe_flexes, describe_skins
from stroboscope.engine.describe.part import Part
from stroboscope.engine.describe.sensors import describe_sensors
from stroboscope.engine.describe.surfaces import (
    describe_hfields,
    describe_materials,
    describe_meshes,
    describe_textures,
)
from stroboscope.engine.describe.trees import describe_trees
from stroboscope.engine.element_names import SHOWN_NAME_BYTES, ElementNames
from stroboscope.engine.hidden_state import inexact_reason
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.physics_options import describe_options
from stroboscope.engine.scene_assets import SceneAssets
from stroboscope.engine.signal_channels import channel_table

__all__ = ["describe_model"]

_SCALES = (
    *("forcewidth", "contactwidth", "contactheight", "connect", "com", "jointlength"),
    *("jointwidth", "actuatorlength", "actuatorwidth", "framelength", "framewidth"),
    *("constraint", "slidercrank", "frustum"),
)


def describe_model(
    model: Any,
    *,
    scene_id: int,
    name: str,
    revision: int,
    origin: str,
    assets: SceneAssets,
    adapter: MujocoAdapter,
) -> SceneDescription:
    """Return the description of ``model``; any thread. ``origin``: where the model came from."""
    names = ElementNames(model, adapter=adapter, limit=SHOWN_NAME_BYTES)
    part = Part(model, names=names, adapter=adapter)
    visual, statistic = model.vis, model.stat
    return SceneDescription(
        scene_id=scene_id,
        name=name,
        revision=revision,
        engine=f"MuJoCo {adapter.version}",
        source=origin,
        timestep=float(model.opt.timestep),
        gravity=_vec3(model.opt.gravity),
        center=_vec3(statistic.center),
        extent=float(statistic.extent),
        znear=float(visual.map.znear),
        zfar=float(visual.map.zfar),
        fog=_fog(visual),
        headlight_ambient=_vec3(visual.headlight.ambient),
        headlight_diffuse=_vec3(visual.headlight.diffuse),
        headlight_specular=_vec3(visual.headlight.specular),
        headlight_active=bool(visual.headlight.active),
        camera_azimuth=float(visual.global_.azimuth),
        camera_elevation=float(visual.global_.elevation),
        timer_stages=adapter.members("mjtTimer", "mjTIMER_"),
        constraint_types=adapter.members("mjtConstraint", "mjCNSTR_"),
        constraint_states=adapter.members("mjtConstraintState", "mjCNSTRSTATE_"),
        scale=_visual_scale(model),
        bodies=describe_bodies(part),
        geoms=describe_geoms(part),
        meshes=describe_meshes(part, assets),
        hfields=describe_hfields(part, assets),
        textures=describe_textures(part, assets),
        materials=describe_materials(part),
        joints=describe_joints(part),
        sites=describe_sites(part),
        cameras=describe_cameras(part),
        lights=describe_lights(part),
        actuators=describe_actuators(part),
        sensors=describe_sensors(part),
        tendons=describe_tendons(part),
        equalities=describe_equalities(part),
        pairs=describe_pairs(part),
        flexes=describe_flexes(part, assets),
        skins=describe_skins(part, assets),
        trees=describe_trees(part, assets),
        tells_looks=True,
        keyframes=describe_keyframes(part),
        options=describe_options(model, adapter=adapter),
        channels=tuple(channel_table(model, adapter=adapter).values()),
        notes=_notes(model, adapter=adapter),
    )


def _fog(visual: Any) -> FogInfo:
    return FogInfo(
        start=float(visual.map.fogstart),
        end=float(visual.map.fogend),
        rgba=_vec4(visual.rgba.fog),
        haze=float(visual.map.haze),
        haze_rgba=_vec4(visual.rgba.haze),
    )


def _visual_scale(model: Any) -> VisualScale:
    scale = model.vis.scale
    return VisualScale(
        meansize=float(model.stat.meansize),
        meanmass=float(model.stat.meanmass),
        force=float(model.vis.map.force),
        torque=float(model.vis.map.torque),
        **{name: float(getattr(scale, name)) for name in _SCALES if hasattr(scale, name)},
    )


def _notes(model: Any, *, adapter: MujocoAdapter) -> tuple[str, ...]:
    reason = inexact_reason(model, adapter=adapter)
    return (f"checkpoints of this scene are approximate: {reason}",) if reason else ()


def _vec4(values: Any) -> Vec4:
    return float(values[0]), float(values[1]), float(values[2]), float(values[3])


def _vec3(values: Any) -> Vec3:
    return float(values[0]), float(values[1]), float(values[2])
