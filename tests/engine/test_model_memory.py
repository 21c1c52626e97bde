"""What was written into a model is found where its memory is another one, as field by field."""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

from stroboscope.engine.model_fields import ModelFields, read_field, write_field
from stroboscope.engine.model_memory import ComparedModel

MODEL = Path(__file__).parent / "every_element.xml"
# Kept as a checksum, and kept as values: both larger than what is kept twice.
LARGE = """
<mujoco>
  <size nuser_geom="20000"/>
  <asset><hfield name="h" nrow="300" ncol="300" size="1 1 1 1"/></asset>
  <worldbody><geom type="hfield" hfield="h"/><body><joint/><geom size=".1"/></body></worldbody>
</mujoco>
"""


@pytest.fixture(scope="module")
def compiled() -> Any:
    return mujoco.MjModel.from_xml_path(str(MODEL))


@pytest.fixture
def model(compiled: Any) -> Any:
    return copy.copy(compiled)


def compared(model: Any, fields: ModelFields | None = None) -> ComparedModel:
    return ComparedModel(model, fields or ModelFields(model), module=mujoco)


def writable(model: Any) -> Iterator[str]:
    """Go through all fields that have values which Python can write."""
    for name in ModelFields(model).compared:
        if name not in ("names", "text_data") and read_field(model, name).size:
            yield name


def spoil(model: Any, name: str) -> Callable[[], None]:
    """Write another value into a field, of arrays into one byte only; return how to undo that."""
    before = np.array(read_field(model, name))
    changed = before.copy()
    if changed.ndim:
        changed.reshape(-1).view(np.uint8)[-1] ^= 1
    else:
        changed = np.asarray(~before if before.dtype == bool else before + 1)
    write_field(model, name, changed)
    return lambda: write_field(model, name, before)


def test_a_write_into_any_field_is_found_and_so_is_that_it_was_undone(model: Any) -> None:
    own = compared(model)
    names = list(writable(model))
    assert len(names) > 400
    for name in names:
        undo = spoil(model, name)
        assert own.changed() == (name,)
        undo()
        assert own.changed() == ()


def test_what_was_written_before_the_first_look_is_found_until_it_is_undone(model: Any) -> None:
    fields = ModelFields(model)
    # Numbers and arrays of options, an array, an asset.
    names = ("opt.timestep", "opt.gravity", "vis.map.znear", "body_mass", "mesh_vert")
    undo = [spoil(model, name) for name in names]
    own = compared(model, fields)
    assert set(own.changed()) == set(names)
    for each in undo:
        each()
    assert own.changed() == ()
    for name in names:
        spoil(model, name)
    assert set(own.changed()) == set(names)


def test_large_arrays_are_compared_too() -> None:
    model = mujoco.MjModel.from_xml_string(LARGE)
    own = compared(model)
    for name in ("hfield_data", "geom_user"):
        assert read_field(model, name).nbytes > 256 << 10
        undo = spoil(model, name)
        assert own.changed() == (name,)
        undo()
    assert own.changed() == ()


def test_changes_are_those_found_field_by_field_in_the_same_order_and_words(model: Any) -> None:
    fields = ModelFields(model)
    random = np.random.default_rng(5)
    names = list(writable(model))
    own = None
    for _ in range(12):
        undo = [spoil(model, name) for name in random.choice(names, 20, replace=False).tolist()]
        own = own or compared(model, fields)  # made when something is changed already
        found, expected = own.changes(), fields.changes(model)
        assert len(expected) == len(undo)
        assert [(c.field, c.text) for c in found] == [(c.field, c.text) for c in expected]
        for mine, other in zip(found, expected, strict=True):
            assert mine.before.tobytes() == other.before.tobytes()
            assert mine.now.tobytes() == other.now.tobytes()
        assert own.changed() == fields.changed(model) == tuple(c.field for c in expected)
        for each in undo[::2]:
            each()
        assert own.changed() == fields.changed(model)
        for each in undo:
            each()
