"""How wide the columns of a table are: as their contents want it, or as the view allows."""

import dataclasses
from collections.abc import Sequence

__all__ = ["ColumnWish", "fitted_widths"]


@dataclasses.dataclass(frozen=True, slots=True)
class ColumnWish:
    """How wide a column would be [px], and how narrow it may become.

    ``least``: what is in it now, at least its title; ``gives_way``: it may become as narrow as
    that; ``may_elide``: how narrow it may be made where it stands last, because what it says is
    short enough to read without its end.
    """

    wanted: int
    least: int
    gives_way: bool
    may_elide: int = 0


def fitted_widths(wishes: Sequence[ColumnWish], room: int) -> list[int]:
    """Return the widths of all columns, within ``room`` [px] if that can be.

    Numbers that change keep their width, so that nothing moves. Texts and numbers that stay give
    way: each to what is in it, the last column of the table to less. What does not fit then is
    scrolled.
    """
    widths = [wish.wanted for wish in wishes]
    over = sum(widths) - room
    for at, wish in enumerate(wishes):
        if over <= 0:
            break
        if wish.gives_way and at < len(wishes) - 1:
            saved = min(max(widths[at] - wish.least, 0), over)
            widths[at] -= saved
            over -= saved
    if over > 0 and wishes and wishes[-1].gives_way:
        saved = min(max(widths[-1] - wishes[-1].may_elide, 0), over)
        widths[-1] -= saved
    return widths
