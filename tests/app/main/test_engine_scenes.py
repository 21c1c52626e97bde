"""Scenes of the real engine in the real window: instants, restarts, scenes that come and go."""

import pytest
from event_loop import trigger

from stroboscope.app.main.plot_feed import scene_key
from stroboscope.app.models.plot_store import PlotSeriesId
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.topics import Instant, Topic

pytest.importorskip("mujoco")

# A puck that coasts at 1 m/s: after k steps of 1/120 s it is at k/120 m, and what the step computed
# belongs to one step earlier.
COASTING = """
import stroboscope.engine as physics

MODEL = '''<mujoco><option timestep="0.0083333333333333332" gravity="0 0 0"/><worldbody>
<body name="puck"><freejoint name="free"/><geom name="puck" type="cylinder" size=".1 .03" mass="1"/>
<site name="tip" pos=".1 0 0"/></body></worldbody>
<sensor><framepos name="tip_pos" objtype="site" objname="tip"/></sensor>
</mujoco>'''
scene = physics.create_scene("Coasting", model=MODEL)
scene.data.qvel[0] = 1.0
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.step()
"""

BLINKING = """
import time
import stroboscope.engine as physics

MODEL = '''<mujoco><worldbody><body pos="0 0 1"><freejoint/><geom size=".1"/></body></worldbody>
</mujoco>'''
stays = physics.create_scene("stays", model=MODEL)
if physics.debugger.attach(timeout_seconds=60.0, launch=False, mode="playing"):
    while physics.debugger.is_attached():
        other = physics.create_scene("blinks", model=MODEL, playback="free")
        other.step()
        time.sleep(0.02)
        physics.destroy_scene(other)
        for _ in range(5):
            stays.step()
"""


def _value(desktop, label):
    row = desktop.window.inspector.row(label)
    return None if row is None else row.row.value


def test_poses_and_coordinates_never_mix_two_instants(desktop, run_script, click, wait_until):
    run_script(COASTING)
    window, scene = desktop.window, desktop.sessions.shown
    for steps in range(1, 5):
        click(window.transport.buttons["step"])
        wait_until(lambda n=steps: scene.status.step_count == n)
        wait_until(lambda: not scene.session.pending)
    joint, body = Element(ElementKind.JOINT, 0), Element(ElementKind.BODY, 1)
    sensor = Element(ElementKind.SENSOR, 0)
    for instant, expected in ((Instant.NOW, 4), (Instant.EXECUTED, 3)):
        window.view.set_instant(instant)
        seen = {}
        for element in (joint, body, sensor):
            desktop.sessions.selection.select(element)
            wait_until(lambda e=expected: f"step {e}" in window.inspector.moment.full_text)
            wait_until(lambda: _value(desktop, "x") is not None)
            seen[element.kind] = _value(desktop, "x")
            assert f"t {expected / 120:.3f}" in window.inspector.moment.full_text
        assert seen[ElementKind.JOINT] == pytest.approx(expected / 120, abs=1e-9)
        assert seen[ElementKind.BODY] == pytest.approx(expected / 120, abs=1e-9)
        assert seen[ElementKind.SENSOR] == pytest.approx(expected / 120 + 0.1, abs=1e-9)
        drawn, x = window.scene_view.viewport._scene, pytest.approx(expected / 120, abs=1e-9)
        wait_until(lambda d=drawn, x=x: d.body_pos[1, 0] == x)
        wait_until(lambda e=expected: window.transport.steps.text() == f"step {e}")


def test_a_script_that_is_killed_and_started_again_keeps_plots_camera_and_selection(
    desktop, run_script, wait_until
):
    first = run_script(COASTING)
    window, sessions = desktop.window, desktop.sessions
    scene = sessions.shown
    sessions.selection.select(Element(ElementKind.JOINT, 0))
    window.plots.add_signals(PlotSeriesId(scene_key(scene), "qpos", 0))
    wait_until(lambda: scene.latest("pose") is not None)
    viewport = window.scene_view.viewport
    viewport.frame_selection()
    camera = viewport.camera
    first.kill()
    first.wait()
    wait_until(lambda: window.transport.badge.word == "DISCONNECTED")
    assert window.plots.plots.all_series() == [PlotSeriesId(scene_key(scene), "qpos", 0)]
    run_script(COASTING, open_it=False)
    wait_until(lambda: window.transport.badge.word == "PAUSED", 60)
    again = sessions.shown
    assert again is not scene
    wait_until(lambda: sessions.selection.element == Element(ElementKind.JOINT, 0))
    wait_until(lambda: again.latest("pose") is not None)
    wait_until(lambda: viewport.camera == camera)
    wait_until(lambda: PlotSeriesId(scene_key(again), "qpos", 0) in window.plots.plots.all_series())
    sessions.play()
    key = scene_key(again)
    wait_until(lambda: (c := window.store.columns(key, "qpos")) is not None and c.count > 10)


def test_scenes_that_blink_disturb_nobody(desktop, run_script, wait_until):
    run_script(BLINKING)
    sessions, added = desktop.sessions, []
    sessions.scene_added.connect(added.append)
    wait_until(lambda: len(added) > 15, 60)
    sessions.scene_added.disconnect(added.append)
    stays = next(s for s in sessions.all_scenes() if s.name == "stays")
    sessions.show(stays)
    steps = stays.status.step_count
    wait_until(lambda: stays.status.step_count > steps)
    assert sessions.shown is stays
    bad = (LogLevel.WARNING, LogLevel.ERROR)
    assert not [line for line in desktop.log.lines if line.level in bad]
    assert len(sessions.all_scenes()) <= 3


FALLING = """
import stroboscope.engine as physics

MODEL = '''<mujoco><worldbody><geom type="plane" size="1 1 .1"/><body pos="0 0 .099"><freejoint/>
<geom size=".1"/></body></worldbody></mujoco>'''
scene = physics.create_scene("Resting", model=MODEL)
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.step()
"""


def test_contacts_of_the_executed_step_are_drawn_as_soon_as_they_are_switched_on(
    desktop, run_script, click, wait_until
):
    run_script(FALLING)
    window, scene = desktop.window, desktop.sessions.shown
    click(window.transport.buttons["step"])
    wait_until(lambda: scene.status.step_count == 1)
    window.view.set_instant(Instant.EXECUTED)
    wait_until(lambda: scene.instant(Instant.EXECUTED) is Instant.EXECUTED)
    trigger(window.actions_by_name["contacts"])
    drawn = window.scene_view.viewport._scene
    wait_until(lambda: len(drawn.values.get(Topic.CONTACTS, {}).get("pos", ())) > 0)
    frame = scene.latest(Topic.CONTACTS, Instant.EXECUTED)
    assert (frame.instant, frame.step) == (Instant.EXECUTED, 0)
    assert scene.status.step_count == 1
