"""Row 13: what a new pose of 400 geoms costs the GUI thread, and what a paused window costs.

The update is everything between the arrays of a frame and what is handed to OpenGL, drawing aside:
that depends on the graphics, and is bounded by drawing on demand.
"""

import time

import numpy as np
from harness import Measured, Row, Settings, run_alone
from window_session import window_session

from stroboscope.app.view3d.drawn_scene import DrawnScene
from stroboscope.app.view3d.scene_buffers import item_texture_data
from stroboscope.debugger_protocol.scene_description import (
    BodyInfo,
    GeomInfo,
    GeomType,
    SceneDescription,
)

GEOMS = 400


def update_times(repeats: int) -> list[float]:
    """Return this thread's CPU time [s] of each of ``repeats`` pose updates."""
    world = BodyInfo(name="world", parent=0)
    description = SceneDescription(
        scene_id=1,
        name="boxes",
        bodies=(world, *(BodyInfo(name=f"b{i}", parent=0, mass=1.0) for i in range(GEOMS))),
        geoms=tuple(
            GeomInfo(name=f"g{i}", body=i + 1, type=GeomType.BOX, size=(0.1, 0.1, 0.1))
            for i in range(GEOMS)
        ),
    )
    scene = DrawnScene()
    scene.set_description(description, {})
    rng = np.random.default_rng(0)
    xquat = rng.normal(size=(GEOMS + 1, 4))
    xquat /= np.linalg.norm(xquat, axis=1, keepdims=True)
    times = []
    for _ in range(repeats):
        xpos = rng.normal(size=(GEOMS + 1, 3))
        start = time.thread_time()
        scene.set_poses(xpos, xquat)
        item_texture_data(scene.pose_texels())
        times.append(time.thread_time() - start)
    return times[repeats // 10 :]


def measure(settings: Settings) -> list[Row]:
    """Update poses; then pause a real window and count the processor time it uses."""
    updates = Measured.of([1e3 * each for each in update_times(settings.scaled(2000))])
    seconds = 1.0 if settings.quick else 5.0
    used = []
    with window_session() as session:
        session.idle(1.0)
        for _ in range(min(settings.rounds, 4)):
            start = time.process_time()
            session.idle(seconds)
            used.append(100.0 * (time.process_time() - start) / seconds)
    idle = Measured.of(used)
    return [
        Row(
            number="13",
            what=f"pose update of {GEOMS} geoms, GUI thread",
            measured=updates,
            unit="ms",
            target="≤ 1 ms",
            reached=updates.median <= 1.0,
        ),
        Row(
            number="13",
            what="window idle: paused, attached, all threads",
            measured=idle,
            unit="% of a core",
            target="~0",
            reached=idle.median <= 2.0,
        ),
    ]


if __name__ == "__main__":
    run_alone(measure)
