"""Trying what a stop offers: the recorded inputs that led to it, once more with an edit."""

from collections.abc import Sequence
from typing import Final

from stroboscope.debugger_protocol.time_messages import (
    RolloutInfo,
    Segment,
    StopInfo,
    StopReason,
)

__all__ = ["OPEN_LOOP", "trial_span", "trial_text", "trial_word"]

OPEN_LOOP: Final = "with the recorded controls: your controller does not react"
"""What whoever tries something must know: the script computes nothing anew."""

# How much of what led to the stop is simulated again [s], and at least so many steps; and as much
# again behind it: the step that was stopped may go wrong without a word, those after it do not.
_BEFORE_S: Final = 0.5
_LEAST_STEPS: Final = 20


def trial_span(
    stop: StopInfo,
    *,
    first: int,
    view: int | None,
    segments: Sequence[Segment],
    live: int,
    timestep: float,
) -> tuple[int, int] | None:
    """Return the row that a trial of a stop begins with, and its steps; None: there is no such row.

    The row in ``view``, when that is before the stop; else half a second before it. It goes as far
    as was recorded (0 steps), or half a second behind the stop where that is further. ``first`` is
    the oldest row that is kept, ``segments`` (oldest first) and ``live``, the axis of the step that
    would come next, say what was recorded; ``timestep`` [s].
    """
    begun = [segment.begin for segment in segments if segment.begin <= stop.axis - 1]
    first = max(first, begun[-1] if begun else 0)
    steps = max(round(_BEFORE_S / timestep) if timestep > 0.0 else 0, _LEAST_STEPS)
    if view is not None and first <= view < stop.axis:
        begin = view
    elif stop.axis <= first:
        return None
    else:
        begin = max(first, stop.axis - steps)
    end = next((segment.begin for segment in segments if segment.begin > stop.axis), live)
    return begin, 0 if end >= stop.axis + steps else stop.axis + steps - begin


def trial_word(rollout: RolloutInfo, stop: StopInfo) -> str:
    """Return what has come of a trial, in a word or two."""
    if rollout.outcome != "ended":
        return rollout.outcome
    # Rollouts end with what MuJoCo warns of; conditions are not looked at in them.
    return "simulated" if stop.reason is StopReason.CONDITION else "no stop"


def trial_text(rollout: RolloutInfo, stop: StopInfo) -> str:
    """Return what has come of a trial, and after how many steps."""
    text = f"{trial_word(rollout, stop)} in {rollout.steps} steps"
    if rollout.event_step >= 0:
        return f"{text}, first event at its step {rollout.event_step}"
    if stop.reason is StopReason.CONDITION:
        return f"{text}; whether the condition becomes true is not looked at"
    return text
