"""Rays of range finders end where MuJoCo's viewer ends them, those of cameras too."""

from typing import Any

import mujoco
import numpy as np
import pytest

from stroboscope.app.models.overlays import Role
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.view3d.overlays import ray_facts
from stroboscope.app.view3d.overlays.glyphs import Shape
from stroboscope.app.view3d.overlays.legend import legend_rows

ROOM = """<mujoco><worldbody><geom type="plane" size="30 30 .1"/>
<geom type="box" size=".1 .1 .1" pos=".1 .2 .5"/>
<body pos="0 0 1" euler="20 10 5"><freejoint/><geom size=".02" pos="0 0 .1" mass="1"/>
<site name="down" euler="180 0 0"/><site name="up"/>
<camera name="eye" resolution="4 3" {camera}/></body></worldbody>
<sensor><clock/><rangefinder {sensor}/></sensor></mujoco>"""
CAMERAS = {
    "angle": 'fovy="40" output="depth"',
    "sensor": 'sensorsize=".03 .02" focal=".02 .025" principal=".002 .003" output="depth"',
    "orthographic": 'projection="orthographic" fovy=".5" output="depth"',
}
SENSORS = {
    "site": 'site="down"',
    "nothing": 'site="up"',
    "site, all": 'site="down" data="dist dir origin point normal depth"',
    "camera": 'camera="eye"',
    "camera, points": 'camera="eye" data="dist dir point normal"',
}


def room(engine_view: Any, camera: str, sensor: str) -> Any:
    if not hasattr(mujoco, "mjtRayDataField"):
        pytest.skip("this MuJoCo's range finders belong to sites")
    case = engine_view(ROOM.format(camera=CAMERAS[camera], sensor=SENSORS[sensor]))
    case.set(rangefinders=True, legend=True)
    return case


def mujocos(case: Any, kind: Any) -> Any:
    """Return the geoms of one kind that its viewer draws of the sensor."""
    model, data = case.scene.model, mujoco.MjData(case.scene.model)
    data.qpos[:] = case.scene.data.qpos
    mujoco.mj_forward(model, data)
    scene = mujoco.MjvScene(model, 1000)
    mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), None, mujoco.MjvCamera(), 7, scene)
    sensor = int(mujoco.mjtObj.mjOBJ_SENSOR)
    found = [g for g in scene.geoms[: scene.ngeom] if g.objtype == sensor and g.type == int(kind)]
    return [(g.pos.copy(), g.mat[:, 2].copy(), float(g.size[2])) for g in found]


def part(case: Any, shape: Shape) -> Any:
    found = [each.texels for each in case.parts(Role.RANGEFINDER) if each.shape is shape]
    return np.concatenate([np.zeros((0, 4, 4)), *found])


@pytest.mark.parametrize("sensor", SENSORS)
@pytest.mark.parametrize("camera", CAMERAS)
def test_rays_points_and_normals_are_mujocos(engine_view: Any, camera: str, sensor: str) -> None:
    case = room(engine_view, camera, sensor)
    lines, arrows = part(case, Shape.LINE), part(case, Shape.ARROW)
    expected = mujocos(case, mujoco.mjtGeom.mjGEOM_LINE)
    assert len(lines) == len(expected)
    assert (len(lines) > 0) == (sensor != "nothing")
    for mine, (start, along, length) in zip(lines, expected, strict=True):
        np.testing.assert_allclose(mine[0, :3], start, atol=1e-5)
        np.testing.assert_allclose(mine[1, :3], along * length, atol=1e-4)
    normals = mujocos(case, mujoco.mjtGeom.mjGEOM_ARROW1)
    assert len(arrows) == len(normals)
    for mine, (start, along, _) in zip(arrows, normals, strict=True):
        np.testing.assert_allclose(mine[0, :3], start, atol=1e-4)
        size = np.linalg.norm(mine[1, :3])
        np.testing.assert_allclose(mine[1, :3] / size, along, atol=1e-4)
    for each in case.parts(Role.RANGEFINDER):
        assert each.element(0) == Element(ElementKind.SENSOR, 1)


def test_more_rays_than_can_be_seen_are_left_out_and_counted(
    engine_view: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_facts, "MOST_RAYS", 5)
    case = room(engine_view, "angle", "camera")
    assert len(part(case, Shape.LINE)) == 5
    assert "7 more rays are left out" in [row.text for row in legend_rows(case.picture)]
