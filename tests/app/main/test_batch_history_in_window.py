"""The history of a batch, saved from a real window into a file that opens."""

from pathlib import Path

import pytest
from event_loop import trigger
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from stroboscope.engine.trajectory.trajectory import load_trajectory

pytest.importorskip("mujoco.batch")

SCRIPT = """
import numpy as np
import stroboscope.engine as physics

CART = '''<mujoco><option timestep=".005"/><worldbody>
<body name="cart" pos="0 0 .6"><joint name="rail" type="slide" axis="1 0 0"/>
<geom type="box" size=".15 .1 .06"/></body></worldbody>
<actuator><motor name="push" joint="rail"/></actuator></mujoco>'''
scene = physics.create_scene("Carts", model=CART, n_envs=64)
scene.qpos[:, 0] = 0.01 * np.arange(64)
physics.set_recordings_folder({folder!r})
if physics.debugger.attach(timeout_seconds=60.0, launch=False):
    while physics.debugger.is_attached():
        scene.ctrl[:] = 0.1
        if scene.total_steps == 20:
            scene.reset(envs_idx=[7])
        scene.step()
"""


def test_the_history_of_all_environments_is_saved_by_a_menu_entry(
    desktop, run_script, wait_until, tmp_path: Path
):
    run_script(SCRIPT.format(folder=str(tmp_path)))
    scene, action = desktop.sessions.shown, desktop.window.actions_by_name["save_history"]
    wait_until(lambda: scene.environments.count == 64 and scene.session.has_control)
    assert not action.isEnabled()
    desktop.sessions.play()
    wait_until(lambda: scene.status.axis > 30 and action.isEnabled())
    desktop.sessions.pause()
    trigger(action)
    dialog = desktop.window.commands.recording.dialog
    QTest.keyClicks(dialog.name, "herd")
    QTest.mouseClick(dialog.start, Qt.MouseButton.LeftButton)
    path = tmp_path / "herd.mcap"
    told = desktop.sessions.log
    wait_until(lambda: any(f"Saved herd.mcap: {path}" in line.text for line in told.lines))
    with load_trajectory(path, scene="Carts[7]") as trajectory:
        assert len(trajectory.others()) == 64
        assert [event.kind for event in trajectory.events] == ["begin", "episode"]
        assert trajectory.verify().exit_code == 0
