"""Trying what a stop offers: the recorded inputs that led to it, once more with an edit."""

from collections.abc import Sequence
from typing import Final

from stroboscope.debugger_protocol.time_messages import RolloutInfo, Segment, StopInfo

__all__ = ["trial_begin", "trial_text", "trial_word"]

# How much of what led to the stop is simulated again [s], and at least so many steps.
_BEFORE_S: Final = 0.5
_LEAST_STEPS: Final = 20


def trial_begin(
    stop: StopInfo,
    *,
    first: int,
    view: int | None,
    segments: Sequence[Segment],
    timestep: float,
) -> int | None:
    """Return the row that a trial of a stop begins with; None: nothing before it is kept.

    The row in ``view``, when that is before the stop; else half a second before it. ``first`` is
    the oldest row that is kept, ``segments`` (oldest first) say where what led to it has begun;
    ``timestep`` [s].
    """
    begun = [segment.begin for segment in segments if segment.begin <= stop.axis - 1]
    first = max(first, begun[-1] if begun else 0)
    if view is not None and first <= view < stop.axis:
        return view
    if stop.axis <= first:
        return None
    steps = max(round(_BEFORE_S / timestep) if timestep > 0.0 else 0, _LEAST_STEPS)
    return max(first, stop.axis - steps)


def trial_word(rollout: RolloutInfo) -> str:
    """Return what has come of a trial, in a word or two."""
    return "no stop" if rollout.outcome == "ended" else rollout.outcome


def trial_text(rollout: RolloutInfo) -> str:
    """Return what has come of a trial, and after how many steps."""
    event = f", first event at its step {rollout.event_step}" if rollout.event_step >= 0 else ""
    return f"{trial_word(rollout)} in {rollout.steps} steps{event}"
