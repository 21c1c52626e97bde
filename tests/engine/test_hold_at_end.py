"""The end of a script, held for whoever wants to see what has happened; and never for ever."""

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol.client import CommandError, DebuggerClient
from stroboscope.debugger_protocol.messages import LogLevel, OwnerActivity

STROBOSCOPE = str(Path(sys.executable).with_name("stroboscope"))
RUN = [STROBOSCOPE, "run", "--wait", "30"]
HOLD = [STROBOSCOPE, "run", "--hold-at-end", "--wait", "30"]
MODEL = """
import sys
import mujoco
model = mujoco.MjModel.from_xml_string('''
<mujoco><worldbody><body><joint axis="0 1 0"/><geom size=".1" pos=".3 0 0"/></body></worldbody>
</mujoco>''')
"""
# Everything is gone when the function returns, as in most scripts.
IN_A_FUNCTION = (
    MODEL
    + """
def main():
    data = mujoco.MjData(model)
    for _ in range(237):
        mujoco.mj_step(model, data)
main()
"""
)
ATTACHED = (
    MODEL
    + """
import stroboscope.engine as physics
if not physics.debugger.attach(30.0, launch=False):
    sys.exit("nobody came")
scene = physics.create_scene("arm", model)
for _ in range(237):
    scene.step()
"""
)
ENDS = [
    (IN_A_FUNCTION, RUN, "", 0),
    (IN_A_FUNCTION, RUN, "sys.exit(3)\n", 3),
    (ATTACHED, None, "", 0),
    (ATTACHED, None, "physics.shutdown()\n", 0),
    (ATTACHED, None, "raise RuntimeError('wrong')\n", 1),
]


def held_at_end(client: DebuggerClient) -> bool:
    scenes = client.scenes()
    return bool(
        scenes
        and "come to its end" in scenes[0].hold_reason
        and scenes[0].activity is OwnerActivity.PARKED
    )


@pytest.mark.parametrize(("source", "command", "ending", "code"), ENDS)
def test_what_has_happened_can_be_looked_at_before_the_script_ends(
    start_warm: Callable[..., Any],
    wait_parked: Callable[..., bool],
    source: str,
    command: list[str] | None,
    ending: str,
    code: int,
) -> None:
    script = start_warm(source + ending, command=command)
    with script.connect() as client:
        assert wait_parked(client)
        client.hold_at_end()
        client.fast_forward()
        assert client.wait_until(held_at_end, 30.0)
        (scene,) = client.scenes()
        id = scene.scene_id
        assert scene.axis == 237
        client.goto(id, axis=118)
        history = client.history(id)
        assert history is not None
        assert history.view == 118
        rows = client.read_rows(id, ["qpos"])
        assert len(rows["axis"]) == 237
        again = client.resimulate(id, axis=100)
        assert client.rollouts(id)[-1].rollout_id == again
        # Who asks for a step wants to see one, and not the end.
        with pytest.raises(CommandError, match="no step comes any more"):
            client.step(id)
        assert client.wait_until(held_at_end, 30.0)
        entry = next(e for e in client._log if "come to its end" in e.text)
        assert (entry.level, entry.axis) == (LogLevel.WARNING, 237)
        client.play()
        assert script.end()[0] == code


def test_the_command_line_asks_for_it_too(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(IN_A_FUNCTION, command=HOLD)
    with script.connect() as client:
        assert wait_parked(client)
        client.fast_forward()
        assert client.wait_until(held_at_end, 30.0)
        assert ctl.main(["hold-at-end", "off"]) == 0
        assert script.end()[0] == 0


def test_switching_it_off_lets_a_script_end_that_is_held(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(ATTACHED)
    with script.connect() as client:
        assert wait_parked(client)
        client.hold_at_end()
        client.fast_forward()
        assert client.wait_until(held_at_end, 30.0)
        assert client.session_status.hold_at_end
        client.hold_at_end(False)
        assert script.end()[0] == 0


def test_nothing_is_held_unless_somebody_asks_for_it(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(IN_A_FUNCTION, command=RUN)
    with script.connect() as client:
        assert wait_parked(client)
        client.hold_at_end()
        client.hold_at_end(False)
        client.fast_forward()
        assert script.end()[0] == 0


@pytest.mark.parametrize(("source", "command"), [(IN_A_FUNCTION, RUN), (ATTACHED, None)])
def test_it_goes_on_when_the_client_has_gone(
    start_warm: Callable[..., Any],
    wait_parked: Callable[..., bool],
    source: str,
    command: list[str] | None,
) -> None:
    script = start_warm(source, command=command)
    with script.connect() as client:
        assert wait_parked(client)
        client.hold_at_end()
        client.fast_forward()
        assert client.wait_until(held_at_end, 30.0)
    assert script.end()[0] == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(("source", "command"), [(IN_A_FUNCTION, RUN), (ATTACHED, None)])
@pytest.mark.leaves_runtime_files
def test_it_ends_by_a_signal_as_ever(
    start_warm: Callable[..., Any],
    wait_parked: Callable[..., bool],
    source: str,
    command: list[str] | None,
    number: signal.Signals,
) -> None:
    script = start_warm(source, command=command)
    with script.connect() as client:
        assert wait_parked(client)
        client.hold_at_end()
        client.fast_forward()
        assert client.wait_until(held_at_end, 30.0)
        script.process.send_signal(number)
        assert script.end()[0] in (0, -number)


POOL = (
    ATTACHED
    + """
from concurrent.futures import ThreadPoolExecutor
def work():
    mine = physics.create_scene("worker", model)
    while physics.debugger.is_attached():
        mine.step()
pool = ThreadPoolExecutor(1)
future = pool.submit(work)
"""
)


def test_workers_that_are_paused_keep_nobody_waiting(
    start_warm: Callable[..., Any], wait_parked: Callable[..., bool]
) -> None:
    script = start_warm(POOL)
    with script.connect() as client:
        assert wait_parked(client)
        client.hold_at_end()
        client.fast_forward()
        assert client.wait_until(held_at_end, 30.0)
        client.pause()
        assert wait_parked(client, 2)
        client.goto(client.scenes()[0].scene_id, axis=10)
    assert script.end()[0] == 0
