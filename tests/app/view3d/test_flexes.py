"""Flexes wear the material of each element, and show what MuJoCo's viewer shows of them."""

import dataclasses
from collections.abc import Callable
from typing import Any

import mujoco
import numpy as np
import pytest
from numpy.typing import NDArray
from reference_scenes import SCENES, Shown, shown_by_engine

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import Quality, ViewOptions
from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.flexes import FlexLook

_XML = """
<mujoco><asset><material name="a" rgba="1 0 0 1"/><material name="b" rgba="0 1 0 1"/></asset>
<worldbody><body name="w"/></worldbody>
<deformable><flex name="f" dim="{dim}" body="w" radius=".01" vertex="{vertices}"
element="{elements}" material="{materials}"/></deformable></mujoco>
"""
_SHEET = {"dim": 2, "elements": "0 1 3  1 4 3  1 2 4  2 5 4", "materials": "a b a b"}
_SOLID = {"dim": 3, "elements": "0 1 3 6  1 4 3 7  2 5 4 8", "materials": "a b a"}


def _flex(kind: dict[str, Any]) -> Shown:
    layers = range(2 if kind["dim"] == 3 else 1)
    points = [f"{x / 10} {y / 10} {z / 10}" for z in layers for y in range(2) for x in range(3)]
    xml = _XML.format(vertices=" ".join(points), **kind)
    plain = SCENES["flex 2D"]
    return shown_by_engine(dataclasses.replace(plain, xml=xml, seconds=0.0))


def _drawn(shown: Shown) -> DrawnScene:
    drawn = DrawnScene()
    drawn.set_description(shown.description, shown.assets)
    drawn.set_poses(*shown.poses)
    for topic, arrays in shown.values.items():
        drawn.set_values(topic, arrays)
    return drawn


def _ours(drawn: DrawnScene, look: FlexLook) -> list[tuple[Any, NDArray[np.float64]]]:
    """Return colour and middles of the triangles (n, 3) of each item of the flex."""
    soft = drawn.soft(look)
    items = drawn.items.of_flex(0)
    corners = np.asarray(soft.vertices["a_position"], dtype=np.float64)[soft.faces].mean(axis=1)
    return [
        (
            drawn.items.material[item, 0].tolist(),
            corners[soft.start[item] : soft.start[item + 1]],
        )
        for item in items
    ]


def _theirs(shown: Shown, *, skin: bool) -> list[tuple[Any, NDArray[np.float64]]]:
    scene, option = mujoco.MjvScene(shown.model, 1000), mujoco.MjvOption()
    option.flags[mujoco.mjtVisFlag.mjVIS_FLEXSKIN] = skin
    option.flags[mujoco.mjtVisFlag.mjVIS_FLEXFACE] = True
    mujoco.mjv_updateScene(shown.model, shown.data, option, None, mujoco.MjvCamera(), 7, scene)
    middles = np.array(scene.flexface).reshape(-1, 3, 3).mean(axis=1)
    slices = []
    for geom in scene.geoms[: scene.ngeom]:
        first, count = int(geom.size[1]), int(geom.size[2])
        slices.append((geom.rgba.tolist(), middles[first : first + count]))
    return slices


def _in_order(points: NDArray[np.float64]) -> NDArray[np.float64]:
    rounded = np.round(points, 4) + 0.0
    return rounded[np.lexsort(rounded.T)]


@pytest.mark.parametrize("skin", [True, False], ids=["skin", "faces"])
@pytest.mark.parametrize("kind", [_SHEET, _SOLID], ids=["sheet", "solid"])
def test_each_element_wears_its_own_material_as_in_mujoco(kind: Any, skin: bool) -> None:
    shown = _flex(kind)
    look = FlexLook(skin=skin, faces=not skin, edges=False)
    ours, theirs = _ours(_drawn(shown), look), _theirs(shown, skin=skin)
    assert [color for color, _ in ours] == [color for color, _ in theirs]
    for (_, mine), (_, other) in zip(ours, theirs, strict=True):
        assert len(mine) == len(other) > 0
        if skin and kind is _SHEET:  # the rim is cut into other triangles
            mine, other = (side[np.abs(side[:, 2]) > 0.009] for side in (mine, other))
        if kind is _SHEET or not skin:
            assert np.abs(_in_order(mine) - _in_order(other)).max() < 2e-4


def test_every_part_of_a_flex_is_that_flex_to_whoever_points_at_it() -> None:
    shown = _flex(_SHEET)
    items = _drawn(shown).items
    flex = Element(ElementKind.FLEX, 0)
    parts = items.of_element(flex, shown.description)
    assert len(parts) == 2
    assert {items.element(int(item)) for item in parts} == {flex}
    hidden = _drawn(shown)
    hidden.set_hidden(frozenset({flex}))
    assert not hidden.visible(ViewOptions())[parts].any()


def test_a_solid_shows_one_layer_of_its_elements_at_a_time() -> None:
    shown = shown_by_engine(SCENES["flex 3D"])
    drawn = _drawn(shown)
    layers = np.array(shown.model.flex_elemlayer)
    assert layers.max() > 0
    for layer in range(layers.max() + 1):
        look = FlexLook(skin=False, faces=True, edges=False, layer=layer)
        assert len(drawn.soft(look).faces) == 4 * (layers == layer).sum()
    look = FlexLook(skin=False, faces=True, edges=False, layer=layers.max() + 1)
    assert not len(drawn.soft(look).faces)


def test_faces_of_a_solids_elements_look_outwards() -> None:
    soft = _drawn(_flex(_SOLID)).soft(FlexLook(skin=False, faces=True, edges=False))
    corners = np.asarray(soft.vertices["a_position"], dtype=np.float64)[soft.faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals = np.asarray(soft.vertices["a_normal"], dtype=np.float64)[soft.faces[:, 0]]
    assert (np.einsum("ij,ij->i", across, normals) > 0.0).all()
    volume = np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    assert volume > 3 * 0.1**3 / 6.0


@pytest.mark.parametrize("name", ["flex 1D", "flex 2D", "flex 3D"])
def test_edges_and_vertices_are_where_the_flex_has_them(name: str) -> None:
    shown = shown_by_engine(SCENES[name])
    drawn = _drawn(shown)
    points = np.array(shown.data.flexvert_xpos)
    edges = drawn.soft(FlexLook(skin=False)).vertices["a_position"]
    per_edge = len(edges) / len(shown.model.flex_edge)
    assert per_edge == int(per_edge)
    balls = drawn.soft(FlexLook(skin=False, edges=False, vertices=True)).vertices["a_position"]
    middles = np.asarray(balls, dtype=np.float64).reshape(len(points), -1, 3)
    low, high = middles.min(axis=1), middles.max(axis=1)
    assert np.abs((low + high) / 2.0 - points).max() < 1e-3
    nothing = FlexLook(skin=False, edges=False)
    assert not len(drawn.soft(nothing).faces)


def _share(view: Any, wanted: Callable[[Any], Any]) -> float:
    image = view.grab_image().convertToFormat(view.grab_image().format().Format_RGB888)
    stride = image.bytesPerLine()
    rows = np.frombuffer(image.constBits(), dtype=np.uint8).reshape(image.height(), stride)
    pixels = rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).astype(int)
    return float(wanted(pixels).mean())


def test_a_sheet_of_two_materials_has_both_colours_in_the_picture(show: Any, qapp: Any) -> None:
    from stroboscope.app.view3d.viewport import Viewport
    from stroboscope.resources.themes import DARK

    shown = _flex(_SHEET)
    view = Viewport(DARK)
    view.options = ViewOptions(quality=Quality.LOW, triad=False, grid=False)
    view.set_description(shown.description, shown.assets)
    view.set_poses(*shown.poses)
    for topic, arrays in shown.values.items():
        view.set_values(topic, arrays)
    show(view, 320, 240)
    view.frame_scene()
    red = _share(view, lambda p: p[..., 0] > p[..., 1] + 80)
    green = _share(view, lambda p: p[..., 1] > p[..., 0] + 80)
    assert red > 0.02
    assert green == pytest.approx(red, rel=0.5)
    view.options = dataclasses.replace(view.options, flex_skin=False, flex_edges=False)
    assert _share(view, lambda p: abs(p[..., 0] - p[..., 1]) > 80) == 0.0
