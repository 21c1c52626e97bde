"""Tests that come last, and are left out where the others have taken all the time there is.

Those of late_tests.txt take long on two slow cores, more than 0.3 s each, and say of an edge, of a
number or of a look what no case, golden file, kill or reference picture stands for. `make test` is
to end within ten minutes on any machine: what it had no time for it says, and `make soak` runs it.
"""

import os
import time
from pathlib import Path

import pytest

__all__ = ["COLLECTED", "NAMES", "begin_to_count", "leave_out_when_late", "put_last"]

NAMES = frozenset(Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines())
# Where a run of the tests keeps the names of all it has found, those left out later as well.
COLLECTED = pytest.StashKey[frozenset[str]]()
_SECONDS = "STROBOSCOPE_TEST_SECONDS"
_BEGAN = "STROBOSCOPE_TESTS_BEGAN"


def begin_to_count() -> None:
    """Count from now on; processes that run a part of the tests count with us."""
    os.environ.setdefault(_BEGAN, repr(time.time()))


def put_last(items: list[pytest.Item]) -> None:
    """Mark them, and have them run after all others."""
    for item in items[:1]:
        item.config.stash[COLLECTED] = frozenset(map(_name, items))
    for item in items:
        if _name(item) in NAMES:
            item.add_marker(pytest.mark.late)
    items.sort(key=lambda item: _name(item) in NAMES)


def leave_out_when_late(item: pytest.Item) -> None:
    """Skip one of them when the time is over that STROBOSCOPE_TEST_SECONDS gives all of them."""
    seconds = float(os.environ.get(_SECONDS, "inf"))
    if _name(item) in NAMES and time.time() - float(os.environ[_BEGAN]) > seconds:
        pytest.skip(f"no time was left for it within {seconds:.0f} s: make soak runs it")


def _name(item: pytest.Item) -> str:
    return item.nodeid.removeprefix("./")
