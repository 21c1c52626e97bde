"""The cross-thread demo: peers on two threads, one checkpoint, and an orderly end either way."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from stroboscope.debugger_protocol.client import DebuggerClient, SceneInfo
from stroboscope.debugger_protocol.exceptions import ConnectionLost, ProtocolError
from stroboscope.debugger_protocol.messages import OwnerActivity

MODULE = "stroboscope.resources.examples.cross_thread_capture_restore"
ROLLOUT_STEPS = 1000

# Rollout 2 fails when it is about to take its fifth step.
FAILING = f"""
import {MODULE} as demo
real = demo.kick_pose
count = 0
def kick_pose(time, *, speed):
    global count
    count += speed == 2.0
    if count == 5:
        raise RuntimeError("no such pose")
    return real(time, speed=speed)
demo.kick_pose = kick_pose
demo.main(launch=False)
"""


def scene(client: DebuggerClient, scene_id: int) -> SceneInfo:
    """Return what is known of a scene."""
    return next(s for s in client.scenes() if s.scene_id == scene_id)


def test_both_rollouts_repeat_and_the_source_stands_still(
    start_script: Callable[..., Any],
) -> None:
    script = start_script("-m", MODULE, "--no-window")
    client = script.client
    source = script.scene_id("Source")
    rollouts = [script.scene_id("Rollout 1"), script.scene_id("Rollout 2")]
    client.fast_forward()

    def both_have_restarted(client: DebuggerClient) -> bool:
        return all(scene(client, r).total_steps > ROLLOUT_STEPS + 10 for r in rollouts)

    assert client.wait_until(both_have_restarted, 60.0), client.scenes()
    client.pause()
    for rollout in rollouts:
        # A restore takes time and steps back; what was ever stepped is still counted.
        assert scene(client, rollout).step_count <= ROLLOUT_STEPS
        assert scene(client, rollout).time == pytest.approx(
            scene(client, rollout).step_count * 0.005, abs=1e-9
        )
    assert scene(client, source).total_steps == 0
    client.close()
    output = script.finish()
    assert script.process.returncode == 0, output
    assert "Rollout 1 was played to its end" in output
    assert "Rollout 2 was played to its end" in output


def test_a_single_step_moves_the_selected_rollout_only(start_script: Callable[..., Any]) -> None:
    script = start_script("-m", MODULE, "--no-window")
    client = script.client
    first, second = script.scene_id("Rollout 1"), script.scene_id("Rollout 2")
    client.step(first, 3)
    assert scene(client, first).total_steps == 3
    assert scene(client, second).total_steps == 0
    client.step(second)
    client.restore_initial(first)
    assert scene(client, first).step_count == 0
    assert scene(client, second).step_count == 1
    client.close()
    assert script.finish()
    assert script.process.returncode == 0


def test_a_failing_worker_releases_its_parked_sibling_and_reaches_the_caller(
    start_script: Callable[..., Any],
) -> None:
    script = start_script("-c", FAILING)
    client = script.client
    first, second = script.scene_id("Rollout 1"), script.scene_id("Rollout 2")
    client.step(first)

    def first_is_parked(client: DebuggerClient) -> bool:
        return scene(client, first).activity is OwnerActivity.PARKED

    assert client.wait_until(first_is_parked, 30.0), client.scenes()
    # Four steps of the other: in the fifth it fails, while the first still waits in step().
    with pytest.raises(ProtocolError):
        client.step(second, 10)
    output = script.finish()
    assert script.process.returncode == 1
    assert "RuntimeError: no such pose" in output
    assert "most recent call last" in output
    with pytest.raises(ConnectionLost):
        client.scenes()


def test_nothing_is_started_when_nobody_attaches() -> None:
    code = f"""
import threading
import stroboscope.engine as physics
import {MODULE} as demo
physics.debugger.attach = lambda **_: False
try:
    demo.main(launch=False)
except SystemExit as error:
    print("ended:", error)
print("threads:", [t.name for t in threading.enumerate() if "Pool" in t.name])
"""
    command = [sys.executable, "-W", "error", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "ended: No debugger came" in result.stdout, result.stderr
    assert "threads: []" in result.stdout
