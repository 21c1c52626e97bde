"""Where position servos want the bodies to be: their targets through the scene's kinematics."""

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.view3d.overlays.joints import positions
from stroboscope.app.view3d.overlays.subject import Subject
from stroboscope.debugger_protocol.scene_description import SceneDescription
from stroboscope.debugger_protocol.topics import Topic

__all__ = ["servo_targets", "target_pose"]

Floats = NDArray[np.float64]


def servo_targets(description: SceneDescription, ctrl: Floats) -> dict[int, float]:
    """Return the target [m, rad] of each joint that a position servo drives."""
    found = {}
    for index, actuator in enumerate(description.actuators):
        address = actuator.ctrl if actuator.ctrl >= 0 else index
        # With a transmission ratio the control is not the joint's own position.
        gear = actuator.gear[0] if actuator.gear else 1.0
        if actuator.joint >= 0 and actuator.kp is not None and address < len(ctrl) and gear:
            found[actuator.joint] = float(ctrl[address]) / gear
    return found


def target_pose(subject: Subject) -> tuple[Floats, Floats, NDArray[np.bool_]] | None:
    """Return positions (nbody, 3), rotations (nbody, 3, 3) and which bodies (nbody,) would differ.

    None when no servo holds a position. Joints without one stay where they are.
    """
    qpos = subject.value(Topic.STATE, "qpos", -1)
    ctrl = subject.value(Topic.STATE, "ctrl", -1)
    if qpos is None or ctrl is None:
        return None
    facts, scene = subject.facts, subject.scene
    targets = servo_targets(facts.description, ctrl)
    if not targets or len(scene.body_pos) != len(facts.bodies.parent):
        return None
    joints = facts.joints
    here = positions(joints, qpos)
    pos, mat = scene.body_pos.copy(), scene.body_mat.copy()
    moved = np.zeros(len(pos), dtype=np.bool_)
    own: dict[int, list[int]] = {}
    for joint, body in enumerate(joints.body.tolist()):
        if joint in targets and np.isfinite(here[joint]):
            own.setdefault(body, []).append(joint)
    for body in range(1, len(pos)):
        parent = int(facts.bodies.parent[body])
        if not moved[parent] and body not in own:
            continue
        moved[body] = True
        # The body relative to its parent, then its own joints turned on: each turns about an axis
        # fixed in the body, so the last one of the body comes first when they are undone.
        local_mat = scene.body_mat[parent].T @ scene.body_mat[body]
        local_pos = scene.body_mat[parent].T @ (scene.body_pos[body] - scene.body_pos[parent])
        if body in own:
            local_pos, local_mat = _turned(
                subject, body, local_pos, local_mat, here=here, targets=targets
            )
        pos[body] = pos[parent] + mat[parent] @ local_pos
        mat[body] = mat[parent] @ local_mat
    return pos, mat, moved


def _turned(
    subject: Subject,
    body: int,
    pos: Floats,
    mat: Floats,
    *,
    here: Floats,
    targets: dict[int, float],
) -> tuple[Floats, Floats]:
    """Return a body's frame in its parent's after its joints have gone to their targets."""
    joints = subject.facts.joints
    mine = np.flatnonzero(joints.body == body)
    for joint in mine[::-1].tolist():  # undo what they do now, as MuJoCo did it, last one first
        pos, mat = _moved(subject, joint, pos, mat, by=_amount(joints.qpos0[joint], here[joint]))
    for joint in mine.tolist():
        goal = targets.get(joint, float(here[joint]))
        pos, mat = _moved(subject, joint, pos, mat, by=-_amount(joints.qpos0[joint], goal))
    return pos, mat


def _amount(start: float, end: float) -> float:
    """Return how far back ``start`` is from ``end``; 0 for joints of more than one dof."""
    return float(start - end) if np.isfinite(end) else 0.0


def _moved(
    subject: Subject, joint: int, pos: Floats, mat: Floats, *, by: float
) -> tuple[Floats, Floats]:
    """Return a frame after one of its joints has gone ``by`` [m or rad] further."""
    joints = subject.facts.joints
    axis = joints.axis[joint]
    if joints.is_slide[joint]:
        return pos + mat @ (axis * by), mat
    if not joints.is_hinge[joint]:
        return pos, mat
    turned = mat @ _rotation(axis, by)
    offset = joints.pos[joint]
    return pos + mat @ offset - turned @ offset, turned


def _rotation(axis: Floats, angle: float) -> Floats:
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross))
