"""The camera's mathematics against formulas and against MuJoCo's own."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from stroboscope.app.view3d.camera import (
    CameraState,
    Drag,
    View,
    ViewMode,
    dragged,
    fitted,
    free_view,
    view_axes,
)

STATE = CameraState(lookat=(0.2, -0.1, 0.4), distance=4.0, azimuth=30.0, elevation=-20.0)


def view_of(state: CameraState, aspect: float = 1.5) -> View:
    return free_view(state, lookat=np.array(state.lookat), aspect=aspect, extent=2.0)


def test_the_camera_looks_along_azimuth_and_elevation() -> None:
    right, up, forward = view_axes(90.0, -45.0)
    half = math.sqrt(0.5)
    assert forward == pytest.approx([0.0, half, -half], abs=1e-12)
    assert right == pytest.approx([1.0, 0.0, 0.0], abs=1e-12)
    assert up == pytest.approx([0.0, half, half], abs=1e-12)


def test_the_eye_stands_its_distance_before_what_it_looks_at() -> None:
    view = view_of(STATE)
    assert np.linalg.norm(view.eye - np.array(STATE.lookat)) == pytest.approx(4.0)
    x, y, depth = view.project(np.array(STATE.lookat), width=900, height=600)[0]
    assert (x, y, depth) == pytest.approx((450.0, 300.0, 4.0))


def test_a_point_at_half_the_field_of_view_touches_the_upper_edge() -> None:
    view = view_of(STATE)
    top = np.array(STATE.lookat) + view.up * 4.0 * math.tan(math.radians(45.0 / 2.0))
    _, y, _ = view.project(top, width=900, height=600)[0]
    assert y == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("orthographic", [False, True])
def test_the_ray_through_a_projected_point_meets_the_point(orthographic: bool) -> None:
    view = view_of(dataclasses.replace(STATE, orthographic=orthographic))
    point = np.array([0.5, 0.3, 0.9])
    x, y, _ = view.project(point, width=900, height=600)[0]
    origin, direction = view.ray(x, y, width=900, height=600)
    along = (point - origin) @ direction
    assert origin + along * direction == pytest.approx(point, abs=1e-9)


@pytest.mark.parametrize("orthographic", [False, True])
def test_near_and_far_planes_map_to_the_ends_of_the_depth_range(orthographic: bool) -> None:
    view = view_of(dataclasses.replace(STATE, orthographic=orthographic))
    for depth, expected in ((view.near, -1.0), (view.far, 1.0)):
        point = np.append(view.eye + depth * view.forward, 1.0)
        clip = view.matrix() @ point
        assert clip[2] / clip[3] == pytest.approx(expected, abs=1e-6)


def test_orthographic_and_perspective_agree_at_the_point_looked_at() -> None:
    point = np.array(STATE.lookat) + 0.5 * view_of(STATE).up
    seen = [
        view_of(dataclasses.replace(STATE, orthographic=flag)).project(point, width=9, height=6)[0]
        for flag in (False, True)
    ]
    assert seen[0] == pytest.approx(seen[1], abs=1e-9)


MOUSE = {
    Drag.ROTATE: "mjMOUSE_ROTATE_V",
    Drag.MOVE_VERTICAL: "mjMOUSE_MOVE_V",
    Drag.MOVE_HORIZONTAL: "mjMOUSE_MOVE_H",
    Drag.ZOOM: "mjMOUSE_ZOOM",
}


def mujoco_drag(state: CameraState, action: str, dx: float, dy: float) -> tuple[Any, float]:
    """Return what mjv_moveCamera makes of the same drag, and the model's extent."""
    mujoco = pytest.importorskip("mujoco", reason="compares with MuJoCo's own camera")
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><geom size='.7'/></worldbody></mujoco>"
    )
    camera = mujoco.MjvCamera()
    camera.lookat[:] = state.lookat
    camera.distance, camera.azimuth, camera.elevation = (
        state.distance,
        state.azimuth,
        state.elevation,
    )
    kind = getattr(mujoco.mjtMouse, action)
    try:
        mujoco.mjv_moveCamera(model, kind, dx, dy, camera)
    except TypeError:  # before 4.0 it also wanted the scene
        scene = mujoco.MjvScene(model, 10)
        mujoco.mjv_moveCamera(model, kind, dx, dy, scene, camera)
    return camera, float(model.stat.extent)


@pytest.mark.parametrize("drag", list(MOUSE))
@pytest.mark.parametrize(("dx", "dy"), [(0.05, 0.0), (0.0, 0.05), (-0.03, 0.04)])
def test_drags_move_the_camera_as_in_mujoco(drag: Drag, dx: float, dy: float) -> None:
    theirs, extent = mujoco_drag(STATE, MOUSE[drag], dx, dy)
    ours = dragged(STATE, drag, dx=dx, dy=dy, extent=extent)
    assert ours.azimuth == pytest.approx(theirs.azimuth)
    assert ours.elevation == pytest.approx(theirs.elevation)
    assert ours.distance == pytest.approx(theirs.distance)
    assert ours.lookat == pytest.approx(theirs.lookat, abs=1e-6)


def test_elevation_stops_at_the_poles() -> None:
    down = dragged(STATE, Drag.ROTATE, dx=0.0, dy=5.0, extent=1.0)
    assert down.elevation == -90.0


def test_zooming_in_forever_never_passes_the_point_looked_at() -> None:
    state = STATE
    for _ in range(200):
        state = dragged(state, Drag.ZOOM, dx=0.0, dy=0.5, extent=2.0)
    assert state.distance > 0.0


def test_a_fixed_camera_ignores_the_mouse_and_a_tracking_one_does_not_translate() -> None:
    fixed = dataclasses.replace(STATE, mode=ViewMode.FIXED, fixed_camera=0)
    assert dragged(fixed, Drag.ROTATE, dx=0.1, dy=0.1, extent=1.0) == fixed
    tracking = dataclasses.replace(STATE, mode=ViewMode.TRACKING, tracked_body=1)
    assert dragged(tracking, Drag.MOVE_VERTICAL, dx=0.1, dy=0.1, extent=1.0) == tracking
    assert dragged(tracking, Drag.ROTATE, dx=0.1, dy=0.0, extent=1.0).azimuth != tracking.azimuth


@pytest.mark.parametrize("orthographic", [False, True])
@pytest.mark.parametrize("aspect", [0.5, 1.0, 2.0])
def test_what_is_framed_fills_the_view_with_a_margin(aspect: float, orthographic: bool) -> None:
    rng = np.random.default_rng(4)
    points = rng.uniform(-1.0, 1.0, (40, 3)) * [2.0, 0.5, 1.0] + [7.0, -3.0, 1.0]
    state = fitted(dataclasses.replace(STATE, orthographic=orthographic), points, aspect=aspect)
    seen = view_of(state, aspect).project(points, width=aspect, height=1.0)
    across = np.abs(seen[:, 0] / aspect - 0.5).max() * 2.0
    along = np.abs(seen[:, 1] - 0.5).max() * 2.0
    assert max(across, along) == pytest.approx(0.8, abs=0.03)
    assert state.azimuth == STATE.azimuth
