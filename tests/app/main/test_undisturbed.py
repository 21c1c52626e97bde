"""The whole window, in use, leaves a simulation bit for bit what it is alone (case C35)."""

import subprocess
import sys
from pathlib import Path

import pytest
from event_loop import trigger
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from stroboscope.app.main.plot_feed import scene_key
from stroboscope.app.models.plot_store import PlotSeriesId
from stroboscope.app.models.selection import Element, ElementKind
from stroboscope.app.models.session_finder import find_sessions
from stroboscope.debugger_protocol.topics import Instant

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
        click(desktop.window.transport.buttons["fast_forward"])
        wait_until(lambda: process.poll() is not None, 60)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 0, err
    assert out == alone


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
