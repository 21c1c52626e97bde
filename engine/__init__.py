"""The Stroboscope engine: MuJoCo scenes that a debugger can stop, look at and put back.

    import stroboscope.engine as physics

    scene = physics.create_scene("Arm", model="arm.xml")
    if physics.debugger.attach():
        while physics.debugger.is_attached():
            scene.step()

Importing it needs neither a window nor MuJoCo; the first scene needs MuJoCo (>= 3.3).
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stroboscope.debugger_protocol.expressions import ready_made
    from stroboscope.engine import debugger
    from stroboscope.engine.articulation import Articulation
    from stroboscope.engine.batch.batch_checkpoint import BatchCheckpoint
    from stroboscope.engine.batch.batch_scene import BatchScene
    from stroboscope.engine.byte_array import DynamicArrayUint8
    from stroboscope.engine.checkpoint import Checkpoint, Exactness
    from stroboscope.engine.creation import create_scene, destroy_scene
    from stroboscope.engine.debug_draw import DebugDraw, Drawing
    from stroboscope.engine.errors import (
        ConditionError,
        EngineError,
        ModelError,
        MujocoUnavailableError,
        OwnerThreadError,
        RecordingError,
        RecordingFullError,
        SceneDestroyedError,
        SimulationStopped,
        StateCorruptError,
        StateError,
        StateMismatchError,
        StepFailedError,
    )
    from stroboscope.engine.files.errors import (
        FileDamagedError,
        FileError,
        FileFormatError,
        FilesUnavailableError,
        FileVersionError,
        FileWriteError,
    )
    from stroboscope.engine.files.repair import Repaired
    from stroboscope.engine.options import Cone, Integrator, Jacobian, SceneOptions, Solver
    from stroboscope.engine.outside.trust import trust_folder
    from stroboscope.engine.pose_controller import PoseControllerParams
    from stroboscope.engine.recording.for_clients import set_recordings_folder
    from stroboscope.engine.recording.recording import Recording
    from stroboscope.engine.recording.several_scenes import start_recording
    from stroboscope.engine.recording.trajectory_file import TrajectoryFile
    from stroboscope.engine.rollouts.rollout import Rollouts, rollout
    from stroboscope.engine.runtime import initialize, is_initialized, shutdown
    from stroboscope.engine.scene import Scene
    from stroboscope.engine.scene_loading import load_scene
    from stroboscope.engine.scene_state import StateHandle
    from stroboscope.engine.sim_state import SimState
    from stroboscope.engine.stops.conditions import Condition
    from stroboscope.engine.stops.event import StopEvent
    from stroboscope.engine.trajectory.checkpoint_files import load_checkpoint
    from stroboscope.engine.trajectory.frame import Frame
    from stroboscope.engine.trajectory.trajectory import Trajectory, load_trajectory
    from stroboscope.engine.trajectory.verify import Verification

__all__ = [
    "Articulation",
    "BatchCheckpoint",
    "BatchScene",
    "Checkpoint",
    "Condition",
    "ConditionError",
    "Cone",
    "DebugDraw",
    "Drawing",
    "DynamicArrayUint8",
    "EngineError",
    "Exactness",
    "FileDamagedError",
    "FileError",
    "FileFormatError",
    "FileVersionError",
    "FileWriteError",
    "FilesUnavailableError",
    "Frame",
    "Integrator",
    "Jacobian",
    "ModelError",
    "MujocoUnavailableError",
    "OwnerThreadError",
    "PoseControllerParams",
    "Recording",
    "RecordingError",
    "RecordingFullError",
    "Repaired",
    "Rollouts",
    "Scene",
    "SceneDestroyedError",
    "SceneOptions",
    "SimState",
    "SimulationStopped",
    "Solver",
    "StateCorruptError",
    "StateError",
    "StateHandle",
    "StateMismatchError",
    "StepFailedError",
    "StopEvent",
    "Trajectory",
    "TrajectoryFile",
    "Verification",
    "create_scene",
    "debugger",
    "destroy_scene",
    "initialize",
    "is_initialized",
    "load_checkpoint",
    "load_scene",
    "load_trajectory",
    "ready_made",
    "rollout",
    "set_recordings_folder",
    "shutdown",
    "start_recording",
    "trust_folder",
]

# Where each public name stands. They are imported on first use: `stroboscope run` must not import
# NumPy before the script has set what NumPy reads when it is imported (OMP_NUM_THREADS, …).
_HOMES = {
    "articulation": ("Articulation",),
    "batch.batch_checkpoint": ("BatchCheckpoint",),
    "batch.batch_scene": ("BatchScene",),
    "byte_array": ("DynamicArrayUint8",),
    "creation": ("create_scene", "destroy_scene"),
    "debug_draw": ("DebugDraw", "Drawing"),
    "errors": (
        *(n for n in __all__ if n.endswith("Error") and not n.startswith("File")),
        "SimulationStopped",
    ),
    "checkpoint": ("Checkpoint", "Exactness"),
    "files.repair": ("Repaired",),
    "files.errors": tuple(name for name in __all__ if name.startswith("File")),
    "outside.trust": ("trust_folder",),
    "options": ("Cone", "Integrator", "Jacobian", "SceneOptions", "Solver"),
    "pose_controller": ("PoseControllerParams",),
    "recording.recording": ("Recording",),
    "recording.for_clients": ("set_recordings_folder",),
    "recording.several_scenes": ("start_recording",),
    "recording.trajectory_file": ("TrajectoryFile",),
    "rollouts.rollout": ("Rollouts", "rollout"),
    "runtime": ("initialize", "is_initialized", "shutdown"),
    "scene": ("Scene",),
    "scene_loading": ("load_scene",),
    "stops.conditions": ("Condition",),
    "stops.event": ("StopEvent",),
    "scene_state": ("StateHandle",),
    "sim_state": ("SimState",),
    "trajectory.checkpoint_files": ("load_checkpoint",),
    "trajectory.frame": ("Frame",),
    "trajectory.trajectory": ("Trajectory", "load_trajectory"),
    "trajectory.verify": ("Verification",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name == "debugger":
        return importlib.import_module(f"{__name__}.debugger")
    if name == "ready_made":
        return importlib.import_module("stroboscope.debugger_protocol.expressions").ready_made
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
