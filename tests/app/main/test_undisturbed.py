"""The whole window, in use, leaves a simulation bit for bit what it is alone (case C35)."""

import subprocess
import sys
from pathlib import Path

import pytest
from event_loop import trigger
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from stroboscope.app.main.plot_feed import scene_key
from stroboscope.app.models.conditions import SavedCondition
from stroboscope.app.models.plot_store import PlotSeriesId
from stroboscope.app.models.rollouts import rollout_ref
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.session_finder import find_sessions
from stroboscope.debugger_protocol.time_messages import EditKind, WhatIf
from stroboscope.debugger_protocol.topics import Instant
from stroboscope.engine import load_trajectory

pytest.importorskip("mujoco")

# As people write it: no line of ours.
SCRIPT = """
import sys
import mujoco
import numpy as np


model = mujoco.MjModel.from_xml_path(sys.argv[1])
data = mujoco.MjData(model)
controls = np.random.default_rng(0).uniform(-1, 1, (400, model.nu))
for k in range(400):
    data.ctrl[:] = controls[k]
    mujoco.mj_step(model, data)
row = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
mujoco.mj_getState(model, data, row, mujoco.mjtState.mjSTATE_INTEGRATION)
print(row.tobytes().hex())
"""
LOOKED_AT = [
    Element(ElementKind.BODY, 5),
    Element(ElementKind.JOINT, 3),
    Element(ElementKind.GEOM, 2),
    Element(ElementKind.ACTUATOR, 7),
]


def test_a_run_that_every_panel_looked_at_ends_in_the_same_state(
    desktop, case_model, click, wait_until, tmp_path: Path
):
    model = str(case_model("C35"))
    path = tmp_path / "loop.py"
    path.write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, str(path), model]
    alone = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    run = [sys.executable, "-m", "stroboscope.engine", "run", "--wait", "60", str(path), model]
    process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: find_sessions()[0], 60)
        desktop.sessions.open(find_sessions()[0][0].path)
        wait_until(lambda: desktop.sessions.shown and desktop.sessions.shown.description, 60)
        wait_until(lambda: desktop.sessions.shown.status is not None)
        wait_until(lambda: desktop.sessions.shown.session.has_control)
        _look_at_everything(desktop, click, wait_until)
        _travel_in_time(desktop, wait_until)
        click(desktop.window.transport.buttons["fast_forward"])
        wait_until(lambda: process.poll() is not None, 60)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0, err
    assert out == alone
    (recorded,) = Path.cwd().glob("*.mcap")
    with load_trajectory(recorded) as trajectory:
        # Recorded from where it stood to its end, where it is what the script has had.
        assert trajectory.axes[1] == 400
        assert trajectory.frame(-1).row.tobytes().hex() == alone.strip()


def _look_at_everything(desktop, click, wait_until) -> None:
    window, scene = desktop.window, desktop.sessions.shown
    for dock in window.docks.values():
        dock.show()
    for name in ("contacts", "frames", "joints"):
        trigger(window.actions_by_name[name])
    assert window.scene_view.viewport.options.contacts
    for channel in ("qpos", "qvel", "qacc", "ctrl"):
        window.plots.add_signals(PlotSeriesId(scene_key(scene), channel, 0))
    click(window.transport.buttons["play"])
    wait_until(lambda: scene.status.step_count > 30)
    click(window.transport.buttons["play"])
    wait_until(lambda: window.transport.badge.word == "PAUSED")
    wait_until(lambda: not scene.session.pending)
    for _ in range(2):
        before = scene.status.step_count
        for instant in (Instant.EXECUTED, Instant.NOW):
            window.view.set_instant(instant)
            shown = before if instant is Instant.NOW else before - 1
            for element in LOOKED_AT:
                desktop.sessions.selection.select(element)
                wait_until(lambda n=shown: f"step {n}" in window.inspector.moment.full_text)
            assert not window.scene_view.viewport.grab_image().isNull()
        QTest.keyClick(window, Qt.Key.Key_T)
        click(window.transport.buttons["step"])
        wait_until(lambda n=before: scene.status.step_count == n + 1)
        wait_until(lambda: not scene.session.pending)


def _travel_in_time(desktop, wait_until) -> None:
    """Look back and from elsewhere, keep, watch, compare, try and record; go on from live."""
    window, scene = desktop.window, desktop.sessions.shown
    stands = scene.status.axis
    scene.conditions.add(SavedCondition(expression="max(abs(qvel)) > 1e9"))
    scene.recording.start("run", mode="exact", done=str, refused=pytest.fail)
    wait_until(lambda: scene.conditions.conditions and scene.recording.running)
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Left, Qt.Key.Key_Right):
        view = scene.history.view
        QTest.keyClick(window.scene_view.viewport, key)
        wait_until(lambda v=view: scene.history.view != v)
        wait_until(lambda: not scene.session.pending)
    assert scene.history.view == stands - 1
    window.commands.time.choose(7)
    wait_until(lambda: scene.history.view == 7)
    for name in ("checkpoint", "ghost_here"):
        trigger(window.actions_by_name[name])
    wait_until(lambda: scene.edits.checkpoints and scene.ghosts.entries)
    half = WhatIf(kind=EditKind.OPTION, name="timestep", values=(0.0025,))
    scene.rollouts.resimulate(3, (half,), name="half", steps=20)
    wait_until(lambda: scene.rollouts.rollouts)
    (tried,) = scene.rollouts.rollouts
    scene.ghosts.add(rollout_ref(scene.scene_id, tried.rollout_id), tried.name)
    wait_until(lambda: len(scene.ghosts.entries) == 2)
    assert not window.scene_view.viewport.grab_image().isNull()
    trigger(window.actions_by_name["go_live"])
    wait_until(lambda: scene.history.view is None and not scene.session.pending)
    assert scene.status.axis == stands
