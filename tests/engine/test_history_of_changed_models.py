"""Rows of a past with other options than the model has by now."""

from collections.abc import Callable
from typing import Any

import numpy as np
from histories import DERIVED, machine, same

import stroboscope.engine as physics
from stroboscope.debugger_protocol.topics import Topic

Make = Callable[..., physics.Scene]


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
