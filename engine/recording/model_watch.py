"""What is written into the model of a scene while it is recorded: found by looking now and then."""

import functools
import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.data_views import raw_view, timestep_before_gravity
from stroboscope.engine.model_fields import FieldChange, ModelFields
from stroboscope.engine.model_option_fields import is_recordable

if TYPE_CHECKING:
    from stroboscope.engine.world import World

__all__ = ["ModelChange", "ModelWatch"]

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
# What an event carries at most, and how often it is looked at in detail what was written.
_MOST_NUMBERS: Final = 20_000
_MOST_TOLD: Final = 64
_SHOWN: Final = 3
_WORD: Final = 8
_MOST_OPTION_BYTES: Final = 4096
# meaninertia, meanmass, meansize, extent, center.
_INERTIA_BEFORE_CENTER: Final = 4

Digest = tuple[int, bytes]


class ModelChange(NamedTuple):
    """Something was written between the physics steps ``since`` and ``axis``."""

    since: int
    axis: int
    text: str


class ModelWatch:
    """Compares the model of a world with what it was when this was made, at the axis ``axis``."""

    def __init__(self, world: "World", *, axis: int) -> None:
        self._world, self._model = world, world.model
        self._base = ModelFields(world.model)
        self._digest = importlib.import_module("xxhash").xxh3_64_intdigest
        self._views = _views(world.model)
        self._scalars = tuple(_option_names(world.model))
        span = _span_of_options(world.adapter.module)
        if span is not None:
            self._views += _views_of_options(world.model, span)
            self._scalars = ()
        self.fields: dict[str, list[float]] = {}
        """What has other values by now than in the file's model, flat."""
        self.is_unknown = False
        """Whether something has that no file carries: from then on only whole rows will do."""
        self.seen = self.now()
        """How the model looked when it was looked at last."""
        self._since = axis
        self._told = 0

    def now(self) -> Digest:
        """Return a digest of all that a step reads of the model; any thread, some microseconds."""
        digest = self._digest(b"".join(self._views))
        if not self._scalars:
            return digest, b""
        option = self._model.opt
        scalars = [float(getattr(option, name)) for name in self._scalars]
        return digest, np.array([*scalars, self._model.stat.meaninertia]).tobytes()

    def look(self, axis: int) -> ModelChange | None:
        """Return what was written since this was called last; the owner, before a physics step."""
        since, self._since = self._since, axis
        now = self.now()
        if now == self.seen:
            return None
        self.seen = now
        if self._told == _MOST_TOLD:
            return None  # said in the last one
        before, was_unknown = self.fields, self.is_unknown
        changes = [each for each in self._base.changes(self._model) if self._concerns(each.field)]
        self.fields = self._recordable(changes)
        lost = [each for each in changes if each.field not in self.fields]
        self.is_unknown |= bool(lost)
        new = [each for each in changes if self.fields.get(each.field) != before.get(each.field)]
        back = [name for name in before if name not in self.fields]
        if not (new or back or (lost and not was_unknown)):
            return None
        self._told += 1
        texts = [each.text for each in (new or lost)] + [f"{name}: as at first" for name in back]
        more = f" (+{len(texts) - _SHOWN} more)" if len(texts) > _SHOWN else ""
        text = "; ".join(texts[:_SHOWN]) + more
        if lost:
            text += f"; what was written into {', '.join(each.field for each in lost)} is not here"
        if self._told == _MOST_TOLD:
            self.is_unknown = True
            text += "; what is written after this is not told any more"
        return ModelChange(since, axis, text)

    def at_first(self, field: str) -> list[float]:
        """Return what a field had when this was made, flat."""
        return [float(each) for each in self._base.arrays[field].reshape(-1)]

    def _concerns(self, field: str) -> bool:
        """Return whether a field is simulated, and nobody has edited it in the debugger."""
        if not _is_simulated(field) or field == _TIMESTEP:
            return False
        name = field.removeprefix("opt.")
        edited = self._world.unedited_options
        are_flags = field in ("opt.disableflags", "opt.enableflags")
        is_flag_edited = are_flags and any(not hasattr(self._model.opt, each) for each in edited)
        return not (field.startswith("opt.") and name in edited) and not is_flag_edited

    def _recordable(self, changes: list[FieldChange]) -> dict[str, list[float]]:
        fields: dict[str, list[float]] = {}
        count = 0
        for change in changes:
            now = change.now
            count += now.size
            if is_recordable(change.field, now) and np.isfinite(now).all():
                if count > _MOST_NUMBERS:
                    break
                fields[change.field] = [float(each) for each in now.reshape(-1)]
        return fields


def _is_simulated(field: str) -> bool:
    return not field.startswith(_NOT_SIMULATED) and not field.endswith(_NOT_SIMULATED_ENDS)


def _option_names(model: Any) -> Iterator[str]:
    """Go through the options that are one number each."""
    for name in dir(type(model.opt)):
        is_ours = not name.startswith("_") and f"opt.{name}" != _TIMESTEP
        if is_ours and isinstance(getattr(model.opt, name), int | float):
            yield name


@functools.cache
def _span_of_options(module: Any) -> tuple[int, int] | None:
    """Return where options begin from gravity on, behind the timestep, and their bytes.

    None where they don't stand together, or a number of the model's statistics that steps use does
    not stand where it is expected: tried with a model of its own.
    """
    model = module.MjModel.from_xml_string("<mujoco/>")
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


def _views(model: Any) -> list[memoryview]:
    """Return the memory of all arrays that a step reads, in as few pieces as they are."""
    places = []
    arrays: list[NDArray[Any]] = [model.opt.gravity, model.opt.wind, model.opt.magnetic]
    for name in dir(type(model)):
        if not name.startswith("_") and _is_simulated(name):
            value = getattr(model, name)
            if isinstance(value, np.ndarray):
                arrays.append(value)
    for name in dir(type(model.opt)):
        value = None if name.startswith("_") else getattr(model.opt, name)
        if isinstance(value, np.ndarray):
            arrays.append(value)
    for array in arrays:
        if array.flags.c_contiguous and 0 < array.nbytes <= _LARGEST:
            places.append((int(array.ctypes.data), array.nbytes))
    joined: list[list[int]] = []
    for begin, size in sorted(places):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], begin + size)
        else:
            joined.append([begin, begin + size])
    return [raw_view(begin, end - begin) for begin, end in joined]
