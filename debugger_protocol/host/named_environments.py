"""Which environments of a scene a command names, checked before anything is changed."""

from collections.abc import Sequence

from stroboscope.debugger_protocol.exceptions import CommandError

__all__ = ["MOST_NAMED", "check_environments", "environments_of_condition"]

MOST_NAMED = 64
"""A condition of a client is looked at in so many environments at most, when it names them."""


def check_environments(numbers: Sequence[int], count: int) -> None:
    """Raise CommandError, with the number, when a scene of ``count`` lacks one of these."""
    wrong = [number for number in numbers if not 0 <= number < count]
    if wrong:
        raise CommandError(f"there is no environment {wrong[0]}: there are 0 to {count - 1}")


def environments_of_condition(numbers: Sequence[int], count: int) -> tuple[int, ...]:
    """Return where a condition is to be looked at; empty: wherever it can be.

    Raises CommandError for a scene without environments, for numbers that there aren't, that are
    there twice, and for more than ``MOST_NAMED``.
    """
    if not numbers:
        return ()
    if not count:
        raise CommandError(
            f"this scene has no environments to choose from, got envs_idx {list(numbers)[:8]}: "
            "leave envs_idx out"
        )
    if len(numbers) > MOST_NAMED:
        raise CommandError(
            f"envs_idx may name {MOST_NAMED} environments at most, got {len(numbers)}: name fewer, "
            "or leave it out to have the condition looked at wherever it can be"
        )
    check_environments(numbers, count)
    twice = [number for place, number in enumerate(numbers) if number in numbers[:place]]
    if twice:
        raise CommandError(f"envs_idx names environment {twice[0]} twice: name each once")
    return tuple(numbers)
