"""What ``stroboscope ctl … --json`` tells programs of a real session: one document."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol.client import DebuggerClient

DEADLINE_S = 60.0
# The wrist's servo brakes with more damping than the timestep can take, once the arm moves.
SCRIPT = """
    import sys
    from importlib.resources import as_file, files
    import stroboscope.engine as physics

    with as_file(files("stroboscope.resources") / "models/stiff_wrist.xml") as model:
        scene = physics.create_scene("Stiff wrist", model)
    physics.set_recordings_folder(sys.argv[1])
    if physics.debugger.attach(30.0, launch=False, mode="paused"):
        while physics.debugger.is_attached():
            scene.ctrl[1] = 0.6 if scene.step_count > 100 else 0.0
            scene.step()
"""


def _check_options(say: Callable[..., Any]) -> None:
    options = {each["name"]: each for each in say("option")}
    assert options["timestep"] == {
        "name": "timestep", "values": [0.002], "unit": "s", "kind": "number", "written": "0.002"
    }  # fmt: skip
    assert options["integrator"]["written"] == "euler"
    assert say("option", "timestep") == [options["timestep"]]
    assert options["gravity"]["values"] == [0.0, 0.0, -9.81]
    edit = say("option", "gravity", "0,0,-3")
    assert (edit["text"], edit["reverted"]) == ("gravity: (0, 0, -9.81) → (0, 0, -3) m/s²", False)


def _check_past(say: Callable[..., Any], client: DebuggerClient) -> int:
    (scene,) = client.scenes()
    (stop,) = client.stops(scene.scene_id)
    view = say("step-back", "-n", "2")
    assert view == {
        "scene_id": scene.scene_id,
        "name": "Stiff wrist",
        "is_live": False,
        "episode": 0,
        "step_count": scene.step_count - 2,
        "physics_step_count": scene.physics_step_count - 2,
        "time": view["time"],
        "axis": scene.axis - 2,
        "steps_before_live": 2,
        "note": "",
        "invalid": "",
    }
    assert view["time"] == pytest.approx(scene.time - 0.004)
    assert say("step-forward", "-n", "2")["is_live"]
    return stop.axis


def _check_trials(say: Callable[..., Any], axis: int) -> None:
    stop = say("try")
    assert (stop["axis"], stop["stop_id"]) == (axis, 1)
    labels = [label for label, _ in stop["what_if"]]
    assert labels[0] == "half the timestep"
    (tried,) = say("try", "1", "--steps", "40")
    assert (tried["name"], tried["steps"], tried["env"]) == ("half the timestep", 80, -1)
    assert tried["edits"][0] == "timestep: 0.002 → 0.001 s"
    assert len(say("try", "all", "--steps", "20")) == len(labels)
    assert [each["name"] for each in say("rollouts")][:2] == [tried["name"], labels[0]]


def _check_comparing(say: Callable[..., Any], axis: int) -> None:
    compared = say("compare", f"row:{axis - 30}", f"row:{axis - 31}")
    assert {each["name"] for each in compared["differences"]} & {"time", "wrist", "qpos of wrist"}
    same = say("compare", f"row:{axis - 30}", f"row:{axis - 30}", "--tolerance", "0.1")
    assert (same["differences"], same["first_bit"], same["more"]) == ([], -1, 0)


def _check_recordings(say: Callable[..., Any], folder: Path) -> None:
    assert say("record", "list") == []
    walk = str(folder / "walk.mcap")
    assert say("record", "start", "walk") == {"path": walk}
    (told,) = say("record", "list")
    assert (told["path"], told["failure"]) == (walk, "")
    assert say("record", "stop") == {"path": walk}
    assert say("record", "save", "past") == {"path": str(folder / "past.mcap")}


def test_answers_of_a_stopped_scene_are_documents(
    start_warm: Callable[..., Any],
    wait_parked: Callable[..., bool],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "runs"
    script = start_warm(SCRIPT, str(folder))
    session = script.session().session_id

    def say(*words: str) -> Any:
        assert ctl.main(["--session", session, *words, "--json"]) == 0
        told = capsys.readouterr()
        assert told.err == ""
        assert told.out.isascii()
        return json.loads(told.out)

    with script.connect() as client:
        assert wait_parked(client)
        client.fast_forward()
        assert client.wait_until(lambda c: bool(c.stops(1)), DEADLINE_S)
        assert wait_parked(client)
        assert client.wait_until(lambda c: c.scenes()[0].held, DEADLINE_S)
        axis = _check_past(say, client)
        findings = say("lint")
        assert any("wrist" in each["text"] and each["advice"] for each in findings)
        assert {each["level"] for each in findings} <= {"info", "warning", "error"}
        # Programs get texts as they are typed, whether they ask for documents or not.
        texts = repr((client.stops(1), client.lint(1), client.log_entries(), client.scenes()))
        assert "dt 0.002 s" in texts
        assert not re.search(r"\d(\\u2009|\\u202f|\\xa0)|\u2212\d", texts)
        _check_trials(say, axis)
        _check_comparing(say, axis)
        _check_options(say)
        _check_recordings(say, folder)
    assert script.end()[0] == 0
