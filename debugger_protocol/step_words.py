"""Where a row of a scene's past is, in the words that the window and terminals have in common."""

from collections.abc import Callable

__all__ = ["step_words"]


def step_words(step: int, axis: int, *, number: Callable[[int], str] = str) -> str:
    """Return "step 120 (axis 340)": a physics step within its episode, and its place on the axis.

    Steps begin anew with each episode and go back with each branch; the axis never does. Where both
    are the same, as in a scene that has had neither, one of them is enough. ``number`` writes them.
    """
    if step == axis:
        return f"step {number(step)}"
    return f"step {number(step)} (axis {number(axis)})"
