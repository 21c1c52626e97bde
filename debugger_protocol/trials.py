"""Trying what a stop offers: the recorded inputs that led to it, once more with an edit.

And what trials are called: short, and so that one can be told from another.
"""

from collections.abc import Sequence
from typing import Final

from stroboscope.debugger_protocol.servo_gains import ChosenServos
from stroboscope.debugger_protocol.time_messages import (
    RolloutInfo,
    Segment,
    StopInfo,
    StopReason,
)

__all__ = [
    "OPEN_LOOP",
    "gain_number",
    "gain_values",
    "gains_text",
    "gains_title",
    "servos_words",
    "trial_name",
    "trial_span",
    "trial_text",
    "trial_word",
    "unnamed_edits",
]

OPEN_LOOP: Final = "with the recorded controls: your controller does not react"
"""What whoever tries something must know: the script computes nothing anew."""

# How much of what led to the stop is simulated again [s], and at least so many steps; and as much
# again behind it: the step that was stopped may go wrong without a word, those after it do not.
_BEFORE_S: Final = 0.5
_LEAST_STEPS: Final = 20
# Letters of a name that is made of several edits, and servos that are named in a text.
_NAME_LETTERS: Final = 160
_MOST_SERVOS: Final = 128
# Between the title of an edit and the servos that it is about.
_LIST: Final = " – "


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

    The row in ``view``, when that is before the stop; else half a second before it, or less where
    its episode begins, or the rows that are kept: the stop's own row at least. It goes as far as
    was recorded (0 steps), or half a second behind the stop where that is further. ``first`` is
    the oldest row that is kept, ``segments`` (oldest first) and ``live``, the axis of the step that
    would come next, say what was recorded; ``timestep`` [s].
    """
    begun = [segment.begin for segment in segments if _has_stopped_in(segment, stop)]
    first = max(first, begun[-1] if begun else 0)
    steps = max(round(_BEFORE_S / timestep) if timestep > 0.0 else 0, _LEAST_STEPS)
    if view is not None and first <= view < stop.axis:
        begin = view
    elif stop.axis < first:
        return None
    else:
        begin = max(first, stop.axis - steps)
    after = (each for each in segments if each.begin >= stop.axis)
    end = next((each.begin for each in after if not _has_stopped_in(each, stop)), live)
    return begin, 0 if end >= stop.axis + steps else stop.axis + steps - begin


def _has_stopped_in(segment: Segment, stop: StopInfo) -> bool:
    """Return whether a stop may be of a stretch: those that it is behind, or begun by its step.

    One that was begun in that place after the stop, by who went back, is another one.
    """
    if segment.begin != stop.axis:
        return segment.begin < stop.axis
    return (segment.episode, segment.physics_step) == (stop.episode, stop.physics_step)


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


# --- what trials are called


def trial_name(titles: Sequence[str], *, separator: str = ", ") -> str:
    """Return what a trial with such edits is called: all, or the first and how many more."""
    name, rest = "", len(titles)
    for title in titles:
        longer = f"{name}{separator if name else ''}{title}"
        if name and len(longer) > _NAME_LETTERS:
            break
        name, rest = longer, rest - 1
    return f"{name}{separator}+{rest} more" if rest else name


def unnamed_edits(rollout: RolloutInfo) -> tuple[str, ...]:
    """Return the titles of edits that the name of a rollout does not tell."""
    titles = tuple(edit.partition(_LIST)[0] for edit in rollout.edits)
    for count in range(len(titles), 0, -1):
        if trial_name(titles[:count]) == rollout.name:
            return titles[count:]
    return titles


def servos_words(chosen: ChosenServos) -> str:
    """Return "wrist", "all 12 servos", "4 servos (*hip*)", or "3 servos (a … c)"."""
    names = [servo.name for servo in chosen.servos]
    if len(names) == 1:
        return names[0]
    if len(names) == chosen.of or not (chosen.pattern or chosen.is_listed):
        return f"all {len(names)} servos"
    between = ", " if len(names) == 2 else " … "
    return f"{len(names)} servos ({chosen.pattern or between.join((names[0], names[-1]))})"


def gains_title(chosen: ChosenServos, new: Sequence[float], *, factor: float | None = None) -> str:
    """Return "kp of all 12 servos: 40 → 80", or "…: ×1.5"; ``new``: the gain of each."""
    what = f"{chosen.word} of {servos_words(chosen)}"
    old = [servo.gain.value for servo in chosen.servos]
    if len(old) == 1:
        unit = f" {chosen.unit}" if chosen.unit else ""
        return f"{what}: {gain_number(old[0])} → {gain_number(new[0])}{unit}"
    if factor is not None:
        return f"{what}: ×{gain_number(factor)}"
    return f"{what}: {gain_values(old)} → {gain_values(new)}"


def gains_text(chosen: ChosenServos, new: Sequence[float], *, factor: float | None = None) -> str:
    """Return the title, and behind it every servo, with its own values where it does not say them.

    "kp of 2 servos (*hip*): ×1.5 – left_hip 40 → 60, right_hip 20 → 30 [N·m/rad]"
    """
    title = gains_title(chosen, new, factor=factor)
    servos = chosen.servos
    if len(servos) == 1:
        return title
    is_told = factor is None and len({servo.gain.value for servo in servos}) == 1
    listed = []
    for servo, value in zip(servos[:_MOST_SERVOS], new, strict=False):
        words = "" if is_told else f" {gain_number(servo.gain.value)} → {gain_number(value)}"
        own_unit = "" if chosen.unit or is_told or not servo.unit else f" {servo.unit}"
        listed.append(f"{servo.name}{words}{own_unit}")
    more = f" and {len(servos) - _MOST_SERVOS} more" if len(servos) > _MOST_SERVOS else ""
    unit = f" [{chosen.unit}]" if chosen.unit else ""
    return f"{title}{_LIST}{', '.join(listed)}{more}{unit}"


def gain_values(values: Sequence[float]) -> str:
    """Return "40" of gains that are all the same, "20…40" of others."""
    low, high = min(values), max(values)
    return gain_number(low) if low == high else f"{gain_number(low)}…{gain_number(high)}"


def gain_number(value: float) -> str:
    """Return a gain as people read it."""
    return f"{value:.6g}".replace("-", "−")
