"""Measure side by side: arms take turns in one run, and what is reported is ratios of neighbours.

Machines are noisy: another process, a warmer core, a different clock. Two numbers measured minutes
apart say little. So every round runs each arm once, the order rotates from round to round, and a
ratio is taken within the round before the median is taken over the rounds.
"""

import argparse
import dataclasses
import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence

__all__ = ["Measured", "Row", "Settings", "interleave", "print_table", "ratio", "run_alone"]


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """How long to measure; ``quick`` checks that a benchmark works, its numbers mean little."""

    rounds: int = 9
    quick: bool = False

    def scaled(self, count: int) -> int:
        """Return ``count``, or a tenth of it when quick."""
        return max(1, count // 10) if self.quick else count


@dataclasses.dataclass(frozen=True, slots=True)
class Measured:
    """The median of some numbers with the range that holds the middle 80 % of them."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Measured":
        """Summarise ``values``; raises ValueError when there are none."""
        if not values:
            raise ValueError("nothing was measured")
        ordered = sorted(values)
        return cls(
            statistics.median(ordered),
            percentile(ordered, 0.1),
            percentile(ordered, 0.9),
            len(ordered),
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table. ``target`` in words; ``reached`` None where there is none."""

    number: str
    what: str
    measured: Measured
    unit: str = "×"
    target: str = ""
    reached: bool | None = None
    note: str = ""


def percentile(ordered: Sequence[float], fraction: float) -> float:
    """Return the value below which ``fraction`` of the ordered values lie, interpolated."""
    position = fraction * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def interleave(
    arms: Mapping[str, Callable[[], float]], *, rounds: int, warm_up: bool = True
) -> dict[str, list[float]]:
    """Run each arm once per round, in rotating order, and return each arm's numbers by round."""
    names = list(arms)
    numbers: dict[str, list[float]] = {name: [] for name in names}
    if warm_up:
        for arm in arms.values():
            arm()
    for turn in range(rounds):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            numbers[name].append(arms[name]())
    return numbers


def ratio(above: Sequence[float], below: Sequence[float]) -> Measured:
    """Return the ratio of two arms, taken round by round."""
    return Measured.of([a / b for a, b in zip(above, below, strict=True)])


def print_table(rows: Sequence[Row]) -> None:
    """Print the rows: number, what, median, middle 80 %, target and whether it was reached."""
    header = ("#", "what", "median", "middle 80 %", "target", "")
    lines = [header]
    for row in rows:
        m = row.measured
        mark = {True: "ok", False: "MISSED", None: ""}[row.reached]
        spread = f"{_number(m.low)} … {_number(m.high)} (n={m.count})"
        what = row.what + (f" [{row.note}]" if row.note else "")
        lines.append(
            (row.number, what, f"{_number(m.median)} {row.unit}", spread, row.target, mark)
        )
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    for line in lines:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        )


def rows_from_json(text: str) -> list[Row]:
    """Return the rows that :func:`run_alone` wrote with ``--json``."""
    rows = []
    for fields in json.loads(text):
        measured = Measured(**fields.pop("measured"))
        rows.append(Row(measured=measured, **fields))
    return rows


def run_alone(measure: Callable[[Settings], list[Row]]) -> None:
    """Be the main program of one benchmark: ``--quick``, ``--rounds N``, ``--json``."""
    parser = argparse.ArgumentParser(description=measure.__module__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--rounds", type=int, default=None, help="interleaved rounds")
    parser.add_argument("--json", action="store_true", help="machine-readable")
    arguments = parser.parse_args()
    rounds = arguments.rounds or (2 if arguments.quick else Settings().rounds)
    rows = measure(Settings(rounds=rounds, quick=arguments.quick))
    if arguments.json:
        json.dump([dataclasses.asdict(row) for row in rows], sys.stdout)
        print()
    else:
        print_table(rows)


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.0f}"
