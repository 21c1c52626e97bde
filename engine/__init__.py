"""The Stroboscope engine: MuJoCo scenes that a debugger can stop, look at and put back.

    import stroboscope.engine as physics

    scene = physics.create_scene("Arm", model="arm.xml")
    if physics.debugger.attach():
        while physics.debugger.is_attached():
            scene.step()

Importing it needs neither a window nor MuJoCo; the first scene needs MuJoCo (>= 3.3).
"""

from stroboscope.engine.articulation import Articulation
from stroboscope.engine.byte_array import DynamicArrayUint8
from stroboscope.engine.creation import create_scene, destroy_scene
from stroboscope.engine.errors import (
    EngineError,
    ModelError,
    MujocoUnavailableError,
    OwnerThreadError,
    SceneDestroyedError,
    StateCorruptError,
    StateError,
    StateMismatchError,
    StepFailedError,
)
from stroboscope.engine.options import Integrator, SceneOptions, Solver
from stroboscope.engine.pose_controller import PoseControllerParams
from stroboscope.engine.runtime import initialize, is_initialized, shutdown
from stroboscope.engine.scene import Scene
from stroboscope.engine.scene_state import StateHandle

__all__ = [
    "Articulation",
    "DynamicArrayUint8",
    "EngineError",
    "Integrator",
    "ModelError",
    "MujocoUnavailableError",
    "OwnerThreadError",
    "PoseControllerParams",
    "Scene",
    "SceneDestroyedError",
    "SceneOptions",
    "Solver",
    "StateCorruptError",
    "StateError",
    "StateHandle",
    "StateMismatchError",
    "StepFailedError",
    "create_scene",
    "destroy_scene",
    "initialize",
    "is_initialized",
    "shutdown",
]
