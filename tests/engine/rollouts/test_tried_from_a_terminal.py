"""What a stop advises is tried from terminals and by programs, in the words of the advice."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.exceptions import CommandError

DEADLINE_S = 60.0
# The wrist's servo brakes with more damping than the timestep can take, once the arm moves.
SCRIPT = """
    from importlib.resources import as_file, files
    import stroboscope.engine as physics

    with as_file(files("stroboscope.resources") / "models/stiff_wrist.xml") as model:
        scene = physics.create_scene("Stiff wrist", model)
    if physics.debugger.attach(30.0, launch=False, mode="paused"):
        while physics.debugger.is_attached():
            scene.ctrl[1] = 0.6 if scene.step_count > 100 else 0.0
            scene.step()
"""
Say = Callable[..., str]


@pytest.fixture
def script(start_warm: Callable[..., Any]) -> Iterator[Any]:
    started = start_warm(SCRIPT)
    yield started
    assert started.end()[0] == 0


@pytest.fixture
def window(script: Any, wait_parked: Callable[..., bool]) -> Iterator[DebuggerClient]:
    """Whoever controls the session, where the scene has stopped by itself."""
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        client.fast_forward()
        assert client.wait_until(lambda c: bool(c.stops(scene.scene_id)), DEADLINE_S)
        assert client.wait_until(lambda c: c.scenes()[0].activity == "parked", DEADLINE_S)
        yield client


@pytest.fixture
def say(script: Any, window: DebuggerClient, capsys: pytest.CaptureFixture[str]) -> Say:
    """``say("try", "1")``: what ctl writes."""

    def run(*words: str, code: int = 0) -> str:
        assert ctl.main(["--session", script.session().session_id, *words]) == code
        told = capsys.readouterr()
        return told.err if code else told.out

    return run


def test_what_a_stop_offers_is_listed_and_tried_by_number(window: DebuggerClient, say: Say) -> None:
    (scene,) = window.scenes()
    (stop,) = window.stops(scene.scene_id)
    offers = [label for label, _ in stop.what_if]
    assert offers[:2] == ["half the timestep", 'integrator="implicitfast"']
    listed = say("try")
    for number, label in enumerate(offers, 1):
        assert f"\n      ctl try {number}: {label}\n" in listed
    assert say("stops") == listed

    told = say("try", "1")
    begin = max(0, stop.axis - 250)
    steps = stop.axis - begin + 250
    assert told.startswith(f"half the timestep: no stop in {2 * steps} steps, to ")
    held = "the last inputs are held for 250 steps"
    assert f"rollout 1, from axis {begin}; timestep: 0.002 → 0.001 s, {held}\n" in told
    assert window.wait_until(lambda c: len(c.ghosts(scene.scene_id)) == 1, DEADLINE_S)

    told = say("try", "all", "--steps", "400")
    assert told.count(": no stop in ") == len(offers)
    assert "integrator: euler → implicitfast" in told
    assert window.wait_until(
        lambda c: len(c.rollouts(scene.scene_id)) == 1 + len(offers), DEADLINE_S
    )
    assert window.scenes()[0].axis == stop.axis, "the scene must not move"

    assert "offers 1 (half the timestep)" in say("try", "9", code=1)
    assert "there is no stop 7; the newest are 1" in say("try", "1", "--stop", "7", code=1)
    with pytest.raises(SystemExit):
        say("try", "banana")

    # The same for programs, from the row that is looked at.
    window.goto(scene.scene_id, axis=stop.axis - 30)
    tried = window.try_offer(scene.scene_id, "half the timestep")
    assert (tried.from_axis, tried.outcome) == (stop.axis - 30, "ended")
    assert tried.time == pytest.approx(stop.time + 0.5)
    again = window.resimulate(scene.scene_id, steps=tried.steps // 2)
    (plain,) = [each for each in window.rollouts(scene.scene_id) if each.rollout_id == again]
    assert plain.outcome != "ended", "without an edit as many steps must go wrong"
    with pytest.raises(CommandError, match="and no 'another world'"):
        window.try_offer(scene.scene_id, "another world")


def test_the_words_of_an_advice_can_be_written_as_edits(window: DebuggerClient, say: Say) -> None:
    (scene,) = window.scenes()
    begin = str(window.stops(scene.scene_id)[0].axis - 30)
    for edit, text in (
        ("option.integrator=implicitfast", "integrator: euler → implicitfast"),
        ('integrator="implicitfast"', "integrator: euler → implicitfast"),
        ("option.disable.contact=on", "disable.contact: off → on"),
        ("dof_armature.wrist=0.01", "dof_armature of wrist: 0 → 0.01"),
        ("actuator_biasprm.wrist_servo[2]=-0.1", "actuator_biasprm[2] of wrist_servo: -1 → -0.1"),
        ("kv.wrist_servo=0.1", "  kv of wrist_servo: 1 → 0.1 N·m·s/rad: 30 steps"),
        ("ctrl.wrist_servo=0.3", "ctrl of wrist_servo held at 0.3 rad"),
        ("qfrc_applied.shoulder=2", "qfrc_applied of shoulder more than recorded by 2 N·m"),
    ):
        assert text in say("resimulate", "--axis", begin, "--set", edit), edit
    for edit, words in (
        ("integrator=magic", "allowed: euler, rk4, implicit, implicitfast"),
        ("dof_armature.wirst=1", "dof_armature has no 'wirst'; did you mean 'wrist'?"),
        ("ctrl.elbow=1", "ctrl has no 'elbow'; there is 'shoulder_servo', 'wrist_servo'"),
    ):
        assert words in say("resimulate", "--axis", begin, "--set", edit, code=1)

    made = window.resimulate(
        scene.scene_id,
        axis=int(begin),
        edits={"integrator": "implicitfast", "kp.shoulder_servo": 30.0},
    )
    (info,) = [each for each in window.rollouts(scene.scene_id) if each.rollout_id == made]
    assert info.edits == (
        "integrator: euler → implicitfast",
        "kp of shoulder_servo: 40 → 30 N·m/rad",
    )
    window.edit_option(scene.scene_id, "integrator", "RK4")
    assert window.edits(scene.scene_id)[-1].text == "integrator: euler → rk4"
    with pytest.raises(CommandError, match="allowed: euler, rk4"):
        window.edit_option(scene.scene_id, "integrator", "magic")
    with pytest.raises(CommandError, match="'integrater'; did you mean 'integrator'"):
        window.edit_option(scene.scene_id, "integrater", "rk4")
    window.override_control(scene.scene_id, "wrist_servo", 0.1)
    assert window.interventions(scene.scene_id).overrides == ((1, 0.1),)
    window.play()


def test_a_stop_in_one_of_many_environments_is_tried_there_and_says_so(
    start_warm: Callable[..., Any],
    wait_parked: Callable[..., bool],
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = start_warm(
        SCRIPT.replace('"Stiff wrist", model)', '"Stiff wrists", model, n_envs=3)').replace(
            "scene.ctrl[1] = 0.6 if scene.step_count > 100 else 0.0",
            "scene.ctrl[2, 1] = 0.6 if scene.total_steps > 100 else 0.0",
        )
    )
    with script.connect() as client:
        assert wait_parked(client)
        (scene,) = client.scenes()
        client.fast_forward()
        assert client.wait_until(lambda c: bool(c.stops(scene.scene_id)), DEADLINE_S)
        stop = client.stops(scene.scene_id)[0]
        assert stop.env == 2
        client.select_environments(scene.scene_id, 0)
        tried = client.try_offer(scene.scene_id, 'integrator="implicitfast"')
        told = client.environments(scene.scene_id)
        assert told is not None
        assert told.selected == 2
        assert tried.outcome == "ended"
        again = client.resimulate(scene.scene_id, axis=tried.from_axis, steps=tried.steps)
        (plain,) = [each for each in client.rollouts(scene.scene_id) if each.rollout_id == again]
        assert plain.outcome != "ended"
        assert (tried.env, plain.env) == (2, 2)
        client.select_environments(scene.scene_id, 1)
        assert ctl.main(["--session", script.session().session_id, "resimulate"]) == 0
        assert ctl.main(["--session", script.session().session_id, "rollouts"]) == 0
        told = capsys.readouterr().out.splitlines()
        assert [line.count("environment 2,") for line in told[-3:]] == [1, 1, 0]
        assert "environment 1," in told[0]
        assert "environment 1," in told[-1]
    assert script.end()[0] == 0
