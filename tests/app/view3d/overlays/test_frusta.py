"""The frusta of cameras are those that MuJoCo's viewer draws."""

from typing import Any

import mujoco
import numpy as np
import pytest

from stroboscope.app.models.overlays import Role
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.engine.errors import ModelError

SCENE = """<mujoco><statistic meansize=".1" extent="2"/><worldbody><geom size=".5"/>
<camera name="plain" pos="0 -3 0"/>
<body pos="1 0 1" euler="20 10 5"><freejoint/><geom size=".1" mass="1"/>
<camera name="eye" {camera}/></body></worldbody></mujoco>"""
CAMERAS = {
    "angle": 'fovy="40" resolution="640 480"',
    "sensor": 'sensorsize=".03 .02" focal=".02 .025" principal=".002 .003" resolution="640 480"',
    "orthographic": 'projection="orthographic" fovy=".5" resolution="640 480"',
}


def in_order(lines: Any) -> Any:
    """Return middles and lengths (n, 4), sorted: which end comes first does not matter."""
    start, end = lines[:, :3], lines[:, 3:]
    rows = np.column_stack([(start + end) / 2, np.linalg.norm(end - start, axis=1)])
    rows = np.round(rows, 3) + 0.0
    return rows[np.lexsort(rows.T)]


@pytest.mark.parametrize("camera", CAMERAS)
def test_edges_are_mujocos(engine_view: Any, camera: str) -> None:
    try:
        case = engine_view(SCENE.format(camera=CAMERAS[camera]))
    except ModelError:
        pytest.skip("this MuJoCo has no such cameras")
    case.set(cameras=True)
    model, data = case.scene.model, mujoco.MjData(case.scene.model)
    data.qpos[:] = case.scene.data.qpos
    mujoco.mj_forward(model, data)
    option, scene = mujoco.MjvOption(), mujoco.MjvScene(model, 1000)
    option.flags[int(mujoco.mjtVisFlag.mjVIS_CAMERA)] = True
    mujoco.mjv_updateScene(model, data, option, None, mujoco.MjvCamera(), 7, scene)
    kind = int(mujoco.mjtGeom.mjGEOM_LINE)
    geoms = [geom for geom in scene.geoms[: scene.ngeom] if geom.type == kind]
    if not geoms and not hasattr(mujoco, "mjtRayDataField"):
        pytest.skip("this MuJoCo's viewer draws only those of cameras with a sensor's size")
    expected = np.array([[*g.pos, *(g.pos + g.mat[:, 2] * g.size[2])] for g in geoms])
    (part,) = case.parts(Role.FRUSTUM)
    start, along = part.texels[:, 0, :3], part.texels[:, 1, :3]
    found = np.concatenate([start, start + along], axis=1).astype(np.float64)
    assert found.shape == expected.shape == (12, 6)
    assert np.abs(in_order(found) - in_order(expected)).max() < 3e-3
    assert part.element(0) == Element(ElementKind.CAMERA, 1)


def test_a_camera_without_a_resolution_and_the_one_looked_through_have_none(
    engine_view: Any,
) -> None:
    from stroboscope.app.view3d.camera import CameraState, ViewMode

    case = engine_view(SCENE.format(camera=CAMERAS["angle"]))
    case.set(cameras=True)
    assert case.parts(Role.FRUSTUM)
    case.view.set_camera(CameraState(mode=ViewMode.FIXED, fixed_camera=1))
    assert not case.parts(Role.FRUSTUM)
