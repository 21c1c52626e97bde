"""What stays in a grid of environments when another one is looked at."""

import pytest

from stroboscope.debugger_protocol.environment_grid import grid_of, grid_with


@pytest.mark.parametrize(
    ("selected", "size", "count", "grid"),
    [(0, 4, 100, (0, 1, 2, 3)), (50, 3, 100, (49, 50, 51)), (99, 4, 100, (96, 97, 98, 99)),
     (1, 9, 3, (0, 1, 2))],
)  # fmt: skip
def test_a_grid_has_neighbours_and_ends_where_they_end(
    selected: int, size: int, count: int, grid: tuple[int, ...]
) -> None:
    assert grid_of(selected, size, count) == grid


@pytest.mark.parametrize(
    ("selected", "shown", "grid"),
    [
        (2, (0, 1, 2, 3), (0, 1, 2, 3)),
        (8, (0, 1, 2, 3), (6, 7, 8, 9)),
        (5, (1,), (5,)),
        (5, (), (5,)),
        (5, (1, 7, 3), (5, 7, 3)),
        (5, (7, 3), (7, 5)),
    ],
)
def test_only_what_has_to_move_moves(
    selected: int, shown: tuple[int, ...], grid: tuple[int, ...]
) -> None:
    assert grid_with(selected, shown, looked_at=1, count=10) == grid
