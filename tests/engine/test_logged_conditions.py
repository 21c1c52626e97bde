"""Conditions on what the script logs, also where it has not logged that yet."""

from collections.abc import Callable
from typing import Any

import mujoco
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol import ctl

DEADLINE_S = 60.0
BALL = """
<mujoco><worldbody><body name="ball" pos="0 0 9"><joint name="fall" type="slide" axis="0 0 1"/>
<geom size=".1"/></body></worldbody></mujoco>
"""

SCRIPT = f"""
import stroboscope.engine as physics

scene = physics.create_scene("Ball", {BALL!r})
if physics.debugger.attach(30.0, launch=False, mode="paused"):
    while physics.debugger.is_attached():
        scene.step()
        scene.log("height", scene.step_count)
"""


@pytest.fixture
def scene() -> physics.Scene:
    made = physics.create_scene("Ball", BALL)
    made.raise_on_stop = True
    return made


def run(scene: physics.Scene, steps: int, log: Callable[[int], object]) -> int:
    """Step and log until something stops the scene; return the steps that were logged."""
    for step in range(steps):
        try:
            scene.step()
        except physics.SimulationStopped:
            return step
        log(step)
    return -1


def test_a_condition_waits_for_what_the_script_will_log(
    scene: physics.Scene, caplog: pytest.LogCaptureFixture
) -> None:
    condition = scene.break_when("reward < -5")
    assert "“reward < -5” waits until the script logs 'reward'" in caplog.text
    assert "waits until the script logs 'reward'" in condition.info.failure
    # What is logged after a step counts from the next one on.
    assert run(scene, 20, lambda step: scene.log("reward", -float(step))) == 7
    assert condition.info.failure == ""
    stop = scene.last_stop
    assert stop is not None
    assert "“reward < -5” became true in physics step 7" in stop.message
    assert "reward = -6" in stop.message


def test_it_begins_to_count_with_the_first_value(scene: physics.Scene) -> None:
    scene.break_when("first(cost) + 1 < cost", hits=1)  # cost is near cos, which is a function

    def log(step: int) -> None:
        if step >= 4:
            scene.log({"cost": 0.5 * step})

    assert run(scene, 20, log) == 8
    assert run(scene, 3, log) == -1


@pytest.mark.parametrize(
    ("expression", "log"),
    [
        ("user['loss/policy'] > 1", lambda s: s.log("loss/policy", 2.0)),
        ("user['rewart'] > 1", lambda s: s.log({"rewart": 2.0})),
        ("agent.reward > 1 and qpos['fall'] < 9", lambda s: s.log("agent.reward", 2.0)),
        ("obs[2] > 1", lambda s: s.log("obs", [0.0, 0.0, 2.0])),
        ("max(abs(obs)) > 1", lambda s: s.log("obs", [0.0, 0.0, -2.0])),
        ("a + b > 1", lambda s: (s.log("a", 1.0), s.log("b", 1.0))),
    ],
)
def test_whatever_can_be_logged_can_be_waited_for(
    scene: physics.Scene, expression: str, log: Callable[[physics.Scene], object]
) -> None:
    scene.break_when(expression)
    assert run(scene, 10, lambda step: log(scene) if step == 3 else None) == 4


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("qposs > 1", "there is no signal 'qposs'; did you mean 'qpos'"),
        ("qposs > 1", "if the script will log it: user['qposs']"),
        ("energy.totl > 1", "there is no signal 'energy.totl'; did you mean 'energy.total'"),
        ("contact.banana > 1", "there is no signal 'contact.banana'"),
        ("energy.banana > 1", "there is no signal 'energy.banana'"),
        ("act > 1", "there is no signal 'act'"),
        ("sensor > 1", "there is no signal 'sensor'"),
        ("site_xpos[0] > 1", "there is no signal 'site_xpos'"),
        ("max(equality.residual) > 1", "this scene has nothing of the kind"),
        ("reward + ", "^"),
        ("reward['x'] > 1", "these values have no names"),
        ("banana(reward) > 1", "there is no function 'banana'"),
        ("reward > reward", "both sides are the same"),
    ],
)
def test_what_no_logging_would_make_right_is_refused(
    scene: physics.Scene, expression: str, told: str
) -> None:
    with pytest.raises(physics.ConditionError) as refused:
        scene.break_when(expression)
    assert told in str(refused.value)
    assert scene.conditions == ()


def test_what_turns_out_to_be_no_condition_says_so(
    scene: physics.Scene, caplog: pytest.LogCaptureFixture
) -> None:
    condition = scene.break_when("obs > 1")
    assert run(scene, 5, lambda _: scene.log("obs", [5.0, 5.0])) == -1
    assert "a condition is one number, this has 2" in condition.info.failure
    assert caplog.text.count("a condition is one number, this has 2") == 1
    condition.remove()
    assert scene.conditions == ()


def test_a_condition_that_waits_is_switched_off_and_on_and_follows_another_model(
    scene: physics.Scene,
) -> None:
    condition = scene.break_when("reward > 1")
    condition.enabled = False
    assert run(scene, 5, lambda _: scene.log("reward", 2.0)) == -1
    condition.enabled = True
    assert run(scene, 5, lambda _: scene.log("reward", 2.0)) == 1

    model = mujoco.MjModel.from_xml_string(BALL)
    adopted = physics.create_scene("Adopted", model, data=mujoco.MjData(model))
    adopted.raise_on_stop = True
    waits = adopted.break_when("reward > 1")
    other = mujoco.MjModel.from_xml_string(BALL)
    adopted.rebind(other, mujoco.MjData(other))
    assert run(adopted, 3, lambda _: None) == -1
    assert "waits until" in waits.info.failure
    assert run(adopted, 5, lambda _: adopted.log("reward", 2.0)) == 1


def test_nothing_is_kept_of_what_is_logged_where_nobody_looks(scene: physics.Scene) -> None:
    scene.raise_on_stop = False
    scene.break_when("reward > 1")
    assert run(scene, 5, lambda _: scene.log("reward", 2.0)) == -1
    assert scene.link.user_channels == {}
    scene.raise_on_stop = True
    assert run(scene, 5, lambda _: scene.log({"reward": 2.0, "other": 1.0})) == 1


def test_a_terminal_sets_one_before_the_first_step_and_lists_that_it_waits(
    start_warm: Callable[..., Any],
    wait_parked: Callable[..., bool],
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = start_warm(SCRIPT)
    with script.connect() as client:
        assert wait_parked(client)
        session = ["--session", script.session().session_id]

        def say(*words: str) -> str:
            assert ctl.main([*session, *words]) == 0
            return capsys.readouterr().out

        (scene,) = client.scenes()
        told = say("break-when", "height > 5")
        assert told == "condition 1: height > 5\nit waits until the script logs 'height'\n"
        assert "waits until the script logs 'height'" in say("conditions")
        client.fast_forward()
        assert client.wait_until(lambda c: bool(c.stops(scene.scene_id)), DEADLINE_S)
        assert client.stops(scene.scene_id)[0].step == 6
        assert "waits" not in say("conditions")
        client.play()
    assert script.end()[0] == 0


def test_many_environments_say_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    batch = physics.create_scene("Many", BALL, n_envs=2)
    with pytest.raises(physics.ConditionError, match="there is no signal 'reward'") as refused:
        batch.break_when("reward > 1")
    assert "after the script has logged it" in str(refused.value)
