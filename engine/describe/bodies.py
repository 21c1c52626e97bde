"""Bodies and what is fixed to them: geoms, joints, sites."""

from stroboscope.debugger_protocol.scene_description import (
    BodyInfo,
    GeomInfo,
    GeomType,
    JointInfo,
    JointType,
    SiteInfo,
)
from stroboscope.engine.describe.columns import first_column, ranges, scalars, tuples
from stroboscope.engine.describe.part import Part

__all__ = ["JOINT_TYPES", "describe_bodies", "describe_geoms", "describe_joints", "describe_sites"]

# In the order of MuJoCo's mjtJoint.
JOINT_TYPES = (JointType.FREE, JointType.BALL, JointType.SLIDE, JointType.HINGE)


def describe_bodies(part: Part) -> tuple[BodyInfo, ...]:
    """Return the bodies, the world first."""
    model = part.model
    parent, mocap = scalars(model.body_parentid), scalars(model.body_mocapid)
    mass, subtree = scalars(model.body_mass), scalars(model.body_subtreemass)
    inertia = tuples(model.body_inertia)
    ipos, iquat = tuples(model.body_ipos), tuples(model.body_iquat)
    weld, gravcomp = scalars(model.body_weldid), scalars(model.body_gravcomp)
    return tuple(
        BodyInfo(
            name=part.names.body(i),
            parent=parent[i],
            mass=mass[i],
            inertia=inertia[i],
            ipos=ipos[i],
            iquat=iquat[i],
            mocap=mocap[i] >= 0,
            mocap_index=mocap[i],
            subtree_mass=subtree[i],
            weld=weld[i],
            gravcomp=gravcomp[i],
        )
        for i in range(model.nbody)
    )


def describe_geoms(part: Part) -> tuple[GeomInfo, ...]:
    """Return the geoms; frames are those of the compiled model."""
    model = part.model
    kind = [part.geom_type(number) for number in scalars(model.geom_type)]
    body, data = scalars(model.geom_bodyid), scalars(model.geom_dataid)
    size, pos, quat = tuples(model.geom_size), tuples(model.geom_pos), tuples(model.geom_quat)
    rgba, material = part.colours(model.geom_rgba, model.geom_matid), scalars(model.geom_matid)
    group, condim = scalars(model.geom_group), scalars(model.geom_condim)
    contype, conaffinity = scalars(model.geom_contype), scalars(model.geom_conaffinity)
    priority, solmix = scalars(model.geom_priority), scalars(model.geom_solmix)
    friction, solref = tuples(model.geom_friction), tuples(model.geom_solref)
    solimp = tuples(model.geom_solimp)
    margin, gap = scalars(model.geom_margin), scalars(model.geom_gap)
    return tuple(
        GeomInfo(
            name=part.names.geom(i),
            body=body[i],
            type=kind[i],
            size=size[i],
            pos=pos[i],
            quat=quat[i],
            rgba=rgba[i],
            # An SDF geom is drawn as the mesh that its plugin has made of it.
            mesh=data[i] if kind[i] in (GeomType.MESH, GeomType.SDF) else -1,
            hfield=data[i] if kind[i] is GeomType.HFIELD else -1,
            material=material[i],
            group=group[i],
            collides=bool(contype[i] or conaffinity[i]),
            contype=contype[i],
            conaffinity=conaffinity[i],
            condim=condim[i],
            priority=priority[i],
            friction=friction[i],
            solmix=solmix[i],
            solref=solref[i],
            solimp=solimp[i],
            margin=margin[i],
            gap=gap[i],
        )
        for i in range(model.ngeom)
    )


def describe_joints(part: Part) -> tuple[JointInfo, ...]:
    """Return the joints; damping, armature and friction loss are those of their first dof."""
    model = part.model
    kind = [JOINT_TYPES[number] for number in scalars(model.jnt_type)]
    body, group = scalars(model.jnt_bodyid), scalars(model.jnt_group)
    qpos, dof = scalars(model.jnt_qposadr), scalars(model.jnt_dofadr)
    pos, axis = tuples(model.jnt_pos), tuples(model.jnt_axis)
    limits = ranges(model.jnt_range, model.jnt_limited)
    force_limits = ranges(model.jnt_actfrcrange, model.jnt_actfrclimited)
    margin, stiffness = scalars(model.jnt_margin), first_column(model.jnt_stiffness)
    damping, armature = first_column(model.dof_damping), scalars(model.dof_armature)
    frictionloss = scalars(model.dof_frictionloss)
    initial, spring = scalars(model.qpos0), scalars(model.qpos_spring)
    return tuple(
        JointInfo(
            name=part.names.joint(i),
            body=body[i],
            type=kind[i],
            qpos=qpos[i],
            dof=dof[i],
            pos=pos[i],
            axis=axis[i],
            range=limits[i],
            actfrcrange=force_limits[i],
            group=group[i],
            margin=margin[i],
            stiffness=stiffness[i],
            springref=spring[qpos[i]] if kind[i].n_qpos == 1 else 0.0,
            damping=damping[dof[i]],
            armature=armature[dof[i]],
            frictionloss=frictionloss[dof[i]],
            qpos0=tuple(initial[qpos[i] : qpos[i] + kind[i].n_qpos]),
        )
        for i in range(model.njnt)
    )


def describe_sites(part: Part) -> tuple[SiteInfo, ...]:
    """Return the sites."""
    model = part.model
    kind, body = scalars(model.site_type), scalars(model.site_bodyid)
    size, pos, quat = tuples(model.site_size), tuples(model.site_pos), tuples(model.site_quat)
    rgba, material = part.colours(model.site_rgba, model.site_matid), scalars(model.site_matid)
    group = scalars(model.site_group)
    return tuple(
        SiteInfo(
            name=part.names.site(i),
            body=body[i],
            type=part.geom_type(kind[i]),
            size=size[i],
            pos=pos[i],
            quat=quat[i],
            rgba=rgba[i],
            group=group[i],
            material=material[i],
        )
        for i in range(model.nsite)
    )
