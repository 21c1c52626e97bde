"""A script that paints or moves something in its model, in the real window."""

import pytest
from view_pixels import view_pixels

from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco")

PAINTING = """
import stroboscope.engine as physics

MODEL = '''<mujoco><worldbody><site name="goal" size=".05" rgba="0 1 0 1"/>
<body pos="0 0 .5"><freejoint/><geom size=".3" rgba="0 0 1 1"/></body></worldbody></mujoco>'''
scene = physics.create_scene("Painted", model=MODEL)
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        if scene.step_count == 1:
            scene.model.geom_rgba[0] = (1, 0, 0, 1)
            scene.model.site_pos[0] = (0, 0, 1.5)
        scene.step()
"""


def share(desktop, channel: int) -> float:
    """How much of the view has one colour alone, bright."""
    image = view_pixels(desktop.window.scene_view.viewport)
    others = [c for c in range(3) if c != channel]
    return float((image[..., channel] > image[..., others].max(axis=-1) + 80).mean())


def test_what_a_script_paints_and_places_is_drawn_with_the_step_that_follows(
    desktop, run_script, click, wait_until
):
    run_script(PAINTING)
    scene, drawn = desktop.sessions.shown, desktop.window.scene_view.viewport._scene
    wait_until(lambda: share(desktop, 2) > 0.02)
    assert share(desktop, 0) < 0.005
    assert scene.latest(Topic.LOOKS) is None
    for steps in (1, 2):
        click(desktop.window.transport.buttons["step"])
        wait_until(lambda n=steps: scene.status.step_count == n)
    wait_until(lambda: share(desktop, 0) > 0.02)
    assert share(desktop, 2) < 0.005
    assert drawn.item_pos[drawn.items.n_geoms].tolist() == [0.0, 0.0, 1.5]
