"""The models that benchmarks step, and the rate at which something steps them."""

import importlib.resources
import runpy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = [
    "SMALL_MODEL",
    "humanoid_path",
    "robot",
    "seconds_without_processor",
    "steps_per_second",
]

_FETCHING = Path(__file__).resolve().parent.parent / "packaging" / "fetch_robots.py"

SMALL_MODEL = """
<mujoco>
  <worldbody>
    <body>
      <joint name="a" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03"/>
      <body pos="0 0 -0.4">
        <joint name="b" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="a"/><motor joint="b"/></actuator>
</mujoco>
"""


def humanoid_path() -> Path:
    """Return the MJCF file of the humanoid that comes with us: 27 dofs, contacts, no meshes."""
    return Path(str(importlib.resources.files("stroboscope.resources") / "models" / "humanoid.xml"))


def robot(name: str) -> Any:
    """Return the model of a real robot, fetched if need be: "g1" on a floor, "shadow_hand".

    The G1 comes without actuators; it gets a position servo on every joint.
    """
    import mujoco

    fetching = runpy.run_path(str(_FETCHING))
    path = fetching["model_path"](name)
    if not path.exists():
        fetching["main"]()
    spec = mujoco.MjSpec.from_file(str(path))
    if name == "g1":
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        plane = mujoco.mjtGeom.mjGEOM_PLANE
        spec.worldbody.add_geom(name="floor", type=plane, size=[0.0, 0.0, 0.05])
        spec.worldbody.add_light(pos=[0.0, 0.0, 3.0])
        for joint in spec.joints:
            if joint.type == mujoco.mjtJoint.mjJNT_HINGE:
                servo = spec.add_actuator(name=joint.name, target=joint.name)
                servo.trntype = mujoco.mjtTrn.mjTRN_JOINT
                servo.set_to_position(kp=40.0, kv=1.0)
    return spec.compile()


def steps_per_second(step: Callable[[], object], count: int) -> float:
    """Return how often per second of its own CPU this thread calls ``step``, ``count`` times.

    CPU time, so that other programs on the machine don't count; for what waits, measure by the
    clock instead.
    """
    start = time.thread_time()
    for _ in range(count):
        step()
    return count / (time.thread_time() - start)


def seconds_without_processor() -> float:
    """Return for how long this thread has been ready to run while others ran [s]; Linux, else 0."""
    try:
        fields = Path("/proc/thread-self/schedstat").read_text(encoding="ascii").split()
    except OSError:
        return 0.0
    return 1e-9 * int(fields[1])
