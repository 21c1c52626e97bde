"""What lies under a pixel, and how deep, is what MuJoCo's renderer says: its depth and its ids."""

import dataclasses
import functools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtGui import QImage
from reference_window import open_viewport

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import RenderMode
from stroboscope.app.view3d.measured import depth_range
from stroboscope.app.view3d.overlays.legend import THIN_SPACE, legend_rows
from stroboscope.app.view3d.still import Still

WIDTH, HEIGHT, STEP = 480, 360, 20
THEIRS = """
import sys
import mujoco
import numpy as np
from reference_scenes import SCENES, shown_by_engine

name, path, width, height = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
scene = SCENES[name]
shown = shown_by_engine(scene)
shown.model.vis.global_.offwidth, shown.model.vis.global_.offheight = width, height
camera = mujoco.MjvCamera()
camera.azimuth, camera.elevation, camera.distance = scene.camera[:3]
camera.lookat[:] = scene.camera[3]
renderer = mujoco.Renderer(shown.model, height, width)
renderer.update_scene(shown.data, camera)
renderer.enable_depth_rendering()
depth = renderer.render().copy()
renderer.disable_depth_rendering()
renderer.enable_segmentation_rendering()
ids = renderer.render().copy()
np.savez(path, depth=depth, ids=ids, geom=int(mujoco.mjtObj.mjOBJ_GEOM))
"""


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """``theirs(name)``: depth (h, w) [m] and number of the geom (h, w), -1: none."""

    @functools.cache
    def draw(name: str) -> Any:
        path = tmp_path_factory.mktemp("theirs") / "theirs.npz"
        command = [sys.executable, "-c", THEIRS, name, str(path), str(WIDTH), str(HEIGHT)]
        folders = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "MUJOCO_GL": "egl", "PYTHONPATH": folders}
        done = subprocess.run(
            command, env=environment, check=False, timeout=120, capture_output=True, text=True
        )
        if done.returncode and "EGL" in done.stderr:
            pytest.skip("MuJoCo has no EGL to draw with here")
        assert not done.returncode, done.stderr
        drawn = np.load(path)
        ids = drawn["ids"]
        return drawn["depth"], np.where(ids[..., 1] == drawn["geom"], ids[..., 0], -1)

    return draw


@pytest.mark.parametrize("name", ["shapes", "height field"])
def test_ids_and_depths_under_the_mouse_are_those_of_mujocos_renderer(
    name: str, theirs: Any, show: Any, qapp: Any
) -> None:
    pytest.importorskip("mujoco")
    depth, geom = theirs(name)
    view = open_viewport(name)
    show(view, WIDTH, HEIGHT)
    eye = view.view()
    compared = agreed = 0
    geoms, apart = set(), []
    for y in range(STEP // 2, HEIGHT, STEP):
        for x in range(STEP // 2, WIDTH, STEP):
            around = geom[y - 2 : y + 3, x - 2 : x + 3]
            if geom[y, x] < 0 or (around != geom[y, x]).any():
                continue  # at an edge one of the two may see past it
            compared += 1
            hit = view._surface.pick(x + 0.5, y + 0.5)
            element = hit.element if hit is not None else None
            if element is None or element.kind is not ElementKind.GEOM:
                continue
            agreed += element.index == geom[y, x]
            geoms.add(element.index)
            away = float((hit.point - eye.eye) @ eye.forward)
            apart.append(abs(away - depth[y, x]) / depth[y, x])
    assert compared > 100
    assert len(geoms) > 2 or name != "shapes"
    assert agreed >= 0.98 * compared, f"{agreed} of {compared}"
    assert np.quantile(apart, 0.95) < 0.01, np.quantile(apart, [0.5, 0.9, 0.95, 1.0])


def _pixels(view: Any) -> NDArray[np.int64]:
    image = view.grab_image().convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), dtype=np.uint8)
    rows = rows.reshape(image.height(), image.bytesPerLine())[:, : 3 * image.width()]
    return rows.reshape(image.height(), image.width(), 3).astype(np.int64)


def _inner(geom: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which pixels have the same geom all around: at an edge one may see past it."""
    inner = np.zeros(geom.shape, dtype=np.bool_)
    inner[2:-2, 2:-2] = geom[2:-2, 2:-2] >= 0
    for y in range(-2, 3):
        for x in range(-2, 3):
            inner &= np.roll(geom, (y, x), axis=(0, 1)) == geom
    return inner


@pytest.mark.parametrize("name", ["shapes", "height field"])
def test_pictures_of_ids_and_depths_are_those_of_mujocos_renderer(
    name: str, theirs: Any, show: Any, qapp: Any
) -> None:
    pytest.importorskip("mujoco")
    depth, geom = theirs(name)
    inner = _inner(geom)
    assert inner.mean() > 0.1
    view = open_viewport(name)
    show(view, WIDTH, HEIGHT)
    plain = view.options
    view.options = dataclasses.replace(plain, render=RenderMode.IDS)
    ids = _pixels(view)
    colors = {}
    for number in np.unique(geom[inner]).tolist():
        found, counts = np.unique(ids[inner & (geom == number)], axis=0, return_counts=True)
        assert counts.max() >= 0.98 * counts.sum(), number
        colors[number] = tuple(found[counts.argmax()].tolist())
    assert len(set(colors.values())) == len(colors)
    numbers = view.measure((WIDTH, HEIGHT))
    assert (numbers["geom"] == geom)[inner].mean() > 0.98
    apart = np.abs(numbers["depth"] - depth)[inner] / depth[inner]
    assert np.quantile(apart, 0.95) < 0.01
    view.options = dataclasses.replace(plain, render=RenderMode.DEPTH)
    low, high = depth_range(view._scene, view.options, view.view())
    grey = _pixels(view)
    assert (grey == grey[..., :1]).all()
    expected = 255.0 * np.clip((depth - low) / (high - low), 0.0, 1.0)
    assert np.quantile(np.abs(grey[..., 0] - expected)[inner], 0.95) < 4.0
    black, white = (row.scale.split(THIN_SPACE)[0] for row in _legend(view))
    assert float(black) == pytest.approx(low, rel=0.01)
    assert float(white) == pytest.approx(high, rel=0.01)


def _legend(view: Any) -> Any:
    rows = legend_rows(view._overlay_picture(), view.view())
    return [row for row in rows if row.text.startswith("depth")]


def test_pointing_at_a_pixel_of_ids_names_the_element_and_its_id(show: Any, qapp: Any) -> None:
    pytest.importorskip("mujoco")
    view = open_viewport("shapes")
    view.options = dataclasses.replace(view.options, render=RenderMode.IDS, contacts=True)
    show(view, WIDTH, HEIGHT)
    geoms = view.measure((WIDTH, HEIGHT))["geom"]
    y, x = np.argwhere(_inner(geoms) & (geoms > 0))[0]
    element = view.pick_at(x + 0.5, y + 0.5).element
    assert element.index == geoms[y, x]
    assert f"geom {geoms[y, x]}" in view._title_of(element)


def test_nothing_lies_over_ids_and_depths(show: Any, qapp: Any) -> None:
    pytest.importorskip("mujoco")
    view = open_viewport("shapes")
    view.options = dataclasses.replace(view.options, render=RenderMode.IDS)
    show(view, WIDTH, HEIGHT)
    before = _pixels(view)
    view.options = dataclasses.replace(
        view.options, com=True, inertia=True, triad=True, joints=True, wireframe=True
    )
    view.set_selection(Element(ElementKind.GEOM, 1))
    assert np.array_equal(_pixels(view), before)
    fine = view.still(Still(size=(WIDTH, HEIGHT)))
    assert fine.size() == view.grab_image().size()


def test_a_measurement_says_what_is_too_large(show: Any, qapp: Any) -> None:
    pytest.importorskip("mujoco")
    view = open_viewport("shapes")
    show(view, WIDTH, HEIGHT)
    with pytest.raises(ValueError, match="5000 × 5000 pixels"):
        view.measure((5000, 5000))
