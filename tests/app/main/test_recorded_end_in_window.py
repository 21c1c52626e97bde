"""What the window says where the process of a recorded run was ended by a signal."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stroboscope.engine as physics
from stroboscope.engine.recording.recorded_stops import signal_data

SHOW = """
from stroboscope.engine.trajectory.showing import show_trajectory

show_trajectory({path!r}, launch=False)
"""
TEXT = "the process was ended by SIGTERM"


@pytest.mark.parametrize("has_failed", [False, True])
def test_the_end_by_a_signal_is_called_so_and_hides_no_stop_of_the_simulation(
    desktop: Any,
    run_script: Any,
    wait_until: Any,
    case_model: Callable[[str], Path],
    tmp_path: Path,
    has_failed: bool,
) -> None:
    scene = physics.create_scene("Servo", case_model("C01"))
    scene.start_recording(tmp_path / "run")
    scene.raise_on_stop = True
    scene.step(nstep=20)
    if has_failed:
        scene.ctrl[:] = 0.5
        with pytest.raises(physics.SimulationStopped):
            scene.step()
    scene.recorders.script_ended(TEXT, signal_data("SIGTERM", TEXT))
    scene.destroy()

    run_script(SHOW.format(path=str(tmp_path / "run.mcap")))
    banner = desktop.window.travel.banner
    wait_until(banner.isVisible, 60)
    shown = desktop.sessions.shown
    wait_until(lambda: len(shown.stops.stops) == 1 + has_failed)
    assert [stop.signal for stop in shown.stops.stops][-1] == "SIGTERM"
    if has_failed:
        assert banner.text.text().startswith("Exploding: ")
    else:
        assert banner.text.text() == "The process was ended by SIGTERM"
        assert banner.property("level") == "warn"
