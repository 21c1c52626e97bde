"""Scripts that don't know us, stopped, looked back at, branched and let go by real clients."""

import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol import time_messages as tm
from stroboscope.debugger_protocol.client import CommandError, DebuggerClient, Frame
from stroboscope.debugger_protocol.messages import OwnerActivity
from stroboscope.debugger_protocol.topics import Instant, Topic

RUN = [str(Path(sys.executable).with_name("stroboscope")), "run", "--wait", "60"]
DEADLINE_S = 60.0
# Scripts that go on for ever are killed.
pytestmark = pytest.mark.leaves_runtime_files

# A controller without a state of its own; from step ``bad`` on it has a bug.
LOOP = """
import math
import sys
import mujoco

model = mujoco.MjModel.from_xml_path(sys.argv[1])
data = mujoco.MjData(model)
bad = int(sys.argv[2])
k = 0
while True:
    data.ctrl[:] = 0.5 * math.sin(3.0 * data.time)
    if k == bad:
        data.ctrl[0] = math.nan
    mujoco.mj_step(model, data)
    k += 1
"""


@pytest.fixture
def arm(
    start_warm: Callable[..., Any],
    wait_parked: Callable[..., bool],
    model_path: Callable[[str], Path],
) -> Iterator[Callable[..., tuple[DebuggerClient, int, Any]]]:
    """``arm(bad=-1)``: the arm's script, parked before its first step, and who controls it."""
    clients: list[DebuggerClient] = []

    def start(bad: int = -1) -> tuple[DebuggerClient, int, Any]:
        script = start_warm(LOOP, str(model_path("arm")), str(bad), command=RUN)
        client = script.connect()
        clients.append(client)
        assert wait_parked(client)
        return client, client.scenes()[0].scene_id, script

    yield start
    for client in clients:
        client.close()


def past_frame(client: DebuggerClient, axis: int) -> Frame:
    while (frame := client.next_frame(DEADLINE_S)) is not None:
        if frame.instant is Instant.PAST and frame.axis == axis:
            return frame
    raise AssertionError(f"row {axis} was never shown")


def held(client: DebuggerClient) -> bool:
    (scene,) = client.scenes()
    return scene.held and scene.activity is OwnerActivity.PARKED


def test_a_script_is_looked_back_at_and_goes_on_from_there(
    arm: Callable[..., tuple[DebuggerClient, int, Any]],
) -> None:
    client, id, _ = arm()
    client.subscribe(id, [Topic.STATE], max_rate_hz=1000)
    client.step(id, 100)
    client.goto(id, time=0.1)
    history = client.history(id)
    assert history is not None
    assert history.view is not None
    at = history.view
    shown = past_frame(client, at)
    assert shown.time == history.view_time == pytest.approx(0.1, abs=0.003)
    assert client.scenes()[0].step_count == 100
    branch = client.continue_from_here(id)
    assert (branch.parent_axis, branch.begin) == (at, 100)
    (scene,) = client.scenes()
    assert scene.time == shown.time
    client.step(id)
    client.goto(id, axis=100)
    again = past_frame(client, 100)
    np.testing.assert_array_equal(again.arrays["qpos"], shown.arrays["qpos"])
    client.goto(id, axis=at)
    np.testing.assert_array_equal(past_frame(client, at).arrays["qvel"], shown.arrays["qvel"])


def test_an_input_that_is_no_number_is_stopped_before_it_does_harm(
    arm: Callable[..., tuple[DebuggerClient, int, Any]],
) -> None:
    client, id, _ = arm(bad=150)
    client.subscribe(id, [Topic.STATE], max_rate_hz=1000)
    client.fast_forward()
    assert client.wait_until(lambda c: bool(c.scenes()) and held(c) and bool(c.stops(id)), 60)
    (stop,) = client.stops(id)
    assert stop.reason is tm.StopReason.BAD_INPUT
    assert (stop.step, stop.axis, stop.held) == (150, 150, True)
    assert client.scenes()[0].hold_reason == stop.message
    client.step_back(id)
    frame = past_frame(client, 149)
    assert np.isfinite(frame.arrays["qpos"]).all()
    with pytest.raises(CommandError, match="rows from"):
        client.resimulate(id, axis=151)
    rollout = client.resimulate(
        id, axis=100, edits=[tm.WhatIf(kind=tm.EditKind.OPTION, name="timestep", values=(0.001,))]
    )
    (info,) = [each for each in client.rollouts(id) if each.rollout_id == rollout]
    assert info.timestep == 0.001
    assert info.from_axis == 100
    client.play()
    assert client.wait_until(lambda c: c.scenes()[0].axis > 150, 60)


def test_a_condition_stops_a_script_and_the_console_tells_of_it(
    arm: Callable[..., tuple[DebuggerClient, int, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    client, _, script = arm()
    session = str(script.session().session_id)

    def say(*words: str) -> str:
        assert ctl.main(["--session", session, *words]) == 0
        return capsys.readouterr().out

    assert say("break-when", "time > 0.2", "--name", "late").endswith(": time > 0.2\n")
    client.fast_forward()
    assert client.wait_until(held, 60)
    assert client.scenes()[0].time == pytest.approx(0.2, abs=0.005)
    assert "condition" in say("stops")
    assert "true 1x" in say("conditions")
    assert "looking at step" in say("step-back", "-n", "10")
    rows = say("rows", "qpos", "--first", "5", "--last", "8").splitlines()
    assert [line.split(",")[0] for line in rows[1:]] == ["5", "6", "7", "8"]
    assert all(math.isfinite(float(x)) for line in rows[1:] for x in line.split(","))
    assert "branch" in say("continue")
    assert say("branches").count("\n") == 1


EPISODES = """
import sys
import mujoco

model = mujoco.MjModel.from_xml_path(sys.argv[1])
for episode in range(3):
    data = mujoco.MjData(model)
    for _ in range(40 + episode):
        mujoco.mj_step(model, data)
    del data
data = mujoco.MjData(model)
while True:
    mujoco.mj_step(model, data)
"""


def test_data_that_a_script_has_let_go_of_stays_as_rollouts(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool], model_path: Any
) -> None:
    script = start_warm(EPISODES, str(model_path("arm")), command=RUN)
    with script.connect() as client:
        assert wait_parked(client)
        client.fast_forward()
        assert client.wait_until(lambda c: len(c.rollouts()) == 3, 60)
        assert [each.steps for each in client.rollouts()] == [39, 40, 41]
        assert client.wait_until(lambda c: len(c.scenes()) == 1, 60)
        client.pause()
        assert wait_parked(client)  # until then a scene may still follow the one before
        (scene,) = client.scenes()
        rows = client.read_rows(0, ["qpos"], rollout_id=client.rollouts()[0].rollout_id)
        assert len(rows["axis"]) == 40
        ended = tm.GhostRef(
            source=tm.GhostSource.ROLLOUT, number=client.rollouts()[1].rollout_id, scene_id=0
        )
        client.show_ghosts(scene.scene_id, [ended])
        client.subscribe(scene.scene_id, [Topic.GHOSTS])
        frame = client.next_frame(DEADLINE_S)
        assert frame is not None
        assert frame.arrays["number"].tolist() == [0]


THREE = """
import sys
import mujoco

arm = mujoco.MjModel.from_xml_path(sys.argv[1])
box = mujoco.MjModel.from_xml_string(
    "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
)
scenes = [(arm, mujoco.MjData(arm)), (arm, mujoco.MjData(arm)), (box, mujoco.MjData(box))]
while True:
    for model, data in scenes:
        if model is arm:
            data.ctrl[:] = 0.1 * len(scenes)
        mujoco.mj_step(model, data)
"""


def test_checkpoints_are_compared_and_restored_into_other_scenes_of_the_same_model(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool], model_path: Any
) -> None:
    script = start_warm(THREE, str(model_path("arm")), command=RUN)
    with script.connect() as client:
        client.fast_forward()
        assert client.wait_until(
            lambda c: len(c.scenes()) == 3 and all(s.axis > 50 for s in c.scenes()), 60
        )
        client.pause()
        first, second, box = (scene.scene_id for scene in client.scenes())
        early = client.checkpoint(first, "early")
        client.step(first, 20, with_dependents=True)
        late = client.checkpoint(first, "late", note="twenty later")
        refs = [
            tm.GhostRef(source=tm.GhostSource.CHECKPOINT, number=number, scene_id=first)
            for number in (early, late)
        ]
        compared = client.compare(first, *refs)
        assert compared.differences
        assert client.compare(first, refs[0], refs[0]).differences == ()
        client.show_ghosts(second, refs)
        client.restore(second, late, source_scene_id=first)
        times = {scene.scene_id: scene.time for scene in client.scenes()}
        info = client.checkpoints(first)[-1]
        assert times[second] == info.time
        assert (info.note, info.nbytes > 0) == ("twenty later", True)
        with pytest.raises(CommandError):
            client.restore(box, late, source_scene_id=first)
        with pytest.raises(CommandError):
            client.show_ghosts(box, refs)
        with pytest.raises(CommandError):
            client.compare(box, *refs)


TRAVELLER = """
import sys, time
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.connection_file import find_session
client = DebuggerClient.connect(find_session(sys.argv[1]))
assert client.wait_until(lambda c: c.scenes() and c.scenes()[0].activity == "parked", 60)
client.subscribe(1, ["state", "pose"])
client.step(1, 50)
client.goto(1, axis=20)
print(client.history(1).view, flush=True)
time.sleep(1000)
"""


def test_a_script_runs_on_when_the_client_that_looks_back_is_killed(
    start_warm: Callable[..., Any], model_path: Callable[[str], Path]
) -> None:
    script = start_warm(LOOP, str(model_path("arm")), "-1", command=RUN)
    process = subprocess.Popen(
        [sys.executable, "-c", TRAVELLER, script.session().session_id],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "20\n"
        with script.connect(observe=True) as watcher:
            axis = watcher.scenes()[0].axis
            assert axis == 50
            os.kill(process.pid, signal.SIGKILL)
            assert watcher.wait_until(lambda c: c.scenes()[0].axis > axis, 60)
            assert watcher.wait_until(
                lambda c: (h := c.history(1)) is not None and h.view is None, 60
            )
    finally:
        process.kill()
        process.communicate()
