"""What a stop says goes through a file: also what can be tried about it, and what strangers say."""

from pathlib import Path
from typing import Any

import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.messages import ElementRef
from stroboscope.debugger_protocol.time_messages import EditKind, StopInfo, StopReason, WhatIf
from stroboscope.engine.files.frames import FileEvent
from stroboscope.engine.files.json_values import decode_event, encode_json
from stroboscope.engine.recording.recorded_stops import signal_data, stop_data, stop_of

MODEL = """
<mujoco model="Arm"><worldbody><body><joint name="shoulder" axis="0 1 0"/>
<geom name="upper" type="capsule" fromto="0 0 0 .4 0 0" size=".03"/></body></worldbody>
<actuator><motor name="push" joint="shoulder"/></actuator></mujoco>"""

STOP = StopInfo(
    stop_id=0,
    reason=StopReason.EXPLODING,
    axis=7,
    episode=2,
    step=5,
    physics_step=6,
    time=0.012,
    message="it went wrong",
    culprit="the motor",
    advice="try less",
    elements=(
        ElementRef(kind="joint", index=0, name="shoulder"),
        ElementRef(kind="actuator", index=0, name="push"),
        ElementRef(kind="geom", index=0, name="upper"),
    ),
    dof=0,
    joint="shoulder",
    value=float("inf"),
    what_if=(
        ("half the timestep", (WhatIf(kind=EditKind.OPTION, name="timestep", values=(0.001,)),)),
        (
            "armature 0.01",
            (WhatIf(kind=EditKind.MODEL, name="dof_armature", index=0, values=(0.01,)),),
        ),
    ),
)


def read_back(scene: physics.Scene, data: dict[str, Any]) -> StopInfo | None:
    event = FileEvent(
        kind="stop", axis=7, time=0.012, text="it went wrong", episode=2, physics_step=6,
        step_count=5, data=data,
    )  # fmt: skip
    event = decode_event(encode_json(event))
    return stop_of(event, model=scene.model, adapter=scene.world.adapter)


@pytest.fixture
def scene() -> physics.Scene:
    return physics.create_scene("Arm", MODEL)


def test_all_that_a_stop_says_comes_back_from_a_file(scene: physics.Scene) -> None:
    assert read_back(scene, stop_data(STOP)) == STOP


@pytest.mark.parametrize(
    "offers",
    [
        "half the timestep",
        [["half the timestep"]],
        [["half the timestep", [{"kind": "shell", "name": "rm"}]]],
        [["half the timestep", [{"kind": "option", "name": "timestep", "values": ["NaN"]}]]],
        [["", [{"kind": "option", "name": "timestep", "values": [0.1]}]]],
        [["x" * 10_000, []]],
        [["long", [{"kind": "ctrl", "values": [0.0] * 100_000}]]],
    ],
)
def test_a_stop_with_offers_that_are_none_is_told_without_them(
    scene: physics.Scene, offers: object
) -> None:
    told = read_back(scene, stop_data(STOP) | {"what_if": offers})
    assert told is not None
    assert told.culprit == STOP.culprit
    assert told.what_if == ()


@pytest.mark.parametrize(("kind", "index"), [("joint", 1), ("joint", -1), ("model", 0), ("", 0)])
def test_elements_that_the_model_does_not_have_are_left_out(
    scene: physics.Scene, kind: str, index: int
) -> None:
    elements = [
        {"kind": kind, "index": index, "name": "no"},
        {"kind": "geom", "index": 0, "name": "upper"},
    ]
    told = read_back(scene, stop_data(STOP) | {"elements": elements})
    assert told is not None
    assert [each.kind for each in told.elements] == ["geom"]


def test_a_stop_of_before_there_were_offers_is_told(scene: physics.Scene) -> None:
    data = stop_data(STOP)
    del data["what_if"], data["elements"]
    told = read_back(scene, data)
    assert told is not None
    assert (told.what_if, told.elements, told.culprit) == ((), (), STOP.culprit)


@pytest.mark.parametrize("n_envs", [None, 3])
def test_what_is_known_before_the_first_step_is_saved_with_the_state(
    tmp_path: Path, n_envs: int | None
) -> None:
    if n_envs:
        pytest.importorskip("mujoco.batch")
    scene: Any = physics.create_scene("Arm", MODEL, n_envs=n_envs)
    scene.keep_history()
    scene.log("reward", 0.5)
    path = scene.save_history(tmp_path / "run")
    with physics.load_trajectory(path) as trajectory:
        assert len(trajectory) == 1
        assert trajectory.signals["reward"].values.tolist() == [0.5]


def test_the_end_of_a_process_by_a_signal_has_a_reason_of_its_own_that_older_windows_need_not_know(
    scene: physics.Scene,
) -> None:
    stop = read_back(scene, signal_data("SIGTERM", "the process was ended by SIGTERM"))
    assert stop is not None
    assert (stop.signal, stop.message) == ("SIGTERM", "the process was ended by SIGTERM")
    assert stop.reason is StopReason.SCRIPT_ERROR
    assert read_back(scene, stop_data(stop)) == stop
