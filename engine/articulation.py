"""Articulations: the joints of a kinematic tree as one pose, with an optional pose controller."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.arguments import number_array, plain_text, shown
from stroboscope.engine.element_names import ElementNames
from stroboscope.engine.errors import EngineError
from stroboscope.engine.live_data import HeldData
from stroboscope.engine.model_source import recompiled
from stroboscope.engine.pose_controller import PoseControllerParams

if TYPE_CHECKING:
    from stroboscope.engine.scene import Scene

__all__ = ["Articulation"]

Pose = Sequence[float] | NDArray[np.float64]


class Articulation:
    """The slide and hinge joints of the bodies under one body, in the model's order.

    A pose is one number per joint: [m] for slides, [rad] for hinges. Free and ball joints are
    not part of it. Owner thread of the scene only.
    """

    def __init__(self, scene: "Scene", name: str) -> None:
        self._scene = scene
        # MuJoCo's look-up crashes the process for what is no text.
        self._name = plain_text(name, "the name of an articulation's body")
        self._bind()

    def _bind(self) -> None:
        """Find bodies, joints and controls in the scene's present model."""
        world = self._scene.world
        model, module = world.model, world.adapter.module
        root = int(module.mj_name2id(model, int(module.mjtObj.mjOBJ_BODY), self._name))
        names = ElementNames(model, adapter=world.adapter)
        if root < 0:
            known = [names.body(i) for i in range(1, model.nbody)]
            shown = ", ".join(known[:20]) + (
                f", +{len(known) - 20} more" if len(known) > 20 else ""
            )
            raise EngineError(f"there is no body {self._name!r}; the model has: {shown or 'none'}")
        inside = {root}
        for body in range(root + 1, model.nbody):
            if int(model.body_parentid[body]) in inside:
                inside.add(body)
        scalar = (int(module.mjtJoint.mjJNT_SLIDE), int(module.mjtJoint.mjJNT_HINGE))
        joints = [
            j
            for j in range(model.njnt)
            if int(model.jnt_bodyid[j]) in inside and int(model.jnt_type[j]) in scalar
        ]
        self._world = world
        self._joints = joints
        self._joint_names = tuple(names.joint(j) for j in joints)
        self._qpos = np.array([int(model.jnt_qposadr[j]) for j in joints], dtype=np.intp)
        self._dofs = np.array([int(model.jnt_dofadr[j]) for j in joints], dtype=np.intp)
        self._controls = _controls_of(model, self._controller_names(), adapter=world.adapter)

    def _controller_names(self) -> tuple[str, ...]:
        return tuple(f"{self._name}/{joint} target" for joint in self._joint_names)

    def _current(self) -> Any:
        """Return the live data, having followed the scene to another model if need be."""
        self._scene._guard()
        if self._scene.world is not self._world:
            self._bind()
        return self._scene.data

    @property
    def name(self) -> str:
        """The name of the body at its root; any thread."""
        return self._name

    @property
    def num_dofs(self) -> int:
        """The number of joints, which is the length of a pose; any thread."""
        return len(self._joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The names of the joints, in the order of a pose; any thread."""
        return self._joint_names

    @property
    def has_pose_controller(self) -> bool:
        """Whether :meth:`add_articulated_pose_controller` was called for this tree."""
        self._current()
        return self._controls is not None

    # --- the pose controller

    def add_articulated_pose_controller(self, params: PoseControllerParams) -> None:
        """Append a position actuator per joint to the model; its targets start at the pose.

        Only before the scene's first step, because the model is compiled anew: references to the
        old ``scene.model`` and ``scene.data`` go stale, kept states are released, and direct
        writes to the old model are lost. Raises EngineError for scenes that were made from a
        compiled model or adopted, after a step, or when there is a controller already; ValueError
        for gains that do not fit the joints.
        """
        self._current()
        if not isinstance(params, PoseControllerParams):
            raise TypeError(
                f"a pose controller needs PoseControllerParams(stiffness=…), not {shown(params)}"
            )
        spec = self._editable_spec()
        names = self._joint_names
        stiffness, damping = params.stiffness_of(names), params.damping_of(names)
        limits = params.max_force_of(names)
        joints = list(spec.joints)
        for i, (index, actuator_name) in enumerate(
            zip(self._joints, self._controller_names(), strict=True)
        ):
            joint = _named_joint(joints, index, self._joint_names[i])
            _add_position_actuator(
                spec,
                name=actuator_name,
                joint=joint,
                gains=(float(stiffness[i]), float(damping[i])),
                limit=None if limits is None else float(limits[i]),
                adapter=self._world.adapter,
            )
        self._extend_keyframes(spec)
        self._replace_model(spec)
        self.reset_articulated_target_pose()

    def _editable_spec(self) -> Any:
        scene, source = self._scene, self._world.source
        why = "a pose controller changes the model, and "
        if source.spec is None:
            raise EngineError(
                f"{why}scene {scene.name!r} can't be changed: {source.spec_missing}; "
                "create the scene from a file, a string or an MjSpec"
            )
        if scene.counters.axis:
            raise EngineError(
                f"{why}scene {scene.name!r} has already taken {scene.counters.axis} steps: "
                "add controllers before the first step"
            )
        if self._controls is not None:
            raise EngineError(f"articulation {self._name!r} has a pose controller already")
        if not self._joints:
            raise EngineError(f"articulation {self._name!r} has no slide or hinge joint to control")
        return source.spec.copy()

    def _extend_keyframes(self, spec: Any) -> None:
        """Let each keyframe that sets controls hold its own pose with the new ones."""
        model = self._world.model
        for key in spec.keys:
            if len(key.ctrl) == model.nu > 0:
                pose = key.qpos if len(key.qpos) == model.nq else model.qpos0
                key.ctrl = [*key.ctrl, *np.asarray(pose)[self._qpos]]

    def _replace_model(self, spec: Any) -> None:
        scene, world = self._scene, self._world
        source = recompiled(world.source, spec)
        old = scene.data
        data = world.adapter.module.MjData(source.model)
        data.time = old.time
        for array in ("qpos", "qvel", "mocap_pos", "mocap_quat", "qfrc_applied", "xfrc_applied"):
            getattr(data, array)[:] = getattr(old, array)
        # New actuators stand behind the old ones.
        data.ctrl[: old.ctrl.size] = old.ctrl
        data.act[: old.act.size] = old.act
        data.eq_active[:] = old.eq_active
        data.userdata[:] = old.userdata
        scene.replace_world(source, HeldData(data))
        self._bind()

    def set_articulated_target_pose(self, *, pose: Pose) -> None:
        """Set the controller's targets, (num_dofs,) [m, rad]; they are part of the state."""
        data = self._current()
        data.ctrl[self._required_controls()] = self._checked(pose, "pose")

    def get_articulated_target_pose(self) -> NDArray[np.float64]:
        """Return a copy of the controller's targets, (num_dofs,) [m, rad]."""
        data = self._current()
        target: NDArray[np.float64] = data.ctrl[self._required_controls()].copy()
        return target

    def reset_articulated_target_pose(self) -> None:
        """Make the present pose the target."""
        data = self._current()
        data.ctrl[self._required_controls()] = data.qpos[self._qpos]

    # --- pose and velocities

    def get_articulated_pose(self) -> NDArray[np.float64]:
        """Return a copy of the joint positions, (num_dofs,) [m, rad]."""
        pose: NDArray[np.float64] = self._current().qpos[self._qpos].copy()
        return pose

    def set_articulated_pose_from_joints(self, *, pose: Pose) -> None:
        """Write the joint positions, (num_dofs,) [m, rad]: a jump, not a motion."""
        data = self._current()
        data.qpos[self._qpos] = self._checked(pose, "pose")
        self._scene.link.state_replaced(f"the script set the pose of {self._name}")

    def get_articulated_joint_velocities(self) -> NDArray[np.float64]:
        """Return a copy of the joint velocities, (num_dofs,) [m/s, rad/s]."""
        velocities: NDArray[np.float64] = self._current().qvel[self._dofs].copy()
        return velocities

    def set_articulated_joint_velocities(self, *, velocities: Pose) -> None:
        """Write the joint velocities, (num_dofs,) [m/s, rad/s]."""
        data = self._current()
        data.qvel[self._dofs] = self._checked(velocities, "velocities")
        self._scene.link.state_replaced(f"the script set the velocities of {self._name}")

    def _required_controls(self) -> NDArray[np.intp]:
        if self._controls is None:
            raise EngineError(
                f"articulation {self._name!r} has no pose controller: "
                "call add_articulated_pose_controller() first"
            )
        return self._controls

    def _checked(self, values: Pose, what: str) -> NDArray[np.float64]:
        numbers = number_array(values, what)
        if numbers.shape != (self.num_dofs,):
            raise ValueError(
                f"{what} has shape {numbers.shape}, articulation {self._name!r} has "
                f"{self.num_dofs} joints: {', '.join(self._joint_names)}"
            )
        if not np.isfinite(numbers).all():
            raise ValueError(f"{what} must be finite, not {numbers.tolist()}")
        return numbers

    def __repr__(self) -> str:
        """Say its root and size; any thread."""
        return f"Articulation({self._name!r}, {self.num_dofs} joints)"


def _controls_of(model: Any, names: Sequence[str], *, adapter: Any) -> NDArray[np.intp] | None:
    """Return where the actuators called ``names`` stand in ctrl, or None when one is missing."""
    module = adapter.module
    kind = int(module.mjtObj.mjOBJ_ACTUATOR)
    found = [int(module.mj_name2id(model, kind, name)) for name in names]
    if not found or min(found) < 0:
        return None
    starts = [adapter.actuator_slices(model, index)[0].start for index in found]
    return np.array(starts, dtype=np.intp)


def _named_joint(joints: Sequence[Any], index: int, label: str) -> str:
    """Return the joint's name in the spec; an unnamed one gets a name first."""
    # Elements of a spec know their compiled index since MuJoCo 3.3.1; before, only their name.
    joint = next((j for j in joints if int(getattr(j, "id", -1)) == index or j.name == label), None)
    if joint is None:
        raise EngineError(
            f"joint {label!r} can't be found in the model's source: give it a name there"
        )
    if not joint.name:
        joint.name = label
    return str(joint.name)


def _add_position_actuator(
    spec: Any,
    *,
    name: str,
    joint: str,
    gains: tuple[float, float],
    limit: float | None,
    adapter: Any,
) -> None:
    """Append force = stiffness · (target - position) - damping · velocity."""
    module = adapter.module
    stiffness, damping = gains
    actuator = spec.add_actuator()
    actuator.name = name
    actuator.target = joint
    actuator.trntype = module.mjtTrn.mjTRN_JOINT
    actuator.gaintype = module.mjtGain.mjGAIN_FIXED
    actuator.biastype = module.mjtBias.mjBIAS_AFFINE
    actuator.gainprm[0] = stiffness
    actuator.biasprm[1] = -stiffness
    actuator.biasprm[2] = -damping
    if limit is not None:
        actuator.forcelimited = int(module.mjtLimited.mjLIMITED_TRUE)
        actuator.forcerange[:] = (-limit, limit)
