"""Where a row of a scene's past is, in the words that the window and terminals have in common."""

from collections.abc import Callable, Sequence

from stroboscope.debugger_protocol.time_messages import Segment

__all__ = [
    "has_episodes",
    "physics_step_at",
    "place_words",
    "segment_at",
    "step_words",
    "words_in_episode",
]


def step_words(step: int, axis: int, *, number: Callable[[int], str] = str) -> str:
    """Return "step 120 (axis 340)": a physics step within its episode, and its place on the axis.

    Steps begin anew with each episode and go back with each branch; the axis never does. Where both
    are the same, as in a scene that has had neither, one of them is enough. ``number`` writes them.
    """
    if step == axis:
        return f"step {number(step)}"
    return f"step {number(step)} (axis {number(axis)})"


def segment_at(segments: Sequence[Segment], axis: int) -> Segment | None:
    """Return the segment that a row is of, the newest that begins no later; they are in order."""
    return next((each for each in reversed(segments) if each.begin <= axis), None)


def physics_step_at(segments: Sequence[Segment], axis: int) -> int:
    """Return the physics step that a row is, within its episode."""
    segment = segment_at(segments, axis)
    return axis if segment is None else segment.physics_step + axis - segment.begin


def has_episodes(segments: Sequence[Segment]) -> bool:
    """Return whether there are several, so that a step is of one of them."""
    return any(each.episode != segments[-1].episode for each in segments)


def place_words(segments: Sequence[Segment], axis: int) -> str:
    """Return "step 120 of episode 3" for a row; the episode where there are several."""
    step, segment = physics_step_at(segments, axis), segment_at(segments, axis)
    episode = f" of episode {segment.episode}" if segment and has_episodes(segments) else ""
    return f"step {step}{episode}"


def words_in_episode(step: int, *, physics: int, episode: int | None = None) -> str:
    """Return "episode 3, step 20 (physics step 80)": as much of it as there are others of."""
    which = "" if episode is None else f"episode {episode}, "
    return f"{which}step {step}{'' if physics == step else f' (physics step {physics})'}"
