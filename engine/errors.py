"""Errors of the engine. Each message says what was seen, what is allowed, and what to do next."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stroboscope.engine.stops.event import StopEvent

__all__ = [
    "EngineError",
    "ModelError",
    "MujocoUnavailableError",
    "OwnerThreadError",
    "RecordingError",
    "RecordingFullError",
    "SceneDestroyedError",
    "SimulationStopped",
    "StateCorruptError",
    "StateError",
    "StateMismatchError",
    "StepFailedError",
]


class EngineError(Exception):
    """Base of every error that ``stroboscope.engine`` raises."""


class MujocoUnavailableError(EngineError):
    """MuJoCo is not installed, too old, or installed twice over itself; says how to mend it."""


class ModelError(EngineError):
    """A model can't be loaded or compiled; the engine's own reason is part of the message."""


class OwnerThreadError(EngineError):
    """A scene was used from another thread than its owner; names the scene and both threads."""


class SceneDestroyedError(EngineError):
    """A scene was used after it was destroyed, or after the engine was shut down."""


class StepFailedError(EngineError):
    """A physics step raised; the engine's own error is chained (``__cause__``)."""


class RecordingError(EngineError):
    """Something is not recorded: says why, and that what was recorded before is in the file."""


class RecordingFullError(RecordingError):
    """A recording has reached its largest size, and is closed as an intact file."""


class SimulationStopped(EngineError):
    """A physics step went wrong and was taken back; ``event`` says what, with names and numbers."""

    def __init__(self, message: str, event: "StopEvent") -> None:
        super().__init__(message)
        self.event = event


class ConditionError(EngineError):
    """A condition that this scene can't evaluate; the message shows the place in its text."""


class StateError(EngineError):
    """A state can't be captured or restored; nothing has changed."""


class StateCorruptError(StateError):
    """Bytes are not an intact checkpoint; the scene is unchanged."""


class StateMismatchError(StateError):
    """An intact checkpoint belongs to another model, version or layout; the scene is unchanged."""
