"""What remains of a batch in a client when its script ends: the environment that was looked at."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from stroboscope.debugger_protocol.client import DebuggerClient, Frame
from stroboscope.debugger_protocol.exceptions import ConnectionLost
from stroboscope.debugger_protocol.topics import Instant, Topic

pytest.importorskip("mujoco.batch")

SCRIPT = """
import sys
import numpy as np
import stroboscope.engine as physics
if not physics.debugger.attach(30.0, launch=False):
    sys.exit("nobody came")
scene = physics.create_scene("arms", '''<mujoco><worldbody><body><joint axis="0 1 0"/>
<geom size=".1" pos=".3 0 0"/></body></worldbody></mujoco>''', n_envs=16)
scene.qpos[:, 0] = 0.1 * np.arange(16)
while scene.total_steps < 237:
    scene.step()
print(" ".join(map(float.hex, scene.qpos[:, 0].tolist())), flush=True)
"""


def until_the_end(client: DebuggerClient) -> dict[tuple[Topic, Instant], Frame]:
    """Return the newest frame of each topic and instant."""
    frames: dict[tuple[Topic, Instant], Frame] = {}
    while True:
        try:
            frame = client.next_frame(60)
        except ConnectionLost:
            return frames
        assert frame is not None, "the script does not end"
        frames[frame.topic, frame.instant] = frame


def test_the_last_state_of_the_environment_that_is_looked_at_remains(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(SCRIPT)
    with script.connect() as client:
        assert wait_parked(client)
        scene = client.scenes()[0].scene_id
        client.select_environments(scene, 7, shown=range(4, 10))
        client.subscribe(scene, [Topic.STATE, Topic.ENVIRONMENTS], max_rate_hz=60)
        client.fast_forward()
        frames = until_the_end(client)
    exit_code, out, err = script.end()
    assert exit_code == 0, err
    ends = [float.fromhex(word) for word in out.split()]
    state = frames[Topic.STATE, Instant.NOW]
    assert state.axis == 237
    assert state.arrays["qpos"][0] == ends[7]
    others = frames[Topic.ENVIRONMENTS, Instant.NOW]
    assert others.axis == 237
    assert others.arrays["env"].tolist() == list(range(4, 10))
    assert np.isfinite(others.arrays["xpos"]).all()
