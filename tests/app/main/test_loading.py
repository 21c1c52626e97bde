"""What stands in the picture while another scene's is still to come."""

import os
import signal

import pytest
from view_pixels import image_pixels

pytest.importorskip("mujoco")

SCRIPT = """
import stroboscope.engine as physics

ball = '<mujoco><worldbody><body><freejoint/><geom size="1"/></body></worldbody></mujoco>'
corners = " ".join(f"{x} {y} {z}" for x in (-1, 1) for y in (-1, 1) for z in (-1, 1))
cube = f'''<mujoco><asset><mesh name="m" vertex="{corners}"/></asset><worldbody><body><freejoint/>
<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'''
scenes = [physics.create_scene("Ball", model=ball), physics.create_scene("Cube", model=cube)]
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        for scene in scenes:
            scene.step()
"""


def test_another_scene_is_covered_with_what_is_loading_until_the_one_that_is_shown_is_drawn(
    desktop, run_script, wait_until
):
    script = run_script(SCRIPT)
    window, sessions, view = desktop.window, desktop.sessions, desktop.window.scene_view
    wait_until(lambda: len(sessions.all_scenes()) == 2)
    ball, cube = sessions.all_scenes()
    wait_until(lambda: cube.description is not None and ball.session.has_control)
    assert sessions.shown is ball
    wait_until(lambda: view.drawn_scene is ball and not view.viewport.awaits_picture)
    assert not view.cover.isVisible()
    os.kill(script.pid, signal.SIGSTOP)
    try:
        sessions.show(cube)
        wait_until(view.cover.isVisible)
        assert view.cover.title.full_text == "script.py · Cube"
        assert view.cover.text.text() == "loading 1 mesh"
        # The ball of before is not seen, nor can it be clicked.
        seen = image_pixels(view.cover.grab().toImage())
        assert (seen[:60] == seen[0, 0]).all()
        middle = view.mapTo(window, view.rect().center())
        assert view.cover.isAncestorOf(window.childAt(middle))
    finally:
        os.kill(script.pid, signal.SIGCONT)
    wait_until(lambda: not view.cover.isVisible())
    assert view.drawn_scene is cube
    # Back to one that is here already nothing flashes, and nothing stays of where to go in another.
    field = window.timeline.field
    field.setText("e5 0.4 s")
    sessions.show(ball)
    assert not field.text()
    assert not view.cover.isVisible()
    wait_until(lambda: view.drawn_scene is ball and not view.viewport.awaits_picture)
    assert not view.cover.isVisible()
