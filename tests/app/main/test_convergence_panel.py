"""The solver's convergence in a real window: what the step's solver did, iteration by iteration."""

import pytest
from event_loop import trigger
from PySide6.QtGui import QImage

from stroboscope.debugger_protocol.topics import Instant, Topic

pytest.importorskip("mujoco")

SCRIPT = """
import stroboscope.engine as physics

BODIES = "".join(
    f'<body pos="0 0 {0.1 + 0.19 * n}"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
    for n in range(6)
)
MODEL = f'''<mujoco><option solver="CG" iterations="7" tolerance="1e-12"/><worldbody>
<geom type="plane" size="2 2 .1"/>{BODIES}</worldbody></mujoco>'''
scene = physics.create_scene("Stack", model=MODEL)
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.step()
"""


@pytest.fixture
def stack(desktop, run_script):
    run_script(SCRIPT)
    return desktop


def test_the_lines_are_the_solvers_numbers_and_the_limit_is_marked(stack, wait_until):
    window, scene = stack.window, stack.sessions.shown
    window.panels.show("convergence")
    panel = window.panels["convergence"].content
    wait_until(lambda: panel.plot.shown is not None)
    trigger(window.actions_by_name["step"])
    wait_until(lambda: scene.status.axis == 1 and not scene.session.pending)
    # The step before needs three iterations only; the state it led to all that it may have.
    wait_until(lambda: panel._follower.frames().instant is Instant.NOW)
    wait_until(lambda: panel._follower.frames().axis == 1)
    frames = panel._follower.frames()
    niter = frames.array(Topic.SOLVER, "niter")
    count = int(niter.max())
    wait_until(lambda: panel.plot.shown.iterations == count)
    shown = panel.plot.shown
    island = int(niter.argmax())
    gradient = frames.array(Topic.SOLVER, "gradient")
    assert shown.gradient == tuple(gradient[island, :count].tolist())
    assert "iteration" in panel.summary.full_text
    if shown.limit is not None:  # an engine that tells its options
        assert shown.limit == 7
        assert shown.iterations == 7
        assert panel.warning.isVisible()
    picture = QImage(panel.plot.grab().toImage())
    scale = panel.plot.devicePixelRatioF()
    spot = panel.plot.point(count, shown.gradient[-1]) * scale
    colour = picture.pixelColor(round(spot.x()), round(spot.y()))
    assert colour.name().lower() == window.palette_tokens.plot[1].lower()


def test_a_closed_convergence_panel_asks_for_nothing(stack, wait_until):
    scene = stack.sessions.shown
    stack.window.panels.show("convergence")
    wait_until(lambda: "solver" in scene._subscribed)
    stack.window.panels["convergence"].close()
    wait_until(lambda: "convergence" not in scene._wanted)
