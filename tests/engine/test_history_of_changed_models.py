"""Rows of a past with another model: that a script has written into since, with other options."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from histories import DERIVED, machine, same

import stroboscope.engine as physics
from stroboscope.debugger_protocol.exceptions import CommandError
from stroboscope.debugger_protocol.topics import Topic

Make = Callable[..., physics.Scene]


def test_what_was_changed_behind_our_back_is_said_and_from_where(
    make_scene: Make, record: Any
) -> None:
    scene = make_scene()
    scene.keep_history(max_bytes=4 << 20)
    record(scene, 200)
    gain = scene.model.actuator_gear[0, 0]
    scene.model.actuator_gear[0, 0] = 3.0  # without model_changed()
    record(scene, 2800)
    scene.model.actuator_gear[0, 0] = gain
    notes = {machine(scene).look_at(axis, frozenset({Topic.POSE})).note for axis in range(150)}
    assert notes <= {"", "verified"}
    notes = {machine(scene).look_at(axis, frozenset({Topic.POSE})).note for axis in range(300, 500)}
    assert any(note.startswith("not reproducible: outside edit before physics") for note in notes)


def test_of_rows_before_the_script_wrote_into_its_model_it_is_said_that_they_lead_elsewhere(
    make_scene: Make, record: Any
) -> None:
    scene = make_scene("humanoid")
    scene.keep_history(True)
    record(scene, 30)
    assert machine(scene).look_at(10, DERIVED).note == ""
    scene.model.actuator_gainprm[:, 0] *= 1.5
    record(scene, 30)
    for axis in (0, 10, 29):
        note = machine(scene).look_at(axis, DERIVED).note
        assert note.startswith(f"not reproducible: physics step {axis} leads elsewhere by now"), (
            axis
        )
    for axis in (30, 45, 59):
        assert machine(scene).look_at(axis, DERIVED).note == ""


def test_values_of_rows_before_the_script_wrote_into_its_model_are_refused_not_made_up(
    make_scene: Make, record: Any
) -> None:
    scene = make_scene("humanoid")
    scene.keep_history(True)
    record(scene, 30)
    scene.model.actuator_gainprm[:, 0] *= 1.5
    record(scene, 30)

    def read(channel: str, first: int) -> int:
        pieces = machine(scene).read_rows(0, (channel,), first=first, last=59, max_rows=100)
        return sum(len(piece["axis"]) for piece in pieces)

    with pytest.raises(
        CommandError, match=r"actuator_force can't be read .* physics step 10 leads"
    ):
        read("actuator_force", 10)
    assert read("actuator_force", 30) == 30
    assert read("qpos", 0) == 60


def test_values_of_rows_are_computed_with_the_options_of_then(
    make_scene: Make, record: Any
) -> None:
    scene = make_scene("humanoid")
    scene.keep_history(True)
    record(scene, 20)
    before = machine(scene).look_at(10, DERIVED).frames.arrays[Topic.STATE]["qfrc_bias"]
    scene.link.backend.edit_option("gravity", (0.0, 0.0, -1.0))
    record(scene, 20)
    pieces = machine(scene).read_rows(0, ("qfrc_bias",), first=0, last=39, max_rows=100)
    values = np.concatenate([piece["values"] for piece in pieces])
    assert values[10].tobytes() == before.tobytes()
    option = scene.model.opt.gravity.tolist()
    assert option == [0.0, 0.0, -1.0]


def test_a_row_of_before_an_edited_option_is_shown_under_the_options_of_then(
    make_scene: Make, record: Any
) -> None:
    scene = make_scene()
    scene.keep_history()
    backend = scene.link.backend
    executed = []
    for gravity in (-9.81, -1.62):
        backend.edit_option("gravity", (0.0, 0.0, gravity))
        for _ in range(20):
            backend.begin_frame(DERIVED)
            scene.step()
            executed.append(backend.end_frame(DERIVED))
    for axis in (5, 19, 20, 35):
        same(executed[axis], machine(scene).look_at(axis, DERIVED).frames)
    assert scene.model.opt.gravity[2] == -1.62
