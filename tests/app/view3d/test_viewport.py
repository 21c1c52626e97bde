"""The 3D view as a widget: scenes come and go, and it draws when there is something new."""

import logging
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from front_view import BALL, BOX, Read, looking, replace_options
from view_pixels import view_pixels

from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.view_options import (
    Quality,
)
from stroboscope.debugger_protocol.scene_description import (
    BodyInfo,
    GeomInfo,
    GeomType,
    HeightFieldInfo,
    MeshInfo,
    SceneDescription,
)


def test_shapes_move_with_their_poses(front: Any, poses: Any, at: Read) -> None:
    assert at(front, BALL)[1] > 0.35
    xpos = poses[0].copy()
    xpos[2] = (0.0, 1.2, 0.3)
    front.set_poses(xpos, poses[1])
    assert at(front, (0.0, 1.2, 0.3))[1] > 0.35
    floor = at(front, (0.0, -1.0, 0.0))
    assert at(front, BALL) == pytest.approx(floor, abs=0.15)


def test_nothing_is_drawn_while_nothing_changes(front: Any, qapp: Any, wait_until: Read) -> None:
    from PySide6.QtTest import QTest

    def stands() -> bool:
        # Where the processor draws, the picture may still be in the making, and the display may
        # be slow to tell of the window.
        before = front.stats.frames
        QTest.qWait(200)
        return front.stats.frames == before > 0 and not getattr(front._surface, "busy", False)

    wait_until(stands)
    frames = front.stats.frames
    QTest.qWait(400)
    assert front.stats.frames == frames
    front.set_selection(None)  # not a change
    front.set_stale(False)
    front.options = front.options
    front.set_camera(front.camera)
    QTest.qWait(100)
    assert front.stats.frames == frames


def test_on_software_gl_a_still_picture_is_refined_once(
    front: Any, wait_until: Read, pixels: Read
) -> None:
    from PySide6.QtTest import QTest

    from stroboscope.app.view3d.gl_canvas import gl_renderer_name, is_software
    from stroboscope.app.view3d.viewport import REFINE_DELAY_MS

    if not is_software(gl_renderer_name()):
        pytest.skip("this machine's GL has multisampling at no cost")
    assert front._refine_timer.interval() == REFINE_DELAY_MS
    front._refine_timer.setInterval(150)  # soon
    replace_options(front, quality=Quality.AUTO)
    moving = view_pixels(front)
    wait_until(lambda: front._refined and not front._surface.busy)
    # What tests compare is the same before and after.
    assert (view_pixels(front) == moving).all()
    frames = front.stats.frames
    QTest.qWait(300)
    assert front.stats.frames == frames
    smooth = pixels(front)
    front.set_camera(looking(azimuth=90.01))
    rough = pixels(front)
    # Antialiasing leaves fewer jumps between neighbours.
    jumps = [(np.abs(np.diff(p, axis=1)).max(axis=2) > 0.25).sum() for p in (smooth, rough)]
    assert jumps[0] < jumps[1]


def test_a_scene_is_framed_when_its_first_poses_arrive(
    viewport: Any, scene: SceneDescription, poses: Any
) -> None:
    moved = poses[0] + [30.0, 0.0, 0.0]
    viewport.set_description(msgspec.structs.replace(scene, scene_id=2), {})
    viewport.set_poses(moved, poses[1])
    assert viewport.camera.lookat[0] == pytest.approx(30.0, abs=0.3)
    where = viewport.view().project(moved[1:], width=640, height=480)
    assert ((where[:, :2] > 0) & (where[:, :2] < [640, 480])).all()
    camera = viewport.camera
    viewport.set_poses(poses[0], poses[1])
    assert viewport.camera == camera


def test_what_hangs_above_its_floor_is_framed_with_the_floor_below(viewport: Any) -> None:
    ball = SceneDescription(
        scene_id=5,
        name="ball",
        bodies=(BodyInfo(name="world", parent=0), BodyInfo(name="ball", parent=0, mass=1.0)),
        geoms=(
            GeomInfo(name="floor", body=0, type=GeomType.PLANE, size=(2.0, 2.0, 0.1)),
            GeomInfo(name="ball", body=1, type=GeomType.SPHERE, size=(0.1, 0.0, 0.0)),
        ),
    )
    quat = np.tile([1.0, 0.0, 0.0, 0.0], (2, 1))
    viewport.set_description(ball, {})
    viewport.set_poses(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), quat)
    fallen = np.array([[0.0, 0.0, 1.1], [0.0, 0.0, 0.0], [0.1, 0.1, 0.0]])
    where = viewport.view().project(fallen, width=640, height=480)
    assert ((where[:, :2] > 0) & (where[:, :2] < [640, 480])).all()


def test_a_new_revision_keeps_camera_and_selection(
    front: Any, scene: SceneDescription, poses: Any, at: Read
) -> None:
    front.set_selection(Element(ElementKind.GEOM, 1))
    camera = front.camera
    geoms = tuple(
        msgspec.structs.replace(g, rgba=(0.9, 0.9, 0.1, 1.0)) if g.name == "ball" else g
        for g in scene.geoms
    )
    front.set_description(msgspec.structs.replace(scene, geoms=geoms, revision=1), {})
    front.set_poses(*poses)
    assert front.camera == camera
    color = at(front, BALL)
    assert color[0] > 0.35
    assert color[1] > 0.35


def test_the_picture_survives_a_move_into_another_window(
    qapp: Any, show: Read, front: Any, at: Read
) -> None:
    from PySide6.QtWidgets import QMainWindow

    contexts = front.stats.contexts
    window = QMainWindow()
    window.setCentralWidget(front)
    show(window, 640, 480)
    assert at(front, BALL)[1] > 0.35
    front.setParent(None)
    show(front, 640, 480)
    assert at(front, BOX)[0] > 0.35
    assert front.stats.contexts >= contexts


def test_two_viewports_draw_different_scenes(
    qapp: Any, show: Read, front: Any, scene: SceneDescription, poses: Any, at: Read
) -> None:
    from stroboscope.app.view3d.viewport import Viewport
    from stroboscope.resources.themes import DARK

    other = Viewport(DARK)
    geoms = tuple(
        msgspec.structs.replace(g, rgba=(0.1, 0.2, 0.9, 1.0)) if g.name == "ball" else g
        for g in scene.geoms
    )
    other.set_description(msgspec.structs.replace(scene, geoms=geoms), {})
    other.set_poses(*poses)
    other.set_camera(looking())
    show(other, 500, 400)
    for _ in range(2):
        assert at(other, BALL)[2] > 0.35
        assert at(front, BALL)[1] > 0.35


def test_no_scene_and_an_empty_scene_are_drawn_too(front: Any, pixels: Read, caplog: Any) -> None:
    with caplog.at_level(logging.WARNING):
        front.set_description(None, {})
        assert pixels(front).std() < 0.2
        front.set_description(SceneDescription(scene_id=9, name="empty"), {})
        front.set_poses(np.zeros((1, 3)), np.array([[1.0, 0.0, 0.0, 0.0]]))
        pixels(front)
    assert not caplog.records


def test_poses_that_pour_in_are_drawn_at_the_set_rate(
    front: Any, poses: Any, wait_until: Read
) -> None:
    import time

    front.set_frame_limit(10.0)
    wait_until(lambda: front.stats.frames > 0 and not front._surface.busy)
    frames, updates = front.stats.frames, 0
    start = time.monotonic()

    def pour() -> bool:
        nonlocal updates
        xpos = poses[0].copy()
        xpos[2, 2] += 0.001 * updates
        front.set_poses(xpos, poses[1])
        updates += 1
        return front.stats.frames - frames >= 6

    wait_until(pour)
    # One may have been due at once, and a slow machine draws fewer.
    assert front.stats.frames - frames <= 10.0 * (time.monotonic() - start) + 2
    assert updates > front.stats.frames - frames
    # The last of them is drawn too, without another call.
    wait_until(lambda: not front._due_timer.isActive())
    last = front._scene.pose_revision
    wait_until(lambda: front._surface.drawing.renderer.buffers.pose_revision == last)


def test_a_new_revision_keeps_its_poses_until_others_come(
    front: Any, scene: SceneDescription, at: Read
) -> None:
    front.set_description(msgspec.structs.replace(scene, revision=1), {})
    assert at(front, BALL)[1] > 0.35


def test_what_moves_is_hidden_until_its_first_poses(front: Any, scene: SceneDescription) -> None:
    front.set_description(msgspec.structs.replace(scene, scene_id=5), {})
    assert front._scene.visible(front.options).tolist() == [True, False, False, False]


def test_damaged_assets_leave_the_rest_of_the_scene_drawn(
    front: Any, scene: SceneDescription, poses: Any, at: Read, caplog: Any
) -> None:
    broken = GeomInfo(name="m", body=0, type=GeomType.MESH, size=(1.0, 1.0, 1.0), mesh=0)
    field = GeomInfo(name="h", body=0, type=GeomType.HFIELD, size=(0.0, 0.0, 0.0), hfield=0)
    description = msgspec.structs.replace(
        scene,
        scene_id=3,
        geoms=(*scene.geoms, broken, field),
        meshes=(MeshInfo(name="m", digest="m", nvert=4, nface=4),),
        hfields=(HeightFieldInfo(name="h", digest="h", nrow=5, ncol=5, size=(1.0, 1.0, 1.0, 0.1)),),
    )
    front.set_description(description, {"h": {"data": np.zeros(7, dtype=np.float32)}})
    front.set_poses(*poses)
    front.set_camera(looking())
    front.set_asset("m", {"faces": np.zeros((1, 3), dtype=np.int32)})
    with caplog.at_level(logging.WARNING):
        assert at(front, BALL)[1] > 0.35
    assert "damaged" in caplog.text
    assert "25" in caplog.text or "5 × 5" in caplog.text


LEAST_PRIORITY = 19


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads have no niceness here")
def test_threads_that_draw_for_want_of_a_graphics_card_step_back(viewport: Any) -> None:
    if not viewport.on_software:
        pytest.skip("a graphics card draws here")
    drawing = [
        int(task.name)
        for task in Path("/proc/self/task").iterdir()
        if (task / "comm").read_text().startswith("llvmpipe")
    ]
    own = os.getpriority(os.PRIO_PROCESS, 0)
    # Below a run that steps back as far as one can, nothing is left to step back.
    for thread in drawing:
        assert os.getpriority(os.PRIO_PROCESS, thread) >= min(own + 1, LEAST_PRIORITY)
