"""A Go1 that stands on twelve position servos of one gain; whoever runs it says where it is."""

import mujoco

import stroboscope.engine as physics

MODEL = "go1.xml"
MESHES = 0
STANCE = {"hip": 0.0, "thigh": 0.9, "calf": -1.8}
spec = mujoco.MjSpec.from_file(MODEL)
spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[3, 3, 0.1])
spec.worldbody.add_light(pos=[0, 0, 3])
for geom in spec.geoms:
    if MESHES == 0 and geom.type == mujoco.mjtGeom.mjGEOM_MESH:
        spec.delete(geom)  # which takes long to load, and is nothing that a servo notices
targets = []
for joint in spec.joints:
    part = joint.name.split("_")[1] if joint.name.count("_") == 2 else ""
    if part in STANCE:
        spec.add_actuator(
            name=joint.name,
            target=joint.name,
            trntype=mujoco.mjtTrn.mjTRN_JOINT,
            gaintype=mujoco.mjtGain.mjGAIN_FIXED,
            biastype=mujoco.mjtBias.mjBIAS_AFFINE,
            gainprm=[40.0] + [0.0] * 9,
            biasprm=[0.0, -40.0, -1.0] + [0.0] * 7,
        )
        targets.append(STANCE[part])
scene = physics.create_scene("Go1", spec.compile())
for joint, target in zip(scene.model.actuator_trnid[:, 0], targets, strict=True):
    scene.data.qpos[scene.model.jnt_qposadr[joint]] = target
scene.data.qpos[2] = 0.3
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.data.ctrl[:] = targets
        scene.step()
