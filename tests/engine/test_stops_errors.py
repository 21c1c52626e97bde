"""Exceptions of the script: the scene is held where they were raised, and then they go on."""

import signal
from collections.abc import Callable
from typing import Any

import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol.time_messages import StopReason

ARM = """
import sys
import stroboscope.engine as physics

scene = physics.create_scene("Arm", sys.argv[1])
assert physics.debugger.attach(timeout_seconds=60.0, launch=False)
"""

CALLBACK = (
    ARM
    + """
count = [0]
def control(scene):
    count[0] += 1
    if count[0] == 8:
        raise ValueError("no policy")
scene.register_{event}_step_callback(control)
try:
    for _ in range(20):
        scene.step({arguments})
except ValueError as error:
    print("caught", error, scene.step_count)
print("goes on")
for _ in range(5):
    scene.step()
"""
)

DEADLINE_S = 60.0


@pytest.mark.parametrize("event", ["pre", "post"])
def test_ctrl_c_while_a_callback_s_exception_is_held_is_not_lost_to_who_catches_that(
    start_script: Callable[..., Any],
    wait_parked: Callable[..., bool],
    model_path: Callable[[str], Any],
    event: str,
) -> None:
    source = CALLBACK.format(event=event, arguments="")
    script = start_script(source, str(model_path("arm")))
    with script.connect() as client:
        assert wait_parked(client)
        client.fast_forward()
        assert client.wait_until(lambda c: c.scenes()[0].held, DEADLINE_S)
        assert wait_parked(client)
        script.process.send_signal(signal.SIGINT)
        code, out, err = script.end()
    assert (code, out) == (-signal.SIGINT, "")
    assert err.endswith("KeyboardInterrupt\n")
    assert "no policy" in err


@pytest.mark.parametrize("event", ["pre", "post"])
@pytest.mark.parametrize("arguments", ["", "nstep=3"])
def test_a_callback_that_raises_holds_the_scene_and_then_the_exception_goes_on(
    start_warm: Callable[..., Any],
    wait_parked: Callable[..., bool],
    model_path: Callable[[str], Any],
    event: str,
    arguments: str,
) -> None:
    source = CALLBACK.format(event=event, arguments=arguments)
    script = start_warm(source, str(model_path("arm")))
    line = source.splitlines().index('        raise ValueError("no policy")') + 1
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        client.fast_forward()
        assert client.wait_until(lambda c: bool(c.stops(scene.scene_id)), DEADLINE_S)
        (stop,) = client.stops(scene.scene_id)
        assert stop.reason is StopReason.CALLBACK
        assert f"a callback of the script raised ValueError: no policy (script.py:{line})" in (
            stop.message
        )
        # What was told of the scene last may be how it stood before it ran.
        assert client.wait_until(lambda c: c.scenes()[0].held, DEADLINE_S)
        assert wait_parked(client)
        done = 7 if event == "pre" else 8
        (scene,) = client.scenes()
        assert scene.held
        assert scene.hold_reason == stop.message
        assert scene.location == f"script.py:{line}"
        assert scene.axis == done * (3 if arguments else 1)
        client.step_back(scene.scene_id, 2)  # it can be looked at meanwhile
        history = client.history(scene.scene_id)
        assert history is not None
        assert history.view_back == 2
        client.fast_forward()
        code, out, err = script.end()
    assert code == 0, err
    assert out.splitlines() == [f"caught no policy {done}", "goes on"]


def test_a_rule_that_is_off_lets_the_exception_go_on_at_once(
    start_warm: Callable[..., Any],
    wait_parked: Callable[..., bool],
    model_path: Callable[[str], Any],
) -> None:
    script = start_warm(CALLBACK.format(event="pre", arguments=""), str(model_path("arm")))
    with script.connect() as client:
        assert wait_parked(client)
        client.set_stop_rules(client.scenes()[0].scene_id, off=["callback"])
        client.fast_forward()
        code, out, err = script.end()
    assert code == 0, err
    assert out.startswith("caught no policy")


def test_a_client_that_leaves_lets_the_exception_go_on(
    start_warm: Callable[..., Any],
    wait_parked: Callable[..., bool],
    model_path: Callable[[str], Any],
) -> None:
    script = start_warm(CALLBACK.format(event="post", arguments=""), str(model_path("arm")))
    with script.connect() as client:
        assert wait_parked(client)
        client.fast_forward()
        assert client.wait_until(lambda c: c.scenes()[0].held, DEADLINE_S)
    code, out, err = script.end()
    assert code == 0, err
    assert out.startswith("caught no policy")


def test_without_a_debugger_an_exception_of_a_callback_is_no_stop(
    make_scene: Callable[..., physics.Scene],
) -> None:
    scene = make_scene("arm")
    scene.raise_on_stop = True

    def fail() -> None:
        raise ValueError("no policy")

    scene.register_pre_step_callback(fail)
    with pytest.raises(ValueError, match="no policy"):
        scene.step()
    assert scene.last_stop is None
    assert scene.total_steps == 0
