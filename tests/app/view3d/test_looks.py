"""What a script writes into its model is drawn at once, as MuJoCo's viewer does."""

from typing import Any

import numpy as np
import pytest
from conftest import BLUE, GREEN
from samples import few

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


def sized(view: Any, item: int, size: Any) -> dict[str, Any]:
    infos = view._scene._described.infos
    sizes = np.array([info.size for info in infos[: view._scene.items.n_geoms]], dtype=np.float32)
    sizes[item] = size
    return looks(view, geom_size=sizes)


def test_a_shape_that_a_script_makes_larger_is_drawn_and_picked_as_large(
    front: Any, at: Any
) -> None:
    beside = [0.0, -0.1, 0.75]
    before = at(front, beside)
    front.set_values(Topic.LOOKS, sized(front, 2, (0.5, 0.0, 0.0)))
    grown = at(front, beside)
    assert grown[1] > grown[0] + 0.1
    x, y, _ = front.view().project(
        np.array([0.0, -0.1, 0.75]), width=front.width(), height=front.height()
    )[0]
    assert front.pick_at(x, y).element.index == 2
    front.set_values(Topic.LOOKS, None)
    assert at(front, beside) == pytest.approx(before, abs=0.03)


@pytest.mark.parametrize("item", [1, 2, 3], ids=["box", "sphere", "capsule"])
@pytest.mark.parametrize("size", few([(0.0, 0.0, 0.0), (-0.3, 0.2, 0.1), (1e-30, 1.0, 1.0)], 1))
def test_sizes_that_make_no_sense_leave_the_rest_of_the_picture(
    front: Any, at: Any, item: int, size: Any
) -> None:
    other = {1: [1.0, -0.2, 0.5], 2: [1.0, -0.2, 0.5], 3: [0.0, -0.25, 0.45]}[item]
    before = at(front, other)
    front.set_values(Topic.LOOKS, sized(front, item, size))
    assert at(front, other) == pytest.approx(before, abs=0.05)


def test_sizes_that_are_no_numbers_or_of_another_count_change_nothing(front: Any) -> None:
    scene = front._scene
    for wrong in (np.full(3, np.nan), np.full(3, np.inf)):
        front.set_values(Topic.LOOKS, sized(front, 2, wrong))
        assert scene.items.infos == scene._described.infos
    front.set_values(Topic.LOOKS, looks(front, geom_size=np.ones((1, 3), dtype=np.float32)))
    assert scene.items.infos == scene._described.infos


def test_colours_that_change_do_not_make_shapes_anew(front: Any) -> None:
    scene = front._scene
    front.set_values(Topic.LOOKS, sized(front, 2, (0.3, 0.0, 0.0)))  # as described
    made = scene.geometry_revision
    assert scene.items.infos is scene._described.infos
    rgba = looks(front)["geom_rgba"]
    rgba[2] = RED
    front.set_values(Topic.LOOKS, {**sized(front, 2, (0.3, 0.0, 0.0)), "geom_rgba": rgba})
    assert scene.geometry_revision == made
    front.set_values(Topic.LOOKS, {**sized(front, 2, (0.4, 0.0, 0.0)), "geom_rgba": rgba})
    assert scene.geometry_revision == made + 1


def test_a_large_scene_follows_the_newest_of_many_sizes(
    front: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its shapes are made on a thread: what comes meanwhile neither waits nor is lost."""
    from stroboscope.app.view3d import drawn_scene as module

    monkeypatch.setattr(module, "_HEAVY_ITEMS", 1)
    scene = front._scene
    for size in np.linspace(0.1, 0.6, 20):
        front.set_values(Topic.LOOKS, sized(front, 2, (size, 0.0, 0.0)))
        front.draw_now()
    scene.finish_building()
    assert scene.buffers().high[2] == pytest.approx([0.6] * 3, abs=0.02)
