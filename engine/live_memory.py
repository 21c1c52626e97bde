"""Numbers of a running ``MjData``, read where they lie: at every physics step, for plots.

A step leaves the caches full of its own, so what is read after it costs several times what it does
in a loop of its own: it has to be little code. One call copies all arrays, and counts are read
without the bindings. None of these views keeps the data alive: use them only while something else
does.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.debugger_protocol.backend import WriteRow
from stroboscope.engine.data_views import raw_view

__all__ = ["Gather", "count_place", "gather", "iterations_reader", "stretches"]

_DOUBLE, _INT = 8, 4
# How many integers before the time the counts of a step may stand.
_COUNTS_BEFORE_TIME = 64
_COUNTS = ("ncon", "nefc", "nisland")
_PROBES = 0x5EED01, 0x5EED77
_known_places: dict[Any, dict[str, int] | None] = {}


class Gather:
    """Arrays that stand in one piece of memory: ``memory`` (m,), and where each number is in it."""

    def __init__(self, memory: NDArray[np.float64], index: NDArray[np.intp]) -> None:
        self._memory = memory
        self._index = index

    def into(self, rows: NDArray[np.float64]) -> WriteRow:
        """Return what copies them all into row number ``slot`` of ``rows``, (n, width)."""
        take, index, views = self._memory.take, self._index, list(rows)

        def write(slot: int) -> None:
            # Any mode but "raise", with which NumPy copies twice.
            take(index, 0, views[slot], "clip")

        return write


def gather(data: Any, names: Sequence[str]) -> Gather | None:
    """Return arrays of ``data``, one after the other; None: they don't stand in one buffer."""
    arrays: list[NDArray[np.float64]] = [getattr(data, name).reshape(-1) for name in names]
    if not arrays or any(a.dtype != np.float64 or not a.flags.c_contiguous for a in arrays):
        return None
    filled = [(int(a.ctypes.data), a.nbytes) for a in arrays if a.size]
    begin = min(address for address, _ in filled)
    size = max(address + nbytes for address, nbytes in filled) - begin
    if size > int(data.nbuffer):
        return None
    memory = np.ctypeslib.as_array((ctypes.c_double * (size // _DOUBLE)).from_address(begin))
    places = [(int(a.ctypes.data) - begin) // _DOUBLE + np.arange(a.size) for a in arrays]
    return Gather(memory, np.concatenate(places).astype(np.intp))


def stretches(data: Any, names: Sequence[str]) -> list[tuple[int, memoryview]] | None:
    """Return arrays of ``data`` as bytes, each with where it begins when they stand in a row.

    Arrays that stand side by side come as one. None where their numbers are no float64.
    """
    found: list[tuple[int, int, int]] = []
    at = 0
    for name in names:
        array: NDArray[np.float64] = getattr(data, name)
        if array.dtype != np.float64 or not array.flags.c_contiguous:
            return None
        address = int(array.ctypes.data)
        if found and sum(found[-1][1:]) == address:
            begin, first, size = found.pop()
            found.append((begin, first, size + array.nbytes))
        elif array.nbytes:
            found.append((at, address, array.nbytes))
        at += array.nbytes
    return [(begin, raw_view(address, size)) for begin, address, size in found]


def count_place(data: Any, channel: str, *, module: Any) -> tuple[memoryview, int] | None:
    """Return integers and which of them a channel is; None where it is no plain count."""
    names = {"contact.count": "ncon", "constraint.count": "nefc"}
    places = _count_places(data, module)
    if places is None or channel not in names:
        return None
    return _counts_of(data), places[names[channel]]


def iterations_reader(data: Any, *, module: Any) -> Callable[[Any], int] | None:
    """Return what reads the iterations of ``data``; None: they stand nowhere known.

    What the reader is called with is not looked at.
    """
    places = _count_places(data, module)
    if places is None:
        return None
    counts, nefc, nisland = _counts_of(data), places["nefc"], places["nisland"]
    niter = _integers(int(data.solver_niter.ctypes.data), data.solver_niter.size)

    def iterations(_source: Any) -> int:
        if not counts[nefc]:
            return 0
        islands = counts[nisland]
        return niter[0] if islands <= 1 else max(niter[:islands])

    return iterations


def _counts_of(data: Any) -> memoryview:
    """Return the integers before ``data.time``, which stands just before the energies."""
    time = int(data.energy.ctypes.data) - _DOUBLE
    return _integers(time - _INT * _COUNTS_BEFORE_TIME, _COUNTS_BEFORE_TIME)


def _integers(address: int, count: int) -> memoryview:
    return memoryview((ctypes.c_int * count).from_address(address)).cast("B").cast("i")


def _count_places(data: Any, module: Any) -> dict[str, int] | None:
    """Return where in :func:`_counts_of` each count stands; None when they aren't all found."""
    if module not in _known_places:
        # Tried with data that nobody steps, as these counts say how much of it is read. Of a model
        # that is there: the compiler takes a step, in which a callback of the script raises.
        _known_places[module] = _find_counts(module.MjData(data.model))
    return _known_places[module]


def _find_counts(data: Any) -> dict[str, int] | None:
    counts = _counts_of(data)
    places: dict[str, int] = {}
    for name in _COUNTS:
        kept = getattr(data, name)
        found = set(range(_COUNTS_BEFORE_TIME))
        for probe in _PROBES:
            setattr(data, name, probe)
            found &= {at for at, value in enumerate(counts) if value == probe}
        setattr(data, name, kept)
        if len(found) != 1:
            return None
        places[name] = found.pop()
    return places
