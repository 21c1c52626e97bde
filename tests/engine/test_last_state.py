"""What remains in a client when a script ends: its last state, and how it ended."""

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stroboscope.debugger_protocol.client import DebuggerClient, Frame
from stroboscope.debugger_protocol.exceptions import ConnectionLost
from stroboscope.debugger_protocol.messages import LogLevel
from stroboscope.debugger_protocol.topics import Instant, Topic

RUN = [str(Path(sys.executable).with_name("stroboscope")), "run", "--wait", "30"]
MODEL = """
import sys
import mujoco
model = mujoco.MjModel.from_xml_string('''
<mujoco><worldbody><body><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body></worldbody>
</mujoco>''')
data = mujoco.MjData(model)
"""
ATTACHED = """
import stroboscope.engine as physics
if not physics.debugger.attach(30.0, launch=False):
    sys.exit("nobody came")
scene = physics.create_scene("arm", model, data=data)
while scene.step_count < 237:
    scene.step()
"""
UNKNOWING = """
for _ in range(237):
    mujoco.mj_step(model, data)
"""
FAILS = 'raise RuntimeError("control went wrong")\n'


def until_the_end(client: DebuggerClient) -> tuple[dict[Instant, Frame], str]:
    """Return the newest frame of each instant, and why the connection has ended."""
    frames: dict[Instant, Frame] = {}
    while True:
        try:
            frame = client.next_frame(60)
        except ConnectionLost as lost:
            return frames, str(lost).removeprefix("the connection has ended: ")
        assert frame is not None, "the script does not end"
        frames[frame.instant] = frame


@pytest.mark.parametrize(
    ("source", "command", "ending", "told", "code"),
    [
        (ATTACHED, None, FAILS, " ended with RuntimeError: control went wrong (script.py:", 1),
        (ATTACHED, None, "", " ended", 0),
        (
            UNKNOWING,
            [*RUN, "--end-on-exception"],
            FAILS,
            " ended with RuntimeError: control went wrong (script.py:",
            1,
        ),
        (UNKNOWING, RUN, "", " ended (exit code 0)", 0),
        (UNKNOWING, RUN, "sys.exit(3)\n", " ended with exit code 3", 3),
    ],
)
def test_the_last_state_and_how_the_script_ended_remain(
    start_warm: Callable[..., Any],
    wait_parked: Callable[..., bool],
    source: str,
    command: list[str] | None,
    ending: str,
    told: str,
    code: int,
) -> None:
    print_end = "print(float(data.qpos[0]), flush=True)\n"
    script = start_warm(MODEL + source + print_end + ending, command=command)
    with script.connect() as client:
        assert wait_parked(client)
        client.subscribe(client.scenes()[0].scene_id, [Topic.STATE])
        client.fast_forward()
        frames, reason = until_the_end(client)
        # A client that has lost its session answers no more; what it was told last is asked here.
        (scene,) = client._status.values()
        log = tuple(client._log)
    exit_code, out, err = script.end()
    assert exit_code == code, err
    now, executed = frames[Instant.NOW], frames[Instant.EXECUTED]
    assert (now.axis, executed.axis, scene.axis) == (237, 236, 237)
    assert scene.time == now.time
    assert now.arrays["qpos"][0] == np.float64(out.strip())
    assert reason.startswith(f"script.py{told}")
    level = LogLevel.ERROR if code else LogLevel.INFO
    assert [entry.level for entry in log if entry.text == reason] == [level]


def test_a_pool_that_is_joined_at_the_end_hides_nothing_of_the_main_threads_scene(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(
        MODEL
        + ATTACHED
        + """
from concurrent.futures import ThreadPoolExecutor
def work():
    mine = physics.create_scene("worker", model)
    while physics.debugger.is_attached():
        mine.step()
physics.debugger.breakpoint("before the end")
scene.step()
ThreadPoolExecutor(1).submit(work)
"""
        + FAILS
    )
    with script.connect() as client:
        assert wait_parked(client)
        client.subscribe(client.scenes()[0].scene_id, [Topic.STATE])
        client.fast_forward()
        assert client.wait_until(lambda c: c.scenes()[0].hold_reason == "before the end", 60)
        client.step(1)
        frames, reason = until_the_end(client)
    assert script.end()[0] == 1
    assert frames[Instant.NOW].axis == 238
    assert reason.startswith("script.py ended with RuntimeError: control went wrong (script.py:")


def test_held_at_an_exception_until_play(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(MODEL + UNKNOWING + FAILS, command=RUN)
    with script.connect() as client:
        assert wait_parked(client)
        client.fast_forward()
        assert client.wait_until(lambda c: c.scenes()[0].held, 60)
        assert wait_parked(client)
        (scene,) = client.scenes()
        place = f"script.py:{len((MODEL + UNKNOWING).splitlines()) + 1}"
        told = f"the script is about to end with RuntimeError: control went wrong ({place})"
        assert scene.hold_reason == told
        assert scene.location == place
        assert scene.axis == 237
        client.play()
        _, reason = until_the_end(client)
    code, _, err = script.end()
    assert code == 1
    assert err.endswith("RuntimeError: control went wrong\n")
    assert "stroboscope/" not in err
    assert reason.startswith("script.py ended with RuntimeError: control went wrong (script.py:")


def test_held_at_an_exception_until_the_client_leaves(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(MODEL + UNKNOWING + FAILS, command=RUN)
    with script.connect() as client:
        assert wait_parked(client)
        client.fast_forward()
        assert client.wait_until(lambda c: c.scenes()[0].held, 60)
    code, _, err = script.end()
    assert code == 1
    assert err.endswith("RuntimeError: control went wrong\n")


def test_held_at_an_exception_until_ctrl_c(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(MODEL + UNKNOWING + FAILS, command=RUN)
    with script.connect() as client:
        assert wait_parked(client)
        client.fast_forward()
        assert client.wait_until(lambda c: c.scenes()[0].held, 60)
        assert wait_parked(client)
        script.process.send_signal(signal.SIGINT)
        code, _, err = script.end()
    assert code == 1
    assert err.endswith("RuntimeError: control went wrong\n")
    assert "KeyboardInterrupt" not in err
