"""What a script does by itself, as the window shows it: its checkpoints, and its end."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from stroboscope.app.main.plot_feed import scene_key
from stroboscope.app.models.checkpoints import kept_checkpoints
from stroboscope.app.models.plot_store import PlotSeriesId
from stroboscope.app.models.rollouts import rollout_ref
from stroboscope.app.models.session import SessionState
from stroboscope.debugger_protocol.messages import CheckpointOrigin
from stroboscope.debugger_protocol.time_messages import GhostRef, GhostSource, Goto
from stroboscope.debugger_protocol.topics import Topic

pytest.importorskip("mujoco")

SCRIPT = """
import stroboscope.engine as physics
scene = physics.create_scene("Slider", '''<mujoco><worldbody><body name="cart">
<joint name="slide" type="slide" axis="1 0 0"/><geom size=".1"/></body></worldbody></mujoco>''')
scene.data.qvel[0] = 1.0
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    for k in range(50):
        if k == 20:
            made = scene.checkpoint("half way", note="of the script")
        scene.step()
    scene.pause("before the end")
    scene.step()
"""


@pytest.fixture
def paused(desktop, run_script, wait_until):
    """The scene at its own pause, with the Checkpoints panel in front."""
    process = run_script(SCRIPT)
    scene = desktop.sessions.shown
    desktop.window.resize(1280, 900)
    desktop.window.panels.show("checkpoints")
    wait_until(lambda: scene.session.has_control)
    desktop.sessions.play()
    wait_until(lambda: scene.status.hold_reason == "before the end")
    wait_until(lambda: kept_checkpoints(scene.session))
    return scene, process


def test_a_checkpoint_of_the_script_stands_in_the_panel_and_is_restored_and_deleted(
    desktop, paused, wait_until, click
):
    scene, _ = paused
    panel = desktop.window.checkpoints
    wait_until(panel.isVisible)
    (kept,) = kept_checkpoints(scene.session)
    assert kept.info.origin is CheckpointOrigin.SCRIPT
    ref = GhostRef(
        source=GhostSource.CHECKPOINT,
        number=kept.info.checkpoint_id,
        scene_id=scene.scene_id,
    )
    wait_until(lambda: panel.table.table.count == 1)
    text = panel.table.as_text(everything=True)
    assert "half way" in text
    assert "the script" in text
    assert "of the script" in text
    panel.toggle_ghost(ref)
    wait_until(lambda: scene.ghosts.has(ref))
    panel.choose(ref)
    click(panel.restore_button)
    wait_until(lambda: scene.status.step_count == 20)
    panel.choose(ref)
    click(panel.delete_button)
    wait_until(lambda: panel.dialog is not None)
    assert "The script keeps what it has made itself." in panel.dialog.text()
    click(panel.dialog.defaultButton())
    wait_until(lambda: not kept_checkpoints(scene.session))


def test_the_end_of_a_script_stands_in_the_log_once_and_what_stays(desktop, paused, wait_until):
    scene, process = paused
    wait_until(lambda: scene.latest(Topic.POSE) is not None)
    desktop.sessions.play()
    wait_until(lambda: scene.session.state is SessionState.LOST)
    assert process.wait() == 0
    lines = [line.text for line in desktop.log.lines]
    ended = [text for text in lines if "script.py ended" in text]
    assert ended == ["script.py ended"], lines
    assert lines[-1].startswith("Its last state stays here to be looked at.")


def test_the_end_of_a_script_is_held_when_its_box_is_ticked(desktop, paused, wait_until):
    scene, process = paused
    rules = desktop.window.stops.rules
    desktop.window.panels.show("stops")
    desktop.window.stops.show_rules()
    wait_until(rules.hold_at_end.isVisible)
    box = rules.hold_at_end

    def may_be_clicked() -> bool:
        rules.ensureWidgetVisible(box)
        return box.isEnabled() and box.visibleRegion().contains(box.rect().center())

    wait_until(may_be_clicked)
    assert not rules.hold_at_end.isChecked()
    QTest.mouseClick(box, Qt.MouseButton.LeftButton, pos=QPoint(8, box.height() // 2))
    wait_until(lambda: scene.session.status.hold_at_end)
    wait_until(rules.hold_at_end.isChecked)
    desktop.sessions.play()
    wait_until(lambda: "come to its end" in scene.status.hold_reason)
    wait_until(lambda: scene.stands_still)
    scene.session.send(lambda i: Goto(id=i, scene_id=scene.scene_id, axis=5))
    wait_until(lambda: scene.history.told.view == 5)
    desktop.sessions.play()
    wait_until(lambda: scene.session.state is SessionState.LOST)
    assert process.wait() == 0


ENDS = """
import stroboscope.engine as physics
MODEL = '''<mujoco><worldbody><body name="cart"><joint name="slide" type="slide" axis="1 0 0"/>
<geom size=".1"/></body></worldbody></mujoco>'''
scene, gone = physics.create_scene("Stays", MODEL), physics.create_scene("Goes", MODEL)
gone.data.qvel[0] = 1.0
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    for _ in range(40):
        gone.step()
    gone.destroy()
    while physics.debugger.is_attached():
        scene.step()
"""


@pytest.mark.slow
def test_a_scene_that_has_ended_has_a_curve_beside_that_of_another_one(
    desktop, run_script, wait_until
):
    run_script(ENDS)
    window, sessions = desktop.window, desktop.sessions
    wait_until(lambda: sessions.shown.session.has_control)
    sessions.play()
    session = sessions.shown.session
    wait_until(lambda: session.finished.rollouts)
    wait_until(lambda: len(session.scenes) == 1)
    (scene,) = session.scenes.values()
    sessions.show(scene)
    wait_until(lambda: scene.description is not None)
    series = PlotSeriesId(scene_key(scene), "qpos", 0)
    window.plots.add_signals(series)
    (ended,) = session.finished.rollouts
    assert (ended.name, ended.steps) == ("Goes", 40)
    window.rollouts.toggle_ghost(rollout_ref(0, ended.rollout_id))
    wait_until(lambda: window.plots.rollouts.of(series))
    (curve,) = window.plots.rollouts.of(series)
    assert curve.columns.count == 41
    assert curve.value(0, None) == pytest.approx(0.08)
