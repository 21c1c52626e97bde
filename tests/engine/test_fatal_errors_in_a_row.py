"""A physics step that MuJoCo can't do, again and again: told once, and over when its cause is."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from stroboscope.debugger_protocol.exceptions import ConnectionLost
from stroboscope.debugger_protocol.messages import OwnerActivity
from stroboscope.debugger_protocol.time_messages import StopReason

SCRIPT = """
import sys
import stroboscope.engine as physics
scene = physics.create_scene("Stones", '''<mujoco><size memory="200K"/><worldbody>
<geom type='plane' size='5 5 .1'/>
<body pos="0 0 .1"><freejoint/><geom type='ellipsoid' size='.1 .12 .13'/></body>
<body pos="0 0 .3"><freejoint/><geom type='ellipsoid' size='.1 .12 .13'/></body>
</worldbody></mujoco>''')
other = physics.create_scene("Other",
    "<mujoco><worldbody><body><joint/><geom size='.1'/></body></worldbody></mujoco>")
if not physics.debugger.attach(30.0, launch=False):
    sys.exit("nobody came")
own = scene.model.opt.ccd_iterations
for k in range(20):
    # That many take more memory than there is, in every step with such contacts.
    scene.model.opt.ccd_iterations = 100_000 if 5 <= k < 14 else own
    other.step()
    try:
        scene.step()
        print("ok", flush=True)
    except physics.StepFailedError:
        print("failed", flush=True)
"""


@pytest.mark.parametrize("restores", [False, True])
def test_they_are_told_once_stop_nobody_else_and_end_with_their_cause(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool], restores: bool
) -> None:
    script = start_warm(SCRIPT)
    with script.connect() as client:
        assert wait_parked(client)
        stones, _ = client.scenes()
        client.fast_forward()
        assert client.wait_until(
            lambda c: c.scenes()[0].held and c.scenes()[0].activity is OwnerActivity.PARKED, 60.0
        )
        (stop,) = client.stops(stones.scene_id)
        assert (stop.reason, stop.axis) == (StopReason.FATAL, 5)
        client.step_back(stones.scene_id)
        history = client.history(stones.scene_id)
        assert history is not None
        assert history.view == 4
        if restores:
            client.restore_initial(stones.scene_id)
            assert client.scenes()[0].time == 0.0
        # Its last status may be older than the stop of the other one.
        assert client.wait_until(lambda c: c.scenes()[1].axis == 6, 30.0)
        with contextlib.suppress(ConnectionLost):
            client.play()
            # From another state it may fail once more, and is told once more.
            while restores and client.wait_until(lambda c: c.scenes()[0].held, 30.0):
                client.play()
        code, out, err = script.end()
    assert code == 0, err
    lines = out.split()
    assert lines[:5] == ["ok"] * 5
    assert lines[14:] == ["ok"] * 6
    assert len(lines) == 20
    assert restores or lines[5:14] == ["failed"] * 9
