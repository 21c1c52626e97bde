"""What a recorded stop offers is tried in the window with one click, without the script."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

import stroboscope.engine as physics
from stroboscope.app.models.rollouts import rollout_ref

SHOW = """
from stroboscope.engine.trajectory.showing import show_trajectory

show_trajectory({path!r}, launch=False)
"""
STOPS_AT = 20


@pytest.fixture
def path(tmp_path: Path, case_model: Callable[[str], Path]) -> Path:
    """A servo that is too stiff, at rest for 20 steps: what a flight recorder has left."""
    scene = physics.create_scene("Servo", case_model("C01"))
    scene.start_recording(
        physics.TrajectoryFile(tmp_path / "crash", keep_last=5, save_on_stop=True)
    )
    scene.raise_on_stop = True
    scene.step(nstep=STOPS_AT)
    scene.ctrl[:] = 0.5
    with pytest.raises(physics.SimulationStopped):
        scene.step()
    scene.destroy()
    return tmp_path / "crash.mcap"


def test_one_click_tries_what_a_recorded_stop_offers(
    desktop: Any, run_script: Any, wait_until: Any, click: Any, path: Path
) -> None:
    run_script(SHOW.format(path=str(path)))
    window = desktop.window
    window.resize(1280, 900)
    window.panels.show("stops")
    wait_until(lambda: desktop.sessions.shown is not None)
    scene, details = desktop.sessions.shown, window.stops.details
    wait_until(lambda: scene.stops.stops)
    (stop,) = scene.stops.stops
    assert stop.axis == STOPS_AT
    label = 'integrator="implicitfast"'
    wait_until(lambda: label in details.offers)
    assert set(details.offers) == {name for name, _ in stop.what_if}
    assert "wrist" in details.links.text()
    wait_until(details.offers[label].isEnabled)
    details.ensureWidgetVisible(details.offers[label])
    click(details.offers[label])
    wait_until(lambda: scene.rollouts.rollouts, 60)
    (rollout,) = scene.rollouts.rollouts
    assert rollout.outcome == "ended"
    wait_until(lambda: scene.ghosts.has(rollout_ref(scene.scene_id, rollout.rollout_id)))
    wait_until(lambda: "no stop" in details.outcomes[label].text())
    assert scene.status.axis == STOPS_AT  # the recording stays what it is


def test_enter_continues_from_the_frame_that_a_crash_opens_with(
    desktop: Any, run_script: Any, wait_until: Any, path: Path
) -> None:
    run_script(SHOW.format(path=str(path)))
    window = desktop.window
    wait_until(lambda: desktop.sessions.shown is not None)
    scene, badge = desktop.sessions.shown, window.transport.badge
    wait_until(lambda: badge.word == "REPLAY · END")
    wait_until(lambda: scene.session.has_control)
    assert not window.actions_by_name["continue_inputs"].isEnabled()
    assert window.actions_by_name["continue_here"].isEnabled()
    QTest.keyClick(window.scene_view.viewport, Qt.Key.Key_Return)
    wait_until(lambda: badge.word == "PAUSED · BRANCH")
    assert "from the last frame of crash.mcap" in scene.history.segments[-1].text
    QTest.keyClick(window.scene_view.viewport, Qt.Key.Key_Right)
    wait_until(lambda: len(scene.stops.stops) == 2)  # it blows up again: nothing was changed
