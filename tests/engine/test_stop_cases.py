"""The cases in which something goes wrong: where each stops, whom it names, and what it offers."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import stroboscope.engine as physics
from stroboscope.debugger_protocol import ctl
from stroboscope.debugger_protocol.client import DebuggerClient
from stroboscope.debugger_protocol.time_messages import SceneHistory, StopInfo, StopReason

WAIT = [str(Path(sys.executable).with_name("stroboscope")), "run", "--wait", "60"]
DEADLINE_S = 60.0

Start = Callable[..., Any]
Case = Callable[..., Path]

LOOP = """
import sys
import mujoco
import numpy as np

model = mujoco.MjModel.from_xml_path(sys.argv[1])
data = mujoco.MjData(model)
{setup}
for k in range({steps}):
    {control}
    mujoco.mj_step(model, data)
    {after}
row = np.empty(mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_INTEGRATION))
mujoco.mj_getState(model, data, row, mujoco.mjtState.mjSTATE_INTEGRATION)
print(row.tobytes().hex())
"""


def loop(steps: int, *, setup: str = "pass", control: str = "pass", after: str = "pass") -> str:
    return LOOP.format(steps=steps, setup=setup, control=control, after=after)


def bare(source: str, *args: Path, check: bool = True) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", source, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=check,
    )


def next_stop(client: DebuggerClient, count: int) -> StopInfo:
    """Go on until the scene has stopped ``count`` times and stands; return the newest stop."""
    assert client.wait_until(lambda c: bool(c.scenes()), DEADLINE_S)
    (scene,) = client.scenes()
    client.fast_forward()
    assert client.wait_until(lambda c: c.stop_rules(scene.scene_id).count >= count, DEADLINE_S)
    assert client.wait_until(
        lambda c: c.scenes()[0].held and c.scenes()[0].activity == "parked", DEADLINE_S
    )
    return client.stops(scene.scene_id)[-1]


def told(client: DebuggerClient) -> SceneHistory:
    """Return what the scene remembers, and what is known of the state in view."""
    history = client.history(client.scenes()[0].scene_id)
    assert history is not None
    return history


def let_run(client: DebuggerClient) -> None:
    """Stop for nothing any more, and run to the end."""
    (scene,) = client.scenes()
    client.set_stop_rules(scene.scene_id, mark_only=True)
    client.fast_forward()


def run(scene: physics.Scene, steps: int) -> None:
    for _ in range(steps):
        scene.step()


def outcome(client: DebuggerClient, **arguments: Any) -> str:
    """Simulate again beside the scene; return how that ended."""
    (scene,) = client.scenes()
    rollout_id = client.resimulate(scene.scene_id, **arguments)
    found = [each for each in client.rollouts(scene.scene_id) if each.rollout_id == rollout_id]
    return str(found[0].outcome)


# --- what goes wrong by itself


def test_c01_a_stiff_servo_stops_at_once_and_what_is_offered_is_stable(
    start_warm: Start, case_model: Case
) -> None:
    source = loop(6, control="data.ctrl[0] = 0.5")
    script = start_warm(source, str(case_model("C01")), command=WAIT)
    with script.connect() as client:
        stop = next_stop(client, 1)
        assert stop.reason is StopReason.EXPLODING
        assert stop.physics_step <= 1
        assert (stop.joint, stop.dof, stop.actuator) == ("wrist", 1, "wrist_servo")
        assert stop.value == pytest.approx(20001.9802, rel=0.01)
        assert "kv·dt/I = 2000" in stop.culprit
        assert [(each.kind, each.name) for each in stop.elements] == [
            ("joint", "wrist"),
            ("body", "hand"),
            ("actuator", "wrist_servo"),
        ]
        offers = dict(stop.what_if)
        enough = [name for name in offers if name != "half the timestep"]
        assert any("implicitfast" in name for name in enough)
        assert any("armature" in name for name in enough)
        assert any("kp and kv" in name for name in enough)
        for name in enough[:3]:
            assert outcome(client, axis=stop.axis, steps=5000, edits=offers[name]) == "ended", name
        assert outcome(client, axis=stop.axis, steps=5000) != "ended"
        # As a click on it does, from the state that the stop at the very first step has left.
        tried = client.try_offer(client.scenes()[0].scene_id, enough[0])
        assert (tried.outcome, tried.from_axis) == ("ended", stop.axis)
        let_run(client)
        code, out, err = script.end()
    assert code == 0, err
    assert out == bare(source, case_model("C01")).stdout


def test_before_the_first_step_every_place_lies_ahead(
    start_warm: Start, case_model: Case, capsys: pytest.CaptureFixture[str]
) -> None:
    script = start_warm(loop(6), str(case_model("C18")), command=WAIT)
    with script.connect() as client:
        assert client.wait_until(lambda c: bool(c.scenes()), DEADLINE_S)
        for words in (["10"], ["--axis", "3"], ["--time", "0.1"]):
            assert ctl.main(["--session", script.session().session_id, "goto", *words]) == 1
            told = capsys.readouterr().err
            assert "lies ahead" in told or "no step was taken yet" in told
        let_run(client)
        assert script.end()[0] == 0


def test_c02_a_scene_that_resets_itself_is_stopped_each_time_and_its_resets_are_counted(
    start_warm: Start, case_model: Case
) -> None:
    source = loop(40, control="data.ctrl[0] = 0.5", after="print(data.time)")
    script = start_warm(source, str(case_model("C02")), command=WAIT)
    resets = []
    with script.connect() as client:
        for count in range(1, 5):
            stop = next_stop(client, count)
            if stop.reason is StopReason.AUTORESET:
                resets.append(stop)
                (scene,) = client.scenes()
                assert scene.time == pytest.approx(stop.time)  # put back: the evidence stands
        first, second = resets
        assert first.physics_step == 1
        assert "automatic reset: time did not advance (0.002 s, then 0.002 s)" in first.message
        assert second.physics_step == 3
        assert "automatic reset: time went back (0.004 s, then 0.002 s)" in second.message
        assert "this scene is resetting, not running" in second.message
        assert {each.joint for each in resets} == {"wrist"}
        assert {each.actuator for each in resets} == {"wrist_servo"}
        let_run(client)
        code, out, err = script.end()
        # The script tells the rest while it ends, and the client may read that later.
        assert client.wait_until(lambda c: c.stop_rules(scene.scene_id).resets == 20, DEADLINE_S)
    assert code == 0, err
    assert out == bare(source, case_model("C02")).stdout


def test_c04_an_action_that_is_no_number_blames_the_input_and_not_the_physics(
    start_warm: Start, case_model: Case
) -> None:
    source = loop(20, control="data.ctrl[:] = [np.nan, 0.3] if k == 5 else 0.3")
    script = start_warm(source, str(case_model("C04")), command=WAIT)
    with script.connect() as client:
        stop = next_stop(client, 1)
        assert (stop.reason, stop.physics_step) == (StopReason.BAD_INPUT, 5)
        assert stop.actuator == "shoulder_servo"
        assert [(each.kind, each.index) for each in stop.elements] == [("actuator", 0)]
        assert stop.joint == ""
        assert "the control input of actuator 'shoulder_servo'" in stop.culprit
        assert "not the physics" in stop.culprit
        assert "script.py:11" in stop.culprit
        assert "The state itself is clean" in stop.advice
        client.fast_forward()
        code, out, err = script.end()  # nothing stops it any more
    assert code == 0, err
    assert out == bare(source, case_model("C04")).stdout


def test_c11_memory_that_runs_out_stops_before_anything_is_left_out(
    start_warm: Start, case_model: Case
) -> None:
    source = loop(100, after="print(k)")
    plain = bare(source, case_model("C11"), check=False)
    script = start_warm(source, str(case_model("C11")), command=WAIT)
    with script.connect() as client:
        stop = next_stop(client, 1)
        assert (stop.reason, stop.physics_step) == (StopReason.ARENA, 42)
        assert "the memory limit of 60K" in stop.culprit
        assert "contacts are missing" in stop.culprit
        offers = dict(stop.what_if)
        assert list(offers) == ["memory 1M"]
        assert outcome(client, axis=stop.axis, steps=1000, edits=offers["memory 1M"]) == "ended"
        # What is cut from here on is not told at every step; the exception is.
        stop = next_stop(client, 2)
        assert stop.reason is StopReason.FATAL
        assert stop.physics_step == pytest.approx(45, abs=4)
        assert "FatalError" in stop.message
        assert "the memory limit of 60K" in stop.culprit
        assert client.wait_until(lambda c: c.scenes()[0].axis == stop.axis, DEADLINE_S)
        assert "from here on" not in stop.culprit
        # No state behind the first of these steps is taken for a valid one.
        scene_id = client.scenes()[0].scene_id
        for axis, is_valid in ((41, True), (42, False), (44, False), (45, False), (20, True)):
            client.goto(scene_id, axis=axis)
            assert client.wait_until(lambda c, v=is_valid: bool(told(c).invalid) is not v)
            assert is_valid or "missing since step 42" in told(client).invalid
        client.go_live(scene_id)
        # Going on, the script gets MuJoCo's own error; before it ends with that, it is held again.
        stop = next_stop(client, 3)
        assert stop.reason is StopReason.SCRIPT_ERROR
        assert "FatalError" in stop.message
        client.play()
        code, out, err = script.end()
    assert (code, out) == (plain.returncode, plain.stdout)
    assert code == 1
    assert err.splitlines()[-1] == plain.stderr.splitlines()[-1]


def test_c11_without_a_debugger_the_error_comes_with_the_last_good_state(case_model: Case) -> None:
    scene = physics.create_scene("Stack", case_model("C11"))
    scene.raise_on_stop = True
    with pytest.raises(physics.SimulationStopped, match="memory") as caught:
        run(scene, 100)
    assert caught.value.event is scene.last_stop
    assert caught.value.event.reason is StopReason.ARENA
    assert scene.physics_step_count == 42
    assert scene.data.time == pytest.approx(42 * 0.002)
    scene.raise_on_stop = False
    with pytest.raises(physics.StepFailedError, match="Stack") as failed:
        run(scene, 100)
    assert isinstance(failed.value.__cause__, mujoco.FatalError)
    scene.reset()
    scene.step()
    assert scene.get_total_simulation_time() == pytest.approx(0.002, abs=1e-9)


@pytest.mark.parametrize("autoreset", [True, False])
def test_r6_a_blow_up_keeps_the_last_states_before_it(
    case_model: Case, autoreset: bool, tmp_path: Path
) -> None:
    spec = mujoco.MjSpec.from_file(str(case_model("R6")))
    if not autoreset:
        spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
    scene = physics.create_scene("Pendulum", spec)
    scene.raise_on_stop = True
    scene.keep_history()
    scene.reset(keyframe="kick")
    scene.step()
    with pytest.raises(physics.SimulationStopped) as caught:
        scene.step()
    stop = caught.value.event
    assert stop.reason is (StopReason.AUTORESET if autoreset else StopReason.WARNING)
    assert stop.physics_step == 1
    assert (stop.dof, stop.joint) == (0, "pivot")
    assert "mjWARN_BADQACC" in stop.message
    assert "spring of joint 'pivot'" in stop.culprit
    assert stop.time == scene.data.time == 0.5
    assert scene.data.qpos[0] == pytest.approx(500000002.4, rel=0.01)
    assert scene.data.qvel[0] == pytest.approx(1000000005.0, rel=0.01)
    with physics.load_trajectory(scene.save_history(tmp_path / "past")) as past:
        kick, last = past
        assert (kick.time, kick.qvel[0]) == (0.0, 1e9)
        assert (last.time, last.qpos[0], last.qvel[0]) == (0.5, *scene.qpos, *scene.qvel)


SIXTEEN = """
import json, sys, threading
import stroboscope.engine as physics

results = {}
done, all_done = threading.Semaphore(0), threading.Event()

def run(index):
    scene = physics.create_scene(f"Stack {index}", sys.argv[1])
    scene.reset(keyframe="stacked" if index == 7 else "airborne")
    ready.wait()
    attached.wait()
    try:
        for _ in range(300):
            scene.step()
        results[index] = (scene.get_total_simulation_time(), float(scene.data.qpos[2]))
        while physics.debugger.is_attached():
            if scene.step_count >= 300:
                scene.reset(keyframe="airborne")  # soon they would hit the floor, all of them
            scene.step()
    except physics.StepFailedError as error:
        results[index] = str(error)

ready, attached = threading.Barrier(17), threading.Event()
threads = [threading.Thread(target=run, args=(index,)) for index in range(16)]
for thread in threads:
    thread.start()
ready.wait()
assert physics.debugger.attach(timeout_seconds=60.0, launch=False)
attached.set()
for thread in threads:
    thread.join()
print(json.dumps([results[index] for index in range(16) if index != 7]))
print(results[7])
"""


def test_c30_of_sixteen_owner_threads_the_failing_scene_alone_stops(
    start_warm: Start, case_model: Case
) -> None:
    script = start_warm(SIXTEEN, str(case_model("C30")))
    with script.connect() as client:
        assert client.wait_until(lambda c: len(c.scenes()) == 16, DEADLINE_S)
        client.fast_forward()
        by_name = {scene.name: scene.scene_id for scene in client.scenes()}
        healthy = [name for name in by_name if name != "Stack 7"]
        assert client.wait_until(
            lambda c: all(s.axis >= 310 or s.name == "Stack 7" for s in c.scenes()), DEADLINE_S
        )
        assert client.wait_until(lambda c: bool(c.stops(by_name["Stack 7"])), DEADLINE_S)
        assert {s.name for s in client.scenes() if "memory" in s.hold_reason} == {"Stack 7"}
        assert not any(client.stops(by_name[name]) for name in healthy)
        (stop,) = client.stops(by_name["Stack 7"])
        assert stop.reason is StopReason.ARENA
        assert "60K" in stop.culprit
        # Going on: the memory is exhausted.
        client.fast_forward()
        assert client.wait_until(lambda c: c.stop_rules(by_name["Stack 7"]).count == 2, DEADLINE_S)
        stop = client.stops(by_name["Stack 7"])[-1]
        assert stop.reason is StopReason.FATAL
        assert stop.physics_step == pytest.approx(45, abs=4)
        # The others stay controllable.
        client.pause()
        assert client.wait_until(
            lambda c: all(s.activity == "parked" for s in c.scenes()), DEADLINE_S
        )
        before = {s.name: s.axis for s in client.scenes()}
        client.step(by_name["Stack 8"], 2)
        after = {s.name: s.axis for s in client.scenes()}
        assert after["Stack 8"] == before["Stack 8"] + 2
        assert {name for name in after if after[name] != before[name]} == {"Stack 8"}
    code, out, err = script.end()
    assert code == 0, err
    good, bad = out.split("\n", 1)
    times, heights = zip(*json.loads(good), strict=True)
    assert times == pytest.approx([0.6] * 15, abs=1e-9)
    assert len(set(heights)) == 1
    assert heights[0] == pytest.approx(3.228314, abs=1e-6)
    assert "'Stack 7'" in bad


# --- what the user wants to stop for


def stopped_by(
    case: Path,
    expression: str,
    steps: int,
    *,
    prepare: Callable[[physics.Scene], None] = lambda _scene: None,
) -> "physics.StopEvent | None":
    """Step until a condition stops a scene of its own; None when it never does."""
    scene = physics.create_scene("Case", case)
    prepare(scene)
    scene.raise_on_stop = True
    scene.break_when(expression)
    try:
        for _ in range(steps):
            scene.step()
    except physics.SimulationStopped as stopped:
        return stopped.event
    finally:
        physics.destroy_scene(scene)
    return None


def ball(speed: float, timestep: float) -> Callable[[physics.Scene], None]:
    def prepare(scene: physics.Scene) -> None:
        scene.model.opt.timestep = timestep
        scene.model_changed()
        scene.data.qvel[0] = speed

    return prepare


def test_c12_a_penetration_of_half_the_radius_stops_at_step_132(case_model: Case) -> None:
    expression = physics.ready_made("penetration", depth=0.005)
    stop = stopped_by(case_model("C12"), expression, 400, prepare=ball(2.0, 0.002))
    assert stop is not None
    assert stop.physics_step == 132
    assert "'ball' and 'wall'" in stop.message
    assert stop.value == pytest.approx(0.0067, rel=0.01)
    assert stop.body == "ball"


@pytest.mark.parametrize(
    ("speed", "timestep", "contact_steps", "exit_speed"),
    [
        (2.0, 0.002, 16, 0.5360424119),
        (20.0, 0.002, 1, 15.995),
        (20.0, 0.0005, 3, 18.03568828),
        (0.5, 0.0005, None, None),
    ],
)
def test_c12_a_ball_that_passes_through_a_wall_is_told_with_its_exit_speed(
    case_model: Case,
    speed: float,
    timestep: float,
    contact_steps: int | None,
    exit_speed: float | None,
) -> None:
    expression = physics.ready_made("passed_through", first="ball", second="wall")
    steps = int(1.5 / speed / timestep) + 5
    stop = stopped_by(case_model("C12"), expression, steps, prepare=ball(speed, timestep))
    if exit_speed is None:
        assert stop is None
        return
    assert stop is not None
    assert "'ball' passed through 'wall'" in stop.message
    assert f"in contact for {contact_steps} step" in stop.message
    assert stop.value == pytest.approx(exit_speed, rel=1e-6)


@pytest.mark.parametrize(("torque", "step"), [(5.0, 44), (50.0, 13), (300.0, 5)])
def test_c18_a_limit_that_is_passed_stops_and_is_named(
    case_model: Case, torque: float, step: int
) -> None:
    def push(scene: physics.Scene) -> None:
        scene.ctrl[0] = torque

    expression = physics.ready_made("joint_limit")
    stop = stopped_by(case_model("C18"), expression, 2000, prepare=push)
    assert stop is not None
    # The step that made the state, and the next one, which is the first to begin in it.
    assert f"in the state that step {step} has made" in stop.message
    assert stop.physics_step == step + 1
    assert (stop.joint, stop.dof) == ("knee", 0)
    assert "past its upper limit of 30°" in stop.message


@pytest.mark.parametrize(("torque", "overshoot"), [(50.0, 14.54183709), (300.0, 41.3908903)])
def test_c18_the_overshoot_can_be_followed(
    case_model: Case, torque: float, overshoot: float
) -> None:
    scene = physics.create_scene("Knee", case_model("C18"))
    source = scene.link.backend.signal_source(("joint.margin",))
    scene.ctrl[0] = torque
    row, worst = np.empty(1), 0.0
    for _ in range(2000):
        source.before(row)
        scene.step()
        source.after(row)
        worst = min(worst, float(row[0]))
    assert np.degrees(-worst) == pytest.approx(overshoot, rel=0.05)
    assert scene.last_stop is None


def raised(integrator: str, timestep: float) -> Callable[[physics.Scene], None]:
    def prepare(scene: physics.Scene) -> None:
        scene.model.opt.timestep = timestep
        scene.model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
        scene.model_changed()
        scene.reset(keyframe="raised")

    return prepare


@pytest.mark.parametrize(
    ("integrator", "timestep", "step", "tolerance"),
    [
        ("EULER", 0.002, 323, 30),
        ("EULER", 0.01, 37, 10),
        ("RK4", 0.01, None, 0),
        pytest.param("RK4", 0.002, None, 0, marks=pytest.mark.slow),
    ],
)
def test_c28_a_drift_of_the_energy_stops_and_blames_the_integrator(
    case_model: Case, integrator: str, timestep: float, step: int | None, tolerance: int
) -> None:
    prepare = raised(integrator, timestep)
    expression = physics.ready_made("energy_drift", share=0.01)
    stop = stopped_by(case_model("C28"), expression, round(10.0 / timestep), prepare=prepare)
    if step is None:
        assert stop is None
        return
    assert stop is not None
    assert stop.physics_step == pytest.approx(step, abs=tolerance)
    assert "energy.total at the beginning 29.6034" in stop.message
    assert "no actuator, damping or contact accounts for" in stop.culprit
    assert "integrator (euler" in stop.culprit


def test_c28_what_is_lost_in_the_end_is_said_to_be_the_integrator_s(case_model: Case) -> None:
    expression = "energy.total - first(energy.total) < -2.78"
    prepare = raised("EULER", 0.002)
    stop = stopped_by(case_model("C28"), expression, 5000, prepare=prepare)
    assert stop is not None
    assert "no actuator, damping or contact accounts for the loss of -2.78" in stop.culprit


def test_a_condition_set_by_a_client_holds_where_it_became_true_and_changes_nothing(
    start_warm: Start, case_model: Case
) -> None:
    source = loop(300, setup="data.qvel[0] = 2.0")
    script = start_warm(source, str(case_model("C12")), command=WAIT)
    with script.connect() as client:
        assert client.wait_until(lambda c: bool(c.scenes()), DEADLINE_S)
        (scene,) = client.scenes()
        client.break_when(scene.scene_id, "max(contact.penetration) > 0.005", name="too deep")
        stop = next_stop(client, 1)
        assert (stop.reason, stop.physics_step) == (StopReason.CONDITION, 132)
        assert client.scenes()[0].axis == 133  # the step is complete
        assert client.scenes()[0].hold_reason == stop.message
        (info,) = client.conditions(scene.scene_id)
        assert (info.name, info.hit_count) == ("too deep", 1)
        client.fast_forward()
        code, out, err = script.end()
    assert code == 0, err
    assert out == bare(source, case_model("C12")).stdout
