"""Which environments stand in a grid: what stays and what moves when another one is looked at."""

from collections.abc import Sequence

__all__ = ["grid_of", "grid_with"]


def grid_of(selected: int, size: int, count: int) -> tuple[int, ...]:
    """Return ``size`` neighbouring environments of ``count``, the selected one among them."""
    size = min(size, count)
    first = min(max(selected - size // 2, 0), count - size)
    return tuple(range(first, first + size))


def grid_with(
    selected: int, shown: Sequence[int], *, looked_at: int, count: int
) -> tuple[int, ...]:
    """Return the grid ``shown`` with another one selected; nothing moves where that is in there.

    Neighbours move on to others; of those that somebody has named, ``selected`` takes the place of
    the one that was ``looked_at``.
    """
    now = tuple(shown)
    if selected in now or not now:
        return now or (selected,)
    if now == tuple(range(now[0], now[0] + len(now))):
        return grid_of(selected, len(now), count)
    if looked_at in now:
        return tuple(selected if each == looked_at else each for each in now)
    return (*now[:-1], selected)
