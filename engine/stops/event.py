"""A stop as scripts see it."""

import dataclasses

from stroboscope.debugger_protocol.time_messages import StopInfo, StopReason

__all__ = ["StopEvent"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StopEvent:
    """Why a scene was stopped before a physics step, which was taken back.

    Only what a condition has stopped for is complete: ``physics_step`` is where it became true.
    ``step`` and ``physics_step`` count within the state, ``time`` [s] is the state's. ``env`` -1
    without environments; ``dof`` -1, names empty and ``value`` None where nothing is to blame.
    """

    episode: int
    step: int
    physics_step: int
    time: float
    env: int
    reason: StopReason
    message: str
    culprit: str
    advice: str
    dof: int
    joint: str
    body: str
    actuator: str
    value: float | None

    @classmethod
    def of(cls, stop: StopInfo) -> "StopEvent":
        """Return what a stop is to a script."""
        return cls(**{field.name: getattr(stop, field.name) for field in dataclasses.fields(cls)})
