"""Where the numbers of a compiled model stand in memory: to see at a glance what was written.

Going through a model's hundreds of fields by name takes most of a millisecond, comparing the memory
that they stand in some microseconds.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from stroboscope.engine.data_views import raw_view, timestep_before_gravity
from stroboscope.engine.model_fields import FieldChange, ModelFields, owner_of

__all__ = ["ComparedModel", "MemoryPiece", "Place", "joined_pieces"]

# Where MuJoCo's arrays begin [bytes].
_ALIGNMENT: Final = 64
_WORD: Final = 8
# Arrays larger than this are not kept a second time: they are looked at one by one [bytes].
_LARGEST: Final = 256 << 10
# Options, looks and statistics together have fewer bytes than this.
_MOST_NUMBER_BYTES: Final = 16_384


class Place(NamedTuple):
    """Memory from ``begin`` to ``end``, in bytes, that the fields ``names`` stand in."""

    begin: int
    end: int
    names: tuple[str, ...]


class MemoryPiece:
    """Memory of a model, and which fields stand in it: ``places`` in order, counted from its begin.

    It keeps nothing alive: use it only while something else does.
    """

    def __init__(self, view: memoryview, places: Sequence[Place]) -> None:
        self.view = view
        self._before = view.tobytes()
        self._begins = np.array([place.begin for place in places])
        self.places = places

    @property
    def names(self) -> tuple[str, ...]:
        """All fields that stand in it."""
        return tuple(name for place in self.places for name in place.names)

    def remember(self) -> None:
        """Note what all bytes are."""
        self._before = self.view.tobytes()

    def remember_as(self, place: Place, content: bytes) -> None:
        """Note other bytes for a place than it has."""
        before = self._before
        self._before = before[: place.begin] + content + before[place.end :]

    def is_unchanged(self, *, in_passing: bool = False) -> bool:
        """Return whether all bytes are as they were noted last; any thread.

        ``in_passing``: where it has to cost next to nothing, which this does.
        """
        return self.view.tobytes() == self._before

    def written(self) -> set[str]:
        """Return the fields that have other bytes than what was noted last."""
        now, before = np.frombuffer(self.view, np.uint8), np.frombuffer(self._before, np.uint8)
        where = np.flatnonzero(now != before)
        found = set((np.searchsorted(self._begins, where, side="right") - 1).tolist())
        return {name for at in found for name in self.places[at].names}


def joined_pieces(places: Iterable[Place]) -> list[MemoryPiece]:
    """Return the memory of all places, given by their addresses, in as few pieces as they are.

    What lies between two of them and is shorter than their alignment belongs to nobody.
    """
    joined: list[list[Place]] = []
    for place in sorted(places):
        if joined and place.begin - joined[-1][-1].end < _ALIGNMENT:
            joined[-1].append(place)
        else:
            joined.append([place])
    pieces = []
    for group in joined:
        first, last = group[0].begin, max(place.end for place in group)
        inside = [Place(begin - first, end - first, names) for begin, end, names in group]
        pieces.append(MemoryPiece(raw_view(first, last - first), inside))
    return pieces


class ComparedModel:
    """Finds what was written into ``model`` since ``fields`` were read from it; owner thread only.

    The same as :meth:`ModelFields.changes` of all fields, but only those are looked at that stand
    where memory is not as it was, that stand nowhere, or are too large to be kept twice.
    """

    def __init__(self, model: Any, fields: ModelFields, *, module: Any) -> None:
        self._model, self._fields = model, fields
        self._order = {name: at for at, name in enumerate(fields.compared)}
        self._pieces = joined_pieces(_places(model, fields, module))
        changed = set(fields.changed(model))
        # What another thread writes just now is not as it was noted, whatever it was before.
        unknown = changed.union(*(piece.written() for piece in self._pieces))
        known = {
            name
            for piece in self._pieces
            for place in piece.places
            for name in place.names
            if name not in unknown or self._noted_as_at_first(piece, place)
        }
        # What is empty stays empty: sizes of a model never change.
        others = self._order.keys() - known
        self._asked = {name for name in others if name in changed or _has_size(model, name)}

    def _noted_as_at_first(self, piece: MemoryPiece, place: Place) -> bool:
        """Note what an array had at first, where that is kept; return whether it is."""
        before = self._fields.value(place.names[0])
        if before is None or not before.ndim or before.nbytes != place.end - place.begin:
            return False
        piece.remember_as(place, before.tobytes())
        return True

    def changed(self) -> tuple[str, ...]:
        """Return what has other values than at first; those that others follow from come first."""
        return self._fields.changed(self._model, only=self._suspects())

    def changes(self) -> tuple[FieldChange, ...]:
        """Return those fields with their values, and in words."""
        return self._fields.changes(self._model, only=self._suspects())

    def _suspects(self) -> list[str]:
        names = set(self._asked)
        for piece in self._pieces:
            if not piece.is_unchanged():
                names |= piece.written()
        return sorted(names, key=self._order.__getitem__)


def _has_size(model: Any, name: str) -> bool:
    owner, last = owner_of(model, name)
    value = getattr(owner, last)
    return bool(len(value) if isinstance(value, bytes) else np.size(value))


def _places(model: Any, fields: ModelFields, module: Any) -> Iterator[Place]:
    """Go through where the fields stand that may be kept twice, by address."""
    for name in fields.compared:
        value = getattr(model, name) if "." not in name else None
        if (
            isinstance(value, np.ndarray)
            and value.flags.c_contiguous
            and 0 < value.nbytes <= _LARGEST
        ):
            begin = int(value.ctypes.data)
            yield Place(begin, begin + value.nbytes, (name,))
    gravity = int(model.opt.gravity.ctypes.data)
    for begin, end, names in _places_of_numbers(model, fields, module):
        yield Place(gravity + begin, gravity + end, names)


_found_numbers: dict[Any, tuple[Place, ...]] = {}


def _places_of_numbers(model: Any, fields: ModelFields, module: Any) -> tuple[Place, ...]:
    """Return where options, looks and statistics stand, counted from gravity.

    Arrays each have a place of their own; of what stands between two of them only that is known.
    """
    if module not in _found_numbers:
        names = [name for name in fields.compared if "." in name]
        # A copy: to compile one would call the callbacks that a script has installed.
        _found_numbers[module] = tuple(_find_numbers(copy.copy(model), names, module))
    return _found_numbers[module]


def _find_numbers(model: Any, names: Sequence[str], module: Any) -> Iterator[Place]:
    """Find where numbers stand by writing into a model that is nobody's."""
    gravity, before = int(model.opt.gravity.ctypes.data), timestep_before_gravity(module)
    if before is None:
        return
    # They stand together: the timestep is the first, what a model's center is the last.
    first, last = -_WORD * before, int(model.stat.center.ctypes.data) - gravity
    arrays, single = [], []
    for name in names:
        owner, attribute = owner_of(model, name)
        value = getattr(owner, attribute)
        if not isinstance(value, np.ndarray):
            single.append((name, owner, attribute))
            continue
        begin = int(value.ctypes.data) - gravity
        if first <= begin <= last <= _MOST_NUMBER_BYTES:
            arrays.append(Place(begin, begin + value.nbytes, (name,)))
    arrays.sort()
    yield from arrays
    between: dict[tuple[int, int], list[str]] = {}
    for begin, end in zip(
        [first, *(a.end for a in arrays)], [a.begin for a in arrays], strict=False
    ):
        if begin < end:
            between[begin, end] = []
    for name, owner, attribute in single:
        value = getattr(owner, attribute)
        known = {where: _bytes_at(gravity, where) for where in between}
        setattr(owner, attribute, type(value)(value + 1))
        for where, names_there in between.items():
            if _bytes_at(gravity, where) != known[where]:
                names_there.append(name)
    for (begin, end), names_there in between.items():
        yield Place(begin, end, tuple(names_there))


def _bytes_at(address: int, where: tuple[int, int]) -> bytes:
    begin, end = where
    return raw_view(address + begin, end - begin).tobytes()
