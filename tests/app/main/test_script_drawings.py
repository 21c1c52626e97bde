"""What a script draws, in the real window."""

import numpy as np
import pytest
from view_pixels import view_pixels

from stroboscope.debugger_protocol.limits import Limits
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco")

# A wall of magenta points that stays, larger than what is sent twice, and a cyan ball per step.
DRAWING = """
import numpy as np
import stroboscope.engine as physics

MODEL = '''<mujoco><worldbody>
<body pos="0 0 .2"><freejoint/><geom size=".1"/></body></worldbody></mujoco>'''
scene = physics.create_scene("Drawn", model=MODEL)
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    draw = scene.debug_draw
    y, z = np.meshgrid(np.linspace(-1, 1, 100), np.linspace(0, 2, 100))
    wall = np.stack([np.zeros(y.size), y.ravel(), z.ravel()], axis=1)
    draw.point_cloud(wall, color=(1, 0, 1), size=6, persistent=True)
    while physics.debugger.is_attached():
        draw.sphere((0, 0, 0.34), 0.08 if scene.step_count < 2 else 0.001, color=(0, 1, 1))
        scene.step()
"""


def _share(desktop, channel: int, *, above: int, below: int) -> float:
    """How much of the view is bright in two channels and dark in ``channel``."""
    image = view_pixels(desktop.window.scene_view.viewport)
    others = [c for c in range(3) if c != channel]
    hit = (image[..., channel] < below) & (image[..., others] > above).all(axis=-1)
    return float(hit.mean())


def test_large_drawings_stay_while_small_ones_follow_the_steps(
    desktop, run_script, click, wait_until
):
    run_script(DRAWING)
    window, scene = desktop.window, desktop.sessions.shown
    wait_until(lambda: scene.latest(Topic.DRAWING) is not None)
    frame = scene.latest(Topic.DRAWING)
    assert sum(a.nbytes for a in frame.arrays.values()) > Limits().repeated_drawing_bytes
    wait_until(lambda: _share(desktop, 1, above=120, below=110) > 0.01)
    wait_until(lambda: _share(desktop, 1, above=120, below=110) > 0.01)
    wait_until(lambda: _share(desktop, 0, above=120, below=110) > 0.001)
    for steps in range(1, 5):
        click(window.transport.buttons["step"])
        wait_until(lambda n=steps: scene.status.step_count == n)
    wait_until(lambda: _share(desktop, 0, above=120, below=110) < 0.001)
    assert _share(desktop, 1, above=120, below=110) > 0.01
    assert np.isfinite(frame.arrays["point_pos"]).all()
