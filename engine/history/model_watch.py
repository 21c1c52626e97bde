"""What a script writes into the model of a scene: found by looking now and then."""

import copy
import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.data_views import raw_view, timestep_before_gravity
from stroboscope.engine.model_fields import FieldChange, read_field
from stroboscope.engine.model_option_fields import FIELD_OPTION, is_recordable

if TYPE_CHECKING:
    from stroboscope.engine.world import World

__all__ = ["Digest", "Fields", "ModelChange", "ModelWatch"]

# What only changes how things look, what they are called, or what a reset writes into a state.
_NOT_SIMULATED: Final = (
    "cam_", "light_", "mat_", "tex_", "skin_", "key_", "numeric_", "text_", "tuple_", "name_",
    "names", "vis.", "stat.extent", "stat.center", "mesh_tex", "mesh_normal", "map",
)  # fmt: skip
_NOT_SIMULATED_ENDS: Final = ("_rgba", "_matid", "_group", "_user")
# A step may take another one for a moment, and every row says its own.
_TIMESTEP: Final = "opt.timestep"
# Arrays larger than this are no numbers that scripts tune [bytes].
_LARGEST: Final = 4 << 20
_ASSETS: Final = ("mesh_", "bvh_", "oct_", "hfield_", "flex_elem", "flex_shell")
_LARGEST_ASSET: Final = 256 << 10
# Where MuJoCo's arrays begin [bytes].
_ALIGNMENT: Final = 64
# What a stretch carries at most.
_MOST_NUMBERS: Final = 20_000
_SHOWN: Final = 3
_WORD: Final = 8
_MOST_OPTION_BYTES: Final = 4096
# meaninertia, meanmass, meansize, extent, center.
_INERTIA_BEFORE_CENTER: Final = 4

Fields = Mapping[str, tuple[float, ...]]
"""Values of fields of a model, flat, by name behind ``model.``: as they stand among options."""


class Digest(NamedTuple):
    """What a model looks like: arrays, and numbers that stand somewhere else."""

    arrays: int
    numbers: bytes


class ModelChange(NamedTuple):
    """Something was written between the physics steps ``since`` and ``axis``."""

    since: int
    axis: int
    text: str


class ModelWatch:
    """Compares the model of a world with what it was at first; looks are taken by the owner.

    ``axis``: since when it may have been written into unseen.
    """

    def __init__(self, world: "World", *, axis: int) -> None:
        self._model = world.model
        self._base = world.codec.fields
        self._hash = importlib.import_module("xxhash").xxh3_64
        self._pieces = _pieces(world.model)
        options = [f"opt.{name}" for name in _option_names(world.model)]
        self._scalars: tuple[str, ...] = (*options, "stat.meaninertia")
        span = _span_of_options(world.model, world.adapter.module)
        if span is not None:
            views = _views_of_options(world.model, span)
            self._pieces += [_Piece(view, (), self._scalars) for view in views]
        self._asked = self._scalars if span is None else ()
        """Those that do not stand in any of the pieces."""
        self._is_new = True
        self._other: dict[str, tuple[float, ...]] = {}
        """What has other values by now than at first."""
        self._first: dict[str, tuple[float, ...]] = {}
        """What each field that ever had other values had at first."""
        self._lost: dict[str, int] = {}
        """What has other values that no row and no file can carry, with a check of them."""
        self.losses = 0
        """How often something of that kind was written."""
        self.seen = self.now()
        """How the model looked when it was looked at last."""
        self._since = axis

    @property
    def fields(self) -> Fields:
        """What each field that was ever written has by now, flat, by the name of its option."""
        return {**self._first, **self._other}

    @property
    def first(self) -> Fields:
        """What each of them had at first."""
        return self._first

    def now(self) -> Digest:
        """Return a digest of all that a step reads of the model; any thread, some microseconds."""
        made = self._hash()
        for piece in self._pieces:
            made.update(piece.view)
        asked = [float(read_field(self._model, name)) for name in self._asked]
        return Digest(made.intdigest(), np.array(asked).tobytes())

    def look(self, axis: int) -> ModelChange | None:
        """Return what was written since this was called last; the owner, before a physics step."""
        since, self._since = self._since, axis
        now = self.now()
        if now == self.seen and not self._is_new:
            return None
        self.seen = now
        names = self._written() - {_TIMESTEP}
        changed = {each.field: each for each in self._base.changes(self._model, only=names)}
        texts: list[str] = []
        lost: list[FieldChange] = []
        for name in names:
            change = changed.get(name)
            if change is None:
                is_back = _key(name) in self._other or name in self._lost
                texts += [f"{name}: as at first"] if is_back else ()
                self._lost.pop(name, None)
                self._other.pop(_key(name), None)
            elif self._can_carry(change):
                texts += [change.text] if self._carry(change) else ()
            elif self._lose(change):
                lost.append(change)
        if not texts and not lost:
            return None
        texts = texts or [each.text for each in lost]
        more = f" (+{len(texts) - _SHOWN} more)" if len(texts) > _SHOWN else ""
        text = "; ".join(texts[:_SHOWN]) + more
        if lost:
            self.losses += 1
            text += f"; what was written into {', '.join(c.field for c in lost)} is not here"
        return ModelChange(since, axis, text)

    def _written(self) -> set[str]:
        """Return the fields whose memory is another one than when this was called last."""
        names = {name for piece in self._pieces for name in piece.written()}
        names.update(self._asked)
        if self._is_new:  # nobody knows since when
            self._is_new = False
            names.update(name for piece in self._pieces for name in piece.names)
        return names

    def _can_carry(self, change: FieldChange) -> bool:
        values, key = change.now, _key(change.field)
        others = sum(len(each) for name, each in self._other.items() if name != key)
        is_number = is_recordable(change.field, values) and bool(np.isfinite(values).all())
        return is_number and others + values.size <= _MOST_NUMBERS

    def _carry(self, change: FieldChange) -> bool:
        """Take over new values of a field; False where they are not new."""
        key = _key(change.field)
        numbers = tuple(map(float, change.now.reshape(-1)))
        self._lost.pop(change.field, None)
        if self._other.get(key) == numbers:
            return False
        self._other[key] = numbers
        if key not in self._first:
            self._first[key] = tuple(map(float, change.before.reshape(-1)))
        return True

    def _lose(self, change: FieldChange) -> bool:
        """Note that a field has values that can't be carried; False where they are not new."""
        name = change.field
        check = self._base.check_of(self._model, name)
        is_new = self._lost.get(name) != check
        self._lost[name] = check
        self._other.pop(_key(name), None)
        return is_new


class _Piece:
    """Memory of a model, and which fields stand in it: ``places`` (begin, end, name) in order.

    ``others``: fields that stand somewhere in it.
    """

    def __init__(
        self, view: memoryview, places: Sequence[tuple[int, int, str]], others: Sequence[str] = ()
    ) -> None:
        self.view = view
        self._now = np.frombuffer(view, dtype=np.uint8)
        self._before = self._now.copy()
        self._begins = np.array([begin for begin, _, _ in places])
        self._places, self._others = places, others
        self.names = (*(name for _, _, name in places), *others)

    def written(self) -> set[str]:
        """Return the fields that have other bytes than when this was called last."""
        where = np.flatnonzero(self._now != self._before)
        if not len(where):
            return set()
        self._before[where] = self._now[where]
        if not self._places:
            return set(self._others)
        found = np.unique(np.searchsorted(self._begins, where, side="right") - 1)
        return {self._places[at][2] for at in found.tolist()} | set(self._others)


def _key(field: str) -> str:
    return f"{FIELD_OPTION}{field}"


def _is_simulated(field: str) -> bool:
    return not field.startswith(_NOT_SIMULATED) and not field.endswith(_NOT_SIMULATED_ENDS)


def _option_names(model: Any) -> Iterator[str]:
    """Go through the options that are one number each."""
    for name in dir(type(model.opt)):
        is_ours = not name.startswith("_") and f"opt.{name}" != _TIMESTEP
        if is_ours and isinstance(getattr(model.opt, name), int | float):
            yield name


_spans: dict[Any, tuple[int, int] | None] = {}


def _span_of_options(model: Any, module: Any) -> tuple[int, int] | None:
    """Return where options begin from gravity on, behind the timestep, and their bytes.

    None where they don't stand together, or a number of the model's statistics that steps use does
    not stand where it is expected.
    """
    if module not in _spans:
        # A copy: to compile one would call the callbacks that a script has installed.
        _spans[module] = _find_span(copy.copy(model), module)
    return _spans[module]


def _find_span(model: Any, module: Any) -> tuple[int, int] | None:
    option, gravity = model.opt, int(model.opt.gravity.ctypes.data)
    before = timestep_before_gravity(module)
    # What follows them in a model is how it looks.
    size = int(model.vis.headlight.ambient.ctypes.data) - gravity
    if before is None or not 0 < size < _MOST_OPTION_BYTES:
        return None
    begin = -_WORD * (before - 1)
    views = _views_of_options(model, (begin, size - begin))
    for owner, names in ((option, _option_names(model)), (model.stat, ("meaninertia",))):
        for name in names:
            known, value = b"".join(views), getattr(owner, name)
            setattr(owner, name, type(value)(value + 1))
            if b"".join(views) == known:
                return None
    return begin, size - begin


def _views_of_options(model: Any, span: tuple[int, int]) -> list[memoryview]:
    begin, size = span
    inertia = int(model.stat.center.ctypes.data) - _WORD * _INERTIA_BEFORE_CENTER
    gravity = int(model.opt.gravity.ctypes.data)
    return [raw_view(gravity + begin, size), raw_view(inertia, _WORD)]


def _pieces(model: Any) -> list[_Piece]:
    """Return the memory of all arrays that a step reads, in as few pieces as they are.

    What lies between two of them and is shorter than their alignment belongs to nobody.
    """
    found: list[tuple[int, int, str]] = []
    for prefix, owner in (("", model), ("opt.", model.opt)):
        for name in dir(type(owner)):
            value = None if name.startswith("_") else getattr(owner, name)
            if isinstance(value, np.ndarray) and _is_watched(prefix + name, value):
                begin = int(value.ctypes.data)
                found.append((begin, begin + value.nbytes, prefix + name))
    joined: list[list[tuple[int, int, str]]] = []
    for place in sorted(found):
        if joined and place[0] - joined[-1][-1][1] < _ALIGNMENT:
            joined[-1].append(place)
        else:
            joined.append([place])
    pieces = []
    for places in joined:
        first, last = places[0][0], max(end for _, end, _ in places)
        inside = [(begin - first, end - first, name) for begin, end, name in places]
        pieces.append(_Piece(raw_view(first, last - first), inside))
    return pieces


def _is_watched(name: str, values: NDArray[Any]) -> bool:
    most = _LARGEST_ASSET if name.startswith(_ASSETS) else _LARGEST
    return _is_simulated(name) and values.flags.c_contiguous and 0 < values.nbytes <= most
