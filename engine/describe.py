"""A compiled model as a :class:`SceneDescription`: all that a window needs to draw and name it.

Called on the server thread: reads the model only, which a run does not change.
"""

from typing import Any

from stroboscope.debugger_protocol.scene_description import (
    ActuatorInfo,
    BodyInfo,
    CameraInfo,
    CameraMode,
    GeomInfo,
    GeomType,
    HeightFieldInfo,
    JointInfo,
    JointType,
    LightInfo,
    MaterialInfo,
    MeshInfo,
    SceneDescription,
    SensorInfo,
    SiteInfo,
    TextureInfo,
    TextureKind,
    Vec2,
    Vec3,
    Vec4,
)
from stroboscope.engine.element_names import (
    SHOWN_NAME_BYTES,
    ElementNames,
    actuator_kind,
    actuator_units,
)
from stroboscope.engine.mujoco_adapter import MujocoAdapter
from stroboscope.engine.scene_assets import SceneAssets
from stroboscope.engine.signal_channels import channel_table, sensor_kind, sensor_unit

__all__ = ["describe_model"]

_GEOM_TYPES = {
    "PLANE": GeomType.PLANE,
    "HFIELD": GeomType.HFIELD,
    "SPHERE": GeomType.SPHERE,
    "CAPSULE": GeomType.CAPSULE,
    "ELLIPSOID": GeomType.ELLIPSOID,
    "CYLINDER": GeomType.CYLINDER,
    "BOX": GeomType.BOX,
    "MESH": GeomType.MESH,
    "SDF": GeomType.SDF,
}
_CAMERA_MODES = (
    CameraMode.FIXED,
    CameraMode.TRACK,
    CameraMode.TRACKCOM,
    CameraMode.TARGETBODY,
    CameraMode.TARGETBODYCOM,
)
_JOINT_TYPES = (JointType.FREE, JointType.BALL, JointType.SLIDE, JointType.HINGE)
_TEXTURE_KINDS = (TextureKind.TWO_D, TextureKind.CUBE, TextureKind.SKYBOX)


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
    return _ModelDescriber(model, assets=assets, adapter=adapter).describe(
        scene_id=scene_id, name=name, revision=revision, origin=origin
    )


class _ModelDescriber:
    """Turns the parts of one model into the protocol's words."""

    def __init__(self, model: Any, *, assets: SceneAssets, adapter: MujocoAdapter) -> None:
        self._model = model
        self._assets = assets
        self._adapter = adapter
        self._names = ElementNames(model, adapter=adapter, limit=SHOWN_NAME_BYTES)
        kinds = adapter.module.mjtGeom
        self._geom_types = {
            int(getattr(kinds, f"mjGEOM_{word}")): kind for word, kind in _GEOM_TYPES.items()
        }

    def describe(self, *, scene_id: int, name: str, revision: int, origin: str) -> SceneDescription:
        model, adapter = self._model, self._adapter
        visual = model.vis
        overview = visual.global_
        channels = channel_table(model, adapter=adapter)
        return SceneDescription(
            scene_id=scene_id,
            name=name,
            revision=revision,
            engine=f"MuJoCo {adapter.version}",
            source=origin,
            timestep=float(model.opt.timestep),
            gravity=_vec3(model.opt.gravity),
            center=_vec3(model.stat.center),
            extent=float(model.stat.extent),
            znear=float(visual.map.znear),
            zfar=float(visual.map.zfar),
            headlight_ambient=_vec3(visual.headlight.ambient),
            headlight_diffuse=_vec3(visual.headlight.diffuse),
            headlight_specular=_vec3(visual.headlight.specular),
            camera_azimuth=float(overview.azimuth),
            camera_elevation=float(overview.elevation),
            timer_stages=adapter.members("mjtTimer", "mjTIMER_"),
            constraint_types=adapter.members("mjtConstraint", "mjCNSTR_"),
            bodies=tuple(self._body(i) for i in range(model.nbody)),
            geoms=tuple(self._geom(i) for i in range(model.ngeom)),
            meshes=tuple(self._mesh(i) for i in range(model.nmesh)),
            hfields=tuple(self._hfield(i) for i in range(model.nhfield)),
            textures=tuple(self._texture(i) for i in range(model.ntex)),
            materials=tuple(self._material(i) for i in range(model.nmat)),
            joints=tuple(self._joint(i) for i in range(model.njnt)),
            sites=tuple(self._site(i) for i in range(model.nsite)),
            cameras=tuple(self._camera(i) for i in range(model.ncam)),
            lights=tuple(self._light(i) for i in range(model.nlight)),
            actuators=tuple(self._actuator(i) for i in range(adapter.actuator_count(model))),
            sensors=tuple(self._sensor(i) for i in range(model.nsensor)),
            channels=tuple(channels.values()),
            notes=self._notes(),
        )

    def _body(self, index: int) -> BodyInfo:
        model = self._model
        return BodyInfo(
            name=self._names.body(index),
            parent=int(model.body_parentid[index]),
            mass=float(model.body_mass[index]),
            inertia=_vec3(model.body_inertia[index]),
            ipos=_vec3(model.body_ipos[index]),
            iquat=_vec4(model.body_iquat[index]),
            mocap=int(model.body_mocapid[index]) >= 0,
        )

    def _geom(self, index: int) -> GeomInfo:
        model = self._model
        kind = self._geom_types.get(int(model.geom_type[index]), GeomType.SPHERE)
        data = int(model.geom_dataid[index])
        material = int(model.geom_matid[index])
        return GeomInfo(
            name=self._names.geom(index),
            body=int(model.geom_bodyid[index]),
            type=kind,
            size=_vec3(model.geom_size[index]),
            pos=_vec3(model.geom_pos[index]),
            quat=_vec4(model.geom_quat[index]),
            rgba=self._colour(model.geom_rgba[index], material),
            mesh=data if kind in (GeomType.MESH, GeomType.SDF) else -1,
            hfield=data if kind is GeomType.HFIELD else -1,
            material=material,
            group=int(model.geom_group[index]),
            collides=bool(model.geom_contype[index]) or bool(model.geom_conaffinity[index]),
        )

    def _colour(self, rgba: Any, material: int) -> Vec4:
        """Return an element's colour; its material's when its own was left at the default."""
        own = _vec4(rgba)
        if material >= 0 and own == (0.5, 0.5, 0.5, 1.0):
            return _vec4(self._model.mat_rgba[material])
        return own

    def _mesh(self, index: int) -> MeshInfo:
        model = self._model
        return MeshInfo(
            name=self._names.mesh(index),
            digest=self._assets.mesh(index),
            nvert=int(model.mesh_vertnum[index]),
            nface=int(model.mesh_facenum[index]),
        )

    def _hfield(self, index: int) -> HeightFieldInfo:
        model = self._model
        return HeightFieldInfo(
            name=self._names.hfield(index),
            digest=self._assets.hfield(index),
            nrow=int(model.hfield_nrow[index]),
            ncol=int(model.hfield_ncol[index]),
            size=_vec4(model.hfield_size[index]),
        )

    def _texture(self, index: int) -> TextureInfo:
        model = self._model
        return TextureInfo(
            name=self._names.texture(index),
            digest=self._assets.texture(index),
            kind=_TEXTURE_KINDS[int(model.tex_type[index])],
            width=int(model.tex_width[index]),
            height=int(model.tex_height[index]),
            nchannel=int(model.tex_nchannel[index]),
        )

    def _material(self, index: int) -> MaterialInfo:
        model = self._model
        return MaterialInfo(
            name=self._names.material(index),
            rgba=_vec4(model.mat_rgba[index]),
            emission=float(model.mat_emission[index]),
            specular=float(model.mat_specular[index]),
            shininess=float(model.mat_shininess[index]),
            reflectance=float(model.mat_reflectance[index]),
            texture=self._adapter.color_texture(model, index),
            texrepeat=_vec2(model.mat_texrepeat[index]),
            texuniform=bool(model.mat_texuniform[index]),
        )

    def _joint(self, index: int) -> JointInfo:
        model = self._model
        limited = bool(model.jnt_limited[index])
        force_limited = bool(model.jnt_actfrclimited[index])
        return JointInfo(
            name=self._names.joint(index),
            body=int(model.jnt_bodyid[index]),
            type=_JOINT_TYPES[int(model.jnt_type[index])],
            qpos=int(model.jnt_qposadr[index]),
            dof=int(model.jnt_dofadr[index]),
            pos=_vec3(model.jnt_pos[index]),
            axis=_vec3(model.jnt_axis[index]),
            range=_vec2(model.jnt_range[index]) if limited else None,
            actfrcrange=_vec2(model.jnt_actfrcrange[index]) if force_limited else None,
            group=int(model.jnt_group[index]),
        )

    def _site(self, index: int) -> SiteInfo:
        model = self._model
        return SiteInfo(
            name=self._names.site(index),
            body=int(model.site_bodyid[index]),
            type=self._geom_types.get(int(model.site_type[index]), GeomType.SPHERE),
            size=_vec3(model.site_size[index]),
            pos=_vec3(model.site_pos[index]),
            quat=_vec4(model.site_quat[index]),
            rgba=self._colour(model.site_rgba[index], int(model.site_matid[index])),
            group=int(model.site_group[index]),
        )

    def _camera(self, index: int) -> CameraInfo:
        model = self._model
        return CameraInfo(
            name=self._names.camera(index),
            body=int(model.cam_bodyid[index]),
            pos=_vec3(model.cam_pos[index]),
            quat=_vec4(model.cam_quat[index]),
            fovy=float(model.cam_fovy[index]),
            mode=_CAMERA_MODES[int(model.cam_mode[index])],
            target=int(model.cam_targetbodyid[index]),
            orthographic=self._adapter.camera_is_orthographic(model, index),
        )

    def _light(self, index: int) -> LightInfo:
        model = self._model
        return LightInfo(
            name=self._names.light(index),
            body=int(model.light_bodyid[index]),
            pos=_vec3(model.light_pos[index]),
            dir=_vec3(model.light_dir[index]),
            directional=self._adapter.light_is_directional(model, index),
            castshadow=bool(model.light_castshadow[index]),
            active=bool(model.light_active[index]),
            ambient=_vec3(model.light_ambient[index]),
            diffuse=_vec3(model.light_diffuse[index]),
            specular=_vec3(model.light_specular[index]),
            cutoff=float(model.light_cutoff[index]),
            exponent=float(model.light_exponent[index]),
            mode=_CAMERA_MODES[int(model.light_mode[index])],
            target=int(model.light_targetbodyid[index]),
        )

    def _actuator(self, index: int) -> ActuatorInfo:
        model, adapter = self._model, self._adapter
        control_unit, force_unit = actuator_units(model, index, adapter=adapter)
        joint, target = self._actuator_target(index)
        limited = bool(model.actuator_forcelimited[index])
        controls, outputs = adapter.actuator_slices(model, index)
        return ActuatorInfo(
            name=self._names.actuator(index),
            kind=actuator_kind(model, index, adapter=adapter),
            joint=joint,
            target=target,
            ctrlrange=self._control_range(index),
            forcerange=_vec2(model.actuator_forcerange[index]) if limited else None,
            ctrl_unit=control_unit,
            force_unit=force_unit,
            group=int(model.actuator_group[index]),
            ctrl=controls.start,
            nctrl=controls.stop - controls.start,
            output=outputs.start,
            noutput=outputs.stop - outputs.start,
        )

    def _control_range(self, index: int) -> Vec2 | None:
        """Return the range of an actuator's first control; arrays are per control since 4.0."""
        model = self._model
        at = index
        if len(model.actuator_ctrllimited) == model.nu:
            controls, _ = self._adapter.actuator_slices(model, index)
            if controls.start >= controls.stop:
                return None
            at = controls.start
        limited = bool(model.actuator_ctrllimited[at])
        return _vec2(model.actuator_ctrlrange[at]) if limited else None

    def _actuator_target(self, index: int) -> tuple[int, str]:
        model, kinds = self._model, self._adapter.module.mjtTrn
        kind, target = int(model.actuator_trntype[index]), int(model.actuator_trnid[index, 0])
        if kind in (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)):
            return target, self._names.joint(target)
        if kind == int(kinds.mjTRN_TENDON):
            return -1, self._names.tendon(target)
        if kind in (int(kinds.mjTRN_SITE), int(kinds.mjTRN_SLIDERCRANK)):
            return -1, self._names.site(target)
        if kind == int(kinds.mjTRN_BODY):
            return -1, self._names.body(target)
        return -1, ""

    def _sensor(self, index: int) -> SensorInfo:
        model, adapter = self._model, self._adapter
        kind, target = int(model.sensor_objtype[index]), int(model.sensor_objid[index])
        return SensorInfo(
            name=self._names.sensor(index),
            kind=sensor_kind(model, index, adapter=adapter),
            adr=int(model.sensor_adr[index]),
            dim=int(model.sensor_dim[index]),
            object=self._names.any_object(kind, target),
            body=self._body_of(kind, target),
            unit=sensor_unit(model, index, adapter=adapter),
        )

    def _body_of(self, kind: int, target: int) -> int:
        """Return the body that an object belongs to, or -1."""
        model, kinds = self._model, self._adapter.module.mjtObj
        if target < 0:
            return -1
        if kind in (int(kinds.mjOBJ_BODY), int(kinds.mjOBJ_XBODY)):
            return target
        owners = {
            int(kinds.mjOBJ_GEOM): model.geom_bodyid,
            int(kinds.mjOBJ_SITE): model.site_bodyid,
            int(kinds.mjOBJ_JOINT): model.jnt_bodyid,
            int(kinds.mjOBJ_CAMERA): model.cam_bodyid,
        }.get(kind)
        return -1 if owners is None else int(owners[target])

    def _notes(self) -> tuple[str, ...]:
        model = self._model
        notes = []
        if model.nflex:
            notes.append(f"{model.nflex} deformable (flex) objects are not drawn yet")
        if model.nskin:
            notes.append(f"{model.nskin} skins are not drawn yet")
        reason = self._adapter.hidden_state_reason(model)
        if reason:
            notes.append(f"checkpoints of this scene are approximate: {reason}")
        return tuple(notes)


def _vec2(values: Any) -> Vec2:
    return float(values[0]), float(values[1])


def _vec3(values: Any) -> Vec3:
    return float(values[0]), float(values[1]), float(values[2])


def _vec4(values: Any) -> Vec4:
    return float(values[0]), float(values[1]), float(values[2]), float(values[3])
