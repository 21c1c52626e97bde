"""The five-minute test: a simulation blows up; it is stopped, named, rewound, and tried again."""

import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.time_messages import StopInfo, StopReason
from stroboscope.resources.examples import find_demo

DEADLINE_S = 60.0

PLAIN = """
import mujoco
from stroboscope.resources.examples.explode import targets

model = mujoco.MjModel.from_xml_path({model!r})
data = mujoco.MjData(model)
for _ in range(600):
    data.ctrl[:] = targets(data.time)
    mujoco.mj_step(model, data)
print("the script is over")
"""


def the_stop(client: DebuggerClient) -> StopInfo:
    """Fast forward until the scene has stopped by itself, and return why."""
    assert client.wait_until(lambda c: bool(c.scenes()), DEADLINE_S)
    scene_id = client.scenes()[0].scene_id
    client.fast_forward()
    assert client.wait_until(lambda c: bool(c.stops(scene_id)), DEADLINE_S)
    assert client.wait_until(lambda c: c.scenes()[0].activity == "parked", DEADLINE_S)
    (stop,) = client.stops(scene_id)
    return stop


def check(client: DebuggerClient, stop: StopInfo) -> None:
    """It stands before the blow-up, names the servo, rewinds, and half the timestep stays calm."""
    (scene,) = client.scenes()
    assert stop.reason is StopReason.EXPLODING
    assert stop.held
    assert 505 <= stop.physics_step <= 521  # MuJoCo's own warning comes with step 524
    assert (stop.joint, stop.body, stop.actuator, stop.dof) == ("wrist", "hand", "wrist_servo", 1)
    assert "likely the servo 'wrist_servo'" in stop.culprit
    assert "kv·dt/I = 3.2" in stop.culprit
    assert scene.axis == stop.axis
    assert scene.hold_reason == stop.message
    offers = dict(stop.what_if)
    assert next(iter(offers)) == "half the timestep"

    client.step_back(scene.scene_id, 15)
    history = client.history(scene.scene_id)
    assert history is not None
    assert history.view == stop.axis - 15
    outcomes = {}
    for name, edits in (("as it was", ()), *offers.items()):
        rollout_id = client.resimulate(scene.scene_id, steps=200, edits=edits, name=name)
        info = next(
            each for each in client.rollouts(scene.scene_id) if each.rollout_id == rollout_id
        )
        outcomes[name] = info.outcome
    assert outcomes.pop("as it was") != "ended"
    assert set(outcomes.values()) == {"ended"}, outcomes


def test_the_demo_stops_before_it_blows_up_and_half_the_timestep_helps(
    start_script: Callable[..., Any],
) -> None:
    script = start_script("-m", find_demo("explode").module, "--no-window")
    client = script.client
    check(client, the_stop(client))
    client.set_stop_rules(client.scenes()[0].scene_id, mark_only=True)
    client.fast_forward()
    output = script.finish()
    assert script.process.returncode == 0, output
    assert "Stopped by: likely the servo 'wrist_servo'" in output


def test_a_plain_script_under_the_runner_stops_the_same_way(
    start_script: Callable[..., Any], tmp_path: Path
) -> None:
    model = Path(str(files("stroboscope.resources"))) / "models" / "stiff_wrist.xml"
    path = tmp_path / "plain.py"
    path.write_text(PLAIN.format(model=str(model)), encoding="utf-8")
    runner = Path(sys.executable).with_name("stroboscope")
    script = start_script(str(runner), "run", "--wait", "60", str(path))
    client = script.client
    check(client, the_stop(client))
    client.set_stop_rules(client.scenes()[0].scene_id, mark_only=True)
    client.fast_forward()
    output = script.finish()
    assert script.process.returncode == 0, output
    assert "the script is over" in output
