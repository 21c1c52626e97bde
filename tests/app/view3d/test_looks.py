"""What a script writes into its model is drawn at once, as MuJoCo's viewer does."""

from typing import Any

import numpy as np
import pytest
from conftest import BLUE, GREEN

from stroboscope.debugger_protocol.topics import Topic

RED = [0.9, 0.1, 0.1, 1.0]


def looks(view: Any, **changes: Any) -> dict[str, Any]:
    items = view._scene._described
    geoms = slice(0, items.n_geoms)
    arrays = {
        "geom_rgba": items.material[geoms, 0].copy(),
        "geom_pos": items.pos[geoms].astype(np.float32),
        "geom_quat": np.tile(np.float32([1, 0, 0, 0]), (items.n_geoms, 1)),
    }
    return {**arrays, **changes}


def test_a_colour_that_a_script_sets_is_drawn(front: Any, at: Any) -> None:
    top = [0.0, -0.25, 0.45]
    before = at(front, top)
    assert before[1] > before[0]
    rgba = looks(front)["geom_rgba"]
    rgba[2] = RED
    front.set_values(Topic.LOOKS, looks(front, geom_rgba=rgba))
    painted = at(front, top)
    assert painted[0] > painted[1] + 0.2
    front.set_values(Topic.LOOKS, None)
    assert at(front, top) == pytest.approx(before, abs=0.02)


def test_a_shape_that_a_script_places_elsewhere_is_drawn_and_picked_there(
    front: Any, at: Any
) -> None:
    places = looks(front)["geom_pos"]
    places[2] = (0.0, 0.0, 0.8)
    front.set_values(Topic.LOOKS, looks(front, geom_pos=places))
    assert at(front, [0.0, -0.29, 1.1])[1] > 0.3
    x, y, _ = front.view().project(
        np.array([0.0, -0.29, 1.1]), width=front.width(), height=front.height()
    )[0]
    assert front.pick_at(x, y).element.index == 2


def test_what_becomes_transparent_lets_through_what_is_behind(front: Any, at: Any) -> None:
    top = [0.0, -0.25, 0.45]
    solid = at(front, top)
    rgba = looks(front)["geom_rgba"]
    rgba[2, 3] = 0.2
    front.set_values(Topic.LOOKS, looks(front, geom_rgba=rgba))
    assert np.abs(at(front, top) - solid).max() > 0.1


def test_arrays_of_another_size_change_nothing(front: Any, at: Any) -> None:
    point = [1.0, -0.2, 0.5]
    before = at(front, point)
    wrong = {"geom_rgba": np.float32([RED]), "geom_pos": np.zeros((1, 3), dtype=np.float32)}
    front.set_values(Topic.LOOKS, wrong)
    assert at(front, point) == pytest.approx(before, abs=0.02)
    assert BLUE[2] > GREEN[2]


def test_the_same_looks_again_upload_nothing(front: Any) -> None:
    scene = front._scene
    front.set_values(Topic.LOOKS, looks(front))
    told = scene.look_revision
    front.set_values(Topic.LOOKS, looks(front))
    assert scene.look_revision == told
