"""What a script writes into the model of a scene: found by looking now and then."""

import copy
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.data_views import raw_view, timestep_before_gravity
from stroboscope.engine.history.large_piece import LargePiece
from stroboscope.engine.model_fields import FieldChange, read_field
from stroboscope.engine.model_memory import MemoryPiece, Place, joined_pieces
from stroboscope.engine.model_option_fields import FIELD_OPTION, is_recordable

if TYPE_CHECKING:
    from stroboscope.engine.model_fields import ModelFields
    from stroboscope.engine.world import World

__all__ = ["CALLBACKS", "Fields", "ModelChange", "ModelWatch"]

_SENSOR: Final = "mjcb_sensor"
_FILTER: Final = "mjcb_contactfilter"
CALLBACKS: Final = (_SENSOR, _FILTER)
"""Belong to a model as if they were fields of it that no row can carry: a step may lead to the same
without them (a contact without force), so no step tells whether they were there."""

# What only changes how things look, what they are called, or what a reset writes into a state.
_NOT_SIMULATED: Final = (
    "cam_", "light_", "mat_", "tex_", "skin_", "key_", "numeric_", "text_", "tuple_", "name_",
    "names", "vis.", "stat.extent", "stat.center", "mesh_tex", "mesh_normal", "map",
)  # fmt: skip
# Likewise, where no sensor sees what cameras see.
_OF_CAMERAS: Final = frozenset({
    "cam_pos", "cam_quat", "cam_fovy", "cam_intrinsic", "cam_sensorsize", "cam_resolution",
})  # fmt: skip
# And what no ray meets, where none measures a distance: MuJoCo's leave out what is transparent.
_OF_RAYS: Final = frozenset({"geom_rgba", "geom_matid", "mat_rgba"})
_NOT_SIMULATED_ENDS: Final = ("_rgba", "_matid", "_group", "_user")
# A step may take another one for a moment, and every row says its own.
_TIMESTEP: Final = "opt.timestep"
# Arrays larger than this are no numbers that scripts tune, and not kept twice [bytes].
_LARGEST: Final = 8 << 20
_ASSETS: Final = ("mesh_", "bvh_", "oct_", "flex_elem", "flex_shell")
_LARGEST_ASSET: Final = 256 << 10
# What a stretch carries at most.
_MOST_NUMBERS: Final = 20_000
_SHOWN: Final = 3
_WORD: Final = 8
_MOST_OPTION_BYTES: Final = 4096
# meaninertia, meanmass, meansize, extent, center.
_INERTIA_BEFORE_CENTER: Final = 4

Fields = Mapping[str, tuple[float, ...]]
"""Values of fields of a model, flat, by name behind ``model.``: as they stand among options."""


class ModelChange(NamedTuple):
    """Something was written between the physics steps ``since`` and ``axis``."""

    since: int
    axis: int
    text: str

    def and_then(self, later: "ModelChange") -> "ModelChange":
        """Return both as one."""
        return ModelChange(self.since, later.axis, f"{self.text}; {later.text}")


class ModelWatch:
    """Compares the model of a world with what it was at first; looks are taken by the owner.

    ``axis``: since when it may have been written into unseen.
    """

    def __init__(self, world: "World", *, axis: int) -> None:
        self._model = world.model
        self._base = world.fields_at_first
        self._pieces: list[MemoryPiece | LargePiece] = [
            *_pieces(world.model, world.adapter.module), *_large_pieces(world.model)
        ]  # fmt: skip
        options = [f"opt.{name}" for name in _option_names(world.model)]
        self._scalars: tuple[str, ...] = (*options, "stat.meaninertia")
        span = _span_of_options(world.model, world.adapter.module)
        if span is not None:
            views = _views_of_options(world.model, span)
            self._pieces += [
                MemoryPiece(view, [Place(0, len(view), self._scalars)]) for view in views
            ]
        flags = [name for name in self._base.compared if name.startswith("flg_")]
        self._asked = (*flags, *(self._scalars if span is None else ()))
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
        self.pending: ModelChange | None = None
        """What was found and is not told yet: whoever has told it takes it away."""
        self.version = 0
        """Changes whenever a look finds the model other than the one before."""
        self._adapter = world.adapter
        self._lost.update(dict.fromkeys(self._callbacks(), 1))
        self._seen = self._numbers_asked()
        self._since = axis

    @property
    def fields(self) -> Fields:
        """What each field that was ever written has by now, flat, by the name of its option."""
        return {**self._first, **self._other}

    @property
    def lost(self) -> Mapping[str, int]:
        """What has other values that no row can carry, with a check of them."""
        return self._lost

    @property
    def first(self) -> Fields:
        """What each of them had at first."""
        return self._first

    def is_as_seen(self, *, in_passing: bool = False) -> bool:
        """Return whether the model is as it was when it was looked at last; any thread.

        ``in_passing``: of large arrays only some numbers are looked at.
        """
        unchanged = all(piece.is_unchanged(in_passing=in_passing) for piece in self._pieces)
        if not unchanged or self._numbers_asked() != self._seen:
            return False
        return self._callbacks() == [name for name in CALLBACKS if name in self._lost]

    def is_sensed_as_seen(self) -> bool:
        """Return whether ``mjcb_sensor`` is set, or not, as when it was looked at last."""
        return self._adapter.has_sensor_callback(self._model) == (_SENSOR in self._lost)

    def _callbacks(self) -> list[str]:
        """Return which of them are set, in their order."""
        adapter = self._adapter
        is_set = (adapter.has_sensor_callback(self._model), adapter.has_contact_filter())
        return [name for name, there in zip(CALLBACKS, is_set, strict=True) if there]

    def unseen_since(self) -> int:
        """Return since when something may have been written that nobody has seen; -1: nothing was.

        Any thread. The timestep does not count: a step may take another one for a moment.
        """
        since = self._since
        if self.is_as_seen():
            return -1
        names = self._written() - {_TIMESTEP}
        changed = {each.field: each for each in self._base.changes(self._model, only=names)}
        found = _Found(dict(self._other), dict(self._first), dict(self._lost))
        for name in names:
            found.take(name, changed.get(name), model=self._model, base=self._base)
        return since if found.text else -1

    def _numbers_asked(self) -> tuple[float, ...]:
        return tuple(float(read_field(self._model, name)) for name in self._asked)

    def look(self, axis: int, *, in_passing: bool = False) -> ModelChange | None:
        """Return what was written and is not told yet; the owner, before a physics step."""
        if self.is_as_seen(in_passing=in_passing) and not self._is_new:
            self._since = axis
            return self.pending
        seen = self._numbers_asked()
        names = self._written() - {_TIMESTEP}
        changed = {each.field: each for each in self._base.changes(self._model, only=names)}
        found = _Found(dict(self._other), dict(self._first), dict(self._lost))
        # Those that others follow from come first, see FieldChange.
        for name in (*changed, *sorted(names - changed.keys())):
            found.take(name, changed.get(name), model=self._model, base=self._base)
        callbacks = self._callbacks()
        found.take_callback(_FILTER, is_set=_FILTER in callbacks)
        # At who fills sensors somebody looks before each step.
        since = self._since if found.text else axis
        found.take_callback(_SENSOR, is_set=_SENSOR in callbacks)
        told = ModelChange(since, axis, found.text) if found.text else None
        pending = told if self.pending is None or told is None else self.pending.and_then(told)
        losses = self.losses + bool(found.newly_lost)
        # Nothing but stores, which no handler of a signal comes between.
        self._other, self._first, self._lost = found.other, found.first, found.lost
        self.losses, self._seen, self._since, self._is_new = losses, seen, axis, False
        self.version += 1
        self.pending = pending or self.pending
        for piece in self._pieces:
            if isinstance(piece, MemoryPiece) or names.intersection(piece.names):
                piece.remember()
        return self.pending

    def _written(self) -> set[str]:
        """Return the fields whose memory is another one than when it was looked at last."""
        names = {name for piece in self._pieces for name in piece.written()}
        names.update(self._asked)
        if self._is_new:  # nobody knows since when
            names.update(name for piece in self._pieces for name in piece.names)
        return names


class _Found:
    """What fields have by now: ``other`` values than at ``first``, or some that are ``lost``."""

    def __init__(
        self,
        other: dict[str, tuple[float, ...]],
        first: dict[str, tuple[float, ...]],
        lost: dict[str, int],
    ) -> None:
        self.other, self.first, self.lost = other, first, lost
        self.newly_lost: list[str] = []
        self._texts: list[str] = []
        self._texts_of_lost: list[str] = []

    @property
    def text(self) -> str:
        """What is new, in words; empty where nothing is."""
        texts = self._texts or self._texts_of_lost
        more = f" (+{len(texts) - _SHOWN} more)" if len(texts) > _SHOWN else ""
        text = "; ".join(texts[:_SHOWN]) + more
        if self.newly_lost:
            text += f"; what was written into {', '.join(self.newly_lost)} is not here"
        return text

    def take(
        self, name: str, change: FieldChange | None, *, model: Any, base: "ModelFields"
    ) -> None:
        """Take in what a field has now; None: what it had at first."""
        key = f"{FIELD_OPTION}{name}"
        if change is None:
            was_lost = self.lost.pop(name, None) is not None
            if self.other.pop(key, None) is not None or was_lost:
                self._texts.append(f"{name}: as at first")
        elif self._can_carry(key, change):
            self._carry(key, change)
        else:
            self._lose(key, change, base.check_of(model, name))

    def take_callback(self, name: str, *, is_set: bool) -> None:
        """Take in whether one of :data:`CALLBACKS` is set."""
        if is_set and name not in self.lost:
            self.lost[name] = 1
            self._texts_of_lost.append(f"{name} was set")
        elif not is_set and self.lost.pop(name, None) is not None:
            self._texts.append(f"{name} was taken out")

    def _can_carry(self, key: str, change: FieldChange) -> bool:
        values = change.now
        others = sum(len(each) for name, each in self.other.items() if name != key)
        is_number = is_recordable(change.field, values) and bool(np.isfinite(values).all())
        return is_number and others + values.size <= _MOST_NUMBERS

    def _carry(self, key: str, change: FieldChange) -> None:
        numbers = tuple(map(float, change.now.reshape(-1)))
        self.lost.pop(change.field, None)
        if self.other.get(key) == numbers:
            return  # the same object while it is the same: stretches share it
        self.other[key] = numbers
        if key not in self.first:
            self.first[key] = tuple(map(float, change.before.reshape(-1)))
        self._texts.append(change.text)

    def _lose(self, key: str, change: FieldChange, check: int) -> None:
        """Note that a field has values that no row and no file can carry."""
        self.other.pop(key, None)
        if self.lost.get(change.field) != check:
            self.lost[change.field] = check
            self.newly_lost.append(change.field)
            self._texts_of_lost.append(change.text)


def _is_simulated(field: str) -> bool:
    if field == "actuator_group":
        return True  # options switch groups of them off
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


def _pieces(model: Any, module: Any) -> list[MemoryPiece]:
    """Return the memory of all arrays that a step reads, in as few pieces as they are."""
    found: list[Place] = []
    camera = int(module.mjtObj.mjOBJ_CAMERA)
    seen: frozenset[str] = frozenset()
    if (model.sensor_objtype == camera).any() or (model.sensor_reftype == camera).any():
        seen |= _OF_CAMERAS
    if (model.sensor_type == int(module.mjtSensor.mjSENS_RANGEFINDER)).any():
        seen |= _OF_RAYS
    for prefix, owner in (("", model), ("opt.", model.opt)):
        for name in dir(type(owner)):
            value = None if name.startswith("_") else getattr(owner, name)
            if not isinstance(value, np.ndarray):
                continue
            if _is_watched(prefix + name, value) or (name in seen and value.size):
                begin = int(value.ctypes.data)
                found.append(Place(begin, begin + value.nbytes, (prefix + name,)))
    return joined_pieces(found)


def _large_pieces(model: Any) -> Iterator[LargePiece]:
    """Go through the arrays that a step reads and that are too large to be kept twice."""
    for name in dir(type(model)):
        value = None if name.startswith("_") else getattr(model, name)
        if not isinstance(value, np.ndarray) or not _is_simulated(name):
            continue
        if value.flags.c_contiguous and value.nbytes > _most_bytes(name):
            view = raw_view(int(value.ctypes.data), value.nbytes)
            yield LargePiece(view, name, is_asset=name.startswith(_ASSETS))


def _is_watched(name: str, values: NDArray[Any]) -> bool:
    is_small = 0 < values.nbytes <= _most_bytes(name)
    return _is_simulated(name) and values.flags.c_contiguous and is_small


def _most_bytes(name: str) -> int:
    return _LARGEST_ASSET if name.startswith(_ASSETS) else _LARGEST
