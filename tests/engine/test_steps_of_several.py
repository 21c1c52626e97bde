"""Looking back and restoring in the midst of an application step of several physics steps."""

from collections.abc import Callable
from typing import Any

import pytest

from stroboscope.debugger_protocol import time_messages as tm
from stroboscope.debugger_protocol.client import DebuggerClient

SCRIPT = """
import sys
import mujoco
import stroboscope.engine as physics
scene = physics.create_scene("Swing", "<mujoco><worldbody><body><joint axis='0 1 0'/>"
    "<geom size='.1' pos='.3 0 0'/></body></worldbody></mujoco>")
start = scene.checkpoint("start")
if not physics.debugger.attach(30.0, launch=False):
    sys.exit("nobody came")
calls = 0
def control(model, data):
    # From inside a physics step: the fourth one of the second step, once.
    global calls
    calls += 1
    if calls == 9 and len(sys.argv) > 1:
        scene.restore(start)
mujoco.set_mjcb_control(control)
for k in range(20):
    scene.step(nstep=5)
    print(scene.step_count, scene.physics_step_count, flush=True)
mujoco.set_mjcb_control(None)
"""
pytestmark = pytest.mark.leaves_runtime_files


def view(client: DebuggerClient, id: int) -> int | None:
    history = client.history(id)
    assert history is not None
    return history.view


def test_a_step_back_from_the_midst_of_a_step_leads_to_its_begin(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(SCRIPT.replace("mujoco.set_mjcb_control(control)", ""))
    with script.connect() as client:
        assert wait_parked(client)
        id = client.scenes()[0].scene_id
        client.step(id)
        client.physics_step(id, 2)
        client.step_back(id)
        assert view(client, id) == 5
        client.step_back(id)
        assert view(client, id) == 0
        client.step_forward(id)
        assert view(client, id) == 5
        branch = client.continue_from_here(id)
        assert (branch.kind, branch.parent_axis, branch.begin) == (tm.SegmentKind.BRANCH, 5, 7)
        (scene,) = client.scenes()
        assert (scene.step_count, scene.physics_step_count) == (1, 5)
        # What the script was in the midst of is given up, and its next step is a whole one.
        client.step(id)
        (scene,) = client.scenes()
        assert (scene.step_count, scene.physics_step_count) == (2, 10)


def test_a_restore_in_the_midst_of_a_step_gives_the_rest_of_it_up(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(SCRIPT.replace("mujoco.set_mjcb_control(control)", ""))
    with script.connect() as client:
        assert wait_parked(client)
        id = client.scenes()[0].scene_id
        client.step(id)
        client.physics_step(id, 2)
        client.restore(id, client.checkpoints(id)[0].checkpoint_id)
        (scene,) = client.scenes()
        assert (scene.step_count, scene.physics_step_count) == (0, 0)
        client.step_back(id)
        assert view(client, id) == 5
        client.go_live(id)
        client.step(id)
        (scene,) = client.scenes()
        assert (scene.step_count, scene.physics_step_count) == (1, 5)


def test_a_script_that_restores_inside_a_physics_step_runs_to_its_end(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(SCRIPT, "restores")
    with script.connect() as client:
        assert wait_parked(client)
        client.fast_forward()
        code, out, err = script.end()
    assert code == 0, err
    assert len(out.splitlines()) == 20
