"""What a scene file says was written into a model: checked before any of it is believed."""

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stroboscope.engine.files.scene_manifest import ChangedField
from stroboscope.engine.mjb import mjb_of
from stroboscope.engine.model_fields import write_field
from stroboscope.engine.mujoco_adapter import MujocoAdapter

__all__ = ["changed_models", "changed_values", "write_changes"]

# Kinds of numbers that are never an address of something else.
_HARMLESS = "f"
_MOST_VARIANTS = 64
_NARROW = "<i4"


def changed_values(model: Any, change: ChangedField) -> NDArray[Any]:
    """Return the values, shaped as the model's field (one row per environment of those).

    Raises ValueError for a field that a model does not have, or has in another shape.
    """
    like = _field(model, change.field)
    # A whole number that Python has of a model is wider than the one that a batch has of each.
    is_narrow = not like.shape and like.dtype.kind == "i" and change.dtype == _NARROW
    dtype = np.dtype(_NARROW) if is_narrow else like.dtype
    try:
        values = np.frombuffer(change.content, dtype=dtype).reshape(change.shape)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"{change.field} of the shape {change.shape}: {error}") from error
    own = values.shape[1:] if change.environments else values.shape
    if change.dtype != dtype.str or own != like.shape or values.shape != change.shape:
        raise ValueError(
            f"{change.field} is {change.dtype} {change.shape} there, {like.dtype.str} {like.shape} "
            "in the model"
        )
    return values


def write_changes(model: Any, changes: Iterable[ChangedField]) -> None:
    """Write what is the same for all environments into a model; raises ValueError before that."""
    values = {c.field: changed_values(model, c) for c in changes if not c.environments}
    for field, value in values.items():
        write_field(model, field, value)


def changed_models(
    model: Any, changes: tuple[ChangedField, ...], *, adapter: MujocoAdapter
) -> Iterable[Any]:
    """Return the models that the changes make, loaded anew: MuJoCo checks what it loads only.

    Numbers that may be addresses, and lead anywhere, are among them. Raises ValueError.
    """
    common = copy.copy(model)
    write_changes(common, changes)
    yield _loaded_anew(common, adapter)
    for change in changes:
        if not change.environments:
            continue
        values = changed_values(model, change)
        if values.dtype.kind in _HARMLESS:
            continue
        variants = {row.tobytes(): row for row in values}
        if len(variants) > _MOST_VARIANTS:
            raise ValueError(f"{change.field} has {len(variants)} variants of whole numbers")
        for variant in variants.values():
            one = copy.copy(common)
            write_field(one, change.field, variant)
            yield _loaded_anew(one, adapter)


def _loaded_anew(model: Any, adapter: MujocoAdapter) -> Any:
    content = bytes(mjb_of(model, adapter=adapter))
    module = adapter.module
    try:
        return module.MjModel.from_binary_path("model.mjb", {"model.mjb": content})
    except (ValueError, RuntimeError, module.FatalError) as error:
        raise ValueError(f"MuJoCo can't load what they make of the model: {error}") from error


def _field(model: Any, name: str) -> NDArray[Any]:
    """Return a field of a model by its name; ValueError for anything else of Python's."""
    owner = model
    for part in name.split("."):
        if part.startswith("_") or not hasattr(owner, part):
            raise ValueError(f"a model has no field {name!r}")
        owner = getattr(owner, part)
    is_size = isinstance(owner, int) and not isinstance(owner, bool) and "." not in name
    if not isinstance(owner, np.ndarray | int | float) or is_size:
        raise ValueError(f"{name!r} is no field that can be written")
    return np.asarray(owner)
