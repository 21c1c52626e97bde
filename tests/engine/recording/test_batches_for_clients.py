"""Recording and saving batches from outside, and opening what came of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol import ctl

pytest.importorskip("mujoco.batch")

Read = Callable[..., Any]

SCRIPT = """
    import sys
    import stroboscope.engine as physics

    folder, model, count = sys.argv[1:]
    scene = physics.create_scene("Many", model, n_envs=int(count))
    scene.select_environment(2, shown=[1, 2, 5])
    physics.set_recordings_folder(folder + "/runs")
    physics.debugger.attach(30, launch=False, mode="fast_forward")
    while physics.debugger.is_attached():
        scene.step()
"""
SHOW = """
    import sys
    from stroboscope.engine.trajectory.showing import show_trajectory

    show_trajectory(sys.argv[1], launch=False)
"""


def test_terminals_save_the_history_of_all_environments_and_record_them(
    start_warm: Callable[..., Any],
    read: Read,
    model_path: Callable[[str], Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = start_warm(SCRIPT, str(tmp_path), str(model_path("arm")), "6")
    with script.connect() as client:
        script.wait_until(lambda: client.history(1) and client.history(1).rows > 50)
        path = client.start_recording(1, "run")
        script.wait_until(lambda: client.recordings(1)[-1].frames > 100)
        assert client.stop_recording(1) == path
        assert client.save_history(1, "past") == str(tmp_path / "runs" / "past.mcap")
        assert ctl.main(["record", "save", "again"]) == 0
        assert "again.mcap" in capsys.readouterr().out
    code, _, errors = script.end()
    assert code == 0, errors
    for name in ("run", "past", "again"):
        with physics.load_trajectory(tmp_path / "runs" / f"{name}.mcap") as trajectory:
            assert list(trajectory.others()) == [f"Many[{k}]" for k in range(6)]
            assert trajectory.complete
            assert trajectory.verify().exit_code == 0


def test_of_more_than_are_recorded_unasked_those_that_are_shown_are(
    start_warm: Callable[..., Any], model_path: Callable[[str], Path], tmp_path: Path
) -> None:
    script = start_warm(SCRIPT, str(tmp_path), str(model_path("arm")), "300")
    with script.connect() as client:
        script.wait_until(client.scenes)
        path = client.start_recording(1, "run")
        script.wait_until(lambda: client.recordings(1)[-1].frames > 30)
        client.stop_recording(1)
    code, _, errors = script.end()
    assert code == 0, errors
    with physics.load_trajectory(path) as trajectory:
        assert list(trajectory.others()) == ["Many[1]", "Many[2]", "Many[5]"]


@pytest.mark.parametrize("how", ["flight", "file"])
def test_an_opened_file_stands_at_the_stop_of_the_environment_that_stopped(
    start_warm: Callable[..., Any], model_path: Callable[[str], Path], tmp_path: Path, how: str
) -> None:
    scene = physics.create_scene("Many", model_path("arm"), n_envs=5)
    keep_last = 0.2 if how == "flight" else None
    recording = scene.start_recording(
        physics.TrajectoryFile(
            tmp_path / "crash", keep_last=keep_last, save_on_stop=keep_last is not None
        )
    )
    for _ in range(200):
        scene.step()
    scene.qvel[3] = 1e9
    scene.raise_on_stop = True
    with pytest.raises(physics.SimulationStopped):
        scene.step()
    recording.shut_down()
    script = start_warm(SHOW, str(recording.paths[0]))
    with script.connect() as client:
        script.wait_until(lambda: client.history(1) and client.stops(1))
        # At the end of a flight recorder's file the scene stands itself.
        view, end = (None, 200) if how == "flight" else (200, 201)
        script.wait_until(lambda: client.history(1).view == view)
        assert client.history(1).recording_end == end
        (shown,) = client.scenes()
        assert shown.name == "Many[3]"
        (stop,) = client.stops(1)
        assert (stop.env, stop.axis) == (3, 200)
        assert stop.message.startswith("environment 3: ")
    code, _, errors = script.end()
    assert code == 0, errors
