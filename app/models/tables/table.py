"""A table as columns of values: nothing is written out as text before somebody looks at it."""

import dataclasses
import enum
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from stroboscope.app.models.frames import FrameSet
from stroboscope.app.models.numbers import number_text
from stroboscope.app.models.selection import Element
from stroboscope.debugger_protocol.messages import EditField
from stroboscope.debugger_protocol.topics import Topic

__all__ = [
    "ABSENT",
    "NORMAL",
    "NOT_COMPUTED",
    "STOP",
    "WARN",
    "Cells",
    "Column",
    "ColumnKind",
    "LazyTexts",
    "Table",
    "cell_text",
    "numbers_of",
    "texts_of",
    "tick_cells",
]

ABSENT = "—"
NOT_COMPUTED = "not computed in this step"
NORMAL, WARN, STOP = 0, 1, 2
"""How much attention a cell asks for."""


class ColumnKind(enum.Enum):
    """What stands in a column, which also fixes its width."""

    TEXT = enum.auto()
    NUMBER = enum.auto()
    BAR = enum.auto()
    """A number with a bar behind it: its part of the largest magnitude in the column."""


class LazyTexts(Sequence[str]):
    """Texts that are made when somebody looks at them: ``make(row)``, once each."""

    def __init__(self, count: int, make: Callable[[int], str]) -> None:
        self._count = count
        self._make = make
        self._made: dict[int, str] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return self._count

    @overload
    def __getitem__(self, row: int) -> str: ...

    @overload
    def __getitem__(self, row: slice) -> list[str]: ...

    def __getitem__(self, row: int | slice) -> str | list[str]:
        """Return one text, made now if need be."""
        if isinstance(row, slice):
            return [self[n] for n in range(*row.indices(self._count))]
        if not 0 <= row < self._count:
            raise IndexError(row)
        if row not in self._made:
            self._made[row] = self._make(row)
        return self._made[row]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column. ``unit`` is that of all its rows; ``sample`` a text as wide as any of them.

    ``write`` turns a number into text where fixed decimals don't do.
    """

    key: str
    title: str
    kind: ColumnKind = ColumnKind.NUMBER
    unit: str = ""
    decimals: int = 3
    sample: str = "−000.000"
    tip: str = ""
    write: Callable[[float], str] | None = None
    # Its texts may stand behind a mark.
    marked: bool = False
    # Shown only when somebody asks for it in the header's menu.
    extra: bool = False
    # What is in it stays as it is while it is shown: where room is scarce, it is no wider.
    still: bool = False


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """The values of one column, (n,) each: ``numbers`` or ``texts``.

    ``present`` says where there is a value at all, ``absent`` why not elsewhere. ``units`` are per
    row where they differ. ``shorter`` are for where ``texts`` have no room, ``colours`` numbers of
    ghosts' colours, -1: none. ``channel`` and ``signals`` name the signal behind each number, -1:
    none; ``field`` is the state array that ``signals`` also are addresses of, where it can be
    edited.
    """

    numbers: NDArray[np.float64] | None = None
    texts: Sequence[str] | None = None
    present: NDArray[np.bool_] | None = None
    absent: str = ""
    units: Sequence[str] | None = None
    levels: NDArray[np.int8] | None = None
    shorter: Sequence[str] | None = None
    colours: Sequence[int] | None = None
    channel: str = ""
    signals: NDArray[np.int64] | None = None
    field: EditField | None = None

    def has(self, row: int) -> bool:
        """Return whether there is a value in that row."""
        if self.numbers is None:
            return self.texts is not None
        return self.present is None or bool(self.present[row])

    def level(self, row: int) -> int:
        """Return how much attention a row asks for; what is not finite always does."""
        if self.numbers is not None and self.has(row) and not np.isfinite(self.numbers[row]):
            return STOP
        return NORMAL if self.levels is None else int(self.levels[row])


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows and columns of one instant.

    ``keys`` tell a row from others from frame to frame; ``elements`` are what a click selects.
    ``parents`` (n,): row that a row is part of, -1 for those that stand alone or head a group.
    """

    columns: tuple[Column, ...]
    cells: Mapping[str, Cells]
    keys: Sequence[Hashable]
    elements: Sequence[Element | None] = ()
    tips: Sequence[str] = ()
    parents: NDArray[np.int64] | None = None

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.keys)

    def element(self, row: int) -> Element | None:
        """Return what a click on a row selects."""
        return self.elements[row] if self.elements else None

    def number(self, key: str, row: int) -> float | None:
        """Return one number, None where there is none."""
        cells = self.cells.get(key)
        if cells is None or cells.numbers is None or not cells.has(row):
            return None
        return float(cells.numbers[row])

    def text(self, key: str, row: int) -> str:
        """Return a cell as it is written."""
        column = next(column for column in self.columns if column.key == key)
        return cell_text(self, column, row)

    def row_of(self, key: Hashable) -> int:
        """Return the row of a key, -1: it is not there."""
        return next((n for n, known in enumerate(self.keys) if known == key), -1)

    def search_text(self, row: int) -> str:
        """Return what a filter looks into: every text of the row."""
        texts = (self.cells[c.key].texts for c in self.columns if c.key in self.cells)
        return " ".join(text[row] for text in texts if text is not None).lower()


def cell_text(table: Table, column: Column, row: int) -> str:
    """Return what stands in a cell, without its unit."""
    cells = table.cells.get(column.key)
    if cells is None or not cells.has(row):
        return ABSENT
    if cells.numbers is None:
        return cells.texts[row] if cells.texts is not None else ABSENT
    value = float(cells.numbers[row])
    return column.write(value) if column.write is not None else number_text(value, column.decimals)


def numbers_of(
    frames: FrameSet | None,
    topic: Topic,
    name: str,
    index: NDArray[np.int64],
    *,
    channel: str = "",
    field: EditField | None = None,
    units: Sequence[str] | None = None,
    levels: NDArray[np.int8] | None = None,
    column: int | None = None,
    absent: str = NOT_COMPUTED,
) -> Cells:
    """Return ``array[index]`` (``array[index, column]``) as cells; -1: no value in that row.

    Where the engine did not send the array, every cell is absent.
    """
    count = len(index)
    array = frames.array(topic, name) if frames is not None else None
    if array is not None and column is not None:
        array = array[:, column] if array.ndim > 1 and column < array.shape[1] else None
    numbers = np.full(count, np.nan)
    present = np.zeros(count, dtype=np.bool_)
    if array is not None:
        present = (index >= 0) & (index < len(array))
        numbers[present] = array[index[present]]
    return Cells(
        numbers=numbers,
        present=present,
        absent=absent,
        units=units,
        levels=levels,
        channel=channel,
        signals=index if channel or field is not None else None,
        field=field,
    )


def texts_of(texts: Sequence[str], *, levels: NDArray[np.int8] | None = None) -> Cells:
    """Return a column of texts."""
    return Cells(texts=texts, levels=levels)


def tick_cells(colours: Sequence[int]) -> Cells:
    """Return a column that switches ghosts: a dot in each one's colour, a ring where it is -1."""
    return Cells(texts=["○" if colour < 0 else "●" for colour in colours], colours=colours)
