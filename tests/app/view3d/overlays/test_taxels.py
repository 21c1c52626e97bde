"""Tactile sensors are drawn where MuJoCo's viewer draws them, coloured by what they feel."""

from typing import Any

import mujoco
import numpy as np
import pytest

from stroboscope.app.models.assets import asset_digests
from stroboscope.app.models.overlay_topics import topics_of
from stroboscope.app.models.overlays import Role
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.view3d.camera import CameraState
from stroboscope.app.view3d.overlays.glyphs import Shape
from stroboscope.app.view3d.overlays.legend import legend_rows
from stroboscope.app.view3d.overlays.taxels import taxels
from stroboscope.debugger_protocol.arrays import parse_asset
from stroboscope.debugger_protocol.topics import Topic

PAD = """<mujoco><asset><mesh name="pad" builtin="plate" params="9 9" scale=".2 .2 .05"/></asset>
<worldbody><body name="bench" pos=".3 0 .05" euler="0 0 20">
<geom name="pad" type="box" size=".01 .2 .2" euler="0 90 0"/></body>
<body pos=".3 0 .3"><freejoint/><geom type="sphere" size=".1"/></body></worldbody>
<sensor><clock/><tactile name="skin" geom="pad" mesh="pad"/></sensor></mujoco>"""


@pytest.fixture
def pad(engine_view: Any) -> Any:
    if not hasattr(mujoco.mjtSensor, "mjSENS_TACTILE"):
        pytest.skip("this MuJoCo has no tactile sensors")
    case = engine_view(PAD)
    backend, description = case.scene.link.backend, case.view.description
    for digest in asset_digests(description):
        case.view.set_asset(digest, dict(parse_asset(backend.asset(digest), digest)))
    return case


def press(case: Any, height: float) -> None:
    case.scene.data.qpos[2] = height
    case.set(taxels=True, legend=True)


def mujocos_triangles(case: Any) -> Any:
    """Return the corners (n, 3, 3) of what MuJoCo's viewer draws with contact points."""
    model, data = case.scene.model, mujoco.MjData(case.scene.model)
    data.qpos[:] = case.scene.data.qpos
    mujoco.mj_forward(model, data)
    option, scene = mujoco.MjvOption(), mujoco.MjvScene(model, 2000)
    option.flags[int(mujoco.mjtVisFlag.mjVIS_CONTACTPOINT)] = True
    mujoco.mjv_updateScene(model, data, option, None, mujoco.MjvCamera(), 7, scene)
    kind, corners = int(mujoco.mjtGeom.mjGEOM_TRIANGLE), []
    for geom in scene.geoms[: scene.ngeom]:
        if geom.type == kind:
            x, y = geom.mat[:, 0] * geom.size[0], geom.mat[:, 1] * geom.size[1]
            corners.append([geom.pos, geom.pos + x, geom.pos + y])
    return np.array(corners)


def in_order(corners: Any) -> Any:
    rows = np.round(np.sort(corners.mean(axis=1), axis=-1), 4)
    return rows[np.lexsort(rows.T)]


def test_faces_stand_where_mujoco_draws_them(pad: Any) -> None:
    press(pad, 0.14)
    (found,) = taxels(pad.picture.subject)
    expected = mujocos_triangles(pad)
    assert found.corners.shape == expected.shape
    assert np.abs(in_order(found.corners) - in_order(expected)).max() < 1e-3
    (part,) = pad.parts(Role.TAXEL)
    assert part.shape is Shape.TRIANGLE
    assert len(part.texels) == len(expected)
    assert part.element(0) == Element(ElementKind.SENSOR, 1)


def test_the_face_that_is_pressed_most_is_the_brightest_and_the_rest_can_be_seen_through(
    pad: Any,
) -> None:
    press(pad, 0.14)
    (found,) = taxels(pad.picture.subject)
    (part,) = pad.parts(Role.TAXEL_PRESSED)
    strongest = int(found.pressure.argmax())
    assert part.texels[strongest, 3] == pytest.approx(np.array(Role.TAXEL_PRESSED.value), abs=1e-6)
    idle = found.pressure == 0.0
    assert 0 < idle.sum() < len(idle)
    assert part.texels[idle, 3, 3].max() < 0.2
    assert part.texels[~idle, 3, 3].min() == 1.0
    rows = {row.text: row.scale for row in legend_rows(pad.picture)}
    assert float(rows["largest pressure"]) == pytest.approx(found.pressure.max(), rel=0.06)


def test_what_feels_nothing_is_not_drawn_as_in_mujocos_viewer(pad: Any) -> None:
    press(pad, 1.0)
    assert taxels(pad.picture.subject) == ()
    assert len(mujocos_triangles(pad)) == 0
    (row,) = [row for row in legend_rows(pad.picture) if row.text == "taxel"]
    assert not row.present


def test_a_damaged_or_missing_mesh_draws_nothing(pad: Any) -> None:
    press(pad, 0.14)
    (digest,) = asset_digests(pad.view.description)
    whole = pad.view._scene.asset(digest)
    for name in ("vertices", "faces"):
        pad.view.set_asset(digest, {n: values for n, values in whole.items() if n != name})
        assert not pad.parts(Role.TAXEL)
    pad.view.set_asset(digest, {**whole, "faces": whole["faces"] + 1000})
    assert not pad.parts(Role.TAXEL)
    pad.view.set_asset(digest, whole)
    assert pad.parts(Role.TAXEL)


def test_a_tactile_sensor_belongs_to_the_body_of_its_geom(pad: Any) -> None:
    sensor = pad.view.description.sensors[1]
    assert (sensor.object_kind, sensor.reference_kind) == ("mesh", "geom")
    assert pad.view.description.bodies[sensor.body].name == "bench"


def test_sensors_are_asked_for_only_where_a_switch_needs_them(pad: Any, engine_view: Any) -> None:
    pad.set(taxels=True)
    assert Topic.SENSORS in topics_of(pad.view.options, pad.view.description)
    other = engine_view("<mujoco><worldbody/><sensor><clock/></sensor></mujoco>")
    other.set(taxels=True)
    assert Topic.SENSORS not in topics_of(other.view.options, other.view.description)


def test_pressed_faces_are_in_the_picture(pad: Any, pixels: Any) -> None:
    press(pad, 0.14)
    pad.view.set_camera(CameraState(azimuth=150, elevation=-30, distance=0.5, lookat=(0.3, 0, 0.1)))
    shown = pixels(pad.view)
    pad.set(taxels=False)
    hidden = pixels(pad.view)
    changed = np.abs(shown - hidden).max(axis=2) > 0.05
    assert changed.mean() > 0.005
