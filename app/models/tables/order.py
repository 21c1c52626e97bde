"""Which rows of a table are shown, and in which order."""

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.tables.table import Table

__all__ = ["matching", "ordered"]


def matching(table: Table, words: str) -> NDArray[np.bool_]:
    """Return which rows hold every one of ``words``; a group's head stays with its rows."""
    wanted = words.lower().split()
    if not wanted:
        return np.ones(table.count, dtype=np.bool_)
    found = np.fromiter(
        (all(word in text for word in wanted) for text in map(table.search_text, _rows(table))),
        dtype=np.bool_,
        count=table.count,
    )
    if table.parents is not None:
        children = np.flatnonzero((table.parents >= 0) & found)
        heads = found & (table.parents < 0)
        found[table.parents[children]] = True
        found |= (table.parents >= 0) & heads[np.maximum(table.parents, 0)]
    return found


def _rows(table: Table) -> range:
    return range(table.count)


def ordered(
    table: Table, *, sort: str = "", descending: bool = False, words: str = "", heads: bool = False
) -> NDArray[np.int64]:
    """Return the rows to show in order: stable, numbers by value, what is absent at the end.

    Rows of a group stay behind its head; ``heads`` shows only rows without a parent.
    """
    rank = _ranks(table, sort, descending=descending)
    shown = matching(table, words)
    if table.parents is None:
        order = np.argsort(rank, kind="stable")
    else:
        head = np.where(table.parents < 0, np.arange(table.count), table.parents)
        order = np.lexsort((rank, table.parents >= 0, rank[head] if table.count else rank))
        if heads:
            shown = shown & (table.parents < 0)
    return np.asarray(order[shown[order]], dtype=np.int64)


def _ranks(table: Table, sort: str, *, descending: bool) -> NDArray[np.int64]:
    """Return each row's place when sorted by the column ``sort``."""
    count = table.count
    cells = table.cells.get(sort)
    if cells is None:
        return np.arange(count)
    if cells.numbers is not None:
        values = cells.numbers.copy()
        if cells.present is not None:
            values[~cells.present] = np.nan
        # NaN sorts last either way.
        order = np.argsort(-values if descending else values, kind="stable")
    else:
        texts = [_natural(text) for text in cells.texts or ()]
        order = np.array(
            sorted(range(count), key=texts.__getitem__, reverse=descending), dtype=np.int64
        )
    rank = np.empty(count, dtype=np.int64)
    rank[order] = np.arange(count)
    return rank


def _natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key that sorts "joint 9" before "joint 10"."""
    parts: list[tuple[int, int, str]] = []
    digits = ""
    for letter in f"{text.lower()}\0":
        if letter.isdecimal() and letter.isascii():
            digits += letter
            continue
        if digits:
            parts.append((0, int(digits), ""))
            digits = ""
        parts.append((1, 0, letter))
    return tuple(parts)
