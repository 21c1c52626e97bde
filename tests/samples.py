"""Which cases of many run with every change, and which only with the slow tests."""

from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["few"]


def few(values: Iterable[Any], count: int) -> list[Any]:
    """Return all values as parameters, of which only ``count``, evenly chosen, are not slow.

    For cases that differ in numbers, not in kind: ``make soak`` runs them all.
    """
    cases = list(values)
    chosen = {round(i * (len(cases) - 1) / max(1, count - 1)) for i in range(count)}
    return [case if place in chosen else _slow(case) for place, case in enumerate(cases)]


def _slow(case: Any) -> Any:
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, id=case.id, marks=[*case.marks, pytest.mark.slow])
    return pytest.param(case, marks=pytest.mark.slow)
