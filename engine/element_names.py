"""What elements of a model are called, also those that have no name; and their units."""

from typing import Any

from stroboscope.debugger_protocol.codec import trim_text
from stroboscope.debugger_protocol.limits import Limits
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["SHOWN_NAME_BYTES", "ElementNames", "actuator_units", "joint_units"]

SHOWN_NAME_BYTES = Limits().name_bytes
"""How long the names are that clients get; people can't read longer ones."""

_QUATERNION = ("qw", "qx", "qy", "qz")


class ElementNames:
    """Names of a model's elements; an unnamed one is called by kind and index ("geom 12").

    ``limit``: how many bytes of UTF-8 a name may have before it is cut; None for all.
    """

    def __init__(self, model: Any, *, adapter: MujocoAdapter, limit: int | None = None) -> None:
        self._limit = limit
        self._model = model
        self._adapter = adapter
        self._objects = adapter.module.mjtObj
        self._name_of = adapter.module.mj_id2name

    def body(self, index: int) -> str:
        """Return a body's name."""
        return self._name(self._objects.mjOBJ_BODY, "body", index)

    def geom(self, index: int) -> str:
        """Return a geom's name."""
        return self._name(self._objects.mjOBJ_GEOM, "geom", index)

    def joint(self, index: int) -> str:
        """Return a joint's name; an unnamed one is called after its body when that has a name."""
        return self._name(self._objects.mjOBJ_JOINT, "joint", index)

    def site(self, index: int) -> str:
        """Return a site's name."""
        return self._name(self._objects.mjOBJ_SITE, "site", index)

    def camera(self, index: int) -> str:
        """Return a camera's name."""
        return self._name(self._objects.mjOBJ_CAMERA, "camera", index)

    def light(self, index: int) -> str:
        """Return a light's name."""
        return self._name(self._objects.mjOBJ_LIGHT, "light", index)

    def mesh(self, index: int) -> str:
        """Return a mesh's name."""
        return self._name(self._objects.mjOBJ_MESH, "mesh", index)

    def hfield(self, index: int) -> str:
        """Return a height field's name."""
        return self._name(self._objects.mjOBJ_HFIELD, "height field", index)

    def texture(self, index: int) -> str:
        """Return a texture's name."""
        return self._name(self._objects.mjOBJ_TEXTURE, "texture", index)

    def material(self, index: int) -> str:
        """Return a material's name."""
        return self._name(self._objects.mjOBJ_MATERIAL, "material", index)

    def actuator(self, index: int) -> str:
        """Return an actuator's name."""
        return self._name(self._objects.mjOBJ_ACTUATOR, "actuator", index)

    def sensor(self, index: int) -> str:
        """Return a sensor's name."""
        return self._name(self._objects.mjOBJ_SENSOR, "sensor", index)

    def tendon(self, index: int) -> str:
        """Return a tendon's name."""
        return self._name(self._objects.mjOBJ_TENDON, "tendon", index)

    def equality(self, index: int) -> str:
        """Return an equality constraint's name."""
        return self._name(self._objects.mjOBJ_EQUALITY, "equality", index)

    def pair(self, index: int) -> str:
        """Return an explicit contact pair's name."""
        return self._name(self._objects.mjOBJ_PAIR, "pair", index)

    def flex(self, index: int) -> str:
        """Return a flex's name."""
        return self._name(self._objects.mjOBJ_FLEX, "flex", index)

    def skin(self, index: int) -> str:
        """Return a skin's name."""
        return self._name(self._objects.mjOBJ_SKIN, "skin", index)

    def keyframe(self, index: int) -> str:
        """Return a keyframe's name."""
        return self._name(self._objects.mjOBJ_KEY, "keyframe", index)

    def any_object(self, kind: int, index: int) -> str:
        """Return the name of an object of a MuJoCo kind (``mjtObj``), empty for none."""
        if index < 0 or kind == int(self._objects.mjOBJ_UNKNOWN):
            return ""
        word = str(self._objects(kind).name).removeprefix("mjOBJ_").lower()
        return self._name(kind, {"xbody": "body"}.get(word, word), index)

    def _name(self, kind: Any, word: str, index: int) -> str:
        try:
            name = self._name_of(self._model, int(kind), index)
        except UnicodeDecodeError as error:
            # MuJoCo keeps the bytes of files in any encoding.
            name = bytes(error.object).decode("utf-8", "backslashreplace")
        if not name:
            return f"{word} {index}"
        return name if self._limit is None else trim_text(name, self._limit)

    def qpos(self) -> tuple[str, ...]:
        """Return a label per position coordinate, (nq,)."""
        kinds = self._adapter.module.mjtJoint
        labels: list[str] = []
        for index in range(self._model.njnt):
            name, kind = self.joint(index), int(self._model.jnt_type[index])
            if kind == int(kinds.mjJNT_FREE):
                labels += [f"{name}.{part}" for part in ("x", "y", "z", *_QUATERNION)]
            elif kind == int(kinds.mjJNT_BALL):
                labels += [f"{name}.{part}" for part in _QUATERNION]
            else:
                labels.append(name)
        return tuple(labels)

    def dofs(self) -> tuple[str, ...]:
        """Return a label per degree of freedom, (nv,)."""
        kinds = self._adapter.module.mjtJoint
        labels: list[str] = []
        for index in range(self._model.njnt):
            name, kind = self.joint(index), int(self._model.jnt_type[index])
            if kind == int(kinds.mjJNT_FREE):
                labels += [f"{name}.{part}" for part in ("x", "y", "z", "rx", "ry", "rz")]
            elif kind == int(kinds.mjJNT_BALL):
                labels += [f"{name}.{part}" for part in ("rx", "ry", "rz")]
            else:
                labels.append(name)
        return tuple(labels)

    def dof_is_linear(self) -> tuple[bool, ...]:
        """Return for each degree of freedom whether it is a translation, (nv,)."""
        kinds = self._adapter.module.mjtJoint
        linear: list[bool] = []
        for index in range(self._model.njnt):
            kind = int(self._model.jnt_type[index])
            if kind == int(kinds.mjJNT_FREE):
                linear += [True] * 3 + [False] * 3
            elif kind == int(kinds.mjJNT_BALL):
                linear += [False] * 3
            else:
                linear.append(kind == int(kinds.mjJNT_SLIDE))
        return tuple(linear)

    def controls(self) -> tuple[str, ...]:
        """Return a label per control, (nu,)."""
        return self._per_actuator(0, self._model.nu)

    def outputs(self) -> tuple[str, ...]:
        """Return a label per actuator output, the length of ``actuator_force``."""
        return self._per_actuator(1, int(getattr(self._model, "nout", self._model.nu)))

    def _per_actuator(self, which: int, count: int) -> tuple[str, ...]:
        labels = [f"[{index}]" for index in range(count)]
        for index in range(self._adapter.actuator_count(self._model)):
            where = self._adapter.actuator_slices(self._model, index)[which]
            name = self.actuator(index)
            several = where.stop - where.start > 1
            for at in range(where.start, where.stop):
                labels[at] = f"{name}[{at - where.start}]" if several else name
        return tuple(labels)

    def activations(self) -> tuple[str, ...]:
        """Return a label per actuator activation, (na,)."""
        model = self._model
        labels = [f"[{index}]" for index in range(model.na)]
        for index in range(self._adapter.actuator_count(model)):
            first, count = int(model.actuator_actadr[index]), int(model.actuator_actnum[index])
            for at in range(first, first + count) if first >= 0 else ():
                name = self.actuator(index)
                labels[at] = f"{name}[{at - first}]" if count > 1 else name
        return tuple(labels)

    def sensor_values(self) -> tuple[str, ...]:
        """Return a label per entry of ``sensordata``."""
        labels: list[str] = []
        for index in range(self._model.nsensor):
            name, size = self.sensor(index), int(self._model.sensor_dim[index])
            if size == 1:
                labels.append(name)
            else:
                axes = ("x", "y", "z") if size == 3 else range(size)
                labels += [f"{name}.{axis}" for axis in axes]
        return tuple(labels)


def joint_units(model: Any, index: int, *, adapter: MujocoAdapter) -> tuple[str, str, str]:
    """Return the units of a scalar joint's position, velocity and force."""
    slide = int(adapter.module.mjtJoint.mjJNT_SLIDE)
    return ("m", "m/s", "N") if int(model.jnt_type[index]) == slide else ("rad", "rad/s", "N·m")


def actuator_units(model: Any, index: int, *, adapter: MujocoAdapter) -> tuple[str, str]:
    """Return the units of an actuator's control and force; empty where it depends on its gear."""
    module = adapter.module
    position, velocity, force = "", "", "N"
    transmission = int(model.actuator_trntype[index])
    if transmission in (
        int(module.mjtTrn.mjTRN_JOINT),
        int(module.mjtTrn.mjTRN_JOINTINPARENT),
    ):
        position, velocity, force = joint_units(
            model, int(model.actuator_trnid[index, 0]), adapter=adapter
        )
    elif transmission == int(module.mjtTrn.mjTRN_TENDON):
        position, velocity = "m", "m/s"
    kind = actuator_kind(model, index, adapter=adapter)
    control = {"position": position, "intvelocity": velocity, "velocity": velocity}.get(kind, "")
    if kind == "motor" and float(model.actuator_gainprm[index, 0]) == 1.0:
        _, outputs = adapter.actuator_slices(model, index)
        control = force if float(model.actuator_gear[outputs.start, 0]) == 1.0 else ""
    return control, force


def actuator_kind(model: Any, index: int, *, adapter: MujocoAdapter) -> str:
    """Return MuJoCo's shortcut that makes such an actuator (``motor``, ``position``, …)."""
    module = adapter.module
    dynamics, gain, bias = (
        int(model.actuator_dyntype[index]),
        int(model.actuator_gaintype[index]),
        int(model.actuator_biastype[index]),
    )
    if gain == int(module.mjtGain.mjGAIN_MUSCLE):
        return "muscle"
    for word in ("DCMOTOR", "PID", "SO3"):
        member = getattr(module.mjtGain, f"mjGAIN_{word}", None)
        if member is not None and gain == int(member):
            return word.lower()
    if gain == int(module.mjtGain.mjGAIN_AFFINE):
        return "damper"
    if gain != int(module.mjtGain.mjGAIN_FIXED):
        return "general"
    gain0 = float(model.actuator_gainprm[index, 0])
    bias0, bias1, bias2 = (float(value) for value in model.actuator_biasprm[index, :3])
    if bias == int(module.mjtBias.mjBIAS_NONE):
        return "motor" if dynamics == int(module.mjtDyn.mjDYN_NONE) else "general"
    if bias != int(module.mjtBias.mjBIAS_AFFINE) or bias0 != 0.0:
        return "general"
    if bias1 == -gain0 and gain0 != 0.0:
        integrates = dynamics == int(module.mjtDyn.mjDYN_INTEGRATOR)
        return "intvelocity" if integrates else "position"
    if bias1 == 0.0 and bias2 == -gain0 and gain0 != 0.0:
        return "velocity"
    return "general"
