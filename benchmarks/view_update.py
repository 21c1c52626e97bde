"""Row 13: what the 3D view costs the main thread: new poses of 400 geoms, and standing still."""

import os
import time

import numpy as np
from harness import Measured, Row, Settings, run_alone
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from stroboscope.app.models.view_options import Quality, ViewOptions
from stroboscope.app.view3d.viewport import Viewport
from stroboscope.debugger_protocol.scene_description import (
    BodyInfo,
    GeomInfo,
    GeomType,
    SceneDescription,
)
from stroboscope.resources.themes import DARK

N_GEOMS = 400
SHAPES = (GeomType.BOX, GeomType.SPHERE, GeomType.CAPSULE, GeomType.CYLINDER)


def crowd(count: int = N_GEOMS) -> SceneDescription:
    """Return a scene of ``count`` geoms on as many bodies, and a plane."""
    bodies = [BodyInfo(name="world", parent=0)]
    geoms = [GeomInfo(name="floor", body=0, type=GeomType.PLANE, size=(0.0, 0.0, 0.1))]
    for i in range(count):
        bodies.append(BodyInfo(name=f"body {i}", parent=0, mass=1.0))
        size = (0.1, 0.1, 0.1)
        geoms.append(GeomInfo(name=f"geom {i}", body=i + 1, type=SHAPES[i % 4], size=size))
    return SceneDescription(scene_id=1, name="crowd", bodies=tuple(bodies), geoms=tuple(geoms))


def measure(settings: Settings) -> list[Row]:
    """Time set_poses and the upload of what it left, then count frames while nothing changes."""
    if "DISPLAY" not in os.environ and "WAYLAND_DISPLAY" not in os.environ:
        raise SystemExit("view_update needs a display: run it under `xvfb-run -a`")
    QCoreApplication.setAttribute(Qt.ApplicationAttribute.AA_ShareOpenGLContexts)
    application = QApplication.instance() or QApplication([])
    view = Viewport(DARK)
    view.options = ViewOptions(quality=Quality.LOW)
    view.resize(640, 480)
    view.set_description(crowd(), {})
    rng = np.random.default_rng(0)
    xpos = rng.uniform(0.1, 3.0, (N_GEOMS + 1, 3))
    xquat = rng.normal(size=(N_GEOMS + 1, 4))
    view.set_poses(xpos, xquat)
    view.show()
    QTest.qWaitForWindowExposed(view, 10_000)
    application.processEvents()
    updates = []
    for _ in range(settings.scaled(50) * settings.rounds):
        xpos[1:] += 0.001
        start = time.thread_time()  # of this thread alone: other processes share the cores
        view.set_poses(xpos, xquat)
        taken = time.thread_time() - start
        view.draw_now()
        updates.append(1000.0 * (taken + view.stats.upload_ms / 1000.0))
    QTest.qWait(300)
    frames = view.stats.frames
    idle = []
    for _ in range(settings.rounds):
        QTest.qWait(200)
        idle.append(float(view.stats.frames - frames))
        frames = view.stats.frames
    view.close()
    update, still = Measured.of(updates), Measured.of(idle)
    return [
        Row(
            number="13",
            what="new poses of 400 geoms: compose and upload, GUI thread's CPU",
            measured=update,
            unit="ms",
            target="≤ 1",
            reached=update.median <= 1.0,
        ),
        Row(
            number="13",
            what="frames drawn in 0.2 s while nothing changes",
            measured=still,
            unit="frames",
            target="0",
            reached=still.high == 0.0,
        ),
    ]


if __name__ == "__main__":
    run_alone(measure)
