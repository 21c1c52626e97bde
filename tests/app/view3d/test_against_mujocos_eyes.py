"""What lies under a pixel, and how deep, is what MuJoCo's renderer says: its depth and its ids."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference_window import open_viewport

from stroboscope.app.models.selection import ElementKind

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


@pytest.fixture
def theirs(tmp_path: Path) -> Any:
    """``theirs(name)``: depth (h, w) [m] and number of the geom (h, w), -1: none."""

    def draw(name: str) -> Any:
        path = tmp_path / "theirs.npz"
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
